"""Commands for costs of models and for budgets, which override the configuration; `bot.agents.budgets` applies them."""

import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bot.agents.budgets import Budgets, BudgetState, BudgetThresholds
from bot.agents.permissions.roles_and_rights import Action
from bot.config import Config
from bot.config.file_settings import Budget, check_subject
from bot.errors import UserError
from bot.services.caller import Caller
from bot.services.names import find_agent, require_suggested, unnamed
from bot.services.registry import CHANGES, Arguments, Param, Suggestions, operation, suggestions
from bot.services.results import ActionReport, Entry, Listing, Markup, Result, Row, report
from bot.services.transactions import ZonedService, commit, reads
from memory import agents, spending
from memory.people.audience import Audience, Scope
from memory.people.identities import audience_called, person_called
from memory.spending import Bill, By, Limit
from memory.store.database import Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import PersonId
from memory.store.records import replace
from scheduler.times_in_words import date_words
from scheduler.zones import instant, zone_of
from texts import _, gettext_noop, money_text, ngettext, ngettext_noop, number_text

_SWEEP = commit_point("budget.sweep")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_GENERAL = {
    "constellation": gettext_noop("everything together"),
    "jobs": gettext_noop("what agents do on their own"),
    "person": gettext_noop("each person"),
    "guild": gettext_noop("each server"),
}
_THIS = {
    "day": gettext_noop("{of}, today: {left} (resets {begins_anew})"),
    "month": gettext_noop("{of}, this month: {left} (resets {begins_anew})"),
}

_Period = Annotated[Literal["day", "month"], Param("Per day or per month")]
_Of = Annotated[
    str, Param("What it limits, as listed", metavar="WHAT", example="agent:Carina", suggests="budgets set by command")
]
_Days = Annotated[int, Field(ge=1, le=3_660), Param("How many days to look back, including today")]
_By = Annotated[By, Param("Group the costs by")]


class SetBudget(Arguments):
    of: Annotated[
        str,
        Field(max_length=100),
        Param(
            "What it limits",
            metavar="WHAT",
            typed="constellation, jobs, agent:NAME, person, guild, person:ID, guild:ID",
            example="agent:Carina",
            suggests="spending",
        ),
    ]
    period: _Period = "day"
    usd: Annotated[
        float | None, Field(ge=0, le=1_000_000), Param("Limit in US dollars; 0 stops all calls to providers")
    ] = None
    tokens: Annotated[int | None, Field(ge=0, le=10**12), Param("Limit in tokens, input and output together")] = None


class BudgetRow(Row):
    """The state of a budget; the rest is never negative."""

    of: str = Field(validation_alias="limit.subject")
    name: str = Field(exclude=True)
    """The subject in words; empty if only an id is known."""
    each: str = Field(validation_alias="limit.period")
    usd: float | None = Field(validation_alias="limit.usd")
    usd_spent: float = Field(validation_alias="spent.usd")
    usd_left: float | None
    tokens: int | None = Field(validation_alias="limit.tokens")
    tokens_left: int | None
    calls_without_price: int = Field(validation_alias="spent.unpriced")
    begins_anew: datetime = Field(validation_alias="ends")
    said: str

    @classmethod
    def from_state(cls, rows: Rows, state: BudgetState, scope: Scope) -> "BudgetRow":
        limit, spent = state.limit, state.spent
        return cls.from_record(
            state,
            name=_called(rows, limit.subject, scope),
            usd_left=None if limit.usd is None else round(max(limit.usd - spent.usd, 0), 4),
            tokens_left=None if limit.tokens is None else max(limit.tokens - spent.tokens, 0),
            said=_("by command") if state.by_command else _("in the configuration"),
        )

    def line(self, markup: Markup) -> str:
        left = []
        if self.usd is not None:
            usd_left, usd = number_text(self.usd_left or 0, ",.2f"), number_text(self.usd, ",.2f")
            left = [_("${left} of ${usd} left", left=usd_left, usd=usd)]
        if self.tokens is not None:
            left.append(self.told(markup, gettext_noop("{tokens_left} of {tokens} tokens left")))
        if self.usd is not None and (count := self.calls_without_price):
            one, more = ngettext_noop("not counting {count} unpriced call", "not counting {count} unpriced calls")
            left.append(ngettext(one, more, count))
        return self.told(
            markup, _THIS[self.each], of=markup.text(self.name) or markup.person(self.of), left=", ".join(left)
        )


