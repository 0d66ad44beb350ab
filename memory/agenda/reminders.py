"""Reminders: what somebody wants to be told, and where. Their jobs (`memory.jobs`) say when they are due.

A reminder is delivered only where the words with which it was set may be used.
"""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field

from memory import jobs
from memory.people.audience import Audience, Scope, Trust
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.ids import AgentId, PersonId, PlaceId, ReminderId, snowflakes
from memory.store.records import replace
from memory.store.row_mapper import RowMapper

LONGEST = 1_000
MOST_OPEN = 500
"""The most open reminders of one person."""


class Status(StrEnum):
    WAITING = "waiting"
    TOLD = "told"
    ESCALATED = "escalated"
    DONE = "done"
    CANCELLED = "cancelled"


class Reminder(Struct, frozen=True):
    """A reminder; a new one gets its id when it is made. `trigger` is in the scheduler's form, `audience` heard the
    person set it, and `told_key` is the key of the outbox row that delivered it last."""

    text: str
    person: PersonId | None
    place: PlaceId
    audience: Audience
    trust: Trust
    trigger: str = ""
    zone: str = ""
    agent: AgentId | None = None
    urgent: bool = False
    escalate_minutes: int = 30
    id: ReminderId = field(default_factory=lambda: ReminderId(snowflakes.next()))
    status: Status = Status.WAITING
    told_key: str = ""


class ListedReminder(Struct, frozen=True):
    """A reminder with its next due time, whether it is paused, and whether its message still waits to be delivered."""

    reminder: Reminder
    next_at: datetime | None
    paused: bool
    undelivered: bool


def job_id(identifier: ReminderId, suffix: str = "") -> str:
    """The id of its job; the `suffix` is "again" for its escalation, "later" for a snooze."""
    return f"reminder:{identifier}{':' if suffix else ''}{suffix}"


def add(tx: Tx, new: Reminder, now: datetime) -> Reminder:
    """Store a reminder; the caller creates its job. Raises Refused for an empty text, and for too many."""
    text = new.text.strip()
    if not text or len(text) > LONGEST:
        raise Refused("a reminder must have 1 to {longest:,} characters", longest=LONGEST)
    sql = "SELECT count(*) FROM reminders WHERE person_id IS ? AND status IN ('waiting', 'told', 'escalated')"
    if tx.number(sql, (new.person,)) >= MOST_OPEN:
        raise Refused("there are already {most_open} open reminders: cancel some of them first", most_open=MOST_OPEN)
    new = replace(new, text=text)
    tx.insert("reminders", {**_reminder.values(new), "created_at": now, "updated_at": now})
    return new


def by_id(rows: Rows, identifier: ReminderId) -> Reminder | None:
    """One reminder, for its job and its buttons."""
    return _reminder.first(rows, "SELECT * FROM reminders WHERE id = ?", (identifier,))


def listing(rows: Rows, scope: Scope, people: tuple[PersonId, ...]) -> list[ListedReminder]:
    """The open reminders of these people that may be used here, the next one first."""
    of_it = "j.id IN ('reminder:' || r.id, 'reminder:' || r.id || ':later')"
    sql = f"""SELECT r.*, (SELECT min(j.next_at) FROM jobs j WHERE j.status = 'active' AND {of_it}) AS next_at,
                EXISTS (SELECT 1 FROM jobs j WHERE j.status = 'paused' AND {of_it}) AS paused,
                EXISTS (SELECT 1 FROM outbox o WHERE o.key = r.told_key AND o.status IN ('pending', 'sending'))
                  AS undelivered
              FROM reminders r WHERE KNOWN(r.audience) AND r.person_id IN ({", ".join("?" * len(people))})
                AND r.status IN ('waiting', 'told', 'escalated')
              ORDER BY next_at IS NULL, next_at, r.id LIMIT {MOST_OPEN}"""
    return _listed.all(rows, *scope.bind(sql, *people))


def set_status(tx: Tx, identifier: ReminderId, status: Status, now: datetime, told_key: str | None = None) -> None:
    """Change a reminder's status; `told_key` is the key of the outbox row that delivered it."""
    sql = """UPDATE reminders SET status = :status, updated_at = :now, told_key = coalesce(:key, told_key),
             told_at = iif(:key IS NULL, told_at, :now) WHERE id = :id"""
    tx.run(sql, {"status": status, "now": now, "key": told_key, "id": identifier})


def follow(tx: Tx, identifier: ReminderId, key: str, other: str) -> None:
    """Follow a reminder's message to its new outbox key; does nothing if a newer message has replaced it."""
    tx.run("UPDATE reminders SET told_key = ? WHERE id = ? AND told_key = ?", (other, identifier, key))


def end(tx: Tx, reminder: Reminder, status: Status, now: datetime) -> None:
    """End a reminder, as done or canceled: it is never due again."""
    for suffix in ("", "again", "later"):
        jobs.drop(tx, job_id(reminder.id, suffix))
    set_status(tx, reminder.id, status, now)


_reminder = RowMapper(Reminder, trigger="trigger_json")
_listed = RowMapper(ListedReminder, reminder=_reminder)
