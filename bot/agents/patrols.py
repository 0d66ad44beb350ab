"""Patrols: on schedule an agent works through a checklist, and speaks only if there is something to report.

A patrol is a job (`patrol:<name>`) that queues an event for the agent, in a place of its own (`patrol:<name>`),
separate from all conversations. It belongs to the owner: its audience is that of the owner's place, and its reports are
sent there. Its working memory is under `patrol/<name>`.
"""

from datetime import datetime
from pathlib import Path

from msgspec import Struct

from bot.agents.agenda.quiet_hours import OwnersQuiet, held_back
from bot.agents.context.quotes import passage
from bot.config.file_settings import Patrol
from memory import agent_groups, agents, jobs
from memory.agents import Agent
from memory.jobs import NewJob
from memory.knowledge.working_memory import PATROL
from memory.people.audience import OWNER, Scope, Trust
from memory.queue import inbox
from memory.queue.inbox import InRow
from memory.queue.payloads import PatrolEvent
from memory.queue.steps import ModelAnswer, Step
from memory.store.clock import to_text
from memory.store.database import Rows, Tx
from memory.store.ids import GroupId, PersonId, PlaceId
from scheduler import triggers
from scheduler.job_kinds import DueJob, JobResult, Kinds, QueueJob
from scheduler.triggers import CronTrigger
from texts import gettext_lazy

KIND = "patrol"
SILENCE = "SILENT"
"""A final text of only this word counts as empty: some models cannot return an empty one."""
FOLDER = "patrols"
"""The folder, inside the data folder, of checklists that are files."""
_LONGEST = 8_000  # characters of a checklist


def is_patrol(place: PlaceId) -> bool:
    return place.startswith(f"{PATROL}:")


def is_silence(text: str) -> bool:
    """Whether a patrol's final text reports nothing."""
    return text.strip().strip('."*`').upper() in ("", SILENCE)


def waits_until(rows: Rows, row: InRow, quiet: OwnersQuiet, now: datetime) -> datetime | None:
    """The end of quiet hours that a queued patrol must wait for; None for other rows."""
    by_itself = isinstance(row.payload, PatrolEvent) and not row.payload.asked
    return quiet(rows, now) if by_itself else None


def plan(tx: Tx, zone: str, now: datetime) -> None:
    """Keep exactly one job per patrol of an active agent; paused ones stay paused."""
    wanted = {job_id(patrol.name): CronTrigger(patrol.cron, zone) for _agent, patrol in _patrols(tx)}
    for identifier, trigger in wanted.items():
        first = triggers.require(trigger, now)
        jobs.ensure(tx, NewJob(identifier, KIND, triggers.dump(trigger), first), now)
    for job in jobs.listing(tx, -1):
        if job.kind == KIND and job.id not in wanted:
            jobs.drop(tx, job.id)


def job_id(name: str) -> str:
    return f"{KIND}:{name}"


def _patrols(rows: Rows) -> list[tuple[Agent, Patrol]]:
    active = (agent for agent in agents.agents(rows) if agent.status == "active")
    return [(agent, Patrol.model_validate(each)) for agent in active for each in agent.config.patrols]


class Patrols(Struct, frozen=True):
    """Queues due patrols. `home` is the data folder, `owner` whose patrols they are."""

    home: Path
    owner: PersonId
    quiet: OwnersQuiet

    def kinds(self) -> Kinds:
        return {KIND: QueueJob(self.queue)}

    def queue(self, tx: Tx, firing: DueJob) -> JobResult:
        """Queue the agent's event, in the transaction that completes the job; returns the reason if it does not."""
        name, now = firing.job.id.partition(":")[2], firing.now
        agent, patrol = next((each for each in _patrols(tx) if each[1].name == name), (None, None))
        if agent is None or patrol is None:
            jobs.drop(tx, firing.job.id)
            return JobResult(gettext_lazy("no longer needed"))
        if not firing.asked and (held := held_back(self.quiet(tx, now))):
            return held
        group, place = speaking_group(tx, agent), PlaceId(f"{PATROL}:{name}")
        if group is None:
            return JobResult(gettext_lazy("not run: {name} does not speak in any group", name=agent.name))
        if inbox.is_waiting(tx, place):
            return JobResult(gettext_lazy("not run: the previous run has not finished"))
        task = self._task(patrol)
        if not task:
            return JobResult(
                gettext_lazy(
                    "not run: {folder}/{file} is missing from the data folder or is not a text file",
                    folder=FOLDER,
                    file=patrol.file,
                )
            )
        event = inbox.Event(
            source=PATROL,
            external_id=f"{name}/{to_text(firing.due)}",
            place=place,
            person=self.owner,
            group=group,
            text=f'The patrol "{name}" is due.',
            hearers=Scope(OWNER),
            trust=Trust.AGENT,  # nobody watches: calls that need the owner's approval are requested
            payload=PatrolEvent(agent.id, task[:_LONGEST], firing.asked),
        )
        inbox.add_event(tx, event, now)
        part = gettext_lazy(
            "started with the first {part:,} of {count:,} characters of its file", part=_LONGEST, count=len(task)
        )
        return JobResult(part if len(task) > _LONGEST else gettext_lazy("started"))

    def _task(self, patrol: Patrol) -> str:
        """The current checklist; empty if its file cannot be read."""
        if patrol.task:
            return patrol.task
        try:
            return (self.home / FOLDER / patrol.file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return ""


def speaking_group(rows: Rows, agent: Agent) -> GroupId | None:
    """The group in which an agent acts on its own: the first by name in which it speaks."""
    for group in agent_groups.groups_of(rows, agent.id):
        if group.speaks(agent.id):
            return group.id
    return None


def instructions(told: str, task: str, *, keeps: bool) -> str:
    """The instructions: the checklist, and how to end. `keeps`: whether the agent has working memory."""
    kept = (
        " Keep what you find with `working_memory` save, always under the same few keys and with a ttl_minutes that "
        "lasts beyond your next patrol; look there first, and say nothing twice."
    )
    return (
        f"[system] {told} Go through this checklist now, with your tools. Nobody is there to answer you, so ask "
        f"nothing.{kept if keeps else ''}\n\n{passage(task)}\n\n"
        f"[system] Your final text is sent to the owner: only what they have to hear now. If there is nothing, answer "
        f"with the one word {SILENCE}."
    )


def note(tx: Tx, place: PlaceId, steps: tuple[Step, ...], said: str) -> None:
    """Record the patrol's result in its job, inside the transaction that ends the turn."""
    models = [step.body.model for step in steps if isinstance(step.body, ModelAnswer)]
    came = gettext_lazy("had something to say") if said.strip() else gettext_lazy("had nothing to say")
    if models and not models[-1]:
        came = gettext_lazy("not run: the budget for models is used up")
    elif "offline" in models:
        came = gettext_lazy("{came}; no language model answered, so nothing was checked", came=came)
    jobs.tell(tx, job_id(place.partition(":")[2]), came)
