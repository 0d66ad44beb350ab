"""Reading a thread from the server, with who else wrote in it where that decides whether it is heard at all."""

from contextlib import suppress
from dataclasses import replace

from sources.bluesky.failures import Refused
from sources.bluesky.session import BlueskySession
from sources.bluesky.settings import Filters
from sources.bluesky.threads import DEPTH, PARENTS, Thread, thread, writers

_METHOD = "app.bsky.feed.getPostThread"


async def read_thread(session: BlueskySession, uri: str, filters: Filters) -> Thread | None:
    """A post with what leads to it and what follows it; None when it cannot be seen. Raises CallFailed.

    Posts beside the way to it are in no answer about it, so where people are excluded the first post is asked for too.
    """
    asked = {"uri": uri, "depth": DEPTH, "parentHeight": PARENTS}
    seen = thread(await session.query(_METHOD, asked))
    if seen is None or not filters.exclude_dids or seen.root.uri == seen.post.uri:
        return seen
    with suppress(Refused):  # it was deleted in this moment: nothing more can be known of its thread
        below = await session.query(_METHOD, {"uri": seen.root.uri, "depth": PARENTS, "parentHeight": 0})
        return replace(seen, others=seen.others | writers(below))
    return seen
