"""What the owner configures about Bluesky, as plain values; composition fills it from file and environment."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import SecretStr

from memory.requests import Verdict
from memory.store.clock import Clock, utc_now
from memory.store.ids import PersonId, PlaceId


@dataclass(frozen=True)
class Filters:
    """What of the posts that address the account is heard; `sources.bluesky.filters` has the order.

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


@dataclass(frozen=True)
class BlueskySettings:
    """Everything the Bluesky source and its endpoint are told. `session_file` is where the session is kept (0600)."""

    handle: str
    password: SecretStr
    session_file: Path
    service: str = "https://bsky.social"
    poll_seconds: float = 2
    owner: str = ""
    """The owner's own DID."""
    filters: Filters = field(default_factory=Filters)
    direct: bool = True
    """Whether direct messages are read and written, where the server has them."""
    direct_dids: frozenset[str] = frozenset()
    """Whose direct messages are answered beside the owner's."""
    jetstream: str = ""
    """Address of a Jetstream server, as wss://…/xrpc; empty for no subscription."""
    follow_dids: frozenset[str] = frozenset()
    follow_lists: tuple[str, ...] = ()
    follow_keywords: tuple[str, ...] = ()
    most_posts: int = 4
    numbered: bool = False
    languages: tuple[str, ...] = ("en",)
    """Of posts that answer nobody; an answer has the languages of what it answers."""
    batch_seconds: float = 20
    bot_answers_per_day: int = 0
    read_back_days: float = 7
    points_per_hour: int = 5_000
    points_per_day: int = 35_000


@dataclass(frozen=True)
class Act:
    """What somebody did to a post of ours, or to the account; `words` go on from "Somebody"."""

    person: PersonId
    words: str
    at: datetime


@dataclass(frozen=True)
class RememberedPost:
    """A post whose words memory holds: as a message, where, and when it was posted."""

    message: str
    place: PlaceId
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """What composition gives the source and its endpoint.

    `seen` and `pass_over` are what is known of external ids; `mark` and `set_mark` keep, by name, up to where all is
    decided; `settled` waits until what was delivered is stored; `opt` stores that somebody wants out (True) or in.
    """

    seen: Callable[[Sequence[str]], Awaitable[set[str]]]
    held: Callable[[int], Awaitable[Sequence[RememberedPost]]]
    """The posts whose words memory holds, the newest so many."""
    heard: Callable[[str], Awaitable[tuple[str, PlaceId] | None]]
    """The message that the post with this URI became, and where; None for what was not heard."""
    standing: Callable[[Sequence[str]], Awaitable[set[str]]]
    """Which of these posts stand in a conversation, ours and others'."""
    withdraw: Callable[[str], Awaitable[None]]
    """Take our answer to a post back, where that is wanted: the post was deleted."""
    pass_over: Callable[[Mapping[str, str]], Awaitable[None]]
    suspect: Callable[[str, str], Awaitable[None]]
    """Tell the owner once of a thread (its first post) that it is not answered any more, since somebody (their name)
    goes on there like a machine."""
    mark: Callable[[str], Awaitable[str | None]]
    set_mark: Callable[[str, str], Awaitable[None]]
    settled: Callable[[], Awaitable[None]]
    opt: Callable[[PersonId, bool], Awaitable[None]]
    answered: Callable[[PersonId], Awaitable[int]]
    """How often a person was answered during the last day."""
    withheld: Callable[[PersonId], bool]
    denied: Callable[[PersonId], bool]
    """Whether somebody was shut out by command."""
    allowed: Callable[[PersonId], bool]
    """Whether somebody was let in by command."""
    decide: Callable[[PersonId, str, str, Verdict], Awaitable[str]]
    """Give somebody's answer (person, handle, the end of the request's number, what they say).

    Words for them where it does not count. Without a number nothing is decided: they are told what waits, if anything.
    """
    noted: Callable[[Sequence[Act]], Awaitable[None]]
    """Notes likes, reposts and follows."""
    paused: Callable[[], bool]
    on_ready: Callable[[str], None] = lambda _: None
    clock: Clock = utc_now
