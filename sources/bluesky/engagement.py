"""Likes, reposts and follows of the account: recorded as activity, fetched rarely, never answered."""

import time
from collections import deque
from typing import Any

from memory.store.clock import from_text, to_text
from sources.bluesky.identifiers import LONG_AGO, author_of, moment, person_id
from sources.bluesky.server_responses import Account, account, items
from sources.bluesky.session import SharedState
from sources.bluesky.settings import Act
from sources.names import flatten
from texts import gettext_lazy, gettext_noop

_DONE = {
    "like": gettext_noop("liked your post {post} on Bluesky ({who})"),
    "repost": gettext_noop("reposted your post {post} on Bluesky ({who})"),
    "follow": gettext_noop("now follows you on Bluesky ({who})"),
}
_PAGE = 50
_SELDOM = 30
"""How many checks for posts there are for each look at these."""
_PER_HOUR = 30
"""Likes, reposts and follows that are recorded per hour; whoever looks at the account sees the others anyway."""
_MARK = "bluesky.acts"


class Engagement:
    """Reads what was done to the account's posts, and who follows it."""

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._settings, self._session, self._wiring = state.settings, state.session, state.wiring
        self._low: str | None = None
        self._next = 0.0
        self._noted: deque[float] = deque()

    async def poll(self) -> None:
        """Record what is new. Raises CallFailed."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._settings.poll_seconds * _SELDOM
        asked = {"limit": _PAGE, "reasons": list(_DONE)}
        page = await self._session.query("app.bsky.notification.listNotifications", asked)
        told = [each for view in items(page.get("notifications")) if (each := _told(view)) is not None]
        low = self._low or await self._wiring.mark(_MARK)
        newest = max((to_text(act.at) for _, act in told), default=low or LONG_AGO)
        if newest != low:
            await self._wiring.set_mark(_MARK, newest)  # first, so that nothing is recorded twice
        self._low = newest
        if low is None or self._wiring.paused():
            return
        fresh = [act for who, act in told if act.at > from_text(low) and self._heard(who)]
        fitting = sorted(fresh, key=lambda act: act.at)[: self._room(now)]
        if fitting:
            self._noted.extend([now] * len(fitting))
            await self._wiring.noted(fitting)

    def _heard(self, who: Account) -> bool:
        us = self._state.us
        return not (who.did == us.did or who.shy or us.shut_out(who))

    def _room(self, now: float) -> int:
        while self._noted and self._noted[0] < now - 3_600:
            self._noted.popleft()
        return max(_PER_HOUR - len(self._noted), 0)


def _told(view: Any) -> tuple[Account, Act] | None:
    if not isinstance(view, dict) or view.get("reason") not in _DONE:
        return None
    who, post = account(view.get("author")), str(view.get("reasonSubject") or "")
    if not who.did:
        return None
    named = f"{who.shown} (@{flatten(who.handle)})"
    words = gettext_lazy(_DONE[view["reason"]], post=post if author_of(post) else "", who=named)
    return who, Act(person_id(who.did), words, moment(str(view.get("indexedAt"))))
