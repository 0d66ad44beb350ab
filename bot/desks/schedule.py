"""Scheduled work for people: seeing it, running it now, pausing and resuming it, on Discord and the command line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from bot import policy
from bot.errors import UserError
from bot.events import ToolCallCompleted, TurnEvent
from bot.policy import Action, Approver, People
from memory import jobs
from memory.clock import Clock, to_text
from memory.constellation import Constellations
from memory.database import Tx
from memory.faults import commit_point
from memory.ids import ConstellationId
from memory.jobs import Job, NewJob, Status
from scheduler import triggers
from scheduler.runner import Runner
from scheduler.triggers import Trigger
from sources.terminal import PERSON

_CHANGE = commit_point("job.change")
_STANDING = commit_point("job.standing")

_OWNER = Approver(PERSON, door="command line")
_LISTED = 200
_log = structlog.get_logger("bot.desks.schedule")


@dataclass(frozen=True)
class Standing:
    """A job of the house's own, which is there in every constellation; its id is its kind."""

    kind: str
    trigger: Trigger


@dataclass(frozen=True)
class Schedule:
    """The jobs of one constellation. What `runner` knows how to do is added to its kinds before it runs."""

    constellations: Constellations
    house: ConstellationId
    people: People
    clock: Clock
    runner: Runner
    standing: Sequence[Standing] = ()
    plan: Callable[[Tx, datetime], None] = lambda _tx, _now: None
    """Keeps the jobs that agents have by their settings."""

    async def run(self) -> None:
        """Keep the house's own jobs, then run whatever is due until cancelled."""
        await self.prepare()
        await self.runner.run()

    async def prepare(self) -> None:
        """Keep the house's own jobs; one whose time was changed is planned anew, one that is paused stays so."""
        now = self.clock()

        def work(tx: Tx) -> None:
            for each in self.standing:
                first = triggers.require(each.trigger, now)
                jobs.ensure(tx, NewJob(each.kind, each.kind, triggers.dump(each.trigger), first), now)
            self.plan(tx, now)

        async with self.constellations.use(self.house) as database:
            await database.write(_STANDING, work)
        self.changed()

    def watch(self, event: TurnEvent) -> None:
        """An agent's tool may have made or moved a job."""
        if isinstance(event, ToolCallCompleted) and event.ok:
            self.changed()

    def queued(self) -> None:
        """Something was queued to be said by a command: have it said."""
        self.runner.queued(self.house)

    def changed(self) -> None:
        """A job was made or moved: look at it now."""
        self.runner.changed(self.house)

    async def listed(self, who: Approver, *, done: bool = False) -> list[dict[str, Any]]:
        """What is scheduled, the next first, as plain data without words of people. Raises UserError."""
        policy.require(self.people, who, Action.JOBS)
        async with self.constellations.use(self.house) as database:
            found = await database.read(lambda rows: jobs.listing(rows, _LISTED, done=done))
        return [job_data(job) for job in found]

    async def run_now(self, job: str, who: Approver) -> str:
        """Have a job run now, beside its plan. Raises UserError."""
        await self._change(job, who, "run", lambda tx, found: jobs.ask(tx, found.id, self.clock()))
        return f"{job} runs now, or at once when the service starts; its plan stays as it is."

    async def pause(self, job: str, who: Approver) -> str:
        """Run a job no more by itself until it is resumed. Raises UserError."""
        await self._change(job, who, "pause", lambda tx, found: jobs.pause(tx, found.id))
        return f"{job} is paused: it does not run by itself until it is resumed."

    async def resume(self, job: str, who: Approver) -> str:
        """Run a job by itself again; what was due meanwhile is not made up for. Raises UserError."""

        def work(tx: Tx, found: Job) -> bool:
            trigger, now = triggers.load(found.trigger), self.clock()
            after = triggers.next_run(trigger, now)
            return jobs.resume(tx, found.id, found.next_at if after is None else after)

        found = await self._change(job, who, "resume", work)
        return f"{job} runs by itself again, next {_when(found)}."

    async def _change(self, job: str, who: Approver, act: str, work: Callable[[Tx, Job], bool]) -> Job:
        policy.require(self.people, who, Action.JOBS)

        def change(tx: Tx) -> tuple[Job | None, bool]:
            found = jobs.get(tx, job)
            done = found is not None and found.status in (Status.ACTIVE, Status.PAUSED) and work(tx, found)
            return jobs.get(tx, job), done

        async with self.constellations.use(self.house) as database:
            found, done = await database.write(_CHANGE, change)
        if found is None:
            raise UserError(f"There is no job {job!r}; `jobs list` shows them.")
        if not done:
            raise UserError(f"{job} is {_state(found)}, so there is nothing to {act}.")
        _log.info("job_changed", job=job, act=act, by=who.person, door=who.door)
        self.changed()
        return found

    # ------------------------------------------------------------------ the owner's command line

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "jobs.list": self.owner_list,
            "jobs.run": self.owner_run,
            "jobs.pause": self.owner_pause,
            "jobs.resume": self.owner_resume,
        }

    async def owner_list(self, done: bool = False) -> list[dict[str, Any]]:
        """Every job."""
        return await self.listed(_OWNER, done=done)

    async def owner_run(self, job: str) -> list[dict[str, Any]]:
        """Run one now."""
        return [{"text": await self.run_now(job, _OWNER)}]

    async def owner_pause(self, job: str) -> list[dict[str, Any]]:
        """Pause one."""
        return [{"text": await self.pause(job, _OWNER)}]

    async def owner_resume(self, job: str) -> list[dict[str, Any]]:
        """Resume one."""
        return [{"text": await self.resume(job, _OWNER)}]


def job_data(job: Job) -> dict[str, Any]:
    """A job as plain data."""
    return {
        "id": job.id,
        "when": triggers.words(triggers.load(job.trigger)),
        "state": _state(job),
        "next": "" if (at := _next(job)) is None else to_text(at),
        "last": "" if job.last_run_at is None else to_text(job.last_run_at),
        "outcome": job.last_outcome,
        "text": job.last_detail,
    }


def _state(job: Job) -> str:
    return "running" if job.holder else str(job.status)


def _next(job: Job) -> datetime | None:
    """When it runs next: as planned, or, after a try that failed, the next try. The end of a lease is no such time."""
    return job.next_at if job.holder or job.held_until is None else job.held_until


def _when(job: Job) -> str:
    return "at no time" if (at := _next(job)) is None else f"{at:%Y-%m-%d %H:%M} UTC"
