"""Watches posts that memory holds: after a deletion, nothing is answered and what was stored is erased.

A post that waits for its answer is checked every few seconds, an answered one less and less often as it ages. The
server also leaves out posts that it only hides (if the author blocks us, say), so before an answered post counts as
deleted, its record is fetched.
"""

import time
from collections.abc import Sequence
from datetime import timedelta

from msgspec import Struct

from memory.people.audience import PUBLIC
from memory.queue.notifications import Place
from memory.store.ids import PlaceId
from memory.store.records import replace
from sources.base import Deliver, PlaceKind, deletion
from sources.bluesky.failures import CallFailed, CallRefused
from sources.bluesky.identifiers import NAME, uri_and_cid
from sources.bluesky.server_responses import Post, items, post
from sources.bluesky.session import SharedState
from sources.bluesky.settings import RememberedPost

AT_MOST = 900.0
"""Seconds to wait for an answer."""
_AT_ONCE = 25
"""Posts per request, a limit of the server."""
EVERY = 3.0
_SOONEST, _LATEST, _SHARE = 20.0, 86_400.0, 0.5
"""An answered post is checked again after this share of its age, within these limits in seconds."""
_MOST = 5_000
"""Posts that are watched, the newest."""
_NO_RECORD = ("could not locate record", "record not found", "could not find repo", "repo not found")


class _Watch(Struct, frozen=True):
    held: RememberedPost
    due: float
    """When it is checked: not at once, since it was read a moment ago and its answer may come first."""
    until: float
    """Until when its answer is waited for; 0 if it was answered, or gets no answer."""


class WatchedPosts:
    def __init__(self, state: SharedState) -> None:
        self._session, self._wiring = state.session, state.wiring
        self._posts: dict[str, _Watch] = {}
        self._gone: list[RememberedPost] = []
        self._loaded = False

    def add(self, found: Post, place: Place, *, answer: bool) -> None:
        """Watch a post that was heard; `answer`: whether it is answered."""
        now = time.monotonic()
        held = RememberedPost(found.id, place.id, found.at)
        self._posts[found.id] = _Watch(held, now + EVERY, now + AT_MOST if answer else 0.0)
        if len(self._posts) > _MOST:
            del self._posts[min(self._posts, key=lambda message: self._posts[message].held.at)]

    def answered(self, message: str) -> None:
        """Check it soon: it may have been deleted just before the answer."""
        if (found := self._posts.get(message)) is not None:
            self._posts[message] = replace(found, due=time.monotonic() + EVERY, until=0.0)

    def awaits(self, place: PlaceId) -> bool:
        now = time.monotonic()
        return any(each.until > now and each.held.place == place for each in self._posts.values())

    def gone(self, message: str) -> None:
        if (found := self._posts.pop(message, None)) is not None:
            self._gone.append(found.held)

    def knows(self, uri: str) -> bool:
        return any(message.startswith(f"{uri}#") for message in self._posts)

    async def posts(self, uris: Sequence[str]) -> dict[str, Post]:
        """Those of these posts that exist and are visible, in their current form. Raises CallFailed."""
        answer = await self._session.query("app.bsky.feed.getPosts", {"uris": list(uris)})
        return {each.uri: each for view in items(answer.get("posts")) if (each := post(view)) is not None}

    async def poll(self, deliver: Deliver) -> None:
        """Deliver deletions since the last check. Raises CallFailed."""
        if not self._loaded:
            await self._load()
        now = time.monotonic()
        due = [(message, each) for message, each in self._posts.items() if each.due <= now]
        asked = sorted(due, key=lambda pair: (pair[1].until == 0.0, -pair[1].held.at.timestamp()))[:_AT_ONCE]
        if asked:
            there = await self.posts([uri_and_cid(message)[0] for message, _ in asked])
            for message, each in asked:
                self._posts[message] = replace(each, due=now + self._pause(each, now))
                if uri_and_cid(message)[0] not in there and (each.until > now or await self._deleted(message)):
                    self.gone(message)
        gone, self._gone = self._gone, []
        for held in gone:
            await self.take_back(held, deliver)

    async def take_back(self, held: RememberedPost, deliver: Deliver) -> None:
        """A post was deleted: deliver that, and take our answer back."""
        await self._wiring.withdraw(held.message)
        where = Place(held.place, PlaceKind.THREAD, PUBLIC, bindings=(held.place, NAME))
        deliver(deletion(NAME, held.message, where, self._wiring.clock()))

    async def _load(self) -> None:
        """Load the posts from before this start; checked soon, newest first, a few at a time."""
        now = time.monotonic()
        for each in await self._wiring.held(_MOST):
            if uri_and_cid(each.message)[0]:
                self._posts.setdefault(each.message, _Watch(each, now + EVERY, 0.0))
        self._loaded = True

    def _pause(self, each: _Watch, now: float) -> float:
        if each.until > now:
            return EVERY
        age = (self._wiring.clock() - each.held.at) / timedelta(seconds=1)
        return min(max(age * _SHARE, _SOONEST), _LATEST)

    async def _deleted(self, message: str) -> bool:
        """Whether the record of an invisible post is gone, according to its server."""
        try:
            await self._session.record(uri_and_cid(message)[0])
        except CallRefused as why:
            return why.error == "RecordNotFound" or any(words in why.message.casefold() for words in _NO_RECORD)
        except CallFailed:
            return False
        return False
