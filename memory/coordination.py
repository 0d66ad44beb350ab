"""What agents arrange among themselves: tasks, and the items of handoff notes and notes for all.

Every row is known to those who heard the turn in which it was written, and to nobody else. What one turn changes can
be seen only where the turn itself may be known: a task is completed only by a turn that its readers may know of, and
that a note was read is known to those who heard the reading. Whatever is written stands in the activity too.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from memory import activity
from memory.activity import IMPORTANCES, Importance, Kind, NewEvent
from memory.knowledge import items
from memory.knowledge.items import Kind as ItemKind
from memory.knowledge.items import NewItem
from memory.people.audience import Audience, Scope, Trust, may_write_down
from memory.queue.turns import Turn
from memory.store.clock import to_text
from memory.store.database import Rows, Tx, Value
from memory.store.errors import Refused
from memory.store.fulltext import storable
from memory.store.ids import AgentId, MessageId, PersonId, PlaceId, TurnId, new_id
from memory.store.row_mapper import RowMapper

MOST_CHARACTERS = 2_000
"""Of one task or note; a longer one is refused."""
MOST_OPEN = 100
"""Open tasks that those who hear a turn may know of; one more is refused."""
_TOLD = 300  # characters of a task or note that its event repeats


@dataclass(frozen=True)
class By:
    """Who arranges something, and who hears it: an agent in a turn, or a person by hand without one."""

    scope: Scope
    trust: Trust
    now: datetime
    agent: AgentId | None = None
    person: PersonId | None = None
    place: PlaceId | None = None
    turn: TurnId | None = None
    message: MessageId | None = None

    @classmethod
    def of_turn(cls, turn: Turn, message: MessageId | None, now: datetime) -> "By":
        return cls(turn.scope, turn.trust, now, turn.agent, turn.person, turn.place, turn.id, message)

    def event(self, kind: Kind, words: str, importance: Importance | None = None, **details: str) -> NewEvent:
        return NewEvent(
            kind, words, self.scope.audience, self.trust, self.agent, self.person, self.place, self.turn, self.message,
            importance, details,
        )  # fmt: skip

    def item(self, kind: ItemKind, text: str, key: str) -> NewItem:
        said = () if self.message is None else (self.message,)
        return NewItem(
            kind, self.scope.audience, self.trust, text, key, {}, self.agent, self.person, self.place, self.turn, said
        )

    def values(self) -> dict[str, Value]:
        """The columns of a task that say who gave it."""
        return {
            "person_id": self.person,
            "turn_id": self.turn,
            "message_id": self.message,
            "audience": self.scope.audience,
            "trust": int(self.trust),
        }


@dataclass(frozen=True)
class Task:
    """Work that somebody was given; names are empty for anyone and for people who did it by hand."""

    id: str
    description: str
    to: AgentId | None
    to_name: str
    by_name: str
    status: str
    priority: Importance
    audience: Audience
    trust: Trust
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True)
class Handoff:
    """A note from one agent to another, or to whoever comes next."""

    id: str
    content: str
    from_name: str
    to_name: str
    audience: Audience
    trust: Trust
    created_at: datetime


@dataclass(frozen=True)
class Note:
    """A note for all."""

    id: str
    text: str
    by_name: str
    importance: Importance
    audience: Audience
    trust: Trust
    at: datetime


# ------------------------------------------------------------------------------------------------------- writing


def assign(tx: Tx, by: By, description: str, to: AgentId | None, to_name: str, priority: Importance = "medium") -> Task:
    """Give an agent a task, or anyone. Raises Refused."""
    text = _checked(description, "a task")
    if len(open_tasks(tx, by.scope, MOST_OPEN)) >= MOST_OPEN:
        raise Refused(f"{MOST_OPEN} tasks are open here: complete some of them first")
    identifier, now = new_id("task"), to_text(by.now)
    values: dict[str, Value] = {"id": identifier, "description": text, "assigned_to": to, "assigned_by": by.agent}
    tx.insert(
        "coordination_tasks", {**values, **by.values(), "priority": priority, "created_at": now, "updated_at": now}
    )
    words = f"assigned a task to {to_name or 'anyone'}: {_short(text)}"
    activity.note(tx, by.event(Kind.TASK, words, priority, task=identifier, assignee=to_name), by.now)
    return task(tx, identifier, by.scope)


def complete(tx: Tx, by: By, identifier: str) -> Task:
    """Note that a task is done. Raises Refused where it is not open, or its readers may not know of this turn."""
    found = task(tx, identifier, by.scope)
    if found.status == "completed":
        raise Refused(f"task {identifier} is completed already")
    if not may_write_down(by.scope, found.audience):
        raise Refused(f"task {identifier} is known to others than hear this; complete it where they hear it too")
    sql = "UPDATE coordination_tasks SET status = 'completed', updated_at = ? WHERE id = ?"
    tx.run(sql, (to_text(by.now), identifier))
    words = f"completed the task {identifier}: {_short(found.description)}"
    event = by.event(Kind.NOTABLE, words, "low", task=identifier)
    activity.note(tx, replace(event, audience=found.audience), by.now)
    return task(tx, identifier, by.scope)


def hand_over(tx: Tx, by: By, content: str, to: AgentId | None, to_name: str) -> Handoff:
    """Leave a note for an agent, or for whoever comes next. Raises Refused."""
    text = _checked(content, "a handoff note")
    kept = items.put(tx, by.item(ItemKind.HANDOFF, text, to or ""), by.now)
    words = f"left a handoff note for {to_name or 'anyone'}: {_short(text)}"
    activity.note(tx, by.event(Kind.HANDOFF, words, note=str(kept.id), to=to_name), by.now)
    return next(each for each in handoffs(tx, by.scope, 1))


def add_note(tx: Tx, by: By, text: str, importance: Importance) -> Note:
    """Note something for all agents who may know of it. Raises Refused."""
    text = _checked(text, "a note")
    kept = items.put(tx, by.item(ItemKind.NOTE, text, importance), by.now)
    activity.note(tx, by.event(Kind.NOTABLE, f"noted: {_short(text)}", importance, note=str(kept.id)), by.now)
    return next(each for each in notes(tx, by.scope, 1))


def mark_read(tx: Tx, turn: Turn, read: Iterable[str], now: datetime) -> None:
    """Note that a turn was shown handoff notes: they are not shown again where its hearers hear."""
    sql = """INSERT INTO handoff_reads (note_id, audience, turn_id, at) SELECT id, ?, ?, ? FROM items
             WHERE kind = 'handoff' AND id IN (SELECT value FROM json_each(?)) ON CONFLICT DO NOTHING"""
    named = [int(each) for each in read]
    if named:
        tx.run(sql, (turn.scope.audience, turn.id, to_text(now), json.dumps(named)))


def _checked(text: str, what: str) -> str:
    text = storable(text).strip()
    if not text:
        raise Refused(f"{what} needs words")
    if len(text) > MOST_CHARACTERS:
        raise Refused(f"{what} has at most {MOST_CHARACTERS:,} characters; this has {len(text):,}")
    return text


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _TOLD else f"{words[:_TOLD]}…"


# ------------------------------------------------------------------------------------------------------- reading

_TASK = """SELECT t.*, coalesce(a.name, '') AS to_name, coalesce(b.name, '') AS by_name FROM coordination_tasks t
           LEFT JOIN agents a ON a.id = t.assigned_to LEFT JOIN agents b ON b.id = t.assigned_by"""
_HANDOFF = """SELECT h.*, coalesce(f.name, '') AS from_name, coalesce(t.name, '') AS to_name FROM items h
              LEFT JOIN agents f ON f.id = h.agent_id LEFT JOIN agents t ON t.id = h.key WHERE h.kind = 'handoff'"""


def task(rows: Rows, identifier: str, scope: Scope) -> Task:
    """A task that the scope may know. Raises Refused when there is none of that id."""
    condition, parameters = scope.sql("t.audience")
    row = rows.one(f"{_TASK} WHERE t.id = ? AND {condition}", (identifier, *parameters))
    if row is None:
        raise Refused(f"there is no task {identifier} that may be known here; status lists the open ones")
    return _task(row)


def open_tasks(
    rows: Rows, scope: Scope, limit: int, agent: AgentId | None = None, before: datetime | None = None
) -> list[Task]:
    """The newest open tasks, newest first; with `agent` only its own and those for anyone, of until `before`."""
    condition, parameters = scope.sql("t.audience")
    sql = f"""{_TASK} WHERE t.status IN ('pending', 'in_progress') AND {condition}
              AND (? IS NULL OR t.assigned_to IS NULL OR t.assigned_to = ?) AND (? IS NULL OR t.created_at <= ?)
              ORDER BY t.id DESC LIMIT ?"""
    until = None if before is None else to_text(before)
    return [_task(row) for row in rows.all(sql, (*parameters, agent, agent, until, until, limit))]


def tasks_between(rows: Rows, since: datetime, until: datetime, scope: Scope) -> tuple[int, int]:
    """How many tasks were completed in a time, and how many came."""
    condition, parameters = scope.sql("audience")
    within = f"BETWEEN ? AND ? AND {condition}"
    times = (to_text(since), to_text(until))
    done = f"SELECT count(*) FROM coordination_tasks WHERE status = 'completed' AND updated_at {within}"
    new = f"SELECT count(*) FROM coordination_tasks WHERE created_at {within}"
    completed, created = (rows.one(sql, (*times, *parameters)) for sql in (done, new))
    return (0 if completed is None else int(completed[0]), 0 if created is None else int(created[0]))


def handoffs(rows: Rows, scope: Scope, limit: int) -> list[Handoff]:
    """The newest handoff notes, newest first, read or not."""
    condition, parameters = scope.sql("h.audience")
    found = rows.all(f"{_HANDOFF} AND {condition} ORDER BY h.id DESC LIMIT ?", (*parameters, limit))
    return [_handoff(row) for row in found]


def unread(rows: Rows, turn: Turn, limit: int) -> list[Handoff]:
    """Notes to the turn's agent, or to anyone, that no turn has read as far as its hearers know; oldest first.

    Notes that came while the turn ran wait for the next one.
    """
    condition, parameters = turn.scope.sql("h.audience")
    read, known = turn.scope.sql("r.audience")
    sql = f"""{_HANDOFF} AND {condition} AND (h.key = ? OR (h.key = '' AND h.agent_id IS NOT ?))
              AND h.turn_id IS NOT ? AND h.created_at <= ?
              AND NOT EXISTS (SELECT 1 FROM handoff_reads r WHERE r.note_id = h.id AND r.turn_id <> ? AND {read})
              ORDER BY h.id LIMIT ?"""
    values: tuple[Value, ...] = (
        *parameters,
        turn.agent,
        turn.agent,
        turn.id,
        to_text(turn.started_at),
        turn.id,
        *known,
        limit,
    )
    return [_handoff(row) for row in rows.all(sql, values)]


def notes(
    rows: Rows,
    scope: Scope,
    limit: int,
    since: datetime | None = None,
    at_least: Importance = "low",
    until: datetime | None = None,
) -> list[Note]:
    """The newest notes for all, newest first, of an importance and above."""
    condition, parameters = scope.sql("n.audience")
    wanted = json.dumps(IMPORTANCES[IMPORTANCES.index(at_least) :])
    sql = f"""SELECT n.*, coalesce((SELECT name FROM agents WHERE id = n.agent_id), '') AS by_name FROM items n
              WHERE n.kind = 'note' AND {condition} AND n.key IN (SELECT value FROM json_each(?))
              AND n.created_at BETWEEN ? AND ? ORDER BY n.id DESC LIMIT ?"""
    times = "" if since is None else to_text(since), "~" if until is None else to_text(until)
    values: tuple[Value, ...] = (*parameters, wanted, *times, limit)
    return [_note(row) for row in rows.all(sql, values)]


_task = RowMapper(Task, to="assigned_to")


_handoff = RowMapper(Handoff, id=lambda row: str(row["id"]), content="text")


# ------------------------------------------------------------------------------------------------------- people
_note = RowMapper(Note, id=lambda row: str(row["id"]), importance="key", at="created_at")
