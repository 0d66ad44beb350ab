"""What a turn tells those who watch it: terminal, Discord previews, later the dashboard.

Watching never changes a turn; what must survive is stored, not sent as an event.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from memory.ids import PlaceId, TurnId


@dataclass(frozen=True)
class Started:
    turn: TurnId
    place: PlaceId


@dataclass(frozen=True)
class TextChunk:
    """A piece of the answer as the model writes it; `text` is everything so far, so that a lost piece heals."""

    turn: TurnId
    place: PlaceId
    text: str


@dataclass(frozen=True)
class ToolCallStarted:
    turn: TurnId
    place: PlaceId
    tool: str


@dataclass(frozen=True)
class ToolCallCompleted:
    turn: TurnId
    place: PlaceId
    tool: str
    ok: bool


@dataclass(frozen=True)
class Complete:
    """The turn is over: its answer, if any, is in the outbox."""

    turn: TurnId
    place: PlaceId


@dataclass(frozen=True)
class Failed:
    """A try at the turn went wrong; `again` says whether there will be another."""

    turn: TurnId
    place: PlaceId
    again: bool


TurnEvent: TypeAlias = Started | TextChunk | ToolCallStarted | ToolCallCompleted | Complete | Failed
Watch: TypeAlias = Callable[[TurnEvent], None]


def unwatched(_event: TurnEvent) -> None:
    """Nobody watches."""
