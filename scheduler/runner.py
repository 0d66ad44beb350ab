"""Runs due jobs. APScheduler holds a single wake-up, at the earliest due time and at most a minute away.

It only wakes us: rows say what is due, and our own tasks run it, since APScheduler cancels running coroutines when it
shuts down. It misses no wake-up, however late (`misfire_grace_time=None`). Its timers follow the wall clock, so setting
the clock back would silence it; a second wait on the monotonic clock prevents that.

This is one of the three places where any exception is caught: a failed job's error is stored in its row.
"""

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypeAlias

from memory import jobs
from memory.jobs import Completion, Job
from memory.store.clock import Clock
from memory.store.constellations import Constellations
from memory.store.database import Database, Rows, Tx
from memory.store.errors import DatabaseRefused, StoreError
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, new_id
from memory.store.logs import Log
from memory.store.sqlite import connect, driver
from scheduler import triggers
from scheduler.job_kinds import DueJob, JobResult, Open, OpenConstellation, QueueJob, WorkJob
from texts import gettext_lazy, gettext_noop, join_lazy, ngettext_lazy

_QUEUE = commit_point("job.queue")
_CLAIM = commit_point("job.claim")
_RENEW = commit_point("job.renew")
_COMPLETE = commit_point("job.complete")
_HOLD = commit_point("job.hold")

LEASE = timedelta(minutes=5)
LONGEST_SLEEP = timedelta(seconds=60)
SHORTEST_SLEEP = timedelta(milliseconds=100)
MAX_ATTEMPTS = 5
_WAITS = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=20), timedelta(hours=1))
_UNKNOWN_WAIT = timedelta(hours=1)
_WORDS = 500  # characters of an error that are stored
_AT_ONCE = 100  # due jobs read at a time

_log = Log("scheduler.runner")


Earliest: TypeAlias = Callable[[ConstellationId, Rows], datetime | None]
"""When a constellation must be checked."""


