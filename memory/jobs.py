"""Scheduled work as rows: planned, claimed, run, then completed. When a job is due next the scheduler works out.

A row is never deleted before it ran. `wake_at` is when somebody has to look at it: its planned time, the moment at
which it was asked for by hand, or the end of a hold, which is a lease or the pause after a try that failed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from memory.people.audience import OWNER, Audience
from memory.store.clock import from_text
from memory.store.database import Rows, Tx, Value
from memory.store.ids import ConstellationId, PersonId
from memory.store.row_mapper import RowMapper
from texts import packed, unpacked


class Status(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class NewJob:
    """A job to be kept. `trigger` is text of the scheduler's; `grace` None runs it however late."""

    id: str
    kind: str
    trigger: str
    next_at: datetime
    payload: Mapping[str, Any] = field(default_factory=dict)
    person: PersonId | None = None
    audience: Audience = OWNER
    grace: timedelta | None = None


@dataclass(frozen=True)
class Job:
    id: str
    kind: str
    payload: dict[str, Any]
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


def put(tx: Tx, new: NewJob, now: datetime) -> None:
    """Keep a job; one of that id begins anew."""
    tx.run("DELETE FROM jobs WHERE id = ?", (new.id,))
    grace = None if new.grace is None else new.grace.total_seconds()
    tx.insert("jobs", {**_new.values(new), "grace_seconds": grace, "created_at": now})


def ensure(tx: Tx, new: NewJob, now: datetime) -> None:
    """Keep a job unless one of that id and that trigger is there, paused or not."""
    found = get(tx, new.id)
    if found is None or found.trigger != new.trigger or found.kind != new.kind:
        put(tx, new, now)
        if found is not None and found.status is Status.PAUSED:
            pause(tx, new.id)


def get(rows: Rows, identifier: str) -> Job | None:
    """One job by its id, for the scheduler and whoever made it."""
    return _row.first(rows, "SELECT * FROM jobs WHERE id = ?", (identifier,))


def due(rows: Rows, now: datetime, limit: int) -> list[Job]:
    """Those that have to be looked at, the oldest first."""
    sql = "SELECT * FROM jobs WHERE wake_at IS NOT NULL AND wake_at <= ? ORDER BY wake_at, id LIMIT ?"
    return _row.all(rows, sql, (now, limit))


def is_due(rows: Rows, identifier: str, now: datetime) -> Job | None:
    """The job, if it still has to be looked at."""
    return _row.first(rows, "SELECT * FROM jobs WHERE id = ? AND wake_at <= ?", (identifier, now))


def earliest(rows: Rows) -> datetime | None:
    return rows.value("SELECT min(wake_at) FROM jobs WHERE wake_at IS NOT NULL", (), from_text)


def listing(rows: Rows, limit: int, *, done: bool = False) -> list[Job]:
    """What is scheduled, the next first; `done` adds what is over. For the owner: no row holds words of people."""
    condition = "" if done else "WHERE status IN ('active', 'paused')"
    sql = f"SELECT * FROM jobs {condition} ORDER BY wake_at IS NULL, wake_at, id LIMIT ?"
    return _row.all(rows, sql, (limit,))


def newest_run(rows: Rows) -> datetime | None:
    """The latest moment at which anything ran: a clock that shows less was set back."""
    return rows.value("SELECT max(last_run_at) FROM jobs", (), from_text)


# ------------------------------------------------------------------------------------------------------- its course


def claim(tx: Tx, identifier: str, holder: str, until: datetime) -> None:
    """Hold a due job until then, for another try."""
    sql = "UPDATE jobs SET held_until = ?, holder = ?, attempts = attempts + 1 WHERE id = ?"
    tx.run(sql, (until, holder, identifier))


def renew(tx: Tx, identifier: str, holder: str, until: datetime) -> None:
    """Hold it longer, if it is still ours."""
    tx.run("UPDATE jobs SET held_until = ? WHERE id = ? AND holder = ?", (until, identifier, holder))


@dataclass(frozen=True)
class Completion:
    """What came of a due time: `outcome` run, late, skipped or failed, and when the job is due `after` that."""

    due: datetime
    outcome: str
    detail: str
    after: datetime | None
    planned: bool = True
    """False for a run that was asked for by hand: the planned time stays."""