class BillRow(Row):
    of: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced: int
    cached_tokens: int

    @classmethod
    def of_bill(cls, bill: Bill) -> "BillRow":
        return cls.from_record(bill, cost_usd=round(bill.cost_usd, 6))

    def line(self, markup: Markup) -> str:
        money = money_text(self.cost_usd) if self.unpriced < self.calls else _("price unknown")
        if 0 < self.unpriced < self.calls:
            one, more = ngettext_noop("and {count} unpriced call", "and {count} unpriced calls")
            money += f" {ngettext(one, more, self.unpriced)}"
        text = gettext_noop("{of}: {calls}, {input_tokens} tokens in, {output_tokens} out, {money}")
        of = date_words(date.fromisoformat(self.of)) if _DAY.fullmatch(self.of) else markup.text(self.of)
        return self.told(markup, text, of=of, money=money)


class Cost(Result):
    """The costs, added up by `by`, and the budgets that limit them."""

    days: int
    by: str
    bills: tuple[BillRow, ...]
    every: Mapping[By, tuple[BillRow, ...]] = Field(exclude=True)
    """The costs by every dimension, for a page that shows all."""
    budgets: tuple[BudgetRow, ...]

    def data(self) -> list[dict[str, Any]]:
        return [{self.by: bill.of, **bill.model_dump(mode="json", exclude={"of"})} for bill in self.bills]

    def lines(self, markup: Markup) -> list[str]:
        head = ngettext("Today, by {by}:", "Last {count} days, by {by}:", self.days, by=_(self.by))
        bills = [*self.bills, _together(self.bills)] if len(self.bills) > 1 else self.bills
        limits = [_("Budgets:"), *(f"- {each.line(markup)}" for each in self.budgets)] if self.budgets else []
        return [head if bills else _("No model was used."), *(f"- {bill.line(markup)}" for bill in bills), *limits]


def _together(bills: tuple[BillRow, ...]) -> BillRow:
    names = (name for name in BillRow.model_fields if name != "of")
    sums = {name: sum(getattr(bill, name) for bill in bills) for name in names}
    return BillRow.model_validate({"of": _("total"), **sums})


def configured_budgets(config: Config) -> Budgets:
    given = config.budgets
    limits = [Limit(each.subject, each.period, each.usd, each.tokens) for each in given.limits]
    thresholds = BudgetThresholds(given.cheaper_model, given.when_spent)
    configured = {(each.subject, each.period): each for each in limits}
    return Budgets(configured, thresholds, config.model.default, config.model.upkeep)


