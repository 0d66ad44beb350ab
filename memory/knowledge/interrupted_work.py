"""What an agent was doing when its work was interrupted.

While a turn runs, its own steps say that (`memory.queue.turns`), so nothing is written twice. When it is given up or
canceled, its steps are deleted, and what they say is kept here until the agent finishes a turn in the same place.
"""

import msgspec
from msgspec import Struct

from memory.knowledge import items
from memory.knowledge.items import Item, Kind, encoded
from memory.queue.steps import CutOff, WorkState
from memory.queue.turns import Turn
from memory.store.database import Tx
from memory.store.ids import MessageId
from memory.store.records import asdict


class _Reached(Struct, frozen=True):
    """What a `WorkState` has besides the prompt and the time."""

    status: CutOff
    summary: str
    decisions: tuple[str, ...]
    next_steps: tuple[str, ...]
    unfinished: tuple[str, ...]
    files: tuple[str, ...]
    commits: tuple[str, ...]
    last_activity: str


def keep(tx: Tx, turn: Turn, state: WorkState, messages: list[MessageId]) -> None:
    """Store how far a turn came before its steps are deleted, replacing older work of its agent in that place."""
    clear(tx, turn)
    reached, by = msgspec.convert(state, _Reached, from_attributes=True), (turn.agent, turn.person, turn.place, turn.id)
    heard = turn.scope.audience, turn.trust, state.at, state.at
    items.put(tx, Item(Kind.WORK, *heard, state.prompt, "", encoded(reached), *by), messages)


def clear(tx: Tx, turn: Turn) -> None:
    """Delete the record: the agent finished a turn in that place."""
    items.remove_of(tx, Kind.WORK, agent_id=turn.agent, place_id=turn.place, audience=turn.scope.audience)


def left(item: Item) -> WorkState:
    """The state of interrupted work, as it was kept."""
    return WorkState(**asdict(item.read(_Reached)), prompt=item.text, at=item.created_at)