class Runner:
    """Runs the jobs of every constellation in a data folder. `queued` is called for one in which a job wrote rows,
    `redact` removes secrets from stored errors, and `earliest` returns when a constellation must be opened, for a job
    or for other waiting work."""

    def __init__(
        self,
        constellations: Constellations,
        opening: Open,
        clock: Clock,
        queued: Callable[[ConstellationId], None],
        redact: Callable[[str], str],
        earliest: Earliest = lambda _constellation, rows: jobs.earliest(rows),
    ) -> None:
        self._constellations = constellations
        self._opening = opening
        self._clock = clock
        self.queued = queued
        self._redact = redact
        self._earliest = earliest
        self._holder = new_id("run")
        self._woken = asyncio.Event()
        self._changed: set[ConstellationId] = set()
        self._working: set[asyncio.Task[None]] = set()
        self._wakes: dict[ConstellationId, datetime] = {}
        """When each constellation must be checked."""

    def changed(self, constellation: ConstellationId) -> None:
        """A job of that constellation was added or moved from outside: check it now."""
        self._changed.add(constellation)
        self._woken.set()

    async def run(self) -> None:
        """Run due jobs until canceled. Interrupted work is repeated when its lease is over."""
        # Imported only here: commands without a service run no jobs.
        timer = importlib.import_module("apscheduler.schedulers.asyncio").AsyncIOScheduler(timezone=UTC)
        once = {"id": "wake", "replace_existing": True, "misfire_grace_time": None}
        timer.start()
        try:
            await self._look_everywhere()
            while True:
                self._woken.clear()
                await self._sleep(partial(timer.add_job, self._wake, "date", **once), await self.tick())
        finally:
            timer.shutdown(wait=False)
            for task in self._working:
                task.cancel()
            await asyncio.gather(*self._working, return_exceptions=True)

    async def tick(self) -> datetime | None:
        """Run what is due now; returns when the next job is due. Work continues in the background, see `settled`."""
        now = self._clock()
        for constellation in {*self._changed, *self._constellations.open_now()}:
            if not await self._safely(constellation, self._look(constellation)):
                self._changed.add(constellation)
        self._wakes = {each: at for each, at in self._wakes.items() if self._constellations.has(each)}
        due = sorted((at, each) for each, at in self._wakes.items() if at <= now)
        for _at, constellation in due:
            if not await self._safely(constellation, self._serve(constellation, now)):
                self._wakes[constellation] = now + LONGEST_SLEEP
        return min(self._wakes.values(), default=None)

    async def settled(self) -> None:
        """Wait until running work is done."""
        while self._working:
            await asyncio.wait(set(self._working))

    # ------------------------------------------------------------------------------------------------- waking up

    async def _safely(self, constellation: ConstellationId, work: Awaitable[None]) -> bool:
        """Do something in one constellation; False if its file cannot be used now, for which the others do not wait."""
        try:
            await work
        except Exception as error:
            if self._constellations.has(constellation):  # else it was deleted while it was opened
                why = {"reason": str(error)} if isinstance(error, StoreError) else {"exc_info": error}
                _log.error("jobs_not_served", constellation=constellation, hint="tried again within a minute", **why)
                return False
        return True

    async def _sleep(self, wake: Callable[..., object], until: datetime | None) -> None:
        now = self._clock()
        wait = min(max((until - now) if until is not None else LONGEST_SLEEP, SHORTEST_SLEEP), LONGEST_SLEEP)
        wake(run_date=datetime.now(tz=UTC) + wait)
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_SLEEP.total_seconds() + 1):
                await self._woken.wait()

    async def _wake(self) -> None:
        """A coroutine, since APScheduler runs plain functions in threads."""
        self._woken.set()

    async def _look_everywhere(self) -> None:
        """At startup: read from the files when each constellation must be checked."""
        for constellation in self._constellations.all():
            try:
                earliest = await asyncio.to_thread(self._peek, constellation.id, constellation.path)
            except (StoreError, driver.DatabaseError) as error:
                _log.error("jobs_not_read", constellation=constellation.name, reason=str(error))
                self._changed.add(constellation.id)  # nothing else remembers it: it is opened instead
            else:
                self._note(constellation.id, earliest)

    def _peek(self, constellation: ConstellationId, path: Path) -> datetime | None:
        raw = connect(path, read_only=True)
        try:
            return self._earliest(constellation, Rows(raw))
        finally:
            raw.close()

    async def _look(self, constellation: ConstellationId) -> None:
        self._changed.discard(constellation)
        at = None
        if self._constellations.has(constellation):
            async with self._constellations.use(constellation) as database:
                at = await database.read(partial(self._earliest, constellation))
        self._note(constellation, at)

    def _note(self, constellation: ConstellationId, at: datetime | None) -> None:
        self._wakes.pop(constellation, None)
        if at is not None:
            self._wakes[constellation] = at

    # -------------------------------------------------------------------------------------------- what is due

    async def _serve(self, constellation: ConstellationId, now: datetime) -> None:
        async with self._opening(constellation) as opened:
            database = opened.database
            while found := await database.read(lambda rows: jobs.due(rows, now, _AT_ONCE)):
                for job in found:
                    await self._fire(opened, constellation, job, now)
            await self._look(constellation)

    async def _fire(self, opened: OpenConstellation, constellation: ConstellationId, job: Job, now: datetime) -> None:
        """Handle one due job; afterward it is no longer due at this time."""
        database, kind, name = opened.database, opened.kinds.get(job.kind), f"job {job.id} of {constellation}"
        try:
            if kind is None:
                words = gettext_lazy("nothing here handles “{kind}”; next check in an hour", kind=job.kind)
                await database.write(_HOLD, lambda tx: jobs.hold(tx, job.id, now + _UNKNOWN_WAIT, words, 0))
            elif isinstance(kind, QueueJob):
                if await database.write(_QUEUE, lambda tx: self._queue(tx, kind, (constellation, job.id), now)):
                    self.queued(constellation)
            elif any(task.get_name() == name for task in self._working):
                # The clock jumped beyond its lease, as after a suspension; or it was planned anew, for after its end.
                await database.write(_RENEW, lambda tx: jobs.renew(tx, job.id, job.holder, self._clock() + LEASE))
            elif firing := await database.write(_CLAIM, lambda tx: self._claim(tx, constellation, job.id, now)):
                task = asyncio.create_task(self._work(kind, firing), name=name)
                self._working.add(task)
                task.add_done_callback(self._working.discard)
        except DatabaseRefused:
            raise
        except Exception as error:
            await self._failed(database, constellation, job, now, error)

    def _queue(self, tx: Tx, kind: QueueJob, named: tuple[ConstellationId, str], now: datetime) -> bool:
        """Run and complete a queueing job in one transaction; True if it may have written rows."""
        firing = self._claim(tx, *named, now)
        if firing is not None:
            self._end(tx, firing, kind.queue(tx, firing), now)
        return firing is not None

    def _claim(self, tx: Tx, constellation: ConstellationId, identifier: str, now: datetime) -> DueJob | None:
        job = jobs.is_due(tx, identifier, now)
        firing = None if job is None else _firing(tx, job, constellation, now)
        if firing is not None:
            jobs.claim(tx, identifier, self._holder, now + LEASE)
        return firing

    async def _work(self, kind: WorkJob, firing: DueJob) -> None:
        """Run a working job under its lease, then complete it."""
        constellation, job = firing.constellation, firing.job
        try:
            async with self._opening(constellation) as opened:
                database = opened.database
                try:
                    came = await self._held(database, kind, firing)
                except Exception as error:
                    await self._failed(database, constellation, job, self._clock(), error)
                else:
                    done = came if isinstance(came, JobResult) else JobResult(came)
                    await database.write(_COMPLETE, lambda tx: self._end(tx, firing, done, self._clock()))
        except StoreError as error:
            _log.error("job_not_completed", job=job.id, reason=str(error), hint="it runs again when its lease expires")
        except Exception:
            _log.exception("job_not_completed", job=job.id, hint="it runs again when its lease expires")
        self.changed(constellation)
        self.queued(constellation)

    def _end(self, tx: Tx, firing: DueJob, done: JobResult, now: datetime) -> None:
        job = jobs.get(tx, firing.job.id)
        if job is None:
            return
        if job.holder != self._holder:  # it was planned anew meanwhile, maybe by itself, and is due as planned
            jobs.release(tx, job.id)
        elif done.again is not None:
            jobs.hold(tx, job.id, max(done.again, now + timedelta(seconds=1)), done.detail, 0)
        else:
            jobs.complete(tx, job, _completion(firing, done.detail), now)

    async def _held(self, database: Database, kind: WorkJob, firing: DueJob) -> str | JobResult:
        async def work() -> str | JobResult:
            return await kind.work(database, firing)

        task = asyncio.create_task(work())
        try:
            while True:
                done, _ = await asyncio.wait({task}, timeout=LEASE.total_seconds() / 3)
                if done:
                    return task.result()
                await self._renew(database, firing.job.id)
        finally:
            task.cancel()

    async def _renew(self, database: Database, identifier: str) -> None:
        until = self._clock() + LEASE
        await database.write(_RENEW, lambda tx: jobs.renew(tx, identifier, self._holder, until))

    async def _failed(
        self, database: Database, constellation: ConstellationId, job: Job, now: datetime, error: Exception
    ) -> None:
        """Retry later, and after several tries give up this due time; the next one is planned as usual."""
        words = f"{type(error).__name__}: {self._redact(str(error))}"[:_WORDS]
        _log.error("job_failed", job=job.id, kind=job.kind, constellation=constellation, exc_info=error)

        def work(tx: Tx) -> None:
            held = jobs.get(tx, job.id)
            if held is None:
                return
            attempts = held.attempts if held.holder == self._holder else held.attempts + 1
            if attempts < MAX_ATTEMPTS:
                wait = _WAITS[min(attempts, len(_WAITS)) - 1]
                again = ngettext_lazy(
                    "failed once, trying again: {words}",
                    "failed {count} times, trying again: {words}",
                    attempts,
                    words=words,
                )
                jobs.hold(tx, job.id, now + wait, again, attempts)
                return
            after = triggers.next_after_failure(held.trigger, now)
            jobs.complete(tx, held, Completion(held.next_at or now, "failed", words, after), now)

        await database.write(_HOLD, work)


