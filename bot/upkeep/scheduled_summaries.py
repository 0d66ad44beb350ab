"""Summaries of agents, days and weeks: jobs run by the schedule. `bot.upkeep.compaction` summarizes conversations.

Rows show which summaries are missing, so after an interrupted or skipped run, the next one makes them, once. Each is
made from messages of one audience. Models are asked first; one short transaction then stores the summary, unless its
messages changed meanwhile. If no model answers, the old one stays. Without a language model, rules count and quote.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import TypeAlias, TypeVar

from msgspec import Struct, field

from bot.agents.context.quotes import PromptText
from bot.config.values import OFFLINE
from bot.models.base import AssistantMessage, Request, UserMessage
from bot.upkeep import prompts
from bot.upkeep.background_calls import Background, NoAnswer, people_first
from bot.upkeep.model_answers import AgentDigest, DayDigest, UnusableAnswer, read_answer, schema_of
from memory import agents
from memory.agents import Agent
from memory.blocks.records import CONSTELLATION_OWNER
from memory.knowledge import summaries
from memory.knowledge.summaries import AgentSummary, ConstellationSummary, Span
from memory.people.audience import Audience, Scope
from memory.queue.messages import Message
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.logs import Log
from memory.store.records import replace
from scheduler.job_kinds import Kinds, WorkJob
from scheduler.zones import instant, zone_of
from sources.text import one_line
from texts import gettext_lazy, gettext_noop, join_lazy, many

F = TypeVar("F", AgentDigest, DayDigest)

DAY_BEGINS = time(4)  # people who are up late belong to the day before


class Period(Struct, frozen=True):
    """From `start` until before `end`, both in UTC; `name` is the local date of its beginning."""

    start: datetime
    end: datetime
    name: str


def _periods(now: datetime, zone: str, count: int, span: timedelta) -> list[Period]:
    """The newest finished days, or weeks from Monday on, oldest first."""
    where = zone_of(zone)
    day = now.astimezone(where).date()
    if span.days == 7:
        day -= timedelta(days=day.weekday())
    found: list[Period] = []
    while len(found) < count:
        start, end = (instant(datetime.combine(each, DAY_BEGINS), where) for each in (day, day + span))
        if end <= now:
            found.append(Period(start, end, f"{day:%Y-%m-%d}"))
        day -= span
    return found[::-1]


_LATELY = timedelta(hours=24)  # earlier actions of an agent are left out
_NEW = 5  # new messages that justify a summary of an active agent
_READ = 80  # of an agent's messages
_DAYS, _WEEKS = 14, 2  # how far back missing ones are made


class DueAgent(Struct, frozen=True):
    """An agent whose summary for an audience is due, with its messages and the summary to replace."""

    agent: Agent
    audience: Audience
    sources: Sequence[Message]
    previous: AgentSummary | None

    @property
    def name(self) -> str:
        return self.agent.name


class DuePeriod(Struct, frozen=True):
    """A day, or a week with its summarized days, to be summarized for an audience."""

    period: Period
    audience: Audience
    days: Sequence[ConstellationSummary] | None = None

    @property
    def name(self) -> str:
        name = self.period.name
        return name if self.days is None else gettext_lazy("the week of {week}", week=name)


Due: TypeAlias = DueAgent | DuePeriod


def due_agents(rows: Rows, now: datetime) -> list[Due]:
    """Agents with news since their last summary: at least five messages, or any if they are idle now."""
    found: list[Due] = []
    known = {agent.id: agent for agent in agents.agents(rows) if agent.status != "archived"}
    since = now - _LATELY
    for doing in summaries.doing(rows, since):
        if (agent := known.get(doing.agent)) is None:
            continue
        previous = summaries.agent_summary(rows, agent.id, doing.audience)
        sources = summaries.of_agent(rows, agent.id, doing.audience, since, _READ)
        told = 0 if previous is None else previous.covers[1]
        new = sum(bool(message.text) and message.id > told for message in sources)
        if new >= _NEW or (new and not doing.active):
            found.append(DueAgent(agent, doing.audience, sources, previous))
    return found


def due_days(rows: Rows, now: datetime, zone: str) -> list[Due]:
    """Finished days with messages that are not summarized: all, or those that became known late."""
    return [
        DuePeriod(period, talk.audience)
        for period in _periods(now, zone, _DAYS, timedelta(days=1))
        for talk in summaries.talk_between(rows, period.start, period.end)
        if all(talk.newest > told.covers[1] for told in _stored(rows, talk.audience, "day", period))
    ]


def due_weeks(rows: Rows, now: datetime, zone: str) -> list[Due]:
    """Finished weeks with days that were summarized since the week was."""
    found: list[Due] = []
    for period in _periods(now, zone, _WEEKS, timedelta(days=7)):
        for audience in summaries.audiences_of_days(rows, period.start, period.end):
            days, told = _days_of(rows, audience, period), _stored(rows, audience, "week", period)
            if not told or any(day.id > week.id for day in days for week in told):
                found.append(DuePeriod(period, audience, days))
    return found


def _stored(rows: Rows, audience: Audience, span: Span, period: Period) -> list[ConstellationSummary]:
    return summaries.overlapping(rows, audience, span, period.start, period.end)


def _days_of(rows: Rows, audience: Audience, period: Period) -> list[ConstellationSummary]:
    return [day for day in _stored(rows, audience, "day", period) if period.start <= day.start < period.end]


_KEEP_AGENT = commit_point("summaries.agent")
_KEEP_DAY = commit_point("summaries.day")

OF_AGENTS = "summary.agents"
OF_DAYS = "summary.constellation"

_OFF = gettext_lazy("turned off ({setting})", setting="[schedule] summaries")
_DAY_READ = 4_000  # messages of a day
_DAY_PARTS = 4  # in which a long day is summarized
_MOST = 40  # summaries of one run
_FAILURES = 3  # in a row, after which the rest is left for the next run
_TOKENS = 1_500
_log = Log("bot.upkeep.scheduled_summaries")


class Tally(Struct):
    """The counts of a run; no words of people."""

    names: list[str] = field(default_factory=list)
    outdated: int = 0
    left: int = 0
    why: list[str] = field(default_factory=list)
    failures: int = 0

    def words(self) -> str:
        names = join_lazy(", ", dict.fromkeys(self.names))
        outdated = gettext_noop("{count} not kept: the messages changed in the meantime")
        parts = [gettext_lazy("{count} created ({names})", count=len(self.names), names=names)] if self.names else []
        parts += [gettext_lazy(outdated, count=self.outdated)] if self.outdated else []
        failed = gettext_noop("{count} not created: {why}")
        parts += [gettext_lazy(failed, count=self.why.count(why), why=why) for why in dict.fromkeys(self.why)]
        parts += [gettext_lazy("{count} left for the next run", count=self.left)] if self.left else []
        return join_lazy("; ", parts) if parts else gettext_lazy("nothing new")


class SummaryJob(Struct, frozen=True):
    """The summaries of agents, days and weeks.

    While `busy`, people are being answered, and no model is asked for a while.
    """

    background: Background
    zone: str
    busy: Callable[[], bool]
    enabled: bool = True

    def kinds(self) -> Kinds:
        return {
            OF_AGENTS: WorkJob(lambda database, firing: self.agents(database, firing.now)),
            OF_DAYS: WorkJob(lambda database, firing: self.days(database, firing.now)),
        }

    async def agents(self, database: Database, now: datetime) -> str:
        """Summarize agents with news; returns the result in words."""
        if not self.enabled:
            return _OFF
        found = await database.read(lambda rows: due_agents(rows, now))
        return (await self._all(database, found)).words()

    async def days(self, database: Database, now: datetime) -> str:
        """Summarize finished days, then weeks; returns the result in words."""
        if not self.enabled:
            return _OFF
        days = await database.read(lambda rows: due_days(rows, now, self.zone))
        tally = await self._all(database, days)
        weeks = await database.read(lambda rows: due_weeks(rows, now, self.zone))
        return (await self._all(database, weeks, tally)).words()

    async def _all(self, database: Database, found: Sequence[Due], tally: Tally | None = None) -> Tally:
        tally = tally or Tally()
        for due in found:
            if len(tally.names) >= _MOST or tally.failures >= _FAILURES:
                tally.left += 1
                continue
            await people_first(self.busy)
            try:
                kept = await self._one(database, due)
            except NoAnswer as error:
                tally.why.append(error.reason)
                tally.failures += error.why != "budget"
                _log.warning("summary_failed", of=due.name, reason=error.reason, hint="made again at the next run")
                continue
            tally.failures = 0
            tally.outdated += not kept
            tally.names += [due.name] if kept else []
        return tally

    async def _one(self, database: Database, due: Due) -> bool:
        if isinstance(due, DueAgent):
            return await self._agent(database, due)
        return await (self._day(database, due) if due.days is None else self._week(database, due, due.days))

    # ------------------------------------------------------------------------------------------------- each

    async def _agent(self, database: Database, due: DueAgent) -> bool:
        agent = self.background.budgets.for_upkeep(due.agent)
        now, system = self.background.clock(), prompts.DID.format(name=agent.name)
        if await self.background.has_language_model(agent):
            texts = [prompts.agent_text(due.sources)]
            did, model = await self._told(database, agent, due.audience, system, texts, AgentDigest)
        else:
            did, model = _agent_extract(due.sources), OFFLINE
        trust = min(message.trust for message in due.sources)
        words = self.background.redact(did.summary)
        made = AgentSummary(
            words, due.audience, trust, len(due.sources), model, now, agent=agent.id, agent_name=agent.name
        )

        def work(tx: Tx) -> bool:
            stored = summaries.agent_summary(tx, agent.id, due.audience)
            if stored != due.previous or not summaries.unchanged(tx, due.sources):
                return False
            summaries.put_agent_summary(tx, made, due.sources)
            return True

        return await database.write(_KEEP_AGENT, work)

    async def _day(self, database: Database, due: DuePeriod) -> bool:
        period, agent = due.period, self._for_all()

        def read_day(rows: Rows) -> tuple[list[Message], dict[str, str], list[ConstellationSummary]]:
            found = summaries.said_between(rows, due.audience, period.start, period.end, _DAY_READ)
            return found, summaries.places_of(rows, found), _stored(rows, due.audience, "day", period)

        sources, places, stored = await database.read(read_day)
        if not sources:
            return False
        if await self.background.has_language_model(agent):
            texts = prompts.day_texts(sources, places, _DAY_PARTS)
            told, model = await self._told(database, agent, due.audience, prompts.DAY, texts, DayDigest)
        else:
            told, model = _day_extract(sources, places), OFFLINE
        made = self._summary(due, told, model, sources)

        def work(tx: Tx) -> bool:
            if _stored(tx, due.audience, "day", period) != stored or not summaries.unchanged(tx, sources):
                return False
            summaries.add_constellation_summary(tx, made, sources)
            return True

        return await database.write(_KEEP_DAY, work)

    async def _week(self, database: Database, due: DuePeriod, days: Sequence[ConstellationSummary]) -> bool:
        agent = self._for_all()
        if len(days) == 1:
            told = DayDigest(summary=days[0].summary, key_decisions=days[0].decisions, open_threads=days[0].threads)
            model = days[0].model
        elif await self.background.has_language_model(agent):
            texts = [prompts.week_text(days)]
            told, model = await self._told(database, agent, due.audience, prompts.WEEK, texts, DayDigest)
        else:
            told, model = _week_extract(days), OFFLINE
        made = replace(self._summary(due, told, model, days), span="week", messages=sum(day.messages for day in days))

        def work(tx: Tx) -> bool:
            if _days_of(tx, due.audience, due.period) != days:
                return False
            summaries.add_week(tx, made, days)
            return True

        return await database.write(_KEEP_DAY, work)

    def _for_all(self) -> Agent:
        """The account for everybody's summaries: no agent's, only the constellation's."""
        return self.background.budgets.for_upkeep(Agent(CONSTELLATION_OWNER, CONSTELLATION_OWNER, "", "", "", ()))

    def _summary(
        self, due: DuePeriod, told: DayDigest, model: str, made_of: Sequence[Message | ConstellationSummary]
    ) -> ConstellationSummary:
        redact = self.background.redact
        decisions, threads = (tuple(map(redact, lines)) for lines in (told.key_decisions, told.open_threads))
        start, end = due.period.start, due.period.end
        words, trust, now = redact(told.summary), min(each.trust for each in made_of), self.background.clock()
        return ConstellationSummary(
            words, due.audience, trust, len(made_of), model, now,
            start=start, end=end, decisions=decisions, threads=threads,
        )  # fmt: skip

    async def _told(
        self,
        database: Database,
        agent: Agent,
        audience: Audience,
        system: str,
        texts: Sequence[PromptText],
        form: type[F],
    ) -> tuple[F, str]:
        """A model's summary of a text's parts, one after the other, and the model. Raises NoAnswer.

        An answer in another form is requested once more.
        """
        told: F | None = None
        model = ""
        for text in texts:
            shown = prompts.next_part(told, text) if isinstance(told, DayDigest) else text
            said: tuple[UserMessage | AssistantMessage, ...] = (UserMessage(shown),)
            for last in (False, True):
                request = Request(system, said, max_tokens=_TOKENS, form=schema_of(form))
                answer = await self.background.ask(database, agent, Scope(audience), request)
                model = answer.model
                try:
                    told = read_answer(answer.text, form)
                    break
                except UnusableAnswer as error:
                    if last:
                        why = gettext_lazy("the answer had the wrong form twice ({error})", error=error)
                        raise NoAnswer("failed", why) from error
                    repair = UserMessage(prompts.REPAIR.format(error))
                said = (*said, AssistantMessage(answer.text[:4_000]), repair)
        if told is None:
            raise NoAnswer("failed", gettext_lazy("there was nothing to report"))
        return told, model


