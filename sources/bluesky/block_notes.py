"""Notes for the blocks that a post brings: of its thread, and of who wrote it. Pure."""

import hashlib
from collections.abc import Callable

from memory.queue.payloads import BlockNote
from sources.bluesky.identifiers import person_id
from sources.bluesky.server_responses import Account, Post
from sources.bluesky.threads import Thread
from sources.text import one_line

_MOST_LABEL = 100


def block_notes(
    post: Post, view: Post, thread: Thread, us: str, hidden: Callable[[Post], bool]
) -> tuple[BlockNote, ...]:
    """Those of the thread and of the person, by record and DID, so that they survive a rename."""
    return (
        BlockNote(
            label=_label("bluesky_thread", thread.post.root.uri),
            description="Notes on this Bluesky thread; everyone may know them.",
            profile=_thread_profile(thread, us, hidden),
        ),
        BlockNote(
            label=_label("bluesky_user", post.author.did),
            description="About the speaker; everyone may know it.",
            profile=person_profile(view.author, f"{post.at:%Y-%m-%d %H:%M} UTC"),
            about=person_id(post.author.did),
        ),
    )


def _label(kind: str, identifier: str) -> str:
    """A block's label; an id that is too long for one (a DID may have 2,000 characters) becomes a digest."""
    label = f"{kind}:{identifier}"
    if len(label) <= _MOST_LABEL:
        return label
    return f"{kind}:{hashlib.sha256(identifier.encode()).hexdigest()[:32]}"


def _thread_profile(thread: Thread, us: str, hidden: Callable[[Post], bool]) -> str:
    """A thread in a few lines, without anybody's words, and without names of people whose posts are `hidden`."""
    root = thread.first
    seen = [each for each in thread.posts if each is thread.post or not hidden(each)]
    people = dict.fromkeys("you" if each.author.did == us else each.author.shown for each in seen)
    began = "by somebody whose post is not shown"
    if root is not None and root in seen:
        began = f"by: {'you' if root.author.did == us else root.author.shown}, {root.at:%Y-%m-%d %H:%M} UTC"
    return "\n".join(
        [
            f"First post: {thread.post.root.uri}",
            f"Begun {began}",
            f"Here: {', '.join(list(people)[:20])}",
            f"Newest post to you: {thread.post.uri}",
        ]
    )


def person_profile(who: Account, seen: str = "") -> str:
    """The public data of a person; `seen`: when they last addressed us."""
    parts = [
        ("Name", who.shown),
        ("Handle", one_line(who.handle)),
        ("DID", who.did),
        ("About themselves", one_line(who.description)),
        ("A bot", "yes, by its own word" if who.is_bot else ""),
        ("Last seen", seen),
    ]
    return "\n".join(f"{what}: {value}" for what, value in parts if value)
