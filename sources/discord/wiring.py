"""What composition gives the Discord source: what is known and kept of it elsewhere."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

from memory.queue.gaps import Gap, Span
from memory.store.clock import Clock, utc_now
from memory.store.ids import PersonId, PlaceId
from sources.base import Knock
from sources.discord.client import Commands


@dataclass(frozen=True)
class Known:
    """A stored message of a place: its external id, and `text_mark` of the text as it is stored now."""

    external_id: str
    mark: str


Cursors: TypeAlias = Callable[[], Awaitable[Mapping[PlaceId, str]]]
"""Gives the last seen message id of every Discord place."""

RecentlyStored: TypeAlias = Callable[[PlaceId], Awaitable[Sequence[Known]]]
"""Gives the last few stored messages of persons in a place."""

NeverWrote: TypeAlias = Callable[[], Awaitable[Mapping[PersonId, datetime | None]]]
"""Gives the people to whom the bot belongs or who were let in, as far as none of their direct messages was heard.

The time is when somebody was let in: nothing that they wrote before is looked at."""


class GapStore(Protocol):
    """Where gaps are kept over restarts. What it is told is durable when it returns."""

    async def note(self, spans: Sequence[Span], reason: str, *, at_once: bool = False) -> None: ...

    async def due(self) -> Sequence[Gap]: ...

    async def wait(self) -> float | None:
        """Seconds until a gap is to be read; None while there is none."""
        ...

    async def failed(self, span: Span, reason: str) -> None: ...

    async def fill(self, span: Span) -> None:
        """It was read; noted only when what was heard is stored."""
        ...

    async def close(self, span: Span, reason: str) -> None: ...


@dataclass(frozen=True)
class Wiring:
    """What composition gives the source.

    `cursors` and `recent` say what was seen and stored, `gaps` what could not be read so far, `never_wrote` whose
    direct messages have to be looked for, `begun` as of which message id the bot listens at all (asked before the first
    connection, so that no message comes before it); `on_ready` is told the bot's name when it is connected for the
    first time.
    """

    cursors: Cursors
    recent: RecentlyStored
    never_wrote: NeverWrote
    gaps: GapStore
    begun: Callable[[], Awaitable[int | None]]
    commands: Commands
    on_ready: Callable[[str], None] = lambda _: None
    gave_up: Callable[[int], Awaitable[None]] = field(kw_only=True)
    """Tell the owner that something in a channel could not be handled, however often it was tried."""
    withheld: Callable[[PersonId], bool] = field(kw_only=True)
    """Whether a person chose that nothing they say is heard."""
    knocks: Callable[[Knock], None] = lambda _knock: None
    """Told who wrote directly without being let in, and where."""
    types: Callable[[PlaceId, PersonId], None] = lambda _place, _person: None
    """Told that somebody is typing somewhere, and `spoke` that it was sent."""
    spoke: Callable[[PlaceId, PersonId], None] = lambda _place, _person: None
    clock: Clock = utc_now
    deaf: Callable[[], bool] = field(kw_only=True)
    """Whether nothing that is said is heard for the time being; `read_back` is called when that is over."""
