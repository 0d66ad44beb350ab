"""A data folder with jobs, a clock that is moved by hand, and kinds that note what they did."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory import jobs
from memory.jobs import Job, NewJob
from memory.store.constellations import Constellations
from memory.store.database import Database, Tx
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, PersonId
from scheduler.job_kinds import DueJob, JobResult, Kinds, Open, OpenConstellation, QueueJob, WorkJob
from scheduler.runner import Runner
from scheduler.triggers import Trigger, dump, next_run

PUT = commit_point("test.job_put")
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@dataclass
class Clock:
    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Harness:
    """One constellation, its runner, and what ran."""

    constellations: Constellations
    home: ConstellationId
    runner: Runner
    kinds: dict[str, QueueJob | WorkJob]
    clock: Clock
    fired: list[DueJob] = field(default_factory=list)
    again: datetime | None = None
    fail: Exception | None = None

    def note(self, _tx: Tx, firing: DueJob) -> JobResult:
        if self.fail is not None:
            raise self.fail
        self.fired.append(firing)
        return JobResult("noted", self.again)

    async def work(self, _database: Database, firing: DueJob) -> str | JobResult:
        if self.fail is not None:
            raise self.fail
        self.fired.append(firing)
        return "worked" if self.again is None else JobResult("not yet", self.again)

    async def put(self, identifier: str, trigger: Trigger, kind: str = "note", grace: timedelta | None = None) -> None:
        first = next_run(trigger, self.clock() - timedelta(microseconds=1)) or self.clock()
        new = NewJob(identifier, kind, dump(trigger), first, grace=grace)
        async with self.constellations.use(self.home) as database:
            await database.write(PUT, lambda tx: jobs.put(tx, new, self.clock()))
        self.runner.changed(self.home)

    async def run_until_fired(self) -> None:
        """Run the jobs as a service does, until one was done."""
        task = asyncio.create_task(self.runner.run())
        async with asyncio.timeout(20):
            while not self.fired:
                await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def job(self, identifier: str) -> Job:
        async with self.constellations.use(self.home) as database:
            found = await database.read(lambda rows: jobs.get(rows, identifier))
        assert found is not None
        return found

    async def pass_by(self, span: timedelta, step: timedelta) -> None:
        """Let time go by, waking when something is due, and not before `step` has passed."""
        end = self.clock.now + span
        due = await self.tick()
        while self.clock.now < end:
            self.clock.now = min(max(due or end, self.clock.now + step), end)
            due = await self.tick()

    async def tick(self) -> datetime | None:
        await self.runner.tick()
        await self.runner.settled()
        return await self.runner.tick()

    def runs(self, identifier: str) -> list[DueJob]:
        return [firing for firing in self.fired if firing.job.id == identifier]


def alike(constellations: Constellations, kinds: Kinds) -> Open:
    """Opens constellations that all know how to do the same."""

    @asynccontextmanager
    async def opening(identifier: ConstellationId) -> AsyncIterator[OpenConstellation]:
        async with constellations.use(identifier) as database:
            yield OpenConstellation(database, kinds)

    return opening


SECRET = "hunter2-hunter2"
"""What the runner of these tests keeps out of what it writes down."""


@asynccontextmanager
async def ground(folder: Path, clock: Clock | None = None) -> AsyncIterator[Harness]:
    """The ground in a folder; again in the same folder, it is another process's."""
    clock = clock or Clock()
    async with Constellations.open(folder, clock) as constellations:
        home = await constellations.ensure("home", PersonId("terminal:owner"))
        kinds = dict[str, QueueJob | WorkJob]()
        opening = alike(constellations, kinds)
        runner = Runner(constellations, opening, clock, lambda _id: None, lambda text: text.replace(SECRET, "[secret]"))
        made = Harness(constellations, home.id, runner, kinds, clock)
        kinds |= {"note": QueueJob(made.note), "work": WorkJob(made.work)}
        yield made
