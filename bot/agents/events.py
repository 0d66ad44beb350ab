"""What a turn tells those who watch it: terminal, Discord previews, later the dashboard.

Watching never changes a turn; what must survive is stored, not sent as an event.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from memory.store.ids import AgentId, PlaceId, TurnId


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


@dataclass(frozen=True)
class GroupStarted:
    """A group begins to answer by asking several of its members. `turn` is the whole run's in all of these."""

    turn: TurnId
    place: PlaceId
    group: str
    pattern: str
    agent_count: int


@dataclass(frozen=True)
class AgentStarted:
    """A member was asked for its part."""

    turn: TurnId
    place: PlaceId
    agent: AgentId
    name: str
    role: str
    doing: str
    """"answer", "stage", "ballot", "choice" or "task"."""


@dataclass(frozen=True)
class AgentCompleted:
    """A member gave its part, or did not: `ok`."""

    turn: TurnId
    place: PlaceId
    agent: AgentId
    name: str
    ok: bool


@dataclass(frozen=True)
class OfMember:
    """What happens in a member's part: its text and its tool calls. `turn` is the part's own."""

    turn: TurnId
    place: PlaceId
    event: "TurnEvent"


@dataclass(frozen=True)
class GroupComplete:
    """The run is over; `seconds` since it began, `responses` how many members' words it is made of."""

    turn: TurnId
    place: PlaceId
    group: str
    pattern: str
    seconds: float
    responses: int
    changes: Mapping[str, Any]
    """What the run came to: who spoke, stages, tally."""


@dataclass(frozen=True)
class GroupError:
    """Something went wrong with a member (or the run, without one); `recoverable`: it goes on without it, or again."""

    turn: TurnId
    place: PlaceId
    agent: AgentId | None
    message: str
    recoverable: bool


TurnEvent: TypeAlias = (
    Started
    | TextChunk
    | ToolCallStarted
    | ToolCallCompleted
    | Complete
    | Failed
    | GroupStarted
    | AgentStarted
    | AgentCompleted
    | OfMember
    | GroupComplete
    | GroupError
)
Watch: TypeAlias = Callable[[TurnEvent], None]


def unwatched(_event: TurnEvent) -> None:
    """Nobody watches."""
