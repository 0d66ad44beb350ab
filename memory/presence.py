"""When agents were active: for whom, and since when they are not. What one audience cannot know leaves no trace here.

The rows belong to the store of activity (`memory.activity`), which exports and erases them.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from memory import activity
from memory.activity import IDLE, Kind, NewEvent
from memory.people.audience import Audience, Scope, Trust
from memory.queue.turns import Turn
from memory.store.clock import from_text
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId
from memory.store.row_mapper import RowMapper


@dataclass(frozen=True)
class Neighbour:
    """Another agent of the constellation; `last_active`, and what its last session was about, as far as those who ask
    may know."""

    id: AgentId
    name: str
    description: str
    last_active: datetime | None
    did: str = ""


Seen: TypeAlias = tuple[datetime, bool]
"""When an agent was active last, and whether it is still."""


def came(tx: Tx, turn: Turn, row: Seen | None, now: datetime) -> None:
    """A turn of an agent begins: it is active for those who hear it, and was activated unless it was so already.

    `row` is what `seen` says of them.
    """
    if row is None or not row[1] or now - row[0] >= IDLE:
        if row is not None and row[1]:
            _gone(tx, turn.agent, turn.scope.audience, row[0] + IDLE)
        activity.note(tx, activity.of_turn(turn, Kind.ACTIVATED, "became active"), now)
    _be_active(tx, turn, now)


def stayed(tx: Tx, turn: Turn, now: datetime) -> None:
    """A turn of an agent ends."""
    _be_active(tx, turn, now)


def _be_active(tx: Tx, turn: Turn, now: datetime) -> None:
    sql = """INSERT INTO agent_presence (agent_id, audience, last_active, active) VALUES (?, ?, ?, 1)
             ON CONFLICT DO UPDATE SET last_active = excluded.last_active, active = 1"""
    tx.run(sql, (turn.agent, turn.scope.audience, now))


def deactivate_idle(tx: Tx, now: datetime) -> int:
    """Write down which agents are not active any more; how many."""
    found = tx.all(
        "SELECT agent_id, audience, last_active FROM agent_presence WHERE active = 1 AND last_active <= ?",
        (now - IDLE,),
    )
    for row in found:
        _gone(tx, AgentId(row["agent_id"]), Audience(row["audience"]), from_text(row["last_active"]) + IDLE)
    return len(found)


def any_idle(rows: Rows, now: datetime) -> bool:
    """Whether `deactivate_idle` would write anything."""
    sql = "SELECT 1 FROM agent_presence WHERE active = 1 AND last_active <= ? LIMIT 1"
    return rows.one(sql, (now - IDLE,)) is not None


def _gone(tx: Tx, agent: AgentId, audience: Audience, at: datetime) -> None:
    tx.run("UPDATE agent_presence SET active = 0 WHERE agent_id = ? AND audience = ?", (agent, audience))
    event = NewEvent(Kind.DEACTIVATED, "was not active any more", audience, Trust.SYSTEM, agent)
    activity.note(tx, event, at)


def seen(rows: Rows, agent: AgentId, scope: Scope) -> dict[Audience, Seen]:
    """When an agent had its last turn, for each audience of those that the scope may know."""
    condition, parameters = scope.sql("audience")
    sql = f"SELECT audience, last_active, active FROM agent_presence WHERE agent_id = ? AND {condition}"
    found = rows.all(sql, (agent, *parameters))
    return {Audience(row["audience"]): (from_text(row["last_active"]), bool(row["active"])) for row in found}


def others(rows: Rows, agent: AgentId, scope: Scope) -> list[Neighbour]:
    """The other agents that are not archived, by name."""
    condition, parameters = scope.sql("p.audience")
    heard, known = scope.sql("s.audience")
    sql = f"""SELECT a.id, a.name, a.description, max(p.last_active) AS at,
                (SELECT s.what FROM sessions s WHERE s.agent_id = a.id AND s.ended = 1 AND {heard}
                 ORDER BY s.last_at DESC, s.id DESC LIMIT 1) AS did FROM agents a
              LEFT JOIN agent_presence p ON p.agent_id = a.id AND {condition}
              WHERE a.id <> ? AND a.status <> 'archived' GROUP BY a.id ORDER BY a.name"""
    return [_neighbour(row) for row in rows.all(sql, (*known, *parameters, agent))]


_neighbour = RowMapper(Neighbour, last_active="at")
