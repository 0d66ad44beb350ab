"""What composition passes to the Discord source: state that is stored elsewhere."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

from memory.queue.gaps import Gap, Span
from memory.store.clock import Clock, utc_now
from memory.store.ids import PersonId, PlaceId
from sources.base import UnknownPerson
from sources.discord.client import Commands


@dataclass(frozen=True)
class Known:
    """A stored message of a place: its external id, and the `text_mark` of its stored text."""

    external_id: str
    mark: str


Cursors: TypeAlias = Callable[[], Awaitable[Mapping[PlaceId, str]]]
"""Returns the last seen message id of every Discord place."""

RecentlyStored: TypeAlias = Callable[[PlaceId], Awaitable[Sequence[Known]]]
"""Returns the last few stored messages of people in a place."""

NeverWrote: TypeAlias = Callable[[], Awaitable[Mapping[PersonId, datetime | None]]]
"""Returns the owner and people who were let in, if none of their direct messages was heard yet.

The time is when they were let in: earlier messages are ignored.
"""


class GapStore(Protocol):
    """Stores gaps across restarts. Its writes are durable when they return."""

    async def note(self, spans: Sequence[Span], reason: str, *, at_once: bool = False) -> None: ...

    async def due(self) -> Sequence[Gap]: ...

    async def wait(self) -> float | None:
        """Seconds until the next gap is due; None if there is none."""
        ...

    async def failed(self, span: Span, reason: str) -> None: ...

    async def fill(self, span: Span) -> None:
        """The span was read; recorded only once the messages are stored."""
        ...

    async def close(self, span: Span, reason: str) -> None: ...


@dataclass(frozen=True)
class Wiring:
    """What composition passes to the source.

    `cursors` and `recent` return what was seen and stored, `gaps` stores what could not be read, `never_wrote` returns
    whose direct messages must be looked for, `listens_from` the message id from which the bot listens at all (called
    before the first connection, so that no message comes before it); `on_ready` gets the bot's name on the first
    connection, and `reachable` is called on every one.
    """

    cursors: Cursors
    recent: RecentlyStored
    never_wrote: NeverWrote
    gaps: GapStore
    listens_from: Callable[[], Awaitable[int | None]]
    commands: Commands
    on_ready: Callable[[str], None] = lambda _: None
    reachable: Callable[[], None] = lambda: None
    gave_up: Callable[[int], Awaitable[None]] = field(kw_only=True)
    """Tell the owner that something in a channel could not be handled, despite retries."""
    ignored: Callable[[PersonId], bool] = field(kw_only=True)
    """Whether nothing that a person writes may be stored or answered."""
    unknown_wrote: Callable[[UnknownPerson], None] = lambda _unknown: None
    """Gets people who wrote directly without being let in, and where."""
    types: Callable[[PlaceId, PersonId], None] = lambda _place, _person: None
    """Called when somebody types; `spoke` when they have sent it."""
    spoke: Callable[[PlaceId, PersonId], None] = lambda _place, _person: None
    clock: Clock = utc_now
    paused: Callable[[], bool] = field(kw_only=True)
    """Whether receiving is paused; `read_back` is called when the pause ends."""
