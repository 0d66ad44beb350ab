"""What composition gives the Bluesky source: what is known and kept of it elsewhere."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.requests import Verdict
from memory.store.clock import Clock, utc_now
from memory.store.ids import PersonId, PlaceId


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
