"""One run of upkeep of long-term memory, a dream: when it is due, its model calls, and its one transaction.

Its job checks every half hour and continues only if nobody is being answered, twelve hours have passed, and something
is new. Entries are chosen in `memory.knowledge.upkeep.selection`; corrections, for lessons, come from
`memory.knowledge.feedback`. The passes are independent: one that fails is reported, and the others continue.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from bot.upkeep import inference_consent
from bot.upkeep.background_calls import NO_MODEL, RunCalls, UpkeepDeps
from bot.upkeep.consolidation import Draft, consolidate, link_entities, merge_duplicates, sweep
from bot.upkeep.lessons_and_preferences import infer_preferences, learn_lessons
from memory import activity, agents
from memory.agents import Agent
from memory.knowledge import feedback
from memory.knowledge.upkeep import run_records
from memory.knowledge.upkeep.applied_plans import BrokenPlan, apply
from memory.knowledge.upkeep.planned_changes import Pass, Plan
from memory.knowledge.upkeep.run_records import Run
from memory.knowledge.upkeep.selection import Candidates, choose, fresh, sayings
from memory.people.audience import Audience, Trust
from memory.queue import turns
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import AgentId
from memory.store.logs import Log
from scheduler.job_kinds import DueJob, Kinds, WorkJob
from texts import gettext_lazy, join_lazy, ngettext_lazy, reason_of

_STORE = commit_point("dreams.store")
_REFUSE = commit_point("dreams.refuse")

DREAM = "dream"
_CORRECTIONS = 40  # corrections of an agent per run
_log = Log("bot.upkeep")


class Outcome(NamedTuple):
    """The result of a run: the stored one, if there was anything to report, and a text for the list of jobs."""

    run: str
    words: str


@dataclass
class DreamRun:
    """The upkeep of one constellation; `busy` says whether anybody is being answered. One run at a time."""

    database: Database
    deps: UpkeepDeps
    busy: Callable[[], bool]
    _alone: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @property
    def clock(self) -> Clock:
        return self.deps.background.clock

    def kinds(self) -> Kinds:
        return {DREAM: WorkJob(self.fire)}

    async def fire(self, _database: Database, firing: DueJob) -> str:
        """The job: check whether it is time, and run. A repetition does nothing."""
        settings = self.deps.settings
        if not settings.enabled:
            return gettext_lazy("turned off ({setting})", setting="dreams.enabled")
        if not firing.asked:
            why = await self.database.read(lambda rows: self._why_not(rows, self.clock()))
            if why or self.busy():
                return why or gettext_lazy("somebody is being answered; next check in half an hour")
        return (await self.run()).words

    def _why_not(self, rows: Rows, now: datetime) -> str:
        settings = self.deps.settings
        if turns.any_since(rows, now - timedelta(minutes=settings.idle_minutes)):
            return gettext_lazy("somebody was answered just now; next check in half an hour")
        last = run_records.latest_run(rows)
        if last is not None and now - last.at < timedelta(hours=settings.hours):
            return gettext_lazy("the last run was on {at}", at=last.at)
        return ""

    async def run(self) -> Outcome:
        """Read what is new and process it."""
        async with self._alone:
            database = self.database
            now = self.clock()
            plan = await self._planned(database, now)
            if plan == Plan():
                return Outcome("", gettext_lazy("there is nothing new"))
            try:
                run = await database.write(_STORE, lambda tx: self._done(tx, plan, now), durable=True)
            except BrokenPlan as error:
                note = gettext_lazy("all changes, because {why}", why=reason_of(error))
                _log.error("cleanup_refused", reason=str(error), hint="nothing was changed")
                await database.write(_REFUSE, lambda tx: run_records.begin_run(tx, now, "refused", (note,)))
                return Outcome("", note)
            if not run:
                return Outcome("", gettext_lazy("there is nothing new"))
            found = await database.read(run_records.latest_run)
        return Outcome(run, counts_words(found) if found is not None else "")

    def _done(self, tx: Tx, plan: Plan, now: datetime) -> str:
        run = apply(tx, plan, now)
        if run:
            _tell(tx, run, now)
            inference_consent.plan(tx, run, now)
        return run

    async def _planned(self, database: Database, now: datetime) -> Plan:
        """The plan for all agents' entries; this writes nothing but the costs of calls."""
        calls = RunCalls(database, self.deps)
        every = await database.read(agents.agents)
        drafts = [await self._of_agent(calls, agent, now) for agent in every]
        return Plan(
            tuple(item for draft in drafts for item in draft.items),
            tuple(mark for draft in drafts for mark in draft.marks),
            tuple({entry.id: entry for draft in drafts for entry in draft.again}.values()),
            tuple(dict.fromkeys(note for draft in drafts for note in draft.notes)),
        )

    async def _of_agent(self, calls: RunCalls, agent: Agent, now: datetime) -> Draft:
        database, settings, has_model = calls.database, self.deps.settings, calls.has_model(agent)

        async def choice(of: Pass) -> Candidates:
            return await choose(database, agent.id, of)

        draft = Draft(calls, agent, await database.read(lambda rows: run_records.allowance(rows, agent.id, now)))
        by_rule = await choice(Pass.DUPLICATES)
        merge_duplicates(by_rule, draft)
        if has_model:
            await consolidate(await choice(Pass.CONSOLIDATION), draft)
        elif groups := _left(by_rule, draft):
            draft.note(
                ngettext_lazy(
                    "{count} group of similar entries, because {why}",
                    "{count} groups of similar entries, because {why}",
                    groups,
                    why=NO_MODEL,
                )
            )
        given = await database.read(lambda rows: feedback.corrections(rows, agent.id, _CORRECTIONS))
        await learn_lessons(given, draft)
        if has_model and settings.preferences:
            await infer_preferences(await database.read(lambda rows: sayings(rows, agent.id, now)), draft)
        if has_model and settings.graph:
            new = await database.read(lambda rows: fresh(rows, agent.id, Pass.ENTITIES))
            await link_entities(new, draft)
        if has_model and settings.contradictions:
            await sweep(await choice(Pass.CONTRADICTIONS), draft)
        return draft


