"""A wake-up of the scheduler while nothing is due, with many jobs waiting."""

import asyncio
import time
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from memory import jobs
from memory.jobs import NewJob
from memory.store.clock import utc_now
from memory.store.constellation import Constellations
from memory.store.database import Tx
from memory.store.faults import commit_point
from memory.store.ids import PersonId
from scheduler.jobs import Done, Firing, Kinds, Queueing
from scheduler.runner import Runner
from scheduler.triggers import At, Every, dump
from tests.benchmarks.options import Options
from tests.benchmarks.report import Measure, Report, at_most, percentile
from tests.scheduler.parts import alike

_FILL = commit_point("bench.fill_jobs")

_COUNT = 100_000
_TICKS = 300


def _fill(tx: Tx, count: int) -> None:
    now = utc_now()
    for number in range(count):
        at = now + timedelta(days=1, seconds=number)
        jobs.put(tx, NewJob(f"reminder:{number}", "note", dump(At(at)), at), now)


async def _round(folder: Path, count: int) -> tuple[float, float, float]:
    async with Constellations.open(folder, utc_now) as constellations:
        constellation = (await constellations.ensure("bench", PersonId("terminal:owner"))).id
        kinds = Kinds()
        runner = Runner(constellations, alike(constellations, kinds), utc_now, lambda _id: None, str)
        fired: list[str] = []

        def note(_tx: Tx, firing: Firing) -> Done:
            fired.append(firing.job.id)
            return Done()

        kinds.add(Queueing("note", note))
        async with constellations.use(constellation) as database:
            await database.write(_FILL, lambda tx: _fill(tx, count))
            runner.changed(constellation)
            await runner.tick()
            idle = await _timed(runner)
            due = NewJob("now", "note", dump(Every(timedelta(days=1), utc_now())), utc_now())
            begun = time.perf_counter()
            await database.write(_FILL, lambda tx: jobs.put(tx, due, utc_now()))
            await runner.tick()
            once = time.perf_counter() - begun
        assert fired == ["now"]
        return percentile(idle, 0.5) * 1e3, percentile(idle, 0.95) * 1e3, once * 1e3


async def _timed(runner: Runner) -> list[float]:
    found = []
    for _ in range(_TICKS):
        begun = time.perf_counter()
        await runner.tick()
        found.append(time.perf_counter() - begun)
    return found


def run(options: Options) -> Report:
    """Fill a constellation and wake up."""
    count = _COUNT // 10 if options.quick else _COUNT
    rounds = []
    for _ in range(options.rounds):
        with TemporaryDirectory() as folder:
            rounds.append(asyncio.run(_round(Path(folder), count)))
    middle, slow, once = zip(*rounds, strict=True)
    return Report(
        f"Scheduled work, {count:,} jobs of which none is due",
        [
            Measure("a wake-up, median", "ms", middle, at_most(1.0)),
            Measure("a wake-up, 95th percentile", "ms", slow),
            Measure("keep one that is due, and run it", "ms", once),
        ],
    )