# ------------------------------------------------------------------- without a language model: counted and quoted

_QUOTED = 140  # characters of one message in an extract
_NAMED = 5  # people and places in an extract


def _agent_extract(sources: Sequence[Message]) -> AgentDigest:
    heard = [message for message in sources if message.role == "user"]
    said = [message for message in sources if message.role == "assistant" and message.text]
    tools = Counter(message.tool_name for message in sources if message.role == "assistant" and message.tool_name)
    parts = [f"Gave {many(len(said), 'answer')} to {many(len(heard), 'message')}{_from(_names(heard))}."]
    if tools:
        parts.append(f"Used {', '.join(f'{name} ({count})' for name, count in sorted(tools.items()))}.")
    if heard:
        parts.append(f"Newest: {_quote(heard[-1])}.")
    return AgentDigest(summary=" ".join(parts)[:800])


def _day_extract(sources: Sequence[Message], places: Mapping[str, str]) -> DayDigest:
    """A day, counted and quoted by rules; rules cannot tell decisions or open questions."""
    heard = [message for message in sources if message.role == "user"]
    agents = Counter(message.speaker for message in sources if message.role == "assistant")
    where = [places[place] for place in dict.fromkeys(message.place for message in sources) if place in places]
    parts = [f"{many(len(heard), 'message')}{_from(_names(heard))}{_in(where)}."]
    parts += [f"{one_line(name, 40)} gave {many(count, 'answer')}." for name, count in sorted(agents.items())]
    ends = heard[:1] + heard[-1:] if len(heard) > 1 else heard
    parts += [f"{word}: {_quote(message)}." for word, message in zip(("First", "Last"), ends, strict=False)]
    return DayDigest(summary=" ".join(parts)[:2_000])


def _week_extract(days: Sequence[ConstellationSummary]) -> DayDigest:
    """A week, assembled from its days by rules."""
    lines = [f"{day.start:%A}: {day.summary}" for day in days]
    decisions = tuple(dict.fromkeys(line for day in days for line in day.decisions))
    threads = tuple(dict.fromkeys(line for day in reversed(days) for line in day.threads))
    return DayDigest(summary=one_line(" ".join(lines), 2_000), key_decisions=decisions[-12:], open_threads=threads[:12])


def _names(heard: Sequence[Message]) -> list[str]:
    """Everybody under their latest name."""
    names = {message.person or message.speaker: message.speaker for message in heard}
    return [one_line(name, 40) for name in dict.fromkeys(names.values()) if name]


def _from(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f" from {', '.join(names[:_NAMED])}{more}" if names else ""


def _in(places: Sequence[str]) -> str:
    more = f" and {many(len(places) - _NAMED, 'more place')}" if len(places) > _NAMED else ""
    return f" in {', '.join(one_line(place, 40) for place in places[:_NAMED])}{more}" if places else ""


def _quote(message: Message) -> str:
    return f"“{one_line(message.text, _QUOTED)}”"
