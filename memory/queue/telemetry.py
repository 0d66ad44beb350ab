"""Telemetry: metrics (labels contain nobody's words), and what is stored of single turns, for traces."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta, tzinfo
from typing import Any, TypeAlias

from msgspec import Struct

from memory.store.clock import from_text
from memory.store.database import Row, Rows
from memory.store.ids import TurnId

Sample: TypeAlias = tuple[Mapping[str, str], float]

_INBOX, _OUTBOX = "inbox WHERE status IN ('received', 'claimed')", "outbox WHERE status IN ('pending', 'sending')"
_AGENT = "coalesce((SELECT name FROM agents WHERE agents.id = agent_id), '')"


class Family(Struct, frozen=True):
    name: str
    kind: str
    help: str
    samples: Sequence[Sample]


def counted(rows: Rows, now: datetime) -> tuple[Family, ...]:
    def by(sql: str, *labels: str) -> list[Sample]:
        return [({name: str(row[name]) for name in labels}, float(row["n"] or 0)) for row in rows.all(sql)]

    def age(at: str, unfinished: str) -> list[Sample]:
        oldest = rows.value(f"SELECT min({at}) FROM {unfinished}", (), from_text)
        return [({}, 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds()))]

    return (
        Family("carina_inbox_rows", "gauge", "Messages by state",
               by("SELECT status, count(*) AS n FROM inbox GROUP BY status", "status")),
        Family("carina_inbox_oldest_seconds", "gauge", "Age of the oldest message that waits",
               age("received_at", _INBOX)),
        Family("carina_outbox_rows", "gauge", "Messages to send, by source and state",
               by("SELECT source, status, count(*) AS n FROM outbox GROUP BY source, status", "source", "status")),
        Family("carina_outbox_oldest_seconds", "gauge", "Age of the oldest answer that is not sent",
               age("created_at", _OUTBOX)),
        Family("carina_turns", "gauge", "Turns by state",
               by("SELECT status, count(*) AS n FROM turns GROUP BY status", "status")),
        Family("carina_model_calls_total", "counter", "Model calls",
               by(_usage("count(*)"), "agent", "model")),
        Family("carina_model_input_tokens_total", "counter", "Tokens sent to models",
               by(_usage("sum(input_tokens)"), "agent", "model")),
        Family("carina_model_output_tokens_total", "counter", "Tokens written by models",
               by(_usage("sum(output_tokens)"), "agent", "model")),
        Family("carina_model_cost_dollars_total", "counter", "Cost of models with a known price",
               by(_usage("sum(cost_usd)"), "agent", "model")),
        Family("carina_approvals", "gauge", "Requests for approval by state",
               by("SELECT status, count(*) AS n FROM permission_requests GROUP BY status", "status")),
        Family("carina_jobs", "gauge", "Scheduled jobs by state",
               by("SELECT status, count(*) AS n FROM jobs GROUP BY status", "status")),
    )  # fmt: skip


def by_day(rows: Rows, since: datetime, zone: tzinfo) -> tuple[dict[date, int], dict[date, int], dict[date, float]]:
    """Messages heard, those of them that were answered, alone or together, and costs of models, by day in a zone."""

    def count(what: str, source: str, at: str) -> dict[date, Any]:
        # in every zone, days begin at a quarter of an hour
        sql = f"SELECT unixepoch({at}) / 900 * 900 AS quarter, {what} AS n FROM {source} AND {at} >= ? GROUP BY 1"
        found: dict[date, Any] = defaultdict(int)
        for row in rows.all(sql, (since,)):
            found[datetime.fromtimestamp(row["quarter"], zone).date()] += row["n"] or 0
        return found

    heard = count("count(*)", "messages WHERE role = 'user' AND person_id IS NOT NULL", "created_at")
    done = (
        "messages m JOIN turns t ON t.id = batch_id WHERE role = 'user' AND m.person_id IS NOT NULL AND status = 'done'"
    )
    answered = count("count(*)", done, "created_at")
    cost = count("sum(cost_usd)", "model_usage WHERE 1", "at")
    return heard, answered, cost


def _usage(what: str) -> str:
    return f"SELECT {_AGENT} AS agent, model, {what} AS n FROM model_usage GROUP BY 1, 2"


def marks(rows: Rows) -> dict[str, str]:
    """A value per topic that changes when the page's data does; cheap to read."""

    def number(sql: str) -> int:
        return rows.number(f"SELECT {sql}")

    waiting = number("count(*) FROM permission_requests WHERE status = 'waiting'")
    newest = number("max(id) FROM permission_requests WHERE status = 'waiting'")
    inbox = f"{number('max(id) FROM inbox')}/{number(f'count(*) FROM {_INBOX}')}"
    outbox = f"{number('max(id) FROM outbox')}/{number(f'count(*) FROM {_OUTBOX}')}"
    return {
        "waiting": str(waiting),
        "approvals": f"{waiting}/{newest}",
        "messages": f"{inbox}/{outbox}",
        "overview": f"{waiting}/{inbox}/{outbox}",
    }


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
    sql = """SELECT at, details ->> 'tool' AS tool, coalesce(details ->> 'call', '') AS call FROM activity_events
             WHERE turn_id = ? AND event_type = 'tool_executed'"""
    return rows.all(sql, (turn,))


def model_calls(rows: Rows, turn: TurnId) -> list[Row]:
    return rows.all("SELECT * FROM model_usage WHERE turn_id = ?", (turn,))


def approvals(rows: Rows, turn: TurnId) -> list[Row]:
    return rows.all("SELECT * FROM permission_requests WHERE turn_id = ?", (turn,))


def deliveries(rows: Rows, turn: TurnId) -> list[Row]:
    return rows.all("SELECT * FROM outbox WHERE turn_id = ? AND kind = 'text' ORDER BY id", (turn,))