def _firing(tx: Tx, job: Job, constellation: ConstellationId, now: datetime) -> DueJob | None:
    """The firing of a job that has to be checked; None after skipping one whose grace period is over."""
    if job.asked_at is not None:
        return DueJob(job, constellation, now, now, asked=True)
    if job.next_at is None or job.status is not jobs.Status.ACTIVE:
        jobs.release(tx, job.id)
        return None
    if job.next_at > now:  # only its lease expired, or the clock went back a little
        jobs.plan(tx, job.id, job.next_at)
        return None
    trigger = triggers.load(job.trigger)
    due = triggers.newest_due(trigger, job.next_at, now)
    if job.grace is None or now - due <= job.grace:
        return DueJob(job, constellation, due, now)
    words = gettext_lazy("skipped the due time {due}: too late", due=due)
    jobs.complete(tx, job, Completion(due, "skipped", words, triggers.next_run(trigger, now)), now)
    _log.warning("job_skipped", job=job.id, due=due.isoformat())
    return None


def _completion(firing: DueJob, detail: str) -> Completion:
    after = triggers.next_run(triggers.load(firing.job.trigger), firing.now)
    if not firing.late:
        return Completion(firing.due, "run", detail, after, planned=not firing.asked)
    late = gettext_lazy("late by {span}", span=_span(firing.late))
    _log.warning("job_late", job=firing.job.id, late=str(firing.late))
    return Completion(firing.due, "late", join_lazy("; ", filter(None, [late, detail])), after)


def _span(late: timedelta) -> str:
    hours, minutes = divmod(int(late.total_seconds()) // 60, 60)
    shape = gettext_noop("{hours} h {minutes} min") if hours else gettext_noop("{minutes} min")
    return gettext_lazy(shape, hours=hours, minutes=minutes)
