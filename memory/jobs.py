"""Scheduled work as rows: planned, claimed, run, then completed. The scheduler computes when a job is due next.

A row is never deleted before it has run. `wake_at` is when the row must be checked: its planned time, the time at which
somebody asked for a run by hand, or the end of a hold, which is a lease or the pause after a failed attempt.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from memory.people.audience import OWNER, Audience
from memory.store.clock import from_text
from memory.store.database import Rows, Tx, Value
from memory.store.errors import RowUnreadable
from memory.store.ids import EntryId, EventId, PersonId, ReminderId
from memory.store.row_mapper import RowMapper
from texts import gettext_noop, packed, unpacked


class Status(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"


IMPORTED = gettext_noop("paused by an import")
"""What an import says of the jobs that it pauses; a run replaces it."""


class NoPayload(Struct, frozen=True):
    pass


class ReminderDue(Struct, frozen=True):
    reminder: ReminderId


class EventDue(Struct, frozen=True, omit_defaults=True):
    """`sooner`, in stored form: when the first occurrence is announced, if that is later than was wanted."""

    event: EventId
    sooner: str = ""


class EntryDue(Struct, frozen=True, omit_defaults=True):
    """An archival entry; `words` is the hash of its content."""

    entry: EntryId
    words: str = ""


Payload: TypeAlias = NoPayload | ReminderDue | EventDue | EntryDue
P = TypeVar("P", bound=Payload)


class NewJob(Struct, frozen=True):
    """A job to store. `trigger` is in the scheduler's form; with `grace` None, it runs however late it is."""

    id: str
    kind: str
    trigger: str
    next_at: datetime
    payload: Payload = NoPayload()
    person: PersonId | None = None
    audience: Audience = OWNER
    grace: timedelta | None = None


class Job(Struct, frozen=True):
    id: str
    kind: str
    payload: str
    trigger: str
    person: PersonId | None
    audience: Audience
    status: Status
    next_at: datetime | None
    asked_at: datetime | None
    held_until: datetime | None
    holder: str
    grace: timedelta | None
    attempts: int
    last_due_at: datetime | None
    last_run_at: datetime | None
    last_outcome: str
    last_detail: str

    def read(self, kind: type[P]) -> P:
        """The payload, of the type that this kind of jobs has. Raises RowUnreadable."""
        try:
            return msgspec.json.decode(self.payload, type=kind)
        except msgspec.DecodeError as error:
            raise RowUnreadable(f"The data of a job cannot be read ({error}).") from None


def put(tx: Tx, new: NewJob, now: datetime) -> None:
    """Store a job, replacing one with the same id."""
    tx.run("DELETE FROM jobs WHERE id = ?", (new.id,))
    grace = None if new.grace is None else new.grace.total_seconds()
    tx.insert("jobs", {**_new.values(new), "grace_seconds": grace, "created_at": now})


def ensure(tx: Tx, new: NewJob, now: datetime) -> None:
    """Store a job unless one with that id, kind and trigger exists, paused or not."""
    found = get(tx, new.id)
    if found is None or found.trigger != new.trigger or found.kind != new.kind:
        put(tx, new, now)
        if found is not None and found.status is Status.PAUSED:
            pause(tx, new.id)


def get(rows: Rows, identifier: str) -> Job | None:
    """One job by its id, for the scheduler and whoever created it."""
    return _row.first(rows, "SELECT * FROM jobs WHERE id = ?", (identifier,))


def due(rows: Rows, now: datetime, limit: int) -> list[Job]:
    """The jobs that must be checked, oldest first."""
    sql = "SELECT * FROM jobs WHERE wake_at IS NOT NULL AND wake_at <= ? ORDER BY wake_at, id LIMIT +?"
    return _row.all(rows, sql, (now, limit))


def is_due(rows: Rows, identifier: str, now: datetime) -> Job | None:
    """The job, if it must still be checked."""
    return _row.first(rows, "SELECT * FROM jobs WHERE id = ? AND wake_at <= ?", (identifier, now))


def earliest(rows: Rows) -> datetime | None:
    return rows.value("SELECT min(wake_at) FROM jobs WHERE wake_at IS NOT NULL", (), from_text)


def listing(rows: Rows, limit: int, *, done: bool = False) -> list[Job]:
    """The scheduled jobs, the next one first; `done` includes ended ones. No row holds people's words."""
    condition = "" if done else "WHERE status IN ('active', 'paused')"
    sql = f"SELECT * FROM jobs {condition} ORDER BY wake_at IS NULL, wake_at, id LIMIT +?"
    return _row.all(rows, sql, (limit,))


def paused(rows: Rows) -> list[Job]:
    return _row.all(rows, "SELECT * FROM jobs WHERE status = 'paused' ORDER BY id")


# ------------------------------------------------------------------------------------------------------- its course


def claim(tx: Tx, identifier: str, holder: str, until: datetime) -> None:
    """Hold a due job until then, for one attempt."""
    sql = "UPDATE jobs SET held_until = ?, holder = ?, attempts = attempts + 1 WHERE id = ?"
    tx.run(sql, (until, holder, identifier))


