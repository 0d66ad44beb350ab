"""Rates each conversation once, half an hour after its last turn: by a model within the budgets, else by rules.

A model only names a grade, tools, and messages with corrections that no rule had noticed: these become corrections like
any other, from which upkeep learns.
"""

import contextlib
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from bot.upkeep.background_calls import NO_MODEL, RunCalls, UpkeepDeps
from bot.upkeep.consolidation import numbered
from bot.upkeep.model_answers import Judgement, UnusableAnswer, known, read_answer
from bot.upkeep.prompts import SESSIONS, system, talk_text
from memory import agents
from memory.agents import Agent
from memory.knowledge import evaluations, feedback
from memory.knowledge.evaluations import Evaluation, Quality, Talk
from memory.knowledge.feedback import Signal
from memory.knowledge.items import By
from memory.people.audience import Scope
from memory.queue.messages import Message
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import AgentId
from scheduler.job_kinds import DueJob, Kinds, WorkJob
from texts import gettext_lazy, gettext_noop, join_lazy

_JUDGE = commit_point("evaluations.keep")

EVALUATE = "feedback.sessions"
_MOST = 20  # conversations in one run


RATED = {
    Quality.GOOD: gettext_noop("{count} good"),
    Quality.FAIR: gettext_noop("{count} fair"),
    Quality.POOR: gettext_noop("{count} poor"),
}


class EvaluationJob(Struct, frozen=True):
    deps: UpkeepDeps

    def kinds(self) -> Kinds:
        return {EVALUATE: WorkJob(self.fire)}

    async def fire(self, database: Database, _firing: DueJob) -> str:
        now = self.deps.background.clock()

        def read(rows: Rows) -> tuple[list[Talk], dict[AgentId, Agent]]:
            found = evaluations.unjudged(rows, now, _MOST)
            return found, {each.id: each for each in agents.every_agent(rows)} if found else {}

        talks, by_id = await database.read(read)
        calls = RunCalls(database, self.deps)
        done = [await self._judge(calls, talk, by_id[talk.agent], now) for talk in talks]
        judged = [each for each in done if each is not None]
        counted = [gettext_lazy(RATED[each], count=judged.count(each)) for each in Quality if each in judged]
        told = [gettext_lazy("rated: {counted}", counted=join_lazy(", ", counted))] if judged else []
        if left := len(done) - len(judged):
            why = calls.refused or gettext_lazy("the conversations went on")
            told.append(gettext_lazy("{count} not rated: {why}", count=left, why=why))
        return join_lazy("; ", told) if told else gettext_lazy("no conversation has ended")

    async def _judge(self, calls: RunCalls, talk: Talk, agent: Agent, now: datetime) -> Quality | None:
        """Grade one conversation; None if it is left for the next run."""
        found, missed = evaluations.by_rules(talk), list[Message]()
        if calls.has_model(agent):
            short = numbered("m", talk.lines)
            told = talk_text(short, talk.tools, talk.failures)
            text = await calls.ask(agent, system(self.deps.directives, SESSIONS), told, Judgement)
            if text is None and calls.refused != NO_MODEL:
                return None
            with contextlib.suppress(UnusableAnswer):  # else the result of the rules counts
                found, missed = (found, missed) if text is None else _judged(text, talk, short)

        def work(tx: Tx) -> bool:
            kept = evaluations.keep(tx, talk, found, now)
            if kept:
                _note_corrections(tx, talk, missed, now)
            return kept

        return found.quality if await calls.database.write(_JUDGE, work) else None


def _judged(text: str, talk: Talk, short: dict[str, Message]) -> tuple[Evaluation, list[Message]]:
    """A model's grade of a conversation, and corrections that no rule had noticed. Raises UnusableAnswer."""
    answer = read_answer(text, Judgement)
    known(answer.corrections, {name for name, line in short.items() if line.person is not None})
    failed = [name for name in dict.fromkeys(answer.failed) if name in talk.tools]
    worked = [name for name in dict.fromkeys(answer.worked) if name in talk.tools and name not in failed]
    missed = [line for name in answer.corrections if (line := short[name]).id not in talk.corrected]
    return Evaluation(Quality(answer.quality), tuple(worked), tuple(failed), "model"), missed


def _note_corrections(tx: Tx, talk: Talk, missed: Sequence[Message], now: datetime) -> None:
    """Record corrections of the newest answer before each; the first message of a conversation corrects nothing."""
    for line in missed:
        before = [each for each in talk.lines if each.person is None and each.id < line.id]
        if before:
            who = talk.agent, line.person, talk.place, before[-1].batch, line.id
            feedback.note(tx, Signal.CORRECTION, By(Scope(talk.audience), line.trust, now, *who))
