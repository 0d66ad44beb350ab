"""A thread as its reader sees it: the posts above and below one, and both as lines for a model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from memory.store.records import replace
from sources.bluesky.identifiers import author_of
from sources.bluesky.server_responses import Post, items, post
from sources.text import one_line
from texts import many

PARENTS, DEPTH = 80, 6
"""Posts above and levels below that are requested."""
_SHOWN_DEPTH, _MOST_REPLIES, _MOST_LINES = 3, 12, 50
_MOST_SIBLINGS, _SIBLING_LENGTH = 8, 200
"""How many posts of other branches are shown, and the characters of each."""


class Branch(Struct, frozen=True):
    """A reply with its replies; `post` is None if it is not visible."""

    post: Post | None
    replies: tuple["Branch", ...] = ()

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Branch"]]:
        yield depth, self
        for reply in self.replies:
            yield from reply.walk(depth + 1)

    def changed(self, change: Callable[[Post], Post]) -> "Branch":
        post = change(self.post) if self.post is not None else None
        return Branch(post, tuple(reply.changed(change) for reply in self.replies))


class Thread(Struct, frozen=True):
    """A post with those above it, the first one first, and its replies. `cut`: some are missing.

    `siblings` are branches that leave the path to the post, if they were requested. `others` are DIDs of other known
    authors in the thread: of hidden posts, and of other branches.
    """

    post: Post
    parents: tuple[Post, ...] = ()
    replies: tuple[Branch, ...] = ()
    siblings: tuple[Branch, ...] = ()
    cut: bool = False
    others: frozenset[str] = frozenset()

    @property
    def below(self) -> list[Post]:
        return _seen(self.replies)

    @property
    def posts(self) -> list[Post]:
        return [*self.parents, self.post, *self.below, *_seen(self.siblings)]

    @property
    def root(self) -> Post:
        """The first visible post."""
        return self.parents[0] if self.parents else self.post

    @property
    def first(self) -> Post | None:
        """The thread's first post, if it is visible."""
        top = self.root
        return top if top.uri == self.post.root.uri else None

    def changed(self, change: Callable[[Post], Post]) -> "Thread":
        """The thread with `change` applied to each post."""
        parents = tuple(change(each) for each in self.parents)
        replies = tuple(each.changed(change) for each in self.replies)
        siblings = tuple(each.changed(change) for each in self.siblings)
        return replace(self, post=change(self.post), parents=parents, replies=replies, siblings=siblings)


def _seen(branches: tuple[Branch, ...]) -> list[Post]:
    return [each.post for branch in branches for _, each in branch.walk() if each.post is not None]


def thread(data: Mapping[str, Any]) -> Thread | None:
    """Parse an answer of getPostThread; None if the post itself is not visible."""
    view = data.get("thread")
    if not isinstance(view, dict) or (found := post(view.get("post"))) is None:
        return None
    parents, above, cut = [], view.get("parent"), False
    while isinstance(above, dict):
        one = post(above.get("post"))
        if one is None:
            cut = True
            break
        parents.append(one)
        above = above.get("parent")
    return Thread(found, tuple(reversed(parents)), _branches(view), cut=cut, others=writers(data))


def siblings(data: Mapping[str, Any], way: Sequence[str]) -> tuple[Branch, ...]:
    """The branches that leave the path to the last of these URIs, from the answer for a thread's first post."""
    found: list[Branch] = []
    view = data.get("thread")
    while isinstance(view, dict):
        below = None
        for each in _listed(view):
            one = post(each.get("post"))
            if one is not None and one.uri in way:
                below = each if one.uri != way[-1] else None
            else:
                found.append(Branch(one, _branches(each)))
        view = below
    return tuple(found)


def writers(data: Mapping[str, Any]) -> frozenset[str]:
    """The DIDs of all authors in an answer of getPostThread, even of hidden posts."""
    found, left = set(), [data.get("thread")]
    while left:
        view = left.pop()
        if not isinstance(view, dict):
            continue
        shown = view.get("post")
        uri = shown.get("uri") if isinstance(shown, dict) else view.get("uri") if view.get("blocked") else None
        if isinstance(uri, str):
            found.add(author_of(uri))
        left += [view.get("parent"), *items(view.get("replies"))]
    return frozenset(found - {""})


def _branches(view: Mapping[str, Any], depth: int = 0) -> tuple[Branch, ...]:
    if depth >= DEPTH:
        return ()
    return tuple(Branch(post(each.get("post")), _branches(each, depth + 1)) for each in _listed(view))


def _listed(view: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [each for each in items(view.get("replies")) if isinstance(each, dict)]


def lines(
    thread: Thread, us: str, hidden: Callable[[Post], bool], known: Callable[[Post], bool] = lambda _post: False
) -> tuple[str, ...]:
    """The thread around its post, a line per other post, except `hidden` ones.

    Posts that are `known`, in the conversation or with the post, are left out.
    """
    parents = [each for each in thread.parents if hidden(each) or not known(each)]
    found: list[str] = []
    hid = 0
    if thread.cut and parents[:1] == [*thread.parents[:1]]:
        found.append("(earlier posts of the thread cannot be seen)")
    for each in parents:
        if hidden(each):
            hid += 1
        else:
            found.append(_line(each, us))
    beside, more_beside = _near(thread.siblings[::-1], _MOST_SIBLINGS, hidden, known)
    if beside:
        found.append("beside it, in other branches of the thread, the nearest first:")
        by_uri = {each.uri: each for each in thread.posts if not hidden(each)}
        for depth, each in beside:
            to = by_uri.get(each.parent.uri) if each.parent is not None else None
            whom = _who(to, us) if to is not None else "a post that is not shown"
            found.append(f"{'  ' * depth}{_who(each, us)} (to {whom}): {one_line(each.words, _SIBLING_LENGTH)}")
    below, more = _near(thread.replies, _MOST_REPLIES, hidden, known)
    if below:
        found += ["after the newest post:", *(f"{'  ' * depth}{_line(each, us)}" for depth, each in below)]
    if hid := hid + more + more_beside:
        found.append(f"({many(hid, 'post is', 'posts are')} not shown)")
    return tuple(found if len(found) <= _MOST_LINES else [found[0], "(…)", *found[-_MOST_LINES:]])


def _near(
    branches: Sequence[Branch], most: int, hidden: Callable[[Post], bool], known: Callable[[Post], bool]
) -> tuple[list[tuple[int, Post]], int]:
    """The posts of branches that are shown, with their depths, and how many others are unknown."""
    walked = [(depth, each.post) for branch in branches for depth, each in branch.walk()]
    left = [(depth, each) for depth, each in walked if each is None or hidden(each) or not known(each)]
    near = [(depth, each) for depth, each in left if depth < _SHOWN_DEPTH and each is not None and not hidden(each)]
    return near[:most], len(left) - len(near[:most])


def _line(each: Post, us: str) -> str:
    return f"{_who(each, us)}: {one_line(each.words)}"


def _who(each: Post, us: str) -> str:
    return "you" if each.author.did == us else each.author.shown
