"""Kinds of jobs: what to do when one is due. Modules with scheduled work have `kinds`; the runner does the rest.

A `QueueJob` kind writes rows in the transaction that completes the job, so they are written exactly once: a message for
the outbox, an event for an agent's inbox. A `WorkJob` kind takes longer or leaves the database; it is repeated if the
process dies during it, so it must be idempotent.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import TypeAlias

from msgspec import Struct

from memory.jobs import Job
from memory.store.database import Database, Tx
from memory.store.ids import ConstellationId

LATE = timedelta(minutes=2)
"""The delay from which a run counts as late: wake-ups are at most a minute apart."""


class DueJob(Struct, frozen=True):
    """A due job. `asked`: run by hand, not by time."""

    job: Job
    constellation: ConstellationId
    due: datetime
    now: datetime
    asked: bool = False

    @property
    def late(self) -> timedelta:
        """How much later than planned it runs; 0 within the normal delay of a wake-up."""
        behind = self.now - self.due
        return timedelta() if self.asked or behind < LATE else behind


class JobResult(Struct, frozen=True):
    """The result, for `carina jobs list`. `again` keeps this due time open, to be checked again then."""

    detail: str = ""
    again: datetime | None = None


class QueueJob(Struct, frozen=True):
    """`queue` is called inside the transaction that completes the job."""

    queue: Callable[[Tx, DueJob], JobResult]


class WorkJob(Struct, frozen=True):
    """`work` is awaited in a task of its own, under a lease; `carina jobs list` shows its result.

    It gets the open database of the job's constellation.
    """

    work: Callable[[Database, DueJob], Awaitable[str | JobResult]]


Kinds: TypeAlias = Mapping[str, QueueJob | WorkJob]
"""What to do for each kind of job."""


class OpenConstellation(Struct, frozen=True):
    """An open constellation for its jobs: its database, and its kinds of jobs."""

    database: Database
    kinds: Kinds


Open: TypeAlias = Callable[[ConstellationId], AbstractAsyncContextManager[OpenConstellation]]
"""Opens a constellation within the context."""
