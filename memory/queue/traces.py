"""Stored data of running and finished turns, for the page of a message, traces and metrics."""

from datetime import datetime, timedelta

from memory.store.database import Row, Rows
from memory.store.ids import TurnId

_LONGEST = timedelta(days=2)  # how far back a finished turn is searched for
_ENDED = """
    SELECT t.id, t.status, t.started_at, t.ended_at, a.name AS agent, g.name AS team,
           min(i.received_at) AS heard, i.source FROM turns t
    JOIN agents a ON a.id = t.agent_id LEFT JOIN agent_groups g ON g.id = t.group_id
    LEFT JOIN inbox i ON i.turn_id = t.id
    WHERE t.parent_id IS NULL AND t.started_at >= ? AND t.ended_at >= ? AND NOT EXISTS
        (SELECT 1 FROM outbox o WHERE o.turn_id = t.id AND o.status IN ('pending', 'sending') AND t.ended_at >= ?)
    GROUP BY t.id ORDER BY t.id"""


def ended(rows: Rows, since: datetime, late: datetime) -> list[Row]:
    """Turns that ended since then, with their answers delivered or waiting since before `late`."""
    return rows.all(_ENDED, (since - _LONGEST, since, late))


def with_parts(rows: Rows, turn: TurnId) -> list[Row]:
    """A turn, followed by its members' parts in order."""
    sql = """SELECT t.id, t.status, t.started_at, t.ended_at, coalesce(a.name, '') AS agent FROM turns t
             LEFT JOIN agents a ON a.id = t.agent_id WHERE t.id = ? OR t.parent_id = ? ORDER BY t.id"""
    return rows.all(sql, (turn, turn))


def tool_calls(rows: Rows, turn: TurnId) -> list[Row]:
    return rows.all("SELECT * FROM activity_events WHERE turn_id = ? AND event_type = 'tool_executed'", (turn,))


def model_calls(rows: Rows, turn: TurnId) -> list[Row]:
    return rows.all("SELECT * FROM model_usage WHERE turn_id = ?", (turn,))


def approvals(rows: Rows, turn: TurnId) -> list[Row]:
    return rows.all("SELECT * FROM permission_requests WHERE turn_id = ?", (turn,))


def deliveries(rows: Rows, turn: TurnId) -> list[Row]:
    return rows.all("SELECT * FROM outbox WHERE turn_id = ? AND kind = 'text' ORDER BY id", (turn,))