def complete(tx: Tx, job: Job, done: Completion, now: datetime) -> None:
    """Done with a due time. A job without another one is over, and stays to be seen."""
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
    """A try failed: not looked at before then."""
    sql = "UPDATE jobs SET held_until = ?, holder = NULL, last_detail = ?, attempts = ? WHERE id = ?"
    tx.run(sql, (until, _cut(detail), attempts, identifier))


def tell(tx: Tx, identifier: str, detail: str) -> None:
    """Say of a job what came of its last run, where that is known only after it."""
    tx.run("UPDATE jobs SET last_detail = ? WHERE id = ?", (_cut(detail), identifier))


def release(tx: Tx, identifier: str) -> None:
    tx.run("UPDATE jobs SET held_until = NULL, holder = NULL WHERE id = ?", (identifier,))


def plan(tx: Tx, identifier: str, next_at: datetime) -> bool:
    """Let it be due then, again if it was over; False when there is no such job."""
    sql = """UPDATE jobs SET next_at = ?, held_until = NULL, holder = NULL, attempts = 0,
             status = iif(status IN ('done', 'failed'), 'active', status) WHERE id = ?"""
    return tx.run(sql, (next_at, identifier)) == 1


def ask(tx: Tx, identifier: str, now: datetime) -> bool:
    """Let it run now, whatever is planned; False when there is no such job. One that runs is not run beside itself."""
    sql = "UPDATE jobs SET asked_at = ?, held_until = iif(holder IS NULL, NULL, held_until) WHERE id = ?"
    return tx.run(sql, (now, identifier)) == 1


def prompt(tx: Tx, identifier: str, now: datetime) -> bool:
    """Let it run now, by the service's own doing: not while it is paused, or was tried a moment ago."""
    sql = "UPDATE jobs SET asked_at = ? WHERE id = ? AND status = 'active' AND held_until IS NULL"
    return tx.run(sql, (now, identifier)) == 1


def pause(tx: Tx, identifier: str) -> bool:
    """Run it no more by itself; False when it was not to be run."""
    return tx.run("UPDATE jobs SET status = 'paused' WHERE id = ? AND status = 'active'", (identifier,)) == 1


def resume(tx: Tx, identifier: str, next_at: datetime | None) -> bool:
    """Run it again by itself, from then on; False when it was not paused."""
    sql = "UPDATE jobs SET status = 'active', next_at = ? WHERE id = ? AND status = 'paused'"
    return tx.run(sql, (next_at, identifier)) == 1


def drop(tx: Tx, identifier: str) -> None:
    tx.run("DELETE FROM jobs WHERE id = ?", (identifier,))


def drop_over(tx: Tx, before: datetime) -> int:
    """Forget jobs that ended before then; how many."""
    return tx.run("DELETE FROM jobs WHERE status IN ('done', 'failed') AND last_run_at < ?", (before,))


# ------------------------------------------------------------------------------------------- the index in global.db


def wakes(rows: Rows, now: datetime) -> list[ConstellationId]:
    sql = "SELECT constellation_id FROM job_wakes WHERE next_at <= ? ORDER BY next_at"
    return [ConstellationId(row["constellation_id"]) for row in rows.all(sql, (now,))]


def next_wake(rows: Rows) -> datetime | None:
    return rows.value("SELECT min(next_at) FROM job_wakes", (), from_text)


def note_wake(tx: Tx, constellation: ConstellationId, at: datetime | None) -> None:
    """Write down when a constellation has to be looked at; None for not at all."""
    tx.run("DELETE FROM job_wakes WHERE constellation_id = ?", (constellation,))
    if at is not None:
        tx.insert("job_wakes", {"constellation_id": constellation, "next_at": at})


_new = RowMapper(NewJob, trigger="trigger_json", grace=lambda _row: None)
_row = RowMapper(
    Job,
    trigger="trigger_json",
    last_detail=lambda row: unpacked(row["last_detail"]),
    grace=lambda row: None if row["grace_seconds"] is None else timedelta(seconds=row["grace_seconds"]),
)
