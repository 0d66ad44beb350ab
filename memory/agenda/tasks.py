"""Tasks: what somebody wants to do, and what agents share. Each is read only where its audience may be used.

A task may be a step of another one and may wait for others, but not in a circle: a task also waits for its steps.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct, field

from memory.people.audience import Audience, Scope, Trust, may_write_down
from memory.store.clock import to_text
from memory.store.database import Rows, Tx, Value
from memory.store.errors import Refused
from memory.store.fulltext import index_text
from memory.store.ids import AgentId, MessageId, PersonId, TaskId, TurnId, snowflakes
from memory.store.row_mapper import RowMapper

LONGEST_TITLE = 300
LONGEST_NOTES = 4_000
_MOST_OPEN = 1_000
_MOST_FIELDS, _LONGEST_NAME, _LONGEST_VALUE = 20, 40, 300


class Status(StrEnum):
    OPEN = "open"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    CANCELLED = "cancelled"


class Priority(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    URGENT = "urgent"


class Task(Struct, frozen=True):
    """A task on the list of `person`; a `shared` one is for an agent or for anyone. A new one gets its id when made."""

    title: str
    person: PersonId | None
    audience: Audience
    trust: Trust
    created_at: datetime
    agent: AgentId | None = None
    notes: str = ""
    priority: Priority = Priority.MEDIUM
    parent: TaskId | None = None
    shared: bool = False
    assignee: AgentId | None = None
    turn: TurnId | None = None
    """For a shared task: it is deleted with the messages of the turn, and with `message`."""
    message: MessageId | None = None
    id: TaskId = field(default_factory=lambda: TaskId(snowflakes.next()))
    status: Status = Status.OPEN
    due_at: datetime | None = None
    done_at: datetime | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    """Further values that people store, under names of their own."""
    needs: tuple[int, ...] = ()
    """Tasks that must be done first."""
    to_name: str = ""
    """Empty for anyone."""
    by_name: str = ""
    """Empty if a person created it by hand."""
    waits_for: tuple[str, ...] = ()
    """The titles of the needed tasks that are open and may be known."""


# ------------------------------------------------------------------------------------------------------- reading

_OPEN = "t.status IN ('open', 'in_progress')"


_SELECT = """SELECT t.*, coalesce(a.name, '') AS to_name, coalesce(b.name, '') AS by_name,
               (SELECT json_group_array(n.title) FROM json_each(t.needs) e JOIN tasks n ON n.id = e.value
                WHERE n.status IN ('open', 'in_progress') AND KNOWN(n.audience)) AS waits_for
             FROM tasks t LEFT JOIN agents a ON a.id = t.assignee_id LEFT JOIN agents b ON b.id = t.agent_id
             WHERE KNOWN(t.audience)"""


def get(rows: Rows, identifier: TaskId, scope: Scope) -> Task | None:
    return _task.first(rows, *scope.bind(f"{_SELECT} AND t.id = ?", identifier))


def listing(rows: Rows, scope: Scope, people: Sequence[PersonId] = (), *, done: bool = False) -> list[Task]:
    """Tasks on these people's lists that may be used, by priority, then by due time; without people, on all lists.

    Ended ones follow the open ones, the last one first.
    """
    whose = f" AND t.person_id IN ({', '.join('?' * len(people))})" if people else ""
    sql = f"""{_SELECT} AND NOT t.shared{"" if done else f" AND {_OPEN}"}{whose}
              ORDER BY {_OPEN} DESC, t.done_at DESC,
              instr('urgent high medium low', t.priority), t.due_at IS NULL, t.due_at, t.id LIMIT {_MOST_OPEN}"""
    return _task.all(rows, *scope.bind(sql, *people))


def shared(
    rows: Rows,
    scope: Scope,
    limit: int = _MOST_OPEN,
    agent: AgentId | None = None,
    before: datetime | None = None,
    *,
    done: bool = False,
) -> list[Task]:
    """The newest open tasks that agents share, newest first; with `agent`, its own and those for anyone."""
    if not (done or rows.may_have("tasks", "shared AND status IN ('open', 'in_progress')")):
        return []
    sql = f"""{_SELECT} AND t.shared{"" if done else f" AND {_OPEN}"}
              AND (? IS NULL OR t.assignee_id IS NULL OR t.assignee_id = ?)
              AND (? IS NULL OR t.created_at <= ?) ORDER BY t.id DESC LIMIT +?"""
    return _task.all(rows, *scope.bind(sql, agent, agent, before, before, limit))


def shared_between(rows: Rows, since: datetime, until: datetime, scope: Scope) -> tuple[int, int]:
    """How many shared tasks were done in a time, and how many were created."""
    sql = """SELECT count(*) FILTER (WHERE status = 'done' AND done_at BETWEEN ? AND ?),
                count(*) FILTER (WHERE created_at BETWEEN ? AND ?) FROM tasks WHERE shared AND KNOWN(audience)"""
    row = rows.one(*scope.bind(sql, since, until, since, until))
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


# ------------------------------------------------------------------------------------------------------- writing


def add(tx: Tx, new: Task) -> Task:
    """Store a new task. Raises Refused for one without a title, or if too many are open."""
    title = _checked(new.title, new.notes)
    sql = """SELECT count(*) FROM tasks WHERE status IN ('open', 'in_progress') AND shared = ?
             AND iif(shared, audience = ?, person_id IS ?)"""
    if tx.number(sql, (new.shared, new.audience, new.person)) >= _MOST_OPEN:
        raise Refused(
            "There are already {MOST_OPEN} open tasks. First mark some of them as done, or cancel some.",
            MOST_OPEN=f"{_MOST_OPEN:,}",
        )
    values = {**_task.values(new), "title": title, "notes": new.notes.strip(), "updated_at": new.created_at}
    tx.insert("tasks", {**values, "search_text": index_text(f"{title}\n{new.notes}")})
    return _required(tx, new.id, Scope(new.audience))


Before: TypeAlias = Mapping[str, Mapping[str, str | int | None]]
"""The old values of changed columns, by task id."""


def change(tx: Tx, task: Task, columns: Mapping[str, Value], scope: Scope, now: datetime) -> tuple[Task, Before]:
    """Change columns (names from our own code); ending a task ends its open steps, too.

    Raises Refused for invalid values.
    """
    values = dict(columns)
    if "title" in values or "notes" in values:
        title, notes = (str(values.get(name, kept)) for name, kept in (("title", task.title), ("notes", task.notes)))
        title = _checked(title, notes)
        values |= {"title": title, "search_text": index_text(f"{title}\n{notes}")}
    if isinstance(parent := values.get("parent_id"), int):
        _require_known(task, _required(tx, TaskId(parent), scope))
        _require_no_circle(tx, TaskId(parent), task, str(values.get("needs", "[]")))
    changed: dict[TaskId, dict[str, Value]] = {task.id: values}
    if "status" in values:
        ended = values["status"] in (Status.DONE, Status.CANCELLED)
        values["done_at"] = to_text(now) if ended else None
        steps = _open_steps(tx, task) if ended else []
        changed |= {step: {"status": values["status"], "done_at": to_text(now)} for step in steps}
    before = dict[str, dict[str, str | int | None]]()
    for identifier, each in changed.items():
        each |= {"updated_at": to_text(now)}
        if (row := tx.one("SELECT * FROM tasks WHERE id = ?", (identifier,))) is not None:
            before[str(identifier)] = {name: row[name] for name in each}
        _set(tx, identifier, each)
    return _required(tx, task.id, scope), before


def restore(tx: Tx, before: Before, at: str) -> bool:
    """Restore tasks to their state before a change at that time; False, without effect, if any has changed since."""
    known = "SELECT count(*) FROM tasks WHERE id IN (SELECT value FROM json_each(?)) AND updated_at = ?"
    if tx.number(known, (json.dumps([int(each) for each in before]), at)) != len(before):
        return False
    for identifier, columns in before.items():
        _set(tx, TaskId(int(identifier)), columns)
    return True


def needing(tx: Tx, task: Task, needed: Task) -> str:
    """The new value of `needs` for a task that waits for one more. Raises Refused."""
    _require_known(task, needed)
    _require_no_circle(tx, task.id, needed)
    return json.dumps(sorted({*task.needs, needed.id}))


def with_fields(task: Task, given: Mapping[str, str]) -> str:
    """`fields` with these in place of those of the same names; empty ones are removed. Raises Refused."""
    found = {**task.fields, **{" ".join(name.split()): value.strip() for name, value in given.items()}}
    found = {name: value for name, value in found.items() if value}
    sizes = [(len(name), len(value)) for name, value in found.items()]
    if len(found) > _MOST_FIELDS or any(not 0 < a <= _LONGEST_NAME or b > _LONGEST_VALUE for a, b in sizes):
        raise Refused(
            "A task can have at most {most} fields, with names of up to {name} characters and values of up to {value}.",
            most=_MOST_FIELDS,
            name=_LONGEST_NAME,
            value=_LONGEST_VALUE,
        )
    return json.dumps(found, ensure_ascii=False)


def _checked(title: str, notes: str) -> str:
    flat = " ".join(title.split())
    if not flat or len(flat) > LONGEST_TITLE or len(notes) > LONGEST_NOTES:
        raise Refused(
            "A task's title must have 1 to {LONGEST_TITLE} characters, and its notes at most {LONGEST_NOTES}.",
            LONGEST_TITLE=LONGEST_TITLE,
            LONGEST_NOTES=f"{LONGEST_NOTES:,}",
        )
    return flat


def _require_known(task: Task, other: Task) -> None:
    """Refuse a link that would reveal a task, even by its number, to people who may not know of it."""
    if not may_write_down(Scope(other.audience), task.audience):
        raise Refused(
            "Not everyone who can see “{task}” can see “{other}”, so the two cannot be linked.",
            task=task.title,
            other=other.title,
        )


def _require_no_circle(tx: Tx, first: TaskId, then: Task, more: str = "[]") -> None:
    """Refuse a circle: a task would wait for one that waits for it, by needs or steps; `more` are its new needs."""
    sql = """WITH RECURSIVE ahead (id) AS (SELECT :then UNION SELECT value FROM json_each(:more)
               UNION SELECT e.value FROM ahead a JOIN tasks t ON t.id = a.id JOIN json_each(t.needs) e
               UNION SELECT t.id FROM ahead a JOIN tasks t ON t.parent_id = a.id)
             SELECT 1 FROM ahead WHERE id = :first"""
    if tx.one(sql, {"then": then.id, "first": first, "more": more}) is not None:
        raise Refused("That would be circular: “{title}” would have to be done before itself.", title=then.title)


def _open_steps(rows: Rows, task: Task) -> list[TaskId]:
    """The open steps below a task, at every depth, that the same people can see."""
    sql = """WITH RECURSIVE under (id) AS (SELECT id FROM tasks WHERE parent_id = ?
               UNION SELECT t.id FROM tasks t JOIN under u ON t.parent_id = u.id)
             SELECT id FROM tasks WHERE id IN under AND status IN ('open', 'in_progress') AND audience = ?"""
    return [TaskId(row["id"]) for row in rows.all(sql, (task.id, task.audience))]


def _set(tx: Tx, identifier: TaskId, columns: Mapping[str, Value]) -> None:
    fields = ", ".join(f"{name} = :{name}" for name in columns)
    tx.run(f"UPDATE tasks SET {fields} WHERE id = :id", {**columns, "id": identifier})


def _required(tx: Tx, identifier: TaskId, scope: Scope) -> Task:
    found = get(tx, identifier, scope)
    if found is None:
        raise Refused("The task no longer exists.")
    return found


_task = RowMapper(
    Task,
    to_name=lambda row: row["to_name"],
    by_name=lambda row: row["by_name"],
    waits_for=lambda row: tuple(json.loads(row["waits_for"])),
)
