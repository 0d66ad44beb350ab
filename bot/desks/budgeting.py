"""Budgets by command: seen, set and taken back, for any front end. What is decided wins over the configuration."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from bot import policy
from bot.budgets import Budgets, Ladder, Standing
from bot.config import Config
from bot.config.spending import Budget, check_subject
from bot.desks.approving import Approvals
from bot.errors import UserError
from bot.policy import Action, Approver
from memory import agents, budgets
from memory.amounts import many
from memory.budgets import Limit, Period
from memory.clock import to_text
from memory.database import Database, Tx
from memory.faults import commit_point
from sources.terminal import PERSON

_DECIDE = commit_point("budget.decide")
_SWEEP = commit_point("budget.sweep")
_OWNER = Approver(PERSON, door="command line")

Rows: TypeAlias = list[dict[str, Any]]


def configured_budgets(config: Config) -> Budgets:
    """The budgets of the configuration."""
    given = config.budgets
    limits = [Limit(each.subject, each.period, each.usd, each.tokens) for each in given.limits]
    ladder = Ladder(given.cheaper_model, given.cheaper_at, given.short_at, given.when_spent)
    return Budgets({(each.subject, each.period): each for each in limits}, ladder, config.model.default)


class Budgeting:
    """The budgets of one constellation, for people; `kept` is what every turn asks."""

    def __init__(self, approvals: Approvals, kept: Budgets) -> None:
        self._approvals = approvals
        self._kept = kept

    async def load(self, *, at_start: bool) -> None:
        """Read what was decided; at the start of a service what a dead process reserved is released."""
        async with self._open() as database:
            found = await database.read(budgets.limits)
            if at_start and await database.read(budgets.any_reserved):
                await database.write(_SWEEP, budgets.release_all)
        self._kept.decided.clear()
        self._kept.decided.update({(each.subject, each.period): each for each in found})

    async def standings(self, who: Approver) -> list[Standing]:
        """How every budget stands. Raises UserError."""
        policy.require(self._approvals.people, who, Action.COST)
        now = self._approvals.clock()
        async with self._open() as database:
            return await database.read(lambda rows: self._kept.standings(rows, now))

    async def set(self, wanted: Limit, who: Approver) -> str:
        """Let a budget hold from now on. Raises UserError."""
        policy.require(self._approvals.people, who, Action.BUDGET)
        limit = _checked(wanted)
        now = self._approvals.clock()

        def work(tx: Tx) -> None:
            kind, _, name = limit.subject.partition(":")
            if kind == "agent" and agents.agent_named(tx, name) is None:
                there = ", ".join(each.name for each in agents.every_agent(tx))
                raise UserError(f"there is no agent {name!r}; there are: {there}")
            budgets.put(tx, limit, who.person, now)

        async with self._open() as database:
            await database.write(_DECIDE, work, durable=True)
        self._kept.decided[limit.subject, limit.period] = limit
        return f"From now on: {limit.subject}, each {limit.period}: {limit_words(limit)}."

    async def clear(self, subject: str, period: Period, who: Approver) -> str:
        """Take a decision back; what the configuration says holds again. Raises UserError."""
        policy.require(self._approvals.people, who, Action.BUDGET)
        named = _subject(subject)
        async with self._open() as database:
            done = await database.write(_DECIDE, lambda tx: budgets.drop(tx, named, period), durable=True)
        if not done:
            raise UserError(f"No budget of {named} for each {period} was set by command.")
        self._kept.decided.pop((named, period), None)
        left = self._kept.configured.get((named, period))
        return "Taken back: " + (f"the configuration's holds ({limit_words(left)})." if left else "there is none now.")

    def _open(self) -> AbstractAsyncContextManager[Database]:
        return self._approvals.constellations.use(self._approvals.house)

    # ------------------------------------------------------------------ the owner's command line

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {"budget.list": self.owner_list, "budget.set": self.owner_set, "budget.clear": self.owner_clear}

    async def owner_list(self) -> Rows:
        """Every budget as plain data."""
        return [standing_data(each) for each in await self.standings(_OWNER)]

    async def owner_set(
        self, subject: str, period: str = "day", usd: float | None = None, tokens: int | None = None
    ) -> Rows:
        """Set one."""
        return [{"text": await self.set(Limit(subject, as_period(period), usd, tokens), _OWNER)}]

    async def owner_clear(self, subject: str, period: str = "day") -> Rows:
        """Take one back."""
        return [{"text": await self.clear(subject, as_period(period), _OWNER)}]


async def open_budgeting(approvals: Approvals, kept: Budgets, *, at_start: bool) -> Budgeting:
    """Make it for one constellation, with what was decided before."""
    made = Budgeting(approvals, kept)
    await made.load(at_start=at_start)
    return made


def as_period(text: str) -> Period:
    """A period as somebody names it. Raises UserError."""
    match text:
        case "day" | "month":
            return text
        case _:
            raise UserError(f"a budget is for each day or month, not {text!r}")


def limit_words(limit: Limit) -> str:
    """A limit for a person."""
    said = [] if limit.usd is None else [f"${limit.usd:,.2f}"]
    said += [] if limit.tokens is None else [f"{limit.tokens:,} tokens"]
    return " and ".join(said)


def standing_data(standing: Standing) -> dict[str, Any]:
    """How a budget stands, as plain data; what is left is never less than nothing."""
    limit, spent = standing.limit, standing.spent
    return {
        "of": limit.subject,
        "each": limit.period,
        "usd": limit.usd,
        "usd_left": None if limit.usd is None else round(max(limit.usd - spent.usd, 0), 4),
        "tokens": limit.tokens,
        "tokens_left": None if limit.tokens is None else max(limit.tokens - spent.tokens, 0),
        "calls_without_price": spent.unpriced,
        "begins_anew": to_text(standing.ends),
        "said": "by command" if standing.by_command else "in the configuration",
    }


def standing_line(standing: Standing) -> str:
    """How a budget stands, for a person."""
    limit, spent = standing.limit, standing.spent
    parts = [] if limit.usd is None else [f"${max(limit.usd - spent.usd, 0):,.4f} of ${limit.usd:,.2f} left"]
    if limit.tokens is not None:
        parts.append(f"{max(limit.tokens - spent.tokens, 0):,} of {limit.tokens:,} tokens left")
    if limit.usd is not None and spent.unpriced:
        parts.append(f"without {many(spent.unpriced, 'call')} whose price is not known")
    return f"{limit.subject}, this {limit.period}: {', '.join(parts)} (until {standing.ends:%Y-%m-%d %H:%M} UTC)"


def _subject(text: str) -> str:
    try:
        return check_subject(text)
    except ValueError as error:
        raise UserError(f"a budget is of {error}; not of {text[:80]!r}") from error


def _checked(wanted: Limit) -> Limit:
    subject = _subject(wanted.subject)
    try:
        Budget(subject=subject, period=wanted.period, usd=wanted.usd, tokens=wanted.tokens)
    except ValueError:
        raise UserError(
            "a budget is an amount of money or tokens, or both, from 0 on: --usd 2.50, --tokens 100000"
        ) from None
    return Limit(subject, wanted.period, wanted.usd, wanted.tokens)
