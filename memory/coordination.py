"""What agents arrange among themselves, as rows: shared tasks, handoff notes, and notes for all; and undoing it.

Each row is known only to those who heard the turn that wrote it. A turn's changes are visible only where the turn may
be known: a task is changed only by a turn that all its readers may know about, and only those who heard the reading
know that a note was read. Everything written here is in the activity log, too; a turn's change of a task is recorded
there alone, with the task's earlier state.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct

from memory import activity
from memory.activity import IMPORTANCES, Importance, Kind, NewEvent, TaskChanged, read_details
from memory.agenda import tasks
from memory.agenda.tasks import LONGEST_TITLE, Before, Priority, Status, Task
from memory.agents import Agent
from memory.knowledge.items import By
from memory.knowledge.items import Kind as ItemKind
from memory.people.audience import Audience, Scope, Trust, may_write_down
from memory.queue.turns import Turn
from memory.store.clock import to_text
from memory.store.database import Rows, Tx, Value
from memory.store.errors import Refused
from memory.store.fulltext import storable
from memory.store.ids import TurnId
from memory.store.records import replace
from memory.store.row_mapper import RowMapper
from texts import gettext_lazy, gettext_noop

MOST_CHARACTERS = 2_000
"""The maximum length of a task or note; longer ones are refused."""
_TOLD = 300  # characters of a task or note that its event repeats


class Handoff(Struct, frozen=True):
    """A note from one agent to another, or to whoever continues."""

    id: str
    content: str
    from_name: str
    to_name: str
    audience: Audience
    trust: Trust
    created_at: datetime


class Note(Struct, frozen=True):
    id: str
    text: str
    by_name: str
    importance: Importance
    audience: Audience
    trust: Trust
    at: datetime


# ------------------------------------------------------------------------------------------------------- writing


def assign(tx: Tx, by: By, words: str, to: Agent | None, importance: Importance = "medium") -> Task:
    """Assign a task to an agent, or to anyone. Raises Refused."""
    title, notes = split_task(words)
    new = Task(
        title, by.person, by.scope.audience, by.trust, by.now, by.agent, notes, priority(importance),
        shared=True, assignee=None if to is None else to.id, turn=by.turn, message=by.message,
    )  # fmt: skip
    task = tasks.add(tx, new)
    told = gettext_lazy("assigned a task to {to}: {task}", to=task.to_name or _ANYONE, task=_short(words))
    activity.note(tx, _event(by, activity.TaskAssigned(str(task.id), task.to_name), told, importance), by.now)
    return task


def split_task(words: str) -> tuple[str, str]:
    """Title and notes of a task; a title that is too long continues in the notes. Raises Refused."""
    text = _checked(words, "a task")
    if len(text) <= LONGEST_TITLE:
        return text, ""
    cut = text.rfind(" ", 1, LONGEST_TITLE - 1)
    cut = cut if cut > 0 else LONGEST_TITLE - 1
    return f"{text[:cut]}…", f"…{text[cut:].strip()}"


def priority(importance: Importance) -> Priority:
    return Priority.URGENT if importance == "critical" else Priority(importance)


def _event(by: By, details: activity.Arranged, words: str, importance: Importance | None = None) -> NewEvent:
    did = details if by.turn is None else replace(details, tool="coord")
    about = (by.agent, by.person, by.place, by.turn, by.message)
    return NewEvent(did, words, by.scope.audience, by.trust, *about, importance)


_ANYONE = gettext_lazy("anyone")
_DID = {
    None: gettext_noop("changed the task “{task}”"),
    Status.OPEN: gettext_noop("reopened the task “{task}”"),
    Status.IN_PROGRESS: gettext_noop("began the task “{task}”"),
    Status.DONE: gettext_noop("marked the task “{task}” as done"),
    Status.CANCELLED: gettext_noop("canceled the task “{task}”"),
}


def change(tx: Tx, by: By, task: Task, columns: Mapping[str, Value]) -> tuple[Task, Before]:
    """Change a shared task, as `tasks.change` does. Raises Refused unless all its readers may know of this turn."""
    status = columns.get("status")
    if status == task.status:
        raise Refused("the task “{title}” already has that status", title=task.title)
    if not may_write_down(by.scope, task.audience):
        raise Refused(
            "people who are not here can see the task “{title}”; change it in a place that all of them can read",
            title=task.title,
        )
    changed, before = tasks.change(tx, task, columns, by.scope, by.now)
    did = gettext_lazy(_DID[None if status is None else changed.status], task=_short(changed.title))
    event = _event(by, TaskChanged(str(task.id), before), did, "low")
    activity.note(tx, replace(event, audience=task.audience), by.now)
    return changed, before


def hand_over(tx: Tx, by: By, content: str, to: Agent | None) -> None:
    """Leave a note for an agent, or for whoever continues. Raises Refused."""
    text = _checked(content, "a handoff note")
    reader, name = ("", "") if to is None else (to.id, to.name)
    kept = by.put(tx, ItemKind.HANDOFF, text, reader)
    words = gettext_lazy("left a handoff note for {to}: {note}", to=name or _ANYONE, note=_short(text))
    activity.note(tx, _event(by, activity.HandoffLeft(str(kept.id), name), words), by.now)


def add_note(tx: Tx, by: By, text: str, importance: Importance) -> int:
    """Store a note for all agents who may know of it; returns its id. Raises Refused."""
    text = _checked(text, "a note")
    kept = by.put(tx, ItemKind.NOTE, text, importance)
    words = gettext_lazy("noted: {note}", note=_short(text))
    activity.note(tx, _event(by, activity.NoteAdded(str(kept.id)), words, importance), by.now)
    return kept.id


def mark_read(tx: Tx, turn: Turn, read: Iterable[str], now: datetime) -> None:
    """Record that a turn was shown handoff notes, so that its hearers' later turns do not show them again."""
    sql = """INSERT INTO handoff_reads (note_id, audience, turn_id, at) SELECT id, ?, ?, ? FROM items
             WHERE kind = 'handoff' AND id IN (SELECT value FROM json_each(?)) ON CONFLICT DO NOTHING"""
    named = [int(each) for each in read]
    if named:
        tx.run(sql, (turn.scope.audience, turn.id, now, named))


