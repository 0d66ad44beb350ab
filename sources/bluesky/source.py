"""The Bluesky source: reads notifications page by page back to known ones, and makes turns of them.

The inbox and the skipped ids show what was seen, never the server's `isRead`. A mark shows up to when everything is
decided and durable; each look reads back to some minutes before it, since servers index late and out of order. So a
crash at any moment loses nothing: what was not stored is read again.
"""

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from msgspec import Struct, field

from memory.queue.notifications import Notification
from memory.store.clock import from_text, to_text
from memory.store.logs import Log
from memory.store.recent_values import RecentValues
from sources.base import Deliver, Readiness, SourceRefused
from sources.bluesky.already_read import AlreadyRead
from sources.bluesky.answer_rules import SkipReason, answers, involved, machine, opting, skip_reason, vacates
from sources.bluesky.conversion import notifications
from sources.bluesky.deleted_posts import WatchedPosts
from sources.bluesky.direct_messages import DirectMessages
from sources.bluesky.engagement import Engagement
from sources.bluesky.failures import CallFailed, CallRefused, NoAnswer, RateLimited
from sources.bluesky.identifiers import LONG_AGO, person_id, thread_place
from sources.bluesky.lookups import read_thread
from sources.bluesky.message_sender import BlueskyEndpoint
from sources.bluesky.server_responses import BlueskyNotification, items, notified
from sources.bluesky.session import SharedState
from sources.bluesky.settings import BlueskySettings, RememberedPost, Wiring
from sources.bluesky.subscriptions import SUBSCRIBED, Subscription
from sources.bluesky.threads import Thread
from texts import _, gettext_lazy

_BUSY_SECONDS = 120.0
"""For how long after a post the source looks more often."""
_BUSY_SHARE = 5
_LEAST = 1.0
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0


class PollPace:
    """The number of seconds to wait before the next look."""

    def __init__(self, usual: float) -> None:
        self._usual = usual
        self._heard = -_BUSY_SECONDS
        self._failures = 0

    def heard(self, now: float) -> None:
        self._heard = now

    def failed(self, asked: float | None = None) -> float:
        """The look failed: the wait before the next one, or what the server asks for."""
        self._failures += 1
        grown = min(_FIRST_WAIT * 2.0 ** min(self._failures - 1, 10), _LONGEST_WAIT)
        return max(asked, 1.0) if asked is not None else min(grown, max(self._usual, _FIRST_WAIT) * 4)

    def next(self, now: float) -> float:
        """The wait after a look that succeeded."""
        self._failures = 0
        busy = now - self._heard < _BUSY_SECONDS
        return max(self._usual / _BUSY_SHARE, min(_LEAST, self._usual)) if busy else self._usual


log = Log(__name__)

PAGE, MOST_PAGES = 50, 40
FULLY = 30.0
"""Seconds after which a whole page is read even if the newest is known: servers insert late posts further down."""
REASONS = ("mention", "reply", "quote")
MARGIN = timedelta(minutes=5)
"""How far before the mark is read again: servers index posts late and out of order."""
_MARK = "bluesky.mark"
_MOST_TRIES, _LONGEST_PAUSE = 20, 600.0
"""Tries for a thread that cannot be read, and the longest seconds between two: it is given up after two hours."""
_DAY = 86_400.0


class _Batch(Struct):
    """Posts of one thread that wait to become notifications."""

    due: float
    found: list[BlueskyNotification] = field(default_factory=list)
    tries: int = 0


