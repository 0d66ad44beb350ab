"""Budgets for language models: reserved before a call and settled with its answer; calls shrink as money runs out.

Each limit is for one subject per day or month (UTC), in money or tokens. As it runs out, calls shrink in steps, and the
person is told of each step once: a cheaper model, then short answers without tools, then the offline model or a
refusal. With a budget of zero, no provider is asked. If a model's price is unknown, its calls count only in tokens, and
are shown as such: unknown is not zero. `bot.agents.turn` and `bot.upkeep.background_calls` ask before they call.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import IntEnum
from typing import Literal

from msgspec import Struct, field

from bot.agents.context.quotes import estimate_tokens
from bot.config.values import OFFLINE
from bot.models.base import Answer, FailedModel, Request, Trouble, Usage
from bot.models.prices import priced
from memory import agents, spending
from memory.agents import Agent
from memory.knowledge.working_memory import PATROL
from memory.queue import outbox
from memory.queue.turns import Turn
from memory.spending import Filter, Limit, ModelCost, Period, Spender, Sum, guild_of
from memory.store.database import Rows, Tx
from memory.store.ids import place_source
from memory.store.records import asdict, replace
from texts import _, gettext_noop, moment_text

_SHORT_TOKENS = 300  # of an answer, when only short ones are allowed
_USUAL_TOKENS = 800  # of an answer without another limit: only for the reservation
_BRIEFLY = "\n\n## Now\nThe budget is nearly spent: answer in two or three sentences, without any tool."

_PARTS = {"cast_ballot", "choose_members"}


class BudgetLevel(IntEnum):
    """How much a call may do, from everything to nothing."""

    FULL = 0
    CHEAPER = 1
    SHORT = 2
    OFFLINE = 3
    REFUSED = 4


_CHEAPER_AT, _SHORT_AT = 0.8, 0.95  # shares of a limit


class BudgetThresholds(Struct, frozen=True):
    """The model that answers when most of a limit is used, and what happens when all of it is."""

    cheaper_model: str = ""
    when_spent: Literal["offline", "refuse"] = "offline"


class Allowance(Struct, frozen=True):
    """What a call may do: with which agent's settings, and what was reserved for it."""

    level: BudgetLevel
    agent: Agent
    reservation: int | None = None
    words: str = ""
    """For the person, when the call is refused."""

    def request(self, request: Request) -> Request:
        if self.level is not BudgetLevel.FULL and self.agent.model == OFFLINE:
            return replace(request, failed=(FailedModel("", Trouble.BUDGET),))
        if self.level is not BudgetLevel.SHORT:
            return request
        most = min(request.max_tokens or _SHORT_TOKENS, _SHORT_TOKENS)
        if request.tools and {tool.name for tool in request.tools} <= _PARTS:
            return replace(request, max_tokens=most)  # a ballot can only be cast with that tool
        asked = replace(request, tools=(), named_tools=(), force_tool="")
        return replace(asked, system=request.system + _BRIEFLY, max_tokens=most)


class BudgetState(Struct, frozen=True):
    """The state of one limit: what was spent, and where it was set."""

    limit: Limit
    spent: Sum
    ends: datetime
    by_command: bool


