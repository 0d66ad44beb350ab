"""Events for watchers of a turn: terminal, Discord previews, dashboard.

Watching never changes a turn; what must survive is stored, not sent as an event.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from memory.store.ids import PlaceId, TurnId


@dataclass(frozen=True)
class Started:
    turn: TurnId
    place: PlaceId


@dataclass(frozen=True)
class TextChunk:
    """A piece of the answer as the model writes it; `text` is everything so far, so that a lost event does no harm."""

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
    """The turn is over: its answer, if any, is in the outbox. `compacts`: its conversation should be compacted."""

    turn: TurnId
    place: PlaceId
    compacts: bool = True


@dataclass(frozen=True)
class Failed:
    """An attempt at the turn failed; `again`: there will be another."""

    turn: TurnId
    place: PlaceId
    again: bool


@dataclass(frozen=True)
class AgentStarted:
    """A member was asked for its part. `turn` is the whole run's."""

    turn: TurnId
    place: PlaceId
    name: str


@dataclass(frozen=True)
class AgentCompleted:
    """A member finished its part, or failed."""

    turn: TurnId
    place: PlaceId


@dataclass(frozen=True)
class OfMember:
    """An event of a member's turn: its text and tool calls. `turn` is the member's own."""

    turn: TurnId
    place: PlaceId
    event: "TurnEvent"


TurnEvent: TypeAlias = (
    Started
    | TextChunk
    | ToolCallStarted
    | ToolCallCompleted
    | Complete
    | Failed
    | AgentStarted
    | AgentCompleted
    | OfMember
)
Watch: TypeAlias = Callable[[TurnEvent], None]


def unwatched(_event: TurnEvent) -> None:
    """Nobody watches."""