class Spending(ZonedService, frozen=True):
    """The budgets of one constellation; every turn consults `kept`."""

    titles: ClassVar = {"budget": "Limit spending on language models"}

    kept: Budgets

    async def load(self, *, at_start: bool) -> None:
        """Read the budgets set by command; at startup, also release the reservations of a dead process."""
        found = await self.database.read(spending.limits)
        if at_start and await self.database.read(spending.any_reserved):
            await self.database.write(_SWEEP, spending.release_all)
        self.kept.decided.clear()
        self.kept.decided.update({(each.subject, each.period): each for each in found})

    @operation("cost", "Show what models cost", Action.COST)
    async def cost(self, caller: Caller, days: _Days = 30, by: _By = "model") -> Cost:
        def read(rows: Rows) -> dict[By, list[Bill]]:
            zone = zone_of(self.zone_of(rows, caller))
            first = self.clock().astimezone(zone).date() - timedelta(days=days - 1)
            return spending.bills(rows, instant(datetime.combine(first, time.min), zone), zone)

        found = await self.database.read(read)
        every = {kind: tuple(map(BillRow.of_bill, bills)) for kind, bills in found.items()}
        return Cost(days=days, by=by, bills=every[by], every=every, budgets=(await self.list_budgets(caller)).rows)

    @operation("budget.list", "List budgets and what is left", Action.COST)
    def list_budgets(self, rows: Rows, caller: Caller) -> Listing[BudgetRow]:
        none = _("There are no budgets. `carina budget set` sets one.")
        return Listing.of((BudgetRow.from_state(rows, each, caller.scope) for each in self._states(rows)), none)

    @operation("budget.set", "Set a budget, effective immediately", Action.BUDGET, CHANGES)
    async def set_budget(self, caller: Caller, arguments: SetBudget) -> Entry[BudgetRow]:
        given, now = _checked(arguments), self.clock()

        def work(tx: Tx) -> Limit:
            limit = replace(given, subject=_named(tx, given.subject))
            spending.put(tx, limit, caller.person, now)
            return limit

        limit = await commit(self.database, work)
        await self.load(at_start=False)
        return Entry(done=_("Budget set"), row=await self._row(limit, caller.scope))

    @operation("budget.clear", "Remove a budget that was set by a command", Action.BUDGET, CHANGES)
    async def clear_budget(self, caller: Caller, of: _Of, period: _Period = "day") -> ActionReport | Entry[BudgetRow]:
        given = _subject(of)
        named = await self.database.read(lambda rows: _named(rows, given))
        if not await commit(self.database, lambda tx: spending.drop(tx, named, period)):
            raise UserError("No command set this budget. If it is in carina.toml, remove it there.")
        await self.load(at_start=False)
        if (left := self.kept.configured.get((named, period))) is None:
            return report(gettext_noop("Removed. No configured budget takes its place."), who=named)
        return Entry(done=_("Removed. The configured budget applies now"), row=await self._row(left, caller.scope))

    @suggestions("spending")
    def suggest(self, rows: Rows, caller: Caller) -> Suggestions:
        there = [each.limit.subject for each in self._states(rows)]
        known = (*_GENERAL, *(f"agent:{each.name}" for each in agents.agents(rows)), *there)
        return {each: _called(rows, each, caller.scope) or unnamed(each) for each in known}.items()

    @suggestions("budgets set by command")
    def suggest_set(self, rows: Rows, caller: Caller) -> Suggestions:
        found = [each.limit for each in self._states(rows) if each.by_command]
        return [
            (each.subject, f"{_called(rows, each.subject, caller.scope) or unnamed(each.subject)}, {_(each.period)}")
            for each in found
        ]

    @reads
    def _row(self, rows: Rows, limit: Limit, scope: Scope) -> BudgetRow:
        return BudgetRow.from_state(rows, next(each for each in self._states(rows) if each.limit == limit), scope)

    def _states(self, rows: Rows) -> list[BudgetState]:
        return self.kept.states(rows, self.clock())


def _called(rows: Rows, subject: str, scope: Scope) -> str:
    """The subject of a budget in words; empty if only an id is known."""
    kind, _colon, which = subject.partition(":")
    if not which:
        return _(_GENERAL[kind])
    if kind == "agent":
        return _("agent “{name}”", name=which)
    if kind == "person":
        return person_called(rows, PersonId(which), scope)
    return audience_called(rows, Audience(subject), scope)


def _subject(text: str) -> str:
    try:
        return check_subject(text)
    except ValueError as error:
        require_suggested(text)
        raise UserError("A budget is for {known}, not for “{given}”.", known=error, given=text[:80]) from error


def _named(rows: Rows, subject: str) -> str:
    """The subject with the agent's name as it is written: else one agent has two budgets. Raises UserError."""
    kind, _colon, name = subject.partition(":")
    return f"agent:{find_agent(rows, name).name}" if kind == "agent" else subject


def _checked(wanted: SetBudget) -> Limit:
    subject = _subject(wanted.of)
    try:
        Budget(subject=subject, period=wanted.period, usd=wanted.usd, tokens=wanted.tokens)
    except ValueError:
        raise UserError("Give a limit in dollars, in tokens, or both.") from None
    return Limit(subject, wanted.period, wanted.usd, wanted.tokens)
