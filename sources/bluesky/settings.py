"""The settings for Bluesky as plain values; composition fills them from file and environment."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field
from pydantic import SecretStr

from memory.permission_requests import Verdict
from memory.store.clock import Clock, utc_now
from memory.store.ids import PersonId, PlaceId


class Filters(Struct, frozen=True):
    """Which posts that address the account are heard; `sources.bluesky.answer_rules` has the order.

    `dids` is an allow list: an empty one limits nothing. Lists of people are of DIDs, which nobody can take over, never
    of handles. Keywords are looked for in any case, as parts of the text.
    """

    exclude_dids: frozenset[str] = frozenset()
    exclude_keywords: tuple[str, ...] = ()
    friends: frozenset[str] = frozenset()
    dids: frozenset[str] = frozenset()
    allow_any_mentions: bool = False
    mentions: frozenset[str] = frozenset()
    keywords: tuple[str, ...] = ()
    languages: frozenset[str] = frozenset()
    require_agent_participation: bool = True


class BlueskySettings(Struct, frozen=True):
    """All settings of the Bluesky source and its endpoint. `session_file` stores the session (mode 0600)."""

    handle: str
    password: SecretStr
    session_file: Path
    service: str = "https://bsky.social"
    poll_seconds: float = 2
    owner: str = ""
    """The owner's own DID."""
    filters: Filters = field(default_factory=Filters)
    direct_messages: bool = True
    """Whether direct messages are read and written, where the server has them."""
    jetstream: str = ""
    """URL of a Jetstream server, as wss://…/xrpc; empty for no subscription."""
    follow_dids: frozenset[str] = frozenset()
    follow_lists: tuple[str, ...] = ()
    follow_keywords: tuple[str, ...] = ()
    max_posts: int = 4
    numbered: bool = False
    post_languages: tuple[str, ...] = ("en",)
    """The languages of posts that are not replies; a reply has those of the post that it answers."""
    batch_seconds: float = 20
    bot_answers_per_day: int = 0
    read_back_days: float = 7


class Act(Struct, frozen=True):
    """What a person did to a post of ours, or to the account; `words` continue "Somebody"."""

    person: PersonId
    words: str
    at: datetime


class RememberedPost(Struct, frozen=True):
    """A post that memory holds: its message id, its place, and when it was posted."""

    message: str
    place: PlaceId
    at: datetime


class Wiring(Struct, frozen=True, kw_only=True):
    """What composition passes to the source and its endpoint.

    `seen` looks up known external ids and `pass_over` records skipped ones; `mark` and `set_mark` store, by name, up to
    where everything is decided; `settled` waits until deliveries are stored, False if that lasts; `opt` stores an
    opt-out (True) or opt-in.
    """

    seen: Callable[[Sequence[str]], Awaitable[set[str]]]
    held: Callable[[int], Awaitable[Sequence[RememberedPost]]]
    """The newest posts that memory holds, at most so many."""
    heard: Callable[[str], Awaitable[tuple[str, PlaceId] | None]]
    """The message and place of the post with this URI; None if it was not heard."""
    conversation_posts: Callable[[Sequence[str]], Awaitable[set[str]]]
    """Which of these posts, ours or others', are in a conversation."""
    withdraw: Callable[[str], Awaitable[None]]
    """Take back our answer to a deleted post, if that is configured."""
    pass_over: Callable[[Mapping[str, str]], Awaitable[None]]
    suspect: Callable[[str, str], Awaitable[None]]
    """Tell the owner once of a thread (its first post) that it is not answered any more, since somebody (their name)
    goes on there like a machine."""
    mark: Callable[[str], Awaitable[str | None]]
    set_mark: Callable[[str, str], Awaitable[None]]
    settled: Callable[[], Awaitable[bool]]
    opt: Callable[[PersonId, bool], Awaitable[None]]
    answered: Callable[[PersonId], Awaitable[int]]
    """How often a person was answered during the last day."""
    ignored: Callable[[PersonId], bool]
    denied: Callable[[PersonId], bool]
    """Whether a person was shut out by command."""
    allowed: Callable[[PersonId], bool]
    """Whether a person was let in by command."""
    decide: Callable[[PersonId, str, str, Verdict], Awaitable[str]]
    """Give somebody's answer (person, handle, the end of the request's number, what they say).

    Words for them where it does not count. Without a number nothing is decided: they are told what waits, if anything.
    """
    noted: Callable[[Sequence[Act]], Awaitable[None]]
    """Records likes, reposts and follows."""
    paused: Callable[[], bool]
    on_ready: Callable[[str], None]
    clock: Clock = utc_now
