"""Metrics for monitoring: depths, ages and counts; labels contain nobody's words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from memory.store.clock import from_text
from memory.store.database import Rows

Sample: TypeAlias = tuple[Mapping[str, str], float]

_AGENT = "coalesce((SELECT name FROM agents WHERE agents.id = agent_id), '')"


@dataclass(frozen=True)
class Family:
    name: str
    kind: str
    help: str
    samples: Sequence[Sample]


def counted(rows: Rows, now: datetime) -> tuple[Family, ...]:
    def by(sql: str, *labels: str) -> list[Sample]:
        return [({name: str(row[name]) for name in labels}, float(row["n"] or 0)) for row in rows.all(sql)]

    inbox_oldest = rows.one("SELECT min(received_at) AS at FROM inbox WHERE status IN ('received', 'claimed')")
    outbox_oldest = rows.one("SELECT min(created_at) AS at FROM outbox WHERE status IN ('pending', 'sending')")
    return (
        Family("carina_inbox_rows", "gauge", "Messages by state",
               by("SELECT status, count(*) AS n FROM inbox GROUP BY status", "status")),
        Family("carina_inbox_oldest_seconds", "gauge", "Age of the oldest message that waits",
               [({}, _age(inbox_oldest["at"] if inbox_oldest else None, now))]),
        Family("carina_outbox_rows", "gauge", "Messages to send, by source and state",
               by("SELECT source, status, count(*) AS n FROM outbox GROUP BY source, status", "source", "status")),
        Family("carina_outbox_oldest_seconds", "gauge", "Age of the oldest answer that is not sent",
               [({}, _age(outbox_oldest["at"] if outbox_oldest else None, now))]),
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


def by_day(rows: Rows, since: str) -> tuple[dict[str, int], dict[str, int], dict[str, float]]:
    """Messages heard, turns answered, and costs of models, by day (UTC) since a day."""

    def count(what: str, source: str, at: str) -> dict[str, float]:
        sql = f"SELECT substr({at}, 1, 10) AS day, {what} AS n FROM {source} AND {at} >= ? GROUP BY 1"
        return {row["day"]: row["n"] or 0 for row in rows.all(sql, (since,))}

    heard = count("count(*)", "messages WHERE role = 'user' AND person_id IS NOT NULL", "created_at")
    answered = count(
        "count(*)", "turns WHERE status = 'done' AND parent_id IS NULL AND person_id IS NOT NULL", "started_at"
    )
    cost = count("sum(cost_usd)", "model_usage WHERE 1", "at")
    whole = ({day: int(n) for day, n in each.items()} for each in (heard, answered))
    return next(whole), next(whole), cost


def _usage(what: str) -> str:
    return f"SELECT {_AGENT} AS agent, model, {what} AS n FROM model_usage GROUP BY 1, 2"


def _age(at: str | None, now: datetime) -> float:
    return max(0.0, (now - from_text(at)).total_seconds()) if at else 0.0


def marks(rows: Rows) -> dict[str, str]:
    """A value per topic that changes when the page's data does; cheap to read."""

    def one(sql: str) -> str:
        row = rows.one(sql)
        return "" if row is None else str(row[0])

    waiting = one("SELECT count(*) FROM permission_requests WHERE status = 'waiting'")
    newest = one("SELECT max(id) FROM permission_requests WHERE status = 'waiting'")
    inbox = one("SELECT max(id) FROM inbox") + one("SELECT count(*) FROM inbox WHERE status IN ('received', 'claimed')")
    outbox = one("SELECT count(*) FROM outbox WHERE status IN ('pending', 'sending')") + one(
        "SELECT max(id) FROM outbox"
    )
    return {
        "waiting": waiting,
        "approvals": f"{waiting}/{newest}",
        "messages": f"{inbox}/{outbox}",
        "overview": f"{waiting}/{inbox}/{outbox}",
    }
