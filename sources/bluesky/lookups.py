"""What agents look up on Bluesky: posts by words, people, threads, as lines. Who wants nothing of us is left out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sources.bluesky.failures import Refused
from sources.bluesky.filters import Us, vacates
from sources.bluesky.keys import person_id
from sources.bluesky.notifications import as_shown, hidden_from
from sources.bluesky.records import Account, Post, account, items, mapping, post
from sources.bluesky.session import BlueskySession
from sources.bluesky.settings import BlueskySettings
from sources.bluesky.thread_reader import read_thread
from sources.bluesky.threads import person_profile
from sources.text import flatten, one_line

_WORDS = 600
"""Characters that are shown of a post with what stands in it."""
_MOST_REPLIES, _MOST_PARENTS = 20, 20


@dataclass(frozen=True)
class Found:
    """Lines for a model, the same as plain data, and how much is not shown."""

    lines: tuple[str, ...]
    data: Any
    hidden: int = 0


class BlueskyReader:
    """Looks things up with the account's eyes. Every call raises CallFailed."""

    def __init__(self, settings: BlueskySettings, session: BlueskySession, us: Callable[[], Us]) -> None:
        self._settings = settings
        self._session = session
        self._now = us

    @property
    def _us(self) -> Us:
        return self._now()

    async def search(self, query: str, limit: int) -> Found:
        """Posts that have these words, the newest first."""
        asked = {"q": query, "limit": limit, "sort": "latest"}
        answer = await self._session.query("app.bsky.feed.searchPosts", asked)
        found = [each for each in map(post, items(answer.get("posts"))) if each is not None]
        return self._shown(found[:limit])

    async def feed(self, target: str, limit: int) -> Found:
        """The newest posts of a feed, of the members of a list, of somebody, or of those whom the account follows."""
        asked: dict[str, object] = {"limit": limit}
        if "/app.bsky.feed.generator/" in target:
            method, asked["feed"] = "app.bsky.feed.getFeed", target
        elif "/app.bsky.graph.list/" in target:
            method, asked["list"] = "app.bsky.feed.getListFeed", target
        elif target:
            method, asked["actor"] = "app.bsky.feed.getAuthorFeed", target.removeprefix("@")
        else:
            method = "app.bsky.feed.getTimeline"
        listed = items((await self._session.query(method, asked)).get("feed"))
        found = [one for each in listed if (one := post(mapping(each).get("post"))) is not None]
        return self._shown(found[:limit])

    async def profile(self, actor: str) -> Found:
        """What is public about somebody, named by handle or DID."""
        answer = await self._session.query("app.bsky.actor.getProfile", {"actor": actor.removeprefix("@")})
        who = account(answer)
        self._require(who)
        counts = {key: answer.get(f"{key}Count") for key in ("followers", "follows", "posts")}
        numbers = [f"{key.title()}: {count}" for key, count in counts.items() if isinstance(count, int)]
        data = {"did": who.did, "handle": flatten(who.handle), "name": who.shown, **counts}
        return Found((*person_profile(who).splitlines(), *numbers), data)

    async def thread(self, uri: str) -> Found:
        """A post with those that lead to it and its replies."""
        seen = await read_thread(self._session, uri, self._settings.filters)
        if seen is None:
            raise Refused(404, "NotFound", "the post was deleted, or cannot be seen by us")
        self._require(seen.post.author)
        if vacates(seen, self._us, self._settings.filters):
            raise Refused(403, "Excluded", "somebody or something in that thread is excluded by the configuration")
        above, below = seen.parents[-_MOST_PARENTS:], seen.below[:_MOST_REPLIES]
        cut = len(seen.parents) - len(above) + len(seen.below) - len(below)
        found = self._shown([*above, seen.post, *below])
        return Found(found.lines, found.data, found.hidden + cut)

    def _require(self, who: Account) -> None:
        """Raise Refused for somebody who is not to be read, by their choice or by ours."""
        if who.did == self._us.did:
            return
        if self._us.withheld(person_id(who.did)):
            raise Refused(403, "OptedOut", "the person wants nothing of us")
        excluded = who.did in self._settings.filters.exclude_dids or self._us.denied(person_id(who.did))
        if excluded or who.blocked or who.muted:
            raise Refused(403, "Excluded", "the person is excluded, blocked or muted, or has blocked us")
        if who.shy:
            raise Refused(403, "Excluded", "the person asks that only readers who are logged in see what they write")

    def _shown(self, found: list[Post]) -> Found:
        hidden, shown = hidden_from(self._us, self._settings), as_shown(self._us, self._settings)
        left = [shown(each) for each in found if not hidden(each)]
        data = [
            {"uri": each.uri, "did": each.author.did, "handle": flatten(each.author.handle), "text": each.words}
            for each in left
        ]
        return Found(tuple(self._line(each) for each in left), data, len(found) - len(left))

    def _line(self, each: Post) -> str:
        who = "you" if each.author.did == self._us.did else each.author.shown
        handle = flatten(each.author.handle)
        return f"{who} (@{handle}, {each.author.did}), {each.at:%Y-%m-%d %H:%M} UTC, {each.uri}\n  " + (
            one_line(each.words, _WORDS) or "(nothing)"
        )
