"""Events for watchers of a turn: terminal, Discord previews, dashboard.

Watching never changes a turn; what must survive is stored, not sent as an event.
"""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from memory.store.ids import PlaceId, TurnId


class TurnEvent(Struct, frozen=True):
    turn: TurnId
    place: PlaceId


class TurnStarted(TurnEvent, frozen=True):
    pass


class ModelAsked(TurnEvent, frozen=True):
    """A model was called, and its answer is pending. `model` is the first one's name, if others stand in for it."""

    model: str


class TextChunk(TurnEvent, frozen=True):
    """A piece of the answer as the model writes it; `text` is the whole text so far, so a lost event does no harm."""

    text: str


class ToolCallStarted(TurnEvent, frozen=True):
    tool: str


class ToolCallCompleted(TurnEvent, frozen=True):
    tool: str
    ok: bool


class TurnCompleted(TurnEvent, frozen=True):
    """The turn is over: its answer, if any, is in the outbox. `compacts`: its conversation should be compacted."""

    compacts: bool = True


class TurnFailed(TurnEvent, frozen=True):
    """An attempt at the turn failed; `again`: there will be another."""

    again: bool


class AgentStarted(TurnEvent, frozen=True):
    """A member was asked for its part. `turn` is the whole run's."""

    name: str


class AgentCompleted(TurnEvent, frozen=True):
    """A member finished its part, or failed."""


class OfMember(TurnEvent, frozen=True):
    """An event of a member's turn: its text and tool calls. `turn` is the member's own."""

    event: TurnEvent


Watch: TypeAlias = Callable[[TurnEvent], None]
