"""Subscriptions to posts that do not address us: of authors, of members of lists, and with keywords.

A Jetstream server (version 2 of its protocol: `network.bsky.jetstream.subscribeEvents`) sends posts as they are made.
Posts without a match are dropped here, before any lookup or storing. The cursor moves once everything before it is
decided, so that a crash or a broken connection leaves no gap that the server can still fill.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import aiohttp

from memory.store.faults import call_point, outside
from memory.store.logs import Log
from sources.base import SourceRefused, raise_if_cancelled
from sources.bluesky.answer_rules import answers, contains, skip_reason
from sources.bluesky.failures import CallFailed
from sources.bluesky.identifiers import POSTS, moment
from sources.bluesky.server_responses import BlueskyNotification, items, mapping, post
from sources.bluesky.session import SharedState
from texts import _, gettext_lazy, ngettext

log = Log(__name__)

_CONNECT = call_point("bluesky.subscribe")

SUBSCRIBED = "subscribed"
"""The reason of such a notification."""
_METHOD, _PROTOCOL = "network.bsky.jetstream.subscribeEvents", "xrpc.v1.json"
_LARGEST = 1 << 20
"""Bytes of one frame; a post takes a few thousand."""
_PER_MINUTE = 60
"""Posts that are accepted per minute; each costs a call to the server."""
_MOST_NAMED = 300
"""People that are named to the server; if there are more, everybody's posts come and are filtered here."""
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0
_CONNECT_SECONDS, _SILENCE = 15.0, 30.0
_LISTS_SECONDS = 3_600.0
"""How long the members of lists are cached."""
_SAVE_SECONDS = 5.0
_MARK = "bluesky.stream"


