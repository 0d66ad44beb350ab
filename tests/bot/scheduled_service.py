"""A service whose own jobs run by a clock that is moved: days and nights pass in a moment."""

import itertools
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.agents.groups import sleeptime_triggers
from bot.models.base import Answer, Request, Usage, UserMessage
from bot.services.system.jobs import Schedule, built_in_jobs
from bot.upkeep.background_calls import Background
from bot.upkeep.housekeeping import TIDY, Housekeeping, Monitor
from bot.upkeep.scheduled_summaries import OF_AGENTS, OF_DAYS, SummaryJob
from memory.jobs import Job, NewJob, get, put
from memory.queue.notifications import Place, Speaker
from memory.store.database import Tx
from scheduler.job_kinds import DueJob
from scheduler.runner import Runner
from tests.bot.parts import ANN, HALL, NOON, MovableClock, Platform, ScriptedModel, said, says
from tests.bot.stage import Service, Setting, running

_numbers = itertools.count(1)


def of_agent(request: Request) -> bool:
    return request.system.startswith("Tell other agents")


def of_day(request: Request) -> bool:
    return request.system.startswith("Summarize what happened on one day")


def of_week(request: Request) -> bool:
    return request.system.startswith("Summarize what happened in one week")


def shown(request: Request) -> str:
    """What a summariser was given at last."""
    return [message.text for message in request.messages if isinstance(message, UserMessage)][-1]


def tells(summary: str, **more: list[str]) -> Answer:
    return Answer(json.dumps({"summary": summary, **more}), (), Usage(7, 3, cost_usd=0.5), "scripted:one")


class SummaryModel(ScriptedModel):
    """Answers people with a word, and says of which kind a summary is that it was asked for, and its number."""

    def __init__(self, talk: Callable[[Request], Answer] = lambda _request: says("yes"), **replies: Any) -> None:
        super().__init__(otherwise=self._reply)
        self.talk, self.told = talk, list[Request]()
        self.instead: Any = replies.get("instead")
        """What is answered in place of any summary."""

    async def _instead(self, request: Request) -> Answer:
        if isinstance(self.instead, Exception):
            raise self.instead
        found = self.instead(request) if callable(self.instead) else self.instead
        return found if isinstance(found, Answer) else await found

    async def _reply(self, request: Request) -> Answer:
        if not (of_agent(request) or of_day(request) or of_week(request)):
            return self.talk(request)
        self.told.append(request)
        if self.instead is not None:
            return await self._instead(request)
        if of_agent(request):
            return tells(f"Did {len(self.told)}.")
        span = "Day" if of_day(request) else "Week"
        return tells(
            f"{span} {len(self.told)}.", key_decisions=[f"decided {len(self.told)}"], open_threads=["the gate"]
        )


@dataclass
class ScheduledService:
    """The service, and what runs its jobs."""

    service: Service
    runner: Runner
    schedule: Schedule
    idling: Monitor

    async def say(self, text: str, place: Place = HALL, speaker: Speaker = ANN) -> int:
        """Somebody says something now, and is answered; the number of it."""
        number = next(_numbers)
        await self.service.heard(said(text, number, place, speaker, at=self.service.clock()))
        return number

    async def look(self) -> datetime | None:
        """What happens by itself at this moment."""
        await self.idling.check()
        await self.runner.tick()
        await self.runner.settled()
        self.service.resume()
        await self.service.settled()
        due = await self.runner.tick()
        await self.runner.settled()
        return due

    async def pass_by(self, **span: float) -> None:
        """Let time go by, looking whenever something is due, and every half an hour."""
        clock = self.service.clock
        end = clock.now + timedelta(**span)
        due = await self.look()
        while clock.now < end:
            clock.now = min(max(due or end, clock.now + timedelta(seconds=1)), clock.now + timedelta(minutes=30), end)
            due = await self.look()

    async def job(self, identifier: str) -> Job:
        found = await self.service.read(lambda rows: get(rows, identifier))
        assert found is not None
        return found


async def tidied(service: Service, kept: timedelta | None = None) -> None:
    """What is too old is deleted."""
    now = service.clock()

    def work(tx: Tx) -> None:
        put(tx, NewJob(TIDY, TIDY, "{}", now), now)
        job = get(tx, TIDY)
        assert job is not None
        Housekeeping(kept=kept).tidy(tx, DueJob(job, service.home, now, now))

    await service.write(work)


@asynccontextmanager
async def scheduled_service(
    folder: Path,
    setting: Setting,
    zone: str = "UTC",
    jobs: Sequence[str] = (OF_AGENTS, OF_DAYS),
) -> AsyncIterator[ScheduledService]:
    """The service in a folder with some of the service's own jobs."""
    async with running(folder, setting) as service:
        clock = service.clock
        turn_deps = service.runtime.turn_deps
        summaries = SummaryJob(Background.of(turn_deps), zone, lambda: False)
        runner = service.runner({**Housekeeping().kinds(), **summaries.kinds()})
        kept = [each for each in built_in_jobs(zone) if each.kind in jobs]
        schedule = service.schedule(runner, kept, lambda tx, now: sleeptime_triggers.plan(tx, zone, now))
        await schedule.prepare()
        idling = Monitor(service.database, turn_deps.notices, clock, service.resume, schedule.changed)
        try:
            yield ScheduledService(service, runner, schedule, idling)
        finally:
            await runner.settled()


def setting(model: ScriptedModel, now: datetime = NOON, **more: Any) -> Setting:
    clock = MovableClock(now)
    return Setting(model, clock, Platform(clock), **more)
