"""Posts that are being answered: whoever takes one back meanwhile is not answered."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.clock import Clock
from sources.base import Deliver, Place
from sources.bluesky.hearing import deletion
from sources.bluesky.records import Post, post
from sources.bluesky.session import BlueskySession

AT_MOST = 900.0
"""Seconds for which an answer is waited for."""
_AT_ONCE = 25
"""Posts that the server takes in one question."""
EVERY = 3.0


@dataclass(frozen=True)
class _Awaiting:
    post: Post
    place: Place
    until: float
    due: float
    """When it is looked for: not at once, since it was read a moment ago and its answer may come first."""


class Watched:
    """The posts that wait for an answer of ours."""

    def __init__(self, session: BlueskySession, clock: Clock) -> None:
        self._session = session
        self._clock = clock
        self._posts: dict[str, _Awaiting] = {}
        self._gone: list[_Awaiting] = []

    def add(self, found: Post, place: Place) -> None:
        now = time.monotonic()
        self._posts[found.id] = _Awaiting(found, place, now + AT_MOST, now + EVERY)

    def answered(self, message: str) -> None:
        """It needs no watching any more."""
        self._posts.pop(message, None)

    def gone(self, message: str) -> None:
        """It was found deleted."""
        if (found := self._posts.pop(message, None)) is not None:
            self._gone.append(found)

    async def posts(self, uris: Sequence[str]) -> dict[str, Post]:
        """Those of these posts that exist and can be seen, as they are now. Raises CallFailed."""
        answer = await self._session.query("app.bsky.feed.getPosts", {"uris": list(uris)})
        listed = answer.get("posts")
        found = [post(each) for each in listed] if isinstance(listed, list) else []
        return {each.uri: each for each in found if each is not None}

    async def look(self, deliver: Deliver) -> None:
        """Tell of posts that were deleted since. Raises CallFailed."""
        now = time.monotonic()
        self._posts = {message: each for message, each in self._posts.items() if each.until > now}
        asked = [(message, each) for message, each in self._posts.items() if each.due <= now][:_AT_ONCE]
        if asked:
            self._posts |= {message: replace(each, due=now + EVERY) for message, each in asked}
            there = await self.posts([each.post.uri for _, each in asked])
            for message, each in asked:
                if each.post.uri not in there:
                    self.gone(message)
        for each in self._gone:
            deliver(deletion(each.post.id, each.place, each.post.at))
        self._gone.clear()
