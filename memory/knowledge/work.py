"""What an agent was doing when its work was cut off.

While a turn runs its own steps say that (`memory.queue.turns`), so nothing is written twice. When it is given up or
cancelled its steps go, and what they say is kept here until a turn of the agent comes to its end in the same place.
"""

from dataclasses import asdict
from typing import Any

from memory.knowledge import items
from memory.knowledge.items import Item, Kind, NewItem
from memory.queue.steps import WorkState
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx, Value
from memory.store.ids import MessageId


def keep(tx: Tx, turn: Turn, state: WorkState, messages: list[MessageId]) -> None:
    """Keep how far a turn came whose steps go; what was kept for its agent in that place before goes."""
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
    """A turn of the agent came to its end there."""
    items.remove_of(tx, Kind.WORK, **_whose(turn))


def left(rows: Rows, turn: Turn) -> WorkState | None:
    """What came to nothing before a turn, in its place and for those who hear it."""
    found = _of_turn(rows, turn)
    if not found:
        return None
    item = found[0]
    said: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in item.detail.items()}
    return WorkState(**said, prompt=item.text, at=item.created_at)


def _of_turn(rows: Rows, turn: Turn) -> list[Item]:
    return items.find(rows, Kind.WORK, **_whose(turn))


def _whose(turn: Turn) -> dict[str, Value]:
    return {"agent_id": turn.agent, "place_id": turn.place, "audience": turn.scope.audience}
