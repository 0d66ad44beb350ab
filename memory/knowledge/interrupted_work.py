"""What an agent was doing when its work was interrupted.

While a turn runs, its own steps say that (`memory.queue.turns`), so nothing is written twice. When it is given up or
canceled, its steps are deleted, and what they say is kept here until the agent finishes a turn in the same place.
"""

import json
from dataclasses import replace

import msgspec

from memory.knowledge import items
from memory.knowledge.items import Item, Kind, encoded
from memory.queue.steps import WorkState
from memory.queue.turns import Turn
from memory.store.database import Tx
from memory.store.ids import MessageId


def keep(tx: Tx, turn: Turn, state: WorkState, messages: list[MessageId]) -> None:
    """Store how far a turn came before its steps are deleted, replacing older work of its agent in that place."""
    clear(tx, turn)
    heard, by = (turn.scope.audience, turn.trust, state.at, state.at), (turn.agent, turn.person, turn.place, turn.id)
    detail = encoded(replace(state, prompt=""))  # that is the item's text
    items.put(tx, Item(Kind.WORK, *heard, state.prompt, "", detail, *by), messages)


def clear(tx: Tx, turn: Turn) -> None:
    """Delete the record: the agent finished a turn in that place."""
    items.remove_of(tx, Kind.WORK, agent_id=turn.agent, place_id=turn.place, audience=turn.scope.audience)


def left(item: Item) -> WorkState:
    """The state of interrupted work, as it was kept."""
    found = json.loads(item.detail) | {"prompt": item.text, "at": item.created_at}
    return msgspec.convert(found, WorkState)
