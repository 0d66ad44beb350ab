"""What a turn tells those who watch it: terminal, Discord previews, later the dashboard.

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
    """The turn is over: its answer, if any, is in the outbox. `compacts`: its agent may want a shorter conversation."""

    turn: TurnId
    place: PlaceId
    compacts: bool = True


@dataclass(frozen=True)
class Failed:
    """A try at the turn went wrong; `again` says whether there will be another."""

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
    """A member gave its part, or did not."""

    turn: TurnId
    place: PlaceId


@dataclass(frozen=True)
class OfMember:
    """What happens in a member's part: its text and its tool calls. `turn` is the part's own."""

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