class Budgets(Struct):
    """The limits of one constellation; `decided` are those set by command, as in the store."""

    configured: Mapping[tuple[str, Period], Limit] = field(default_factory=dict)
    thresholds: BudgetThresholds = field(default_factory=BudgetThresholds)
    default_model: str = OFFLINE
    upkeep_model: str = ""
    decided: dict[tuple[str, Period], Limit] = field(default_factory=dict)

    @property
    def limits(self) -> list[Limit]:
        return list({**self.configured, **self.decided}.values())

    def concerns(self, agent: Agent) -> bool:
        """Whether calls of this agent need a check at all."""
        return bool(self.limits) and self.model_of(agent) != OFFLINE

    def allow(
        self, tx: Tx, turn: Turn, agent: Agent, request: Request, now: datetime, *, news: bool = False
    ) -> Allowance:
        """Decide what a call may do, and reserve its estimated cost; tells the person when a lower level begins."""
        spender = Spender(turn.id, agent.id, turn.person, guild_of(turn.scope))
        patrol = place_source(turn.place) == PATROL
        unasked = patrol or news or turn.person is None
        level, limit = self._level_for(tx, spender, agent, request, now, unasked=unasked)
        if patrol and level is BudgetLevel.SHORT:
            level = BudgetLevel.OFFLINE  # without its tools a model could only pretend to have looked
        silent = patrol or (limit is not None and limit.subject == "jobs")  # nobody waits for an answer
        if limit is not None and level is not BudgetLevel.FULL and not silent:
            _tell(tx, turn, level, limit, now)
        match level:
            case BudgetLevel.REFUSED if limit is not None:
                return Allowance(
                    level, agent, words="" if silent else _words(level, limit, now, place_source(turn.place))
                )
            case BudgetLevel.OFFLINE:
                return Allowance(level, replace(agent, model=OFFLINE))
        return self._reserved(tx, level, spender, agent, request, now)

    def allow_upkeep(self, tx: Tx, spender: Spender, agent: Agent, request: Request, now: datetime) -> Allowance | None:
        """Decide whether a background call may be made, and reserve its cost; None if it may not.

        Only the first two levels allow it: the rest of a budget is kept for people.
        """
        level, _limit = self._level_for(tx, spender, agent, request, now, unasked=True)
        allowed = None if level > BudgetLevel.CHEAPER else self._reserved(tx, level, spender, agent, request, now)
        return None if allowed is None or allowed.reservation is None else allowed

    def _reserved(
        self, tx: Tx, level: BudgetLevel, spender: Spender, agent: Agent, request: Request, now: datetime
    ) -> Allowance:
        cheaper = level >= BudgetLevel.CHEAPER and self.thresholds.cheaper_model
        chosen = replace(agent, model=cheaper) if cheaper else agent
        if chosen.model == OFFLINE:
            return Allowance(level, chosen)
        tokens, cost = self._estimate(agent, request)
        return Allowance(level, chosen, spending.reserve(tx, spender, cost, tokens, now))

    def _estimate(self, agent: Agent, request: Request) -> tuple[int, float | None]:
        """A call's estimated tokens and cost; the cost is None if the price is unknown."""
        asked, answer = request_tokens(request), request.max_tokens or _USUAL_TOKENS
        return asked + answer, priced(self.model_of(agent), Usage(asked, answer)).cost_usd

    def _level_for(
        self, rows: Rows, spender: Spender, agent: Agent, request: Request, now: datetime, *, unasked: bool
    ) -> tuple[BudgetLevel, Limit | None]:
        """The lowest level that a limit demands for a call, and that limit. `unasked`: no person waits for it."""
        tokens, cost = self._estimate(agent, request)
        lowest: tuple[BudgetLevel, Limit | None] = (BudgetLevel.FULL, None)
        for limit in self.limits:
            if (counted := _counted(limit, spender, agent, unasked=unasked)) is None:
                continue
            spent = spending.spent(rows, counted, spending.period_start(limit.period, now), now)
            after = replace(spent, usd=spent.usd + (cost or 0), tokens=spent.tokens + tokens)
            level = self._of_share(max(_share(limit, after), 2 if _share(limit, spent) >= 1 else 0))
            if level > lowest[0]:
                lowest = level, limit
        return lowest

    def states(self, rows: Rows, now: datetime) -> list[BudgetState]:
        """The state of each limit; for a limit per person or guild, that of the highest spender."""
        return [
            BudgetState(each, _most_spent(rows, each, now), spending.period_end(each.period, now), key in self.decided)
            for key, each in {**self.configured, **self.decided}.items()
        ]

    def model_of(self, agent: Agent) -> str:
        """The model for an agent: its own, else the service's."""
        return agent.model or self.default_model

    def for_upkeep(self, agent: Agent) -> Agent:
        """The agent with the model that summarizes and cleans up for it: the one set for that, else its own."""
        return replace(agent, model=self.upkeep_model or self.model_of(agent))

    def _of_share(self, share: float) -> BudgetLevel:
        if share > 1:
            return BudgetLevel.OFFLINE if self.thresholds.when_spent == "offline" else BudgetLevel.REFUSED
        if share > _SHORT_AT:
            return BudgetLevel.SHORT
        return BudgetLevel.CHEAPER if share > _CHEAPER_AT and self.thresholds.cheaper_model else BudgetLevel.FULL


