"""The turns of sleeptime groups, which nobody asked for: which there were, why, and what they said and arranged."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from memory.people.audience import Audience, Scope
from memory.store.clock import from_text
from memory.store.database import Rows
from memory.store.ids import AgentId, PlaceId, TurnId
from memory.store.row_mapper import RowMapper
from texts import unpacked

_IS_ROOT = """t.parent_id IS NULL AND t.person_id IS NULL
    AND (t.group_id IN (SELECT id FROM agent_groups WHERE pattern_type = 'sleeptime')
      OR EXISTS (SELECT 1 FROM inbox i WHERE i.turn_id = t.id AND i.source = 'sleeptime'))"""


class SleeptimeTurn(Struct, frozen=True):
    """A turn of a sleeptime group. `why` is what its agent was told: the triggers, with what they were about."""

    id: TurnId
    agent: AgentId
    agent_name: str
    group_name: str
    place: PlaceId
    audience: Audience
    status: str
    started_at: datetime
    why: str
    said: tuple[str, ...]
    """The messages that it sent."""
    arranged: tuple[str, ...]
    """Other things that it left, in the words of the activity log: tasks, notes."""
    parts: tuple[TurnId, ...] = ()
    """Turns of others that it caused."""

    @property
    def all(self) -> tuple[TurnId, ...]:
        return (self.id, *self.parts)


def is_sleeptime_turn(rows: Rows, turn: TurnId) -> bool:
    """Whether a turn, or the one that caused it, is of a sleeptime group."""
    sql = f"""WITH RECURSIVE up (id, parent) AS (SELECT id, parent_id FROM turns WHERE id = ?
              UNION SELECT t.id, t.parent_id FROM turns t JOIN up ON t.id = up.parent)
              SELECT 1 FROM turns t WHERE t.id IN (SELECT id FROM up) AND {_IS_ROOT}"""
    return rows.one(sql, (turn,)) is not None


def turns_between(rows: Rows, start: datetime, end: datetime, scope: Scope) -> list[SleeptimeTurn]:
    """Those that began in a time and that the scope may know, oldest first."""
    sql = f"""SELECT t.*, coalesce(a.name, t.agent_id) AS agent_name, coalesce(g.name, '') AS group_name FROM turns t
              LEFT JOIN agents a ON a.id = t.agent_id LEFT JOIN agent_groups g ON g.id = t.group_id
              WHERE t.started_at >= ? AND t.started_at < ? AND KNOWN(t.audience) AND {_IS_ROOT} ORDER BY t.id"""
    night = RowMapper(
        SleeptimeTurn,
        why=lambda row: _why(rows, row["id"], scope),
        said=lambda row: _said(rows, row["id"], scope),
        arranged=lambda row: _arranged(rows, row["id"], scope),
        parts=lambda row: _parts(rows, row["id"]),
    )
    return night.all(rows, *scope.bind(sql, start, end))


def begun_since(rows: Rows, since: datetime, scope: Scope) -> list[datetime]:
    """The start times of those since then that the scope may know, newest first."""
    sql = f"""SELECT t.started_at FROM turns t WHERE t.started_at >= ? AND KNOWN(t.audience) AND {_IS_ROOT}
              ORDER BY t.id DESC"""
    return [from_text(row["started_at"]) for row in rows.all(*scope.bind(sql, since))]


def count_elsewhere(rows: Rows, start: datetime, end: datetime, known: Sequence[SleeptimeTurn]) -> int:
    """How many more there were in that time than the `known` ones."""
    sql = f"SELECT count(*) FROM turns t WHERE t.started_at >= ? AND t.started_at < ? AND {_IS_ROOT}"
    return rows.number(sql, (start, end)) - len(known)


def undone(rows: Rows, name: str, scope: Scope) -> list[tuple[datetime, str]]:
    """When a night was undone, and what was recorded about it, as far as the scope may know; newest first."""
    sql = """SELECT at, words FROM activity_events WHERE event_type = 'notable' AND KNOWN(audience)
              AND json_extract(details, '$.night_undone') = ? ORDER BY id DESC"""
    return [(from_text(row["at"]), unpacked(row["words"])) for row in rows.all(*scope.bind(sql, name))]


def _why(rows: Rows, turn: TurnId, scope: Scope) -> str:
    sql = """SELECT m.content FROM messages m WHERE m.id IN (SELECT message_id FROM inbox WHERE turn_id = ?)
              AND KNOWN(m.audience) AND m.role = 'system' ORDER BY m.id LIMIT 1"""
    return rows.value(*scope.bind(sql, turn), str) or ""


def _said(rows: Rows, turn: TurnId, scope: Scope) -> tuple[str, ...]:
    sql = "SELECT content FROM outbox WHERE turn_id = ? AND kind <> 'preview' AND KNOWN(audience) ORDER BY id"
    return tuple(row["content"] for row in rows.all(*scope.bind(sql, turn)) if row["content"])


def _arranged(rows: Rows, turn: TurnId, scope: Scope) -> tuple[str, ...]:
    sql = """SELECT words FROM activity_events WHERE turn_id = ? AND KNOWN(audience)
              AND event_type IN ('task_assigned', 'handoff_initiated', 'notable') ORDER BY id"""
    return tuple(unpacked(row["words"]) for row in rows.all(*scope.bind(sql, turn)))


def _parts(rows: Rows, turn: TurnId) -> tuple[TurnId, ...]:
    sql = """WITH RECURSIVE down (id) AS (SELECT ? UNION SELECT t.id FROM turns t JOIN down ON t.parent_id = down.id)
             SELECT id FROM down WHERE id <> ? ORDER BY id"""
    return tuple(TurnId(row["id"]) for row in rows.all(sql, (turn, turn)))