def _checked(text: str, what: str) -> str:
    text = storable(text).strip()
    if not text:
        raise Refused("{what} needs some text", what=what)
    if len(text) > MOST_CHARACTERS:
        raise Refused(
            "{what} can have at most {most_characters:,} characters; this has {text:,}",
            what=what,
            most_characters=MOST_CHARACTERS,
            text=len(text),
        )
    return text


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _TOLD else f"{words[:_TOLD]}…"


# ------------------------------------------------------------------------------------------------------- reading

_HANDOFF = """SELECT h.*, coalesce(f.name, '') AS from_name, coalesce(t.name, '') AS to_name FROM items h
              LEFT JOIN agents f ON f.id = h.agent_id LEFT JOIN agents t ON t.id = h.key WHERE h.kind = 'handoff'"""


def handoffs(rows: Rows, scope: Scope, limit: int) -> list[Handoff]:
    """The newest handoff notes, newest first, read or not."""
    return _handoff.all(rows, *scope.bind(f"{_HANDOFF} AND KNOWN(h.audience) ORDER BY h.id DESC LIMIT +?", limit))


def unread(rows: Rows, turn: Turn, limit: int) -> list[Handoff]:
    """Notes to the turn's agent, or to anyone, that no turn known to its hearers has read; oldest first.

    Notes that arrived while the turn ran wait for the next one.
    """
    if not rows.may_have("items", "kind = 'handoff'"):
        return []
    sql = f"""{_HANDOFF} AND KNOWN(h.audience) AND (h.key = ? OR (h.key = '' AND h.agent_id IS NOT ?))
              AND h.turn_id IS NOT ? AND h.created_at <= ?
              AND NOT EXISTS (SELECT 1 FROM handoff_reads r
                WHERE r.note_id = h.id AND r.turn_id <> ? AND KNOWN(r.audience)) ORDER BY h.id LIMIT +?"""
    to = (turn.agent, turn.agent, turn.id, turn.started_at, turn.id)
    return _handoff.all(rows, *turn.scope.bind(sql, *to, limit))


def notes(
    rows: Rows,
    scope: Scope,
    limit: int,
    since: datetime | None = None,
    at_least: Importance = "low",
    until: datetime | None = None,
) -> list[Note]:
    """The newest notes for all of at least this importance, newest first."""
    wanted = IMPORTANCES[IMPORTANCES.index(at_least) :]
    sql = """SELECT n.*, coalesce((SELECT name FROM agents WHERE id = n.agent_id), '') AS by_name FROM items n
              WHERE n.kind = 'note' AND KNOWN(n.audience) AND n.key IN (SELECT value FROM json_each(?))
              AND n.created_at BETWEEN ? AND ? ORDER BY n.id DESC LIMIT +?"""
    times = "" if since is None else to_text(since), "~" if until is None else to_text(until)
    return _note.all(rows, *scope.bind(sql, wanted, *times, limit))


_handoff = RowMapper(Handoff, id=lambda row: str(row["id"]), content="text")


_note = RowMapper(Note, id=lambda row: str(row["id"]), importance="key", at="created_at")


# ------------------------------------------------------------------------------------------------------- undoing

What: TypeAlias = Literal["task changed", "task", "handoff note", "note", "fact"]
_MADE: dict[What, str] = {
    "task": "tasks WHERE shared",
    "handoff note": "items WHERE kind = 'handoff'",
    "note": "items WHERE kind = 'note'",
}
_OPEN = "status IN ('open', 'in_progress')"


class Arrangement(Struct, frozen=True):
    """Something that a turn arranged, or learned as a fact; `at` is its time in stored form."""

    what: What
    id: str
    at: str
    turn: TurnId


def arranged_by(rows: Rows, turns: Iterable[TurnId], scope: Scope) -> list[Arrangement]:
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
        return False, gettext_lazy("it is done")
    values: tuple[Value, ...] = (arranged.turn, "$.task" if arranged.what == "task" else "$.note", arranged.id)
    tx.run("DELETE FROM activity_events WHERE turn_id = ? AND json_extract(details, ?) = ?", values)
    return True, gettext_lazy("it is gone")
