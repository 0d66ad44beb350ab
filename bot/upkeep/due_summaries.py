"""Which summaries are missing, read from rows: what was said, and what was told of it already."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from bot.upkeep.days import Period, days_before, weeks_before
from memory import agents
from memory.agents import Agent
from memory.knowledge import summaries
from memory.knowledge.summaries import AgentSummary, ConstellationSummary
from memory.people.audience import Audience
from memory.queue.messages import Message
from memory.store.database import Rows

_LATELY = timedelta(hours=24)  # what an agent did before that is not told
_NEW = 5  # messages that make a summary of an active agent worth its while
_READ = 80  # of an agent's messages
_DAYS, _WEEKS = 14, 2  # how far back what is missing is made


@dataclass(frozen=True)
class DueAgent:
    """An agent whose summary for an audience is to be made, of these messages, in place of that one."""

    agent: Agent
    audience: Audience
    sources: Sequence[Message]
    previous: AgentSummary | None

    @property
    def name(self) -> str:
        return self.agent.name


@dataclass(frozen=True)
class DueDay:
    """A day that is to be told to an audience."""

    period: Period
    audience: Audience

    @property
    def name(self) -> str:
        return self.period.name


@dataclass(frozen=True)
class DueWeek:
    """A week that is to be told to an audience, from its days."""

    period: Period
    audience: Audience
    days: Sequence[ConstellationSummary]

    @property
    def name(self) -> str:
        return f"the week of {self.period.name}"


Due: TypeAlias = DueAgent | DueDay | DueWeek


def due_agents(rows: Rows, now: datetime) -> list[Due]:
    """Agents that did something since it was told: five messages' worth, or anything where they are not active now."""
    found: list[Due] = []
    known = {agent.id: agent for agent in agents.agents(rows) if agent.status != "archived"}
    since = now - _LATELY
    for doing in summaries.doing(rows, since):
        agent = known.get(doing.agent)
        if agent is None:
            continue
        previous = summaries.agent_summary(rows, agent.id, doing.audience)
        sources = summaries.of_agent(rows, agent.id, doing.audience, since, _READ)
        told = 0 if previous is None else previous.end
        new = sum(bool(message.text) and message.id > told for message in sources)
        if new >= _NEW or (new and not doing.active):
            found.append(DueAgent(agent, doing.audience, sources, previous))
    return found


def due_days(rows: Rows, now: datetime, zone: str) -> list[Due]:
    """Days that are over and in which somebody said something that was not told: all, or what came to be known late."""
    found: list[Due] = []
    for period in days_before(now, zone, _DAYS):
        for talk in summaries.talk_between(rows, period.start, period.end):
            due = DueDay(period, talk.audience)
            if all(talk.newest > told.covers[1] for told in standing_of(rows, due)):
                found.append(due)
    return found


def standing_of(rows: Rows, due: DueDay) -> list[ConstellationSummary]:
    """What was told of a day already."""
    return summaries.standing_between(rows, due.audience, "day", due.period.start, due.period.end)


def due_weeks(rows: Rows, now: datetime, zone: str) -> list[Due]:
    """Weeks that are over and of which days were told since the week was."""
    found: list[Due] = []
    for period in weeks_before(now, zone, _WEEKS):
        for audience in summaries.audiences_of_days(rows, period.start, period.end):
            days = days_of(rows, audience, period)
            told = summaries.standing_between(rows, audience, "week", period.start, period.end)
            if not told or any(day.id > week.id for day in days for week in told):
                found.append(DueWeek(period, audience, days))
    return found


def days_of(rows: Rows, audience: Audience, period: Period) -> list[ConstellationSummary]:
    """The days of a week that were told to an audience."""
    days = summaries.standing_between(rows, audience, "day", period.start, period.end)
    return [day for day in days if period.start <= day.start < period.end]
