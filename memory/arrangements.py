"""What turns arranged among agents (tasks, handoff notes, notes for all) and learned as facts, and taking it back.

Rows that a turn wrote name it, or the message it was told. That a turn completed a task stands in the activity alone,
with the task and the time.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from memory.people.audience import Scope
from memory.store.clock import to_text
from memory.store.database import Rows, Tx, Value
from memory.store.ids import TurnId

What: TypeAlias = Literal["task completed", "task", "handoff note", "note", "fact"]
_MADE: dict[What, str] = {
    "task": "coordination_tasks WHERE true",
    "handoff note": "items WHERE kind = 'handoff'",
    "note": "items WHERE kind = 'note'",
}
_OPEN = "status IN ('pending', 'in_progress')"


@dataclass(frozen=True)
class Arranged:
    """One thing; `at` is when, as it is stored."""

    what: What
    id: str
    at: str
    turn: TurnId


def of_turns(rows: Rows, turns: Iterable[TurnId], scope: Scope) -> list[Arranged]:
    """What these turns arranged, as far as the scope may know it: tasks that they completed come before all others."""
    named = json.dumps(list(turns))
    condition, parameters = scope.sql("audience")
    within = f"turn_id IN (SELECT value FROM json_each(?)) AND {condition}"
    sql = f"""SELECT turn_id, at, json_extract(details, '$.task') AS task FROM activity_events
              WHERE {within} AND event_type = 'notable' AND task IS NOT NULL ORDER BY id"""
    done = [
        Arranged("task completed", row["task"], row["at"], TurnId(row["turn_id"]))
        for row in rows.all(sql, (named, *parameters))
    ]
    made = [
        Arranged(what, str(row["id"]), "", TurnId(row["turn_id"]))
        for what, made in _MADE.items()
        for row in rows.all(f"SELECT id, turn_id FROM {made} AND {within} ORDER BY id", (named, *parameters))
    ]
    known, told = scope.sql("s.audience")
    sql = f"""SELECT s.id, i.turn_id FROM fact_sources s JOIN inbox i ON i.message_id = s.message_id
              WHERE i.turn_id IN (SELECT value FROM json_each(?)) AND {known} AND s.origin = 'agent' ORDER BY s.id"""
    facts = [Arranged("fact", str(row["id"]), "", TurnId(row["turn_id"])) for row in rows.all(sql, (named, *told))]
    return [*done, *made, *facts]


def take_back(tx: Tx, arranged: Arranged, now: datetime) -> tuple[bool, str]:
    """Let it not have been, with what the activity says of it; whether that could be, and what came of it in words."""
    if arranged.what == "task completed":
        sql = """UPDATE coordination_tasks SET status = 'pending', updated_at = ?
                 WHERE id = ? AND status = 'completed' AND updated_at = ?"""
        if not tx.run(sql, (to_text(now), arranged.id, arranged.at)):
            return False, "somebody changed it since"
        _forget_event(tx, arranged, "event_type = 'notable'", "task")
        return True, "it is open again"
    if arranged.what == "fact":
        gone = tx.run("DELETE FROM fact_sources WHERE id = ?", (int(arranged.id),))
        return bool(gone), "it is not known from there any more" if gone else "it is gone already"
    still = f" AND {_OPEN}" if arranged.what == "task" else ""
    if not tx.run(f"DELETE FROM {_MADE[arranged.what]} AND id = ?{still}", (arranged.id,)):
        return False, "it is completed"
    _forget_event(tx, arranged, "1", "task" if arranged.what == "task" else "note")
    return True, "it is gone"


def _forget_event(tx: Tx, arranged: Arranged, kind: str, key: str) -> None:
    values: tuple[Value, ...] = (arranged.turn, f"$.{key}", arranged.id)
    tx.run(f"DELETE FROM activity_events WHERE turn_id = ? AND {kind} AND json_extract(details, ?) = ?", values)
