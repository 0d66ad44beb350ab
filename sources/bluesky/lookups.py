"""Lookups of agents on Bluesky: posts by words, people, threads, as lines. People who opted out are left out."""

from msgspec import Struct

from memory.store.logs import Log
from memory.store.records import replace
from sources.bluesky.answer_rules import vacates
from sources.bluesky.block_notes import person_profile
from sources.bluesky.conversion import as_shown, hidden_from
from sources.bluesky.failures import CallRefused, NoAnswer
from sources.bluesky.server_responses import Account, Post, account, items, mapping, post
from sources.bluesky.session import BlueskySession, SharedState
from sources.bluesky.settings import Filters
from sources.bluesky.threads import DEPTH, PARENTS, Thread, siblings, thread, writers
from sources.names import flatten
from sources.text import one_line
from texts import gettext_lazy

log = Log(__name__)

_METHOD = "app.bsky.feed.getPostThread"


async def read_thread(
    session: BlueskySession, uri: str, filters: Filters, *, with_siblings: bool = False
) -> Thread | None:
    """A post with the posts above and below it; None if it is not visible. Raises CallFailed.

    The answer for a post lacks side branches, so the first post is also fetched if they are to be shown, or if people
    are excluded: these are searched for to the maximum depth, and nothing is heard otherwise.
    """
    asked = {"uri": uri, "depth": DEPTH, "parentHeight": PARENTS}
    seen = thread(await session.query(_METHOD, asked))
    if seen is None or seen.root.uri == seen.post.uri or not (with_siblings or filters.exclude_dids):
        return seen
    depth = PARENTS if filters.exclude_dids else len(seen.parents) + DEPTH
    try:
        below = await session.query(_METHOD, {"uri": seen.root.uri, "depth": depth, "parentHeight": 0})
    except CallRefused:  # just deleted: nothing more can be known of its thread
        return seen
    except NoAnswer as why:
        if filters.exclude_dids:
            raise
        log.warning("bluesky_branches_unread", reason=why.reason)
        return seen
    way = [each.uri for each in (*seen.parents, seen.post)]
    return replace(seen, siblings=siblings(below, way), others=seen.others | writers(below))


_WORDS = 600
"""Characters of a post, including its embeds, that are shown."""
_MOST_REPLIES, _MOST_PARENTS = 20, 20


class FoundLines(Struct, frozen=True):
    """Lines for a model, and how many posts are not shown."""

    lines: tuple[str, ...]
    hidden: int = 0


class BlueskyReader:
    """Looks things up with the account. Every call raises CallFailed."""

    def __init__(self, state: SharedState) -> None:
        self._state, self._session = state, state.session

    async def search(self, query: str, limit: int) -> FoundLines:
        """Posts with these words, newest first."""
        asked = {"q": query, "limit": limit, "sort": "latest"}
        answer = await self._session.query("app.bsky.feed.searchPosts", asked)
        found = [each for each in map(post, items(answer.get("posts"))) if each is not None]
        return self._shown(found[:limit])

    async def feed(self, target: str, limit: int) -> FoundLines:
        """The newest posts of a feed, of a list's members, of a person, or of those whom the account follows."""
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

    async def profile(self, actor: str) -> FoundLines:
        """The public profile of a person, by handle or DID."""
        answer = await self._session.query("app.bsky.actor.getProfile", {"actor": actor.removeprefix("@")})
        who = account(answer)
        self._require(who)
        counts = {key: answer.get(f"{key}Count") for key in ("followers", "follows", "posts")}
        numbers = [f"{key.title()}: {count}" for key, count in counts.items() if isinstance(count, int)]
        return FoundLines((*person_profile(who).splitlines(), *numbers))

    async def thread(self, uri: str) -> FoundLines:
        seen = await read_thread(self._session, uri, self._state.settings.filters)
        if seen is None:
            raise CallRefused(404, "NotFound", gettext_lazy("the post was deleted, or the bot cannot see it"))
        self._require(seen.post.author)
        if vacates(seen, self._state.us):
            raise CallRefused(
                403, "Excluded", gettext_lazy("somebody or something in that thread is excluded by the configuration")
            )
        above, below = seen.parents[-_MOST_PARENTS:], seen.below[:_MOST_REPLIES]
        cut = len(seen.parents) - len(above) + len(seen.below) - len(below)
        found = self._shown([*above, seen.post, *below])
        return FoundLines(found.lines, found.hidden + cut)

    def _require(self, who: Account) -> None:
        """Raise CallRefused for a person who must not be read, by their choice or by ours."""
        if who.did == self._state.us.did:
            return
        if who.shy or self._state.us.shut_out(who) is not None:
            raise CallRefused(
                403,
                "Excluded",
                gettext_lazy(
                    "the person opted out, is excluded, blocked or muted, has blocked the bot, or wants only readers "
                    "who are logged in"
                ),
            )

    def _shown(self, found: list[Post]) -> FoundLines:
        hidden, shown = hidden_from(self._state.us), as_shown(self._state.us)
        left = [shown(each) for each in found if not hidden(each)]
        return FoundLines(tuple(self._line(each) for each in left), len(found) - len(left))

    def _line(self, each: Post) -> str:
        who = "you" if each.author.did == self._state.us.did else each.author.shown
        handle = flatten(each.author.handle)
        return f"{who} (@{handle}, {each.author.did}), {each.at:%Y-%m-%d %H:%M} UTC, {each.uri}\n  " + (
            one_line(each.words, _WORDS) or "(nothing)"
        )
