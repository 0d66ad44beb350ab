"""Kinds of jobs: what is done when one is due. Whoever brings scheduled work adds a kind; the runner does the rest.

A `Queueing` kind writes rows in the very transaction that completes the job, so it happens exactly once: a message for
the outbox, an event for an agent's inbox. A `Working` kind does something that takes longer or leaves the database;
it may be done again when the process dies in it, so doing it twice must be as good as once.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from memory.jobs import Job
from memory.store.database import Database, Tx
from memory.store.ids import ConstellationId
from scheduler.due import LATE


@dataclass(frozen=True)
class Firing:
    """A job that is due. `missed` counts the due times that this one run stands for; `asked`: by hand, not by time."""

    job: Job
    constellation: ConstellationId
    due: datetime
    now: datetime
    missed: int = 1
    asked: bool = False

    @property
    def late(self) -> timedelta:
        """How much later than planned it runs; nothing within what a wake-up may take."""
        behind = self.now - self.due
        return timedelta() if self.asked or behind < LATE else behind


@dataclass(frozen=True)
class Done:
    """What came of it, for `carina jobs list`. `again` leaves this due time open and has it looked at then."""

    detail: str = ""
    again: datetime | None = None


@dataclass(frozen=True)
class Queueing:
    """`queue` is called inside the transaction that completes the job."""

    name: str
    queue: Callable[[Tx, Firing], Done]


@dataclass(frozen=True)
class Working:
    """`work` is awaited beside everything else, under a lease; what it gives is shown by `carina jobs list`.

    It is given the open database of the constellation whose job it is.
    """

    name: str
    work: Callable[[Database, Firing], Awaitable[str | Done]]


Kind: TypeAlias = Queueing | Working


@dataclass
class Kinds:
    known: dict[str, Kind] = field(default_factory=dict)

    def add(self, kind: Kind) -> None:
        """Make a kind known. Raises ValueError when there is one of that name."""
        if kind.name in self.known:
            raise ValueError(f"there is a kind of jobs called {kind.name!r} already")
        self.known[kind.name] = kind


@dataclass(frozen=True)
class Opened:
    """An open constellation as its jobs need it: its database, and what it knows how to do."""

    database: Database
    kinds: Kinds


Open: TypeAlias = Callable[[ConstellationId], AbstractAsyncContextManager[Opened]]
"""Opens a constellation for as long as the context lasts."""