class BlueskySource:
    """Receives from Bluesky; its `endpoint` sends there."""

    name = "bluesky"

    def __init__(self, settings: BlueskySettings, wiring: Wiring) -> None:
        self._settings = settings
        self._wiring = wiring
        self._state = SharedState(settings, wiring)
        self.session = self._state.session
        self._watched = WatchedPosts(self._state)
        self.direct = DirectMessages(self._state)
        self.endpoint = BlueskyEndpoint(self._state, self._watched, self.direct)
        self.subscription = Subscription(self._state, self.hurry, self._watched.knows)
        self._engagement = Engagement(self._state)
        self._pace = PollPace(settings.poll_seconds)
        self._known = AlreadyRead(wiring)
        self._windows: RecentValues[str, float] = RecentValues(2_000)
        self._bots: RecentValues[str, tuple[float, ...]] = RecentValues(1_000)
        self._waiting: dict[str, _Batch] = {}
        self._low: str | None = None
        self._top: tuple[str, str] | None = None
        """The newest notification when all were last read."""
        self._first: tuple[str, str] = ("", "")
        self._read_at = 0.0
        self._stopped = False
        self._hurry = asyncio.Event()
        self.connected = False
        self.trouble = ""
        """Why it cannot receive at the moment; empty if it can."""

    @property
    def readiness(self) -> Readiness:
        words = _(self.trouble) if self.trouble else "" if self.connected else _("connecting")
        return Readiness(self.connected and not self.trouble, words)

    def pause(self) -> None:
        """Stop receiving but keep sending, for the shutdown; the next start reads what arrives meanwhile."""
        self._stopped = True

    def hurry(self) -> None:
        """Look now: something new is known to be there."""
        self._hurry.set()

    async def run(self, deliver: Deliver) -> None:
        """Look repeatedly until canceled; raises SourceRefused."""

        def give(notification: Notification) -> None:
            if not self._stopped:
                deliver(notification)

        reading = asyncio.create_task(self.subscription.run()) if self._settings.jetstream else None
        try:
            wait = 0.0
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._hurry.wait()
                self._hurry.clear()
                wait = await self._turn(give)
        finally:
            if reading is not None:
                reading.cancel()
                await asyncio.wait([reading])
            await self.session.close()

    async def _turn(self, deliver: Deliver) -> float:
        """One look; returns the seconds to wait before the next. An unexpected error does not affect other parts."""
        hearing = (functools.partial(each, deliver) for each in (self.poll, self._watched.poll, self.direct.poll))
        looks: tuple[Callable[[], Awaitable[None]], ...] = (self.session.open, *hearing, self._engagement.poll)
        failed, asked = "", None
        for look in looks:
            try:
                await look()
            except SourceRefused:
                raise
            except CallFailed as why:
                failed, asked = why.reason, why.seconds if isinstance(why, RateLimited) else None
                break
            except Exception as why:  # a border: a server's answers must not end the service
                log.exception("bluesky_look_failed")
                failed = failed or gettext_lazy("an unexpected error ({error}); see the log", error=type(why).__name__)
        if failed:
            return self._failed(failed, asked)
        if self.trouble:
            log.info("bluesky_reached_again")
            self.trouble = ""
        if not self.connected:
            self.connected = True
            self._wiring.on_ready(self.session.handle)
        now = time.monotonic()
        wait = self._pace.next(now)
        due = min((batch.due for batch in self._waiting.values()), default=now + wait)
        return max(min(wait, due - now), 0.02)

    def _failed(self, reason: str, asked: float | None = None) -> float:
        if not self.trouble:
            log.warning("bluesky_unreachable", reason=reason)
        self.trouble = reason
        return self._pace.failed(asked)

    async def poll(self, deliver: Deliver) -> None:
        """Read what is new, and deliver the posts to be heard. Raises CallFailed."""
        newest = await self._newest()
        fully = newest is None or newest != self._top or time.monotonic() - self._read_at > FULLY
        found = await self._read() if fully else []
        if self._low is None:
            await self._begin(found)
            return
        told = {each.id for each in found}
        also = [each for each in self.subscription.take() if each.id not in told]
        waiting = {each.id for batch in self._waiting.values() for each in batch.found}
        await self._sort(await self._known.open([each for each in (*found, *also) if each.id not in waiting]))
        if fully:
            self._top, self._read_at = self._first, time.monotonic()
        await self._move(found, await self._give_due(deliver))
        await self._remove(self.subscription.removed(), deliver)
        await self.subscription.settle(lambda each: each not in self._known)

    # ------------------------------------------------------------------ reading

    async def _newest(self) -> tuple[str, str] | None:
        """The newest notification: a page of one is cheap. None if everything is to be read anyway."""
        if self._top is None:
            return None
        return _top(await self._page(1))

    async def _page(self, limit: int, cursor: str = "") -> dict[str, object]:
        asked = {"limit": limit, "cursor": cursor, "reasons": list(REASONS)}
        return await self.session.query("app.bsky.notification.listNotifications", asked)

    async def _read(self) -> list[BlueskyNotification]:
        """Everything since the mark, oldest first, each once."""
        if self._low is None:
            mark, now = await self._wiring.mark(_MARK), to_text(self._wiring.clock())
            if mark is not None and mark > now:  # a clock was wrong; after an absence only one page would be read
                await self._wiring.set_mark(_MARK, now)
                mark = now
            self._low = mark
        back = from_text(self._low) - MARGIN if self._low is not None else None
        found: dict[str, BlueskyNotification] = {}
        cursor = ""
        for _page in range(MOST_PAGES):
            page = await self._page(PAGE, cursor)
            self._first = self._first if cursor else _top(page)
            views = [each for each in map(notified, _listed(page)) if each is not None]
            found |= {each.id: each for each in views if each.reason in REASONS}
            cursor = str(page.get("cursor") or "")
            oldest = min((each.indexed_at for each in views), default=None)
            if not cursor or oldest is None or back is None or oldest < back:
                break
        else:
            log.warning("bluesky_missed", hint="too many notifications were missed; the oldest were skipped")
        return sorted(found.values(), key=lambda each: (each.indexed_at, each.id))

    async def _begin(self, found: Sequence[BlueskyNotification]) -> None:
        """The first look of all: existing posts are not answered."""
        await self._known.pass_over({each.id: SkipReason.BEFORE for each in found})
        self._low = to_text(found[-1].indexed_at) if found else LONG_AGO
        await self._wiring.set_mark(_MARK, self._low)

    # ------------------------------------------------------------------ deciding

    async def _sort(self, fresh: Sequence[BlueskyNotification]) -> None:
        """Skip posts that are not heard, and let the rest wait with their threads."""
        passed: dict[str, SkipReason] = {}
        now = time.monotonic()
        oldest = self._wiring.clock() - timedelta(days=self._settings.read_back_days)
        for each in fresh:
            why = await self._why_not(each, too_old=each.indexed_at < oldest)
            if why is not None and each.reason == SUBSCRIBED:
                self._known.add([each.id])  # nothing of it is stored
                continue
            if why is not None:
                passed[each.id] = why
                continue
            root = each.post.root.uri
            batch = self._waiting.setdefault(root, _Batch(self._windows.get(root) or now))
            batch.found.append(each)
            self._pace.heard(now)
        await self._known.pass_over(passed)

    async def _why_not(self, each: BlueskyNotification, *, too_old: bool) -> SkipReason | None:
        """Why it is not heard; None if it is. An opt-out is respected, however old it is."""
        post, author = each.post, each.post.author
        wants_out = opting(post.text) if author.did != self._state.us.did and answers(post, self._state.us) else None
        if wants_out is not None:
            await self._wiring.opt(person_id(author.did), wants_out)
            return SkipReason.OPTING
        if too_old:
            return SkipReason.TOO_OLD
        if self._wiring.paused():
            return SkipReason.PAUSED
        why = skip_reason(post, self._state.us)
        if why is None and author.is_bot and author.did not in self._settings.filters.friends:
            return None if await self._bot_may_be_answered(author.did) else SkipReason.BOT
        return why

    async def _bot_may_be_answered(self, did: str) -> bool:
        """Whether a bot still has answers left today; accepted but unanswered posts count, too."""
        most, now = self._settings.bot_answers_per_day, time.monotonic()
        recent = [at for at in self._bots.get(did) or () if at > now - _DAY]
        if most == 0 or max(len(recent), await self._wiring.answered(person_id(did))) >= most:
            return False
        self._bots.put(did, (*recent, now))
        return True

    # ------------------------------------------------------------------ delivering

    async def _give_due(self, deliver: Deliver) -> list[BlueskyNotification]:
        """Make notifications of the threads that are due; a thread that cannot be read now waits."""
        given: list[BlueskyNotification] = []
        for root, batch in list(self._waiting.items()):
            if batch.due > time.monotonic() and (batch.tries or self._watched.awaits(thread_place(root))):
                continue
            try:
                given += await self._give(batch.found, deliver)
            except CallRefused as why:  # the newest post is not visible any more; earlier ones may be
                reason = SkipReason.BLOCKED if "Block" in why.error else SkipReason.GONE
                await self._known.pass_over({batch.found.pop().id: reason})
                if batch.found:
                    continue
            except NoAnswer as why:
                if await self._put_off(batch, why):
                    continue
            del self._waiting[root]
            self._windows.put(root, time.monotonic() + self._settings.batch_seconds)
        return given

    async def _put_off(self, batch: _Batch, why: NoAnswer) -> bool:
        """A thread could not be read: it waits, while others go on. False when it is given up."""
        batch.tries += 1
        log.warning("bluesky_thread_unread", reason=why.reason, tries=batch.tries)
        if batch.tries >= _MOST_TRIES:
            await self._known.pass_over({each.id: SkipReason.UNFIT for each in batch.found})
            return False
        batch.due = time.monotonic() + min(2.0**batch.tries, _LONGEST_PAUSE)
        return True

    async def _give(self, found: Sequence[BlueskyNotification], deliver: Deliver) -> list[BlueskyNotification]:
        """Deliver posts of one thread, unless the whole thread is excluded; returns the delivered ones."""
        newest = found[-1].post
        seen = await read_thread(self.session, newest.uri, self._settings.filters, with_siblings=True)
        if seen is None:
            await self._known.pass_over({each.id: SkipReason.GONE for each in found})
            return []
        us = self._state.us
        if vacates(seen, us):
            await self._known.pass_over({each.id: SkipReason.VACATED for each in found})
            return []
        if newest.author.did not in self._settings.filters.friends and machine(newest, seen.parents, us.did):
            await self._wiring.suspect(newest.root.uri, newest.author.shown)
            await self._known.pass_over({each.id: SkipReason.MACHINE for each in found})
            return []
        aside = {each.id: why for each in found if (why := self._aside(each, seen)) is not None}
        await self._known.pass_over(aside)
        heard = [each for each in found if each.id not in aside]
        await self._wiring.settled()  # recent posts of the thread are stored, too
        known = await self._wiring.conversation_posts([each.id for each in seen.posts])
        made = notifications([each.post for each in heard], seen, us, self._settings, known)
        posts = {each.id: each.post for each in heard}
        for notification in made:
            post = posts[notification.external_id]
            self._watched.add(post, notification.place, answer=notification.answer)
            deliver(notification)
        return heard

    def _aside(self, each: BlueskyNotification, seen: Thread) -> SkipReason | None:
        """Why a post is not heard in its thread; for a followed thread, its author is known only from there."""
        if each.reason == SUBSCRIBED:
            view = next((one for one in seen.posts if one.id == each.id), None)
            if view is None:
                return SkipReason.GONE
            return SkipReason.BLOCKED if view.author.shy else skip_reason(view, self._state.us)
        if seen.post.replies_closed:
            return SkipReason.CLOSED
        return None if involved(each.post, seen, self._state.us) else SkipReason.NOT_INVOLVED

    async def _remove(self, uris: Sequence[str], deliver: Deliver) -> None:
        """Posts were deleted: deliver that for those that were heard."""
        for uri in uris:
            if (found := await self._wiring.heard(uri)) is not None:
                await self._watched.take_back(RememberedPost(*found, self._wiring.clock()), deliver)
        if uris:
            await self._wiring.settled()

    async def _move(self, found: Sequence[BlueskyNotification], given: Sequence[BlueskyNotification]) -> None:
        """Move the mark to the newest time before which everything is decided and stored."""
        unstored: list[BlueskyNotification] = [each for batch in self._waiting.values() for each in batch.found]
        if given:
            missing = await self._known.unstored(given)
            self._top = None if missing else self._top
            unstored += missing
        newest = max((each.indexed_at for each in found), default=None)
        if newest is None or self._stopped:
            return
        low: datetime = min([newest, *(each.indexed_at for each in unstored)])
        if self._low is None or to_text(low) > self._low:
            await self._wiring.set_mark(_MARK, to_text(low))
            self._low = to_text(low)


def _top(page: Mapping[str, object]) -> tuple[str, str]:
    """The newest notification of a page, by its record; two empty texts without one."""
    first = next((each for each in _listed(page) if isinstance(each, dict)), {})
    return str(first.get("uri", "")), str(first.get("cid", ""))


def _listed(page: Mapping[str, object]) -> list[object]:
    return items(page.get("notifications"))
