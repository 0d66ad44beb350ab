"""Tasks: what somebody wants to do. Each has an audience, and is read only where that may be used."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.people.audience import Audience, Scope, Trust
from memory.store.clock import to_text
from memory.store.database import Rows, Tx, Value
from memory.store.errors import Refused
from memory.store.fulltext import index_text
from memory.store.ids import AgentId, PersonId, TaskId, snowflakes
from memory.store.row_mapper import RowMapper
from texts import _

LONGEST_TITLE = 300
LONGEST_NOTES = 4_000
_MOST_OPEN = 1_000


class Status(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


OPEN = (Status.PENDING, Status.IN_PROGRESS)


class Priority(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    URGENT = "urgent"


@dataclass(frozen=True)
class NewTask:
    """A task to be kept. `person` is whose it is."""

    title: str
    person: PersonId | None
    audience: Audience
    trust: Trust
    agent: AgentId | None = None
    notes: str = ""
    priority: Priority = Priority.MEDIUM
    due_at: datetime | None = None
    parent: TaskId | None = None


@dataclass(frozen=True)
class Task:
    id: TaskId
    title: str
    notes: str
    status: Status
    priority: Priority
    parent: TaskId | None
    person: PersonId | None
    audience: Audience
    due_at: datetime | None
    done_at: datetime | None
    created_at: datetime


def add(tx: Tx, new: NewTask, now: datetime) -> Task:
    """Keep a task. Raises Refused for one without a title, or where far too many are open."""
    title = " ".join(new.title.split())
    if not title or len(title) > LONGEST_TITLE or len(new.notes) > LONGEST_NOTES:
        raise Refused(
            _(
                "A task has a title of 1 to {LONGEST_TITLE} characters and notes of at most {LONGEST_NOTES}.",
                LONGEST_TITLE=LONGEST_TITLE,
                LONGEST_NOTES=f"{LONGEST_NOTES:,}",
            )
        )
    counted = "SELECT count(*) AS n FROM tasks WHERE person_id IS ? AND status IN ('pending', 'in_progress')"
    row = tx.one(counted, (new.person,))
    if row is not None and row["n"] >= _MOST_OPEN:
        raise Refused(
            _("{MOST_OPEN} tasks are open. Complete or cancel some of them first.", MOST_OPEN=f"{_MOST_OPEN:,}")
        )
    identifier = TaskId(snowflakes.next())
    values: dict[str, Value] = {"id": identifier, "title": title, "notes": new.notes.strip(), "trust": int(new.trust)}
    values |= {"priority": new.priority, "parent_id": new.parent, "agent_id": new.agent, "person_id": new.person}
    values |= {"search_text": index_text(f"{title}\n{new.notes}")}
    values |= {"audience": new.audience, "due_at": None if new.due_at is None else to_text(new.due_at)}
    tx.insert("tasks", {**values, "created_at": to_text(now), "updated_at": to_text(now)})
    return _required(tx, identifier)


def get(rows: Rows, identifier: TaskId, scope: Scope) -> Task | None:
    """One task, where it may be used."""
    condition, parameters = scope.sql("audience")
    return _task.first(rows, f"SELECT * FROM tasks WHERE id = ? AND {condition}", (identifier, *parameters))


def listing(rows: Rows, scope: Scope, people: tuple[PersonId, ...] = (), *, done: bool = False) -> list[Task]:
    """Tasks that may be used, the most pressing first; only those of `people` where any are given."""
    condition, parameters = scope.sql("audience")
    status = "" if done else " AND status IN ('pending', 'in_progress')"
    whose = f" AND person_id IN ({', '.join('?' * len(people))})" if people else ""
    order = "instr('urgent high medium low', priority), due_at IS NULL, due_at, id"
    sql = f"SELECT * FROM tasks WHERE {condition}{status}{whose} ORDER BY {order} LIMIT 200"
    return [_task(row) for row in rows.all(sql, (*parameters, *people))]


def set_status(tx: Tx, task: Task, status: Status, now: datetime) -> Task:
    """Move a task on; what is under it goes with it when it is done or cancelled."""
    ended = to_text(now) if status in (Status.COMPLETED, Status.CANCELLED) else None
    sql = "UPDATE tasks SET status = ?, done_at = ?, updated_at = ? WHERE id = ?"
    tx.run(sql, (status, ended, to_text(now), task.id))
    if ended is not None:
        below = """WITH RECURSIVE under(id) AS (SELECT id FROM tasks WHERE parent_id = :id
                     UNION SELECT t.id FROM tasks t JOIN under u ON t.parent_id = u.id)
                   UPDATE tasks SET status = :status, done_at = :now, updated_at = :now
                   WHERE id IN under AND status IN ('pending', 'in_progress') AND audience = :audience"""
        tx.run(below, {"id": task.id, "status": status, "now": ended, "audience": task.audience})
    return _required(tx, task.id)


def update(tx: Tx, task: Task, changes: dict[str, Value], now: datetime) -> Task:
    """Change title, notes, priority or due_at (the names of columns, from our own code)."""
    said = [str(changes.get(name, kept)) for name, kept in (("title", task.title), ("notes", task.notes))]
    changes = {**changes, "search_text": index_text("\n".join(said))}
    fields = ", ".join(f"{name} = :{name}" for name in changes)
    sql = f"UPDATE tasks SET {fields}, updated_at = :updated_at WHERE id = :id"
    tx.run(sql, {**changes, "updated_at": to_text(now), "id": task.id})
    return _required(tx, task.id)


def move(tx: Tx, task: Task, above: Task | None, now: datetime) -> Task:
    """Put a task under another one, or under none. Raises Refused for one that would stand under itself."""
    if above is not None:
        sql = """WITH RECURSIVE above(id) AS (
                   SELECT :id UNION SELECT t.parent_id FROM tasks t JOIN above a ON t.id = a.id)
                 SELECT 1 FROM above WHERE id = :task"""
        if tx.one(sql, {"id": above.id, "task": task.id}) is not None:
            raise Refused("a task cannot be a step of itself or of one of its own steps")
    parent = None if above is None else above.id
    tx.run("UPDATE tasks SET parent_id = ?, updated_at = ? WHERE id = ?", (parent, to_text(now), task.id))
    return _required(tx, task.id)


def named(found: list[Task], words: str) -> list[Task]:
    """Those of a list that are meant by a number, a title, or words that stand in one."""
    wanted = words.strip().lstrip("#").casefold()
    exact = [task for task in found if str(task.id) == wanted or task.title.casefold() == wanted]
    parts = wanted.split()
    return exact or [task for task in found if parts and all(part in task.title.casefold() for part in parts)]


def _required(tx: Tx, identifier: TaskId) -> Task:
    row = tx.one("SELECT * FROM tasks WHERE id = ?", (identifier,))
    if row is None:
        raise Refused(_("The task is gone."))
    return _task(row)


_task = RowMapper(Task)