def _counted(limit: Limit, spender: Spender, agent: Agent, *, unasked: bool) -> Filter | None:
    """The spender that a limit counts for this call; None if it does not apply."""
    kind, _, name = limit.subject.partition(":")
    match kind:
        case "agent":
            return Filter(agent=spender.agent) if name.casefold() == agent.name.casefold() else None
        case "person":
            own = spender.person is not None and name in ("", spender.person)
            return Filter(person=spender.person) if own else None
        case "guild":
            own = spender.guild is not None and name in ("", spender.guild.partition(":")[2])
            return Filter(guild=spender.guild) if own else None
        case "jobs":
            return Filter(jobs=True) if unasked else None
        case _:
            return Filter()


def _share(limit: Limit, spent: Sum) -> float:
    """The used share of a limit; above 1 for a limit of zero."""
    pairs = ((spent.usd, limit.usd), (spent.tokens, limit.tokens))
    return max((used / most if most else 2.0) for used, most in pairs if most is not None)


def request_tokens(request: Request) -> int:
    """The estimated tokens of a call's input."""
    return estimate_tokens(
        "".join((request.system, *(each.text for each in request.messages), *map(str, request.tools)))
    )


def cost_of(answer: Answer, request: Request) -> ModelCost:
    """The cost of an answer; estimated if its server does not report it or the answer was cut off."""
    usage = answer.usage
    if not usage.input_tokens and usage.cost_usd is None:
        written = "".join((answer.text, *[call.arguments for call in answer.calls]))
        usage = priced(answer.model, Usage(request_tokens(request), estimate_tokens(written) if written else 0))
    return ModelCost(answer.model, **asdict(usage))


def _most_spent(rows: Rows, limit: Limit, now: datetime) -> Sum:
    """The spending against a limit; if it is per person or guild, that of the highest spender."""
    kind, _, name = limit.subject.partition(":")
    since = spending.period_start(limit.period, now)
    match kind:
        case "agent":
            named = agents.agent_named(rows, name)
            filters = [] if named is None else [Filter(agent=named.id)]
        case "person":
            filters = [
                Filter(person=each) for each in ([name] if name else spending.spenders(rows, "person_id", since))
            ]
        case "guild":
            found = [f"guild:{name}"] if name else spending.spenders(rows, "guild_id", since)
            filters = [Filter(guild=each) for each in found]
        case "jobs":
            filters = [Filter(jobs=True)]
        case _:
            filters = [Filter()]
    return max(
        (spending.spent(rows, of, since, now) for of in filters),
        key=lambda each: _share(limit, each),
        default=Sum(0, 0, 0),
    )


def _tell(tx: Tx, turn: Turn, level: BudgetLevel, limit: Limit, now: datetime) -> None:
    """Tell the person once per period, place and level. A refusal is the answer itself."""
    if turn.person is None or level is BudgetLevel.REFUSED:
        return
    began = spending.period_start(limit.period, now)
    key = f"budget/{limit.subject}/{limit.period}/{began:%Y-%m-%d}/{level}/{turn.person}/{turn.place}"
    source = place_source(turn.place)
    words = _words(level, limit, now, source)
    outbox.add(tx, outbox.NewRow(key, turn.place, words, turn.scope.audience, person=turn.person), now)


def _words(level: BudgetLevel, limit: Limit, now: datetime, source: str) -> str:
    """The text for the person; without amounts of money."""
    until = moment_text(spending.period_end(limit.period, now), source)
    budget = _("Today's budget") if limit.period == "day" else _("This month's budget")
    said = {
        BudgetLevel.CHEAPER: gettext_noop("{budget} for answers is low. A smaller model answers until {until}."),
        BudgetLevel.SHORT: gettext_noop("{budget} for answers is almost used up. My answers are short until {until}."),
        BudgetLevel.OFFLINE: gettext_noop("{budget} for answers is used up. Until {until}, I answer only from memory."),
        BudgetLevel.REFUSED: gettext_noop("{budget} for answers is used up. Ask me again after {until}."),
    }
    return _(said[level], budget=budget, until=until)