def renew(tx: Tx, identifier: str, holder: str, until: datetime) -> None:
    """Extend the hold, if the job is still that holder's; "" is nobody."""
    tx.run("UPDATE jobs SET held_until = ? WHERE id = ? AND coalesce(holder, '') = ?", (until, identifier, holder))


class Completion(Struct, frozen=True):
    """The result of a due time: `outcome` is run, late, skipped or failed; `after` is the next due time."""

    due: datetime
    outcome: str
    detail: str
    after: datetime | None
    planned: bool = True
    """False for a run that was asked for by hand: the planned time stays."""


def complete(tx: Tx, job: Job, done: Completion, now: datetime) -> None:
    """Complete a due time. A job without another one has ended; its row stays for people to see."""
    status, after = job.status, done.after
    if not done.planned:
        after = job.next_at
    elif after is None:
        status = Status.FAILED if done.outcome == "failed" else Status.DONE
    sql = """UPDATE jobs SET status = :status, next_at = :after, asked_at = NULL, held_until = NULL, holder = NULL,
             attempts = 0, last_due_at = :due, last_run_at = :now, last_outcome = :outcome, last_detail = :detail
             WHERE id = :id"""
    values: dict[str, Value] = {"status": status, "after": after, "id": job.id}
    values |= {"due": done.due, "now": now, "outcome": done.outcome, "detail": _cut(done.detail)}
    tx.run(sql, values)


def _cut(detail: str) -> str:
    return packed(detail if len(detail) <= 500 else detail[:500])


def hold(tx: Tx, identifier: str, until: datetime, detail: str, attempts: int) -> None:
    """An attempt failed: check the job again at `until`."""
    sql = "UPDATE jobs SET held_until = ?, holder = NULL, last_detail = ?, attempts = ? WHERE id = ?"
    tx.run(sql, (until, _cut(detail), attempts, identifier))


def tell(tx: Tx, identifier: str, detail: str) -> None:
    """Record the result of a job's last run, if it is known only afterward."""
    tx.run("UPDATE jobs SET last_detail = ? WHERE id = ?", (_cut(detail), identifier))


def release(tx: Tx, identifier: str) -> None:
    tx.run("UPDATE jobs SET held_until = NULL, holder = NULL WHERE id = ?", (identifier,))


def recheck(tx: Tx, people: tuple[PersonId, ...]) -> None:
    """Check the waiting jobs of these people now: what they wait for may be over. A failed one keeps its pause."""
    for person in people:
        tx.run("UPDATE jobs SET held_until = NULL WHERE person_id = ? AND holder IS NULL AND attempts = 0", (person,))


def plan(tx: Tx, identifier: str, next_at: datetime) -> bool:
    """Make a job due at that time, even if it had ended; False if there is no such job."""
    sql = """UPDATE jobs SET next_at = ?, held_until = NULL, holder = NULL, attempts = 0,
             status = iif(status IN ('done', 'failed'), 'active', status) WHERE id = ?"""
    return tx.run(sql, (next_at, identifier)) == 1


def ask(tx: Tx, identifier: str, now: datetime) -> bool:
    """Run a job now, whatever is planned; False if there is no such job. A running job does not run twice at a time."""
    sql = "UPDATE jobs SET asked_at = ?, held_until = iif(holder IS NULL, NULL, held_until) WHERE id = ?"
    return tx.run(sql, (now, identifier)) == 1


def prompt(tx: Tx, identifier: str, now: datetime) -> bool:
    """Run a job now because the service needs it, unless it is paused or was tried a moment ago."""
    sql = "UPDATE jobs SET asked_at = ? WHERE id = ? AND status = 'active' AND held_until IS NULL"
    return tx.run(sql, (now, identifier)) == 1


def pause(tx: Tx, identifier: str) -> bool:
    """Pause a job's schedule; False if it was not active."""
    return tx.run("UPDATE jobs SET status = 'paused' WHERE id = ? AND status = 'active'", (identifier,)) == 1


def resume(tx: Tx, identifier: str, next_at: datetime | None) -> bool:
    """Resume a paused job's schedule, from `next_at` on; False if it was not paused."""
    sql = "UPDATE jobs SET status = 'active', next_at = ?, last_detail = replace(last_detail, ?, '') WHERE id = ?"
    return tx.run(f"{sql} AND status = 'paused'", (next_at, IMPORTED, identifier)) == 1


def drop(tx: Tx, identifier: str) -> None:
    tx.run("DELETE FROM jobs WHERE id = ?", (identifier,))


def drop_over(tx: Tx, before: datetime) -> int:
    """Delete jobs that ended before then; returns how many."""
    return tx.run("DELETE FROM jobs WHERE status IN ('done', 'failed') AND last_run_at < ?", (before,))


_new = RowMapper(NewJob, trigger="trigger_json", grace=lambda _row: None)
_row = RowMapper(
    Job,
    trigger="trigger_json",
    last_detail=lambda row: unpacked(row["last_detail"]),
    grace=lambda row: None if row["grace_seconds"] is None else timedelta(seconds=row["grace_seconds"]),
)