def _left(choice: Candidates, draft: Draft) -> int:
    """The number of groups of similar entries that the rules leave undecided."""
    clusters = (cluster for clusters in choice.clusters.values() for cluster in clusters)
    return sum(not any(entry.id in draft.taken for entry in cluster) for cluster in clusters)


def counts_words(run: Run) -> str:
    retired, related = run.retired, run.related
    said = [
        ngettext_lazy("{count} entry retired", "{count} entries retired", retired) if retired else "",
        ngettext_lazy("{count} created", "{count} created", run.made) if run.made else "",
        ngettext_lazy("{count} improved", "{count} improved", run.refined) if run.refined else "",
        ngettext_lazy("{count} relation noted", "{count} relations noted", related) if related else "",
    ]
    return join_lazy(", ", filter(None, said)) or gettext_lazy("nothing changed")


def _tell(tx: Tx, run: str, now: datetime) -> None:
    """Write the run's numbers into the activity log, for each audience that they concern."""
    sql = """SELECT agent_id, audience, min(trust) AS trust, sum(action IN ('merged', 'retired')) AS retired,
             sum(action = 'made') AS made, sum(action = 'refined') AS refined
             FROM dream_items WHERE run_id = ? GROUP BY agent_id, audience"""
    for row in tx.all(sql, (run,)):
        counts = {name: int(row[name]) for name in ("retired", "made", "refined")}
        words = gettext_lazy("cleaned up its memory: {retired} retired, {made} created, {refined} improved", **counts)
        of = Audience(row["audience"]), Trust(row["trust"]), AgentId(row["agent_id"])
        activity.note(tx, activity.NewEvent(activity.MemoryTidied(run, **counts), words, *of), now)