class Subscription:
    """Reads the stream; matching posts wait until `take`. `news` is called for each."""

    def __init__(self, state: SharedState, news: Callable[[], None], held: Callable[[str], bool]) -> None:
        self._state = state
        self._settings, self._session, self._wiring = state.settings, state.session, state.wiring
        self._news, self._held = news, held
        self._found: list[tuple[int, BlueskyNotification]] = []
        self._removed: list[str] = []
        self._pending: dict[str, int] = {}
        self._read = self._saved = 0
        self._saved_at = 0.0
        self._taken: deque[float] = deque()
        self._people: frozenset[str] = frozenset()
        self._failures = 0
        self._dropped = 0
        self.trouble = gettext_lazy("not connected yet")
        """Why nothing arrives; empty while the stream is read."""

    @property
    def words(self) -> str:
        if not self._settings.jetstream:
            return _("no subscription (`jetstream` in [bluesky])")
        state = _(self.trouble) if self.trouble else _("connected")
        if not self._dropped:
            return _("subscription: {state}", state=state)
        dropped = ngettext("{count} post dropped", "{count} posts dropped", self._dropped)
        return _("subscription: {state}; {dropped}, because too many came in a minute", state=state, dropped=dropped)

    # ------------------------------------------------------------------ what waits

    def take(self) -> list[BlueskyNotification]:
        """Matching posts since the last call, in order."""
        found, self._found = self._found, []
        self._pending |= {each.id: seq for seq, each in found}
        return [each for _, each in found]

    def removed(self) -> list[str]:
        """Posts of followed people that were deleted since the last call, by URI."""
        found, self._removed = self._removed, []
        return found

    async def settle(self, undecided: Callable[[str], bool]) -> None:
        """Move the cursor to where everything is decided and stored."""
        self._pending = {each: seq for each, seq in self._pending.items() if undecided(each)}
        if self._found or self._removed:
            return
        cursor = min(self._pending.values(), default=self._read + 1)
        if cursor != self._saved and self._read and time.monotonic() - self._saved_at > _SAVE_SECONDS:
            self._saved, self._saved_at = cursor, time.monotonic()
            await self._wiring.set_mark(_MARK, str(cursor))

    # ------------------------------------------------------------------ reading

    async def run(self) -> None:
        """Read until canceled, reconnecting as necessary."""
        while True:
            try:
                await self._session.open()
                await self._connected()
                why = gettext_lazy("the server closed the connection")
            except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
                why = self._not_connected(error)
            except CallFailed as error:
                why = error.reason
            except SourceRefused:
                return  # the source ends with this error, and reports it
            except Exception as error:  # a border: what a server sends must not end it
                log.exception("bluesky_subscription_failed")
                raise_if_cancelled()
                why = gettext_lazy("an unexpected error ({error}); see the log", error=type(error).__name__)
            if why != self.trouble:
                log.warning("bluesky_subscription_lost", reason=why)
            self.trouble = why
            wait = min(_FIRST_WAIT * 2.0 ** min(self._failures, 10), _LONGEST_WAIT)
            self._failures += 1
            await asyncio.sleep(wait)

    def _not_connected(self, error: Exception) -> str:
        why = error.status if isinstance(error, aiohttp.WSServerHandshakeError) else type(error).__name__
        return gettext_lazy(
            "{server} cannot be reached ({why}). Check the network and `jetstream` in [bluesky].",
            server=self._settings.jetstream,
            why=why,
        )

    async def _connected(self) -> None:
        """One connection, until it ends or the lists must be reloaded."""
        self._people = self._settings.follow_dids | await self._members()
        url = f"{self._settings.jetstream.rstrip('/')}/{_METHOD}?{urlencode(await self._asked(), doseq=True)}"
        limits = aiohttp.ClientTimeout(total=None, connect=_CONNECT_SECONDS, sock_connect=_CONNECT_SECONDS)
        async with aiohttp.ClientSession(timeout=limits, cookie_jar=aiohttp.DummyCookieJar()) as http:
            opening = http.ws_connect(url, protocols=(_PROTOCOL,), heartbeat=_SILENCE, max_msg_size=_LARGEST)
            stream = await outside(_CONNECT, opening, _CONNECT_SECONDS)
            async with stream:
                self.trouble = ""
                log.info("bluesky_subscribed", people=len(self._people))
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LISTS_SECONDS if self._settings.follow_lists else None):
                        await self._follow(stream)

    async def _follow(self, stream: aiohttp.ClientWebSocketResponse) -> None:
        async for frame in stream:
            if frame.type is not aiohttp.WSMsgType.TEXT:
                continue
            try:
                told = mapping(json.loads(frame.data))
                if told.get("$type") == "error":
                    await self._refused(str(told.get("error", "")))
                    return
                self._failures = 0
                self._event(mapping(told.get("payload")))
            except Exception:  # skipped: it would fail again
                log.exception("bluesky_event_failed")

    async def _refused(self, error: str) -> None:
        log.warning("bluesky_subscription_refused", error=error)
        if error == "CursorTooOld":  # what the server does not have any more is lost
            self._read = self._saved = 0
            await self._wiring.set_mark(_MARK, "")

    async def _asked(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"kinds": ["commit"], "collections": [POSTS], "maxMessageSizeBytes": _LARGEST}
        if not self._settings.follow_keywords and len(self._people) <= _MOST_NAMED:
            asked["dids"] = sorted(self._people)
        stored = self._saved or int(await self._wiring.mark(_MARK) or 0)
        return {**asked, "cursor": stored} if stored else asked

    async def _members(self) -> frozenset[str]:
        """The members of all followed lists. Raises CallFailed."""
        found = set()
        for uri in self._settings.follow_lists:
            cursor = ""
            while True:
                page = await self._session.query(
                    "app.bsky.graph.getList", {"list": uri, "limit": 100, "cursor": cursor}
                )
                members = items(page.get("items"))
                found |= {str(mapping(mapping(each).get("subject")).get("did", "")) for each in members}
                cursor = str(page.get("cursor") or "")
                if not cursor or not members:
                    break
        return frozenset(found - {""})

    def _event(self, told: Mapping[str, Any]) -> None:
        seq = told.get("seq")
        if not isinstance(seq, int):
            return  # a message about the stream itself
        uri = f"at://{told.get('did', '')}/{POSTS}/{told.get('rkey', '')}"
        deleted = told.get("operation") == "delete" and told.get("collection") == POSTS
        if deleted and (told.get("did") in self._people or self._held(uri)):
            self._removed.append(uri)
            self._news()
        found = self._looked_for(told)
        if found is not None:
            if answers(found.post, self._state.us):
                self._news()  # the notifications have it, or will soon
            elif self._has_room():
                self._found.append((seq, found))
                self._news()
            else:
                self._dropped += 1
        self._read = seq

    def _looked_for(self, told: Mapping[str, Any]) -> BlueskyNotification | None:
        """The post of an event if it matches, judged by its own content."""
        if told.get("operation") != "create" or told.get("collection") != POSTS:
            return None
        did, words = str(told.get("did", "")), str(mapping(told.get("record")).get("text", ""))
        if did not in self._people and not contains(words, self._settings.follow_keywords):
            return None
        view = {"uri": f"at://{did}/{POSTS}/{told.get('rkey', '')}", "cid": told.get("cid"), "author": {"did": did}}
        made = post({**view, "record": told.get("record"), "indexedAt": told.get("time")})
        if made is None or skip_reason(made, self._state.us) is not None:
            return None
        return BlueskyNotification(SUBSCRIBED, moment(str(told.get("time", ""))), made)

    def _has_room(self) -> bool:
        now = time.monotonic()
        while self._taken and self._taken[0] < now - 60:
            self._taken.popleft()
        if len(self._taken) >= _PER_MINUTE:
            return False
        self._taken.append(now)
        return True
