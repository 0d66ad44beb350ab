"""Events for watchers of a turn: terminal, Discord previews, dashboard.

Watching never changes a turn; what must survive is stored, not sent as an event.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from memory.store.ids import PlaceId, TurnId


@dataclass(frozen=True)
class TurnEvent:
    turn: TurnId
    place: PlaceId


class Started(TurnEvent):
    pass


@dataclass(frozen=True)
class TextChunk(TurnEvent):
    """A piece of the answer as the model writes it; `text` is everything so far, so that a lost event does no harm."""

    text: str


@dataclass(frozen=True)
class ToolCallStarted(TurnEvent):
    tool: str


@dataclass(frozen=True)
class ToolCallCompleted(TurnEvent):
    tool: str
    ok: bool


@dataclass(frozen=True)
class Complete(TurnEvent):
    """The turn is over: its answer, if any, is in the outbox. `compacts`: its conversation should be compacted."""

    compacts: bool = True


@dataclass(frozen=True)
class Failed(TurnEvent):
    """An attempt at the turn failed; `again`: there will be another."""

    again: bool


@dataclass(frozen=True)
class AgentStarted(TurnEvent):
    """A member was asked for its part. `turn` is the whole run's."""

    name: str


@dataclass(frozen=True)
class AgentCompleted(TurnEvent):
    """A member finished its part, or failed."""


@dataclass(frozen=True)
class OfMember(TurnEvent):
    """An event of a member's turn: its text and tool calls. `turn` is the member's own."""

    event: TurnEvent


Watch: TypeAlias = Callable[[TurnEvent], None]


def unwatched(_event: TurnEvent) -> None:
    """Nobody watches."""
