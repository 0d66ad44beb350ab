"""What turns arranged among agents (tasks, handoff notes, notes for all) or learned as facts, and undoing it.

Rows that a turn wrote name the turn, or the message that it answered. A turn's change of a task is recorded only in the
activity log, with the task's earlier state.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from memory.activity import Kind, TaskChanged, read_details
from memory.agenda import tasks
from memory.people.audience import Scope
from memory.store.database import Rows, Tx, Value
from memory.store.ids import TurnId
from texts import gettext_lazy, gettext_noop

What: TypeAlias = Literal["task changed", "task", "handoff note", "note", "fact"]
_MADE: dict[What, str] = {
    "task": "tasks WHERE shared",
    "handoff note": "items WHERE kind = 'handoff'",
    "note": "items WHERE kind = 'note'",
}
_OPEN = "status IN ('open', 'in_progress')"


class Arrangement(Struct, frozen=True):
    """One arrangement; `at` is its time in stored form."""

    what: What
    id: str
    at: str
    turn: TurnId


def of_turns(rows: Rows, turns: Iterable[TurnId], scope: Scope) -> list[Arrangement]:
    """What these turns arranged, as far as the scope may know it. Changes of tasks come first, the last one first."""
    named = list(turns)
    within = "turn_id IN (SELECT value FROM json_each(?)) AND KNOWN(audience)"
    sql = f"""SELECT turn_id, at, json_extract(details, '$.task') AS task FROM activity_events
              WHERE {within} AND event_type = 'notable' AND task IS NOT NULL ORDER BY id DESC"""
    done = [
        Arrangement("task changed", row["task"], row["at"], TurnId(row["turn_id"]))
        for row in rows.all(*scope.bind(sql, named))
    ]
    made = [
        Arrangement(what, str(row["id"]), "", TurnId(row["turn_id"]))
        for what, made in _MADE.items()
        for row in rows.all(*scope.bind(f"SELECT id, turn_id FROM {made} AND {within} ORDER BY id", named))
    ]
    sql = """SELECT s.id, i.turn_id FROM fact_sources s JOIN inbox i ON i.message_id = s.message_id
              WHERE i.turn_id IN (SELECT value FROM json_each(?)) AND KNOWN(s.audience)
              AND s.origin = 'agent' ORDER BY s.id"""
    facts = [
        Arrangement("fact", str(row["id"]), "", TurnId(row["turn_id"])) for row in rows.all(*scope.bind(sql, named))
    ]
    return [*done, *made, *facts]


def take_back(tx: Tx, arranged: Arrangement) -> tuple[bool, str]:
    """Undo it, with its entries in the activity log; returns whether that was possible, and the result in words."""
    if arranged.what == "task changed":
        sql = """SELECT id, details FROM activity_events WHERE turn_id = ?
                 AND at = ? AND event_type = 'notable' AND json_extract(details, '$.task') = ? ORDER BY id DESC"""
        row = tx.one(sql, (arranged.turn, arranged.at, arranged.id))
        change = None if row is None else read_details(Kind.NOTABLE, row["details"])
        if row is None or not isinstance(change, TaskChanged) or not change.before:
            return False, gettext_lazy("its earlier state is not known")
        if not tasks.restore(tx, change.before, arranged.at):
            return False, gettext_lazy("somebody has changed it since")
        tx.run("DELETE FROM activity_events WHERE id = ?", (row["id"],))
        return True, gettext_lazy("it is as it was before")
    if arranged.what == "fact":
        gone = tx.run("DELETE FROM fact_sources WHERE id = ?", (int(arranged.id),))
        told = gettext_noop("it can no longer be seen from there") if gone else gettext_noop("it is already gone")
        return bool(gone), gettext_lazy(told)
    still = f" AND {_OPEN}" if arranged.what == "task" else ""
    if not tx.run(f"DELETE FROM {_MADE[arranged.what]} AND id = ?{still}", (arranged.id,)):
        return False, gettext_lazy("it is completed")
    values: tuple[Value, ...] = (arranged.turn, "$.task" if arranged.what == "task" else "$.note", arranged.id)
    tx.run("DELETE FROM activity_events WHERE turn_id = ? AND json_extract(details, ?) = ?", values)
    return True, gettext_lazy("it is gone")
