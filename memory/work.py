"""What an agent was doing when its work was cut off.

While a turn runs its own steps say that (`memory.turns`), so nothing is written twice. When it is given up or cancelled
its steps go, and what they say is kept here until a turn of the agent comes to its end in the same place.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from memory.clock import from_text, to_text
from memory.database import Rows, Tx, Value, as_dict
from memory.ids import MessageId
from memory.turns import Turn

Status: TypeAlias = Literal["interrupted", "failed", "cancelled"]
"""Found running by a later life of the service; given up, or tried again; not wanted any more. While a turn runs its
row says so."""

_TEXTS = "status", "prompt", "summary", "last_activity"
_LISTS = "decisions", "next_steps", "unfinished", "files", "commits"


@dataclass(frozen=True)
class WorkState:
    """How far a turn came. `files` are files and links; `last_activity` is what it did last, in a few words."""

    status: Status
    prompt: str
    summary: str
    decisions: tuple[str, ...]
    next_steps: tuple[str, ...]
    unfinished: tuple[str, ...]
    files: tuple[str, ...]
    commits: tuple[str, ...]
    last_activity: str
    at: datetime


def to_data(state: WorkState) -> dict[str, Any]:
    """As plain data."""
    return {**asdict(state), "at": to_text(state.at)}


def of_data(data: Mapping[str, Any]) -> WorkState:
    """Back from `to_data`."""
    said: dict[str, Any] = {name: data[name] for name in _TEXTS}
    lists: dict[str, Any] = {name: tuple(data[name]) for name in _LISTS}
    return WorkState(**said, **lists, at=from_text(data["at"]))


def keep(tx: Tx, turn: Turn, state: WorkState, messages: list[MessageId]) -> None:
    """Keep how far a turn came whose steps go; what was kept for its agent in that place before goes."""
    data = to_data(state)
    values: dict[str, Value] = {
        "agent_id": turn.agent,
        "place_id": turn.place,
        "turn_id": turn.id,
        "messages": json.dumps(messages),
        "person_id": turn.person,
        "audience": turn.scope.audience,
        "trust": int(turn.trust),
    }
    lists: dict[str, Value] = {name: json.dumps(data[name], ensure_ascii=False) for name in _LISTS}
    clear(tx, turn)
    tx.insert("work_states", {**data, **values, **lists})


def clear(tx: Tx, turn: Turn) -> None:
    """A turn of the agent came to its end there."""
    sql = "DELETE FROM work_states WHERE agent_id = ? AND place_id = ? AND audience = ?"
    tx.run(sql, (turn.agent, turn.place, turn.scope.audience))


def left(rows: Rows, turn: Turn) -> WorkState | None:
    """What came to nothing before a turn, in its place and for those who hear it."""
    sql = "SELECT * FROM work_states WHERE agent_id = ? AND place_id = ? AND audience = ?"
    row = rows.one(sql, (turn.agent, turn.place, turn.scope.audience))
    if row is None:
        return None
    return of_data({**as_dict(row), **{name: json.loads(row[name]) for name in _LISTS}})
