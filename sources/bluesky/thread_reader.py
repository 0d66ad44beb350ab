"""Reading a thread from the server, with its other branches, which no answer about one post holds."""

from dataclasses import replace

from memory.store.logs import Log
from sources.bluesky.failures import NoAnswer, Refused
from sources.bluesky.session import BlueskySession
from sources.bluesky.settings import Filters
from sources.bluesky.threads import DEPTH, PARENTS, Thread, siblings, thread, writers

log = Log(__name__)

_METHOD = "app.bsky.feed.getPostThread"


async def read_thread(
    session: BlueskySession, uri: str, filters: Filters, *, with_siblings: bool = False
) -> Thread | None:
    """A post with what leads to it and what follows it; None when it cannot be seen. Raises CallFailed.

    Posts beside the way to it are in no answer about it, so the first post is asked for too where they are to be shown,
    and where people are excluded: these are looked for as deep as a thread goes, and nothing is heard unless they were.
    """
    asked = {"uri": uri, "depth": DEPTH, "parentHeight": PARENTS}
    seen = thread(await session.query(_METHOD, asked))
    if seen is None or seen.root.uri == seen.post.uri or not (with_siblings or filters.exclude_dids):
        return seen
    depth = PARENTS if filters.exclude_dids else len(seen.parents) + DEPTH
    try:
        below = await session.query(_METHOD, {"uri": seen.root.uri, "depth": depth, "parentHeight": 0})
    except Refused:  # it was deleted in this moment: nothing more can be known of its thread
        return seen
    except NoAnswer as why:
        if filters.exclude_dids:
            raise
        log.warning("bluesky_branches_unread", reason=why.reason)
        return seen
    way = [each.uri for each in (*seen.parents, seen.post)]
    return replace(seen, siblings=siblings(below, way), others=seen.others | writers(below))
