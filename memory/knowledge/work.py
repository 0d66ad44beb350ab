"""What an agent was doing when its work was interrupted.

While a turn runs, its own steps say that (`memory.queue.turns`), so nothing is written twice. When it is given up or
canceled, its steps are deleted, and what they say is kept here until the agent finishes a turn in the same place.
"""

from typing import Any

from memory.knowledge import items
from memory.knowledge.items import Item, Kind, NewItem
from memory.queue.steps import WorkState
from memory.queue.turns import Turn
from memory.store.database import Tx
from memory.store.ids import MessageId
from memory.store.records import asdict


def keep(tx: Tx, turn: Turn, state: WorkState, messages: list[MessageId]) -> None:
    """Store how far a turn came before its steps are deleted, replacing older work of its agent in that place."""
    clear(tx, turn)
    detail = {name: each for name, each in asdict(state).items() if name not in ("prompt", "at")}
    new = NewItem(
        Kind.WORK,
        turn.scope.audience,
        turn.trust,
        state.prompt,
        detail=detail,
        agent=turn.agent,
        person=turn.person,
        place=turn.place,
        turn=turn.id,
        messages=messages,
    )
    items.put(tx, new, state.at)


def clear(tx: Tx, turn: Turn) -> None:
    """Delete the record: the agent finished a turn in that place."""
    items.remove_of(tx, Kind.WORK, agent_id=turn.agent, place_id=turn.place, audience=turn.scope.audience)


def left(item: Item) -> WorkState:
    """The state of unfinished work, as it was kept."""
    said: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in item.detail.items()}
    return WorkState(**said, prompt=item.text, at=item.created_at)
