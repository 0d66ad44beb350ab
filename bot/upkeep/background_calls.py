"""Model calls that nobody waits for (summaries, upkeep): within budgets and a time limit, with their costs recorded.

The cost is recorded when the model has answered, even if the answer is unusable. From its third level on, the rest of a
budget is kept for people (`bot.agents.budgets`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from msgspec import Struct

from bot.agents.budgets import Allowance, BudgetLevel, Budgets, cost_of
from bot.agents.context.quotes import estimate_tokens
from bot.agents.turn_deps import TurnDeps
from bot.config.file_settings import Dreams as Settings
from bot.config.values import OFFLINE
from bot.errors import ConfigError
from bot.models.base import Answer, Model, ModelError, Request, UserMessage
from bot.upkeep.model_answers import Form, schema_of
from memory import spending
from memory.agents import Agent
from memory.people.audience import OWNER, Scope
from memory.spending import Spender, guild_of, record_upkeep
from memory.store.clock import Clock
from memory.store.database import Database, Tx
from memory.store.faults import Point, call_point, commit_point, outside
from memory.store.logs import Log
from texts import gettext_lazy

_RESERVE = commit_point("background.reserve")
_SETTLE = commit_point("background.settle")
SUMMARIES = call_point("summaries.model")
_MODEL = call_point("dreams.model")

_WAIT_SECONDS = 300  # at most, while people are being answered
_ANSWER_TOKENS = 2_000
_log = Log("bot.upkeep")

_OWNER = Scope(OWNER)

NO_MODEL = gettext_lazy("there is no language model")
NO_BUDGET = gettext_lazy("the budget is used up")
CAPPED = gettext_lazy("the run has used all its tokens (dreams.tokens_per_run)")


async def people_first(busy: Callable[[], bool]) -> None:
    """Wait while people are being answered, at most five minutes."""
    waited = 0.0
    while busy() and waited < _WAIT_SECONDS:
        await asyncio.sleep(1)
        waited += 1


@dataclass
class NoAnswer(Exception):
    """No model answered; `reason` is for the owner. `why`: the budget is kept for people, there is no model, it
    failed."""

    why: Literal["budget", "offline", "failed"]
    reason: str

    def __str__(self) -> str:
        return self.reason


class Background(Struct, frozen=True):
    """Calls models; `model` returns an agent's, `seconds` is the time limit."""

    model: Callable[[Agent], Awaitable[Model]]
    budgets: Budgets
    clock: Clock
    redact: Callable[[str], str]
    seconds: float

    @classmethod
    def of(cls, turn_deps: TurnDeps) -> "Background":
        return cls(
            turn_deps.model, turn_deps.budgets, turn_deps.clock, turn_deps.redact, turn_deps.limits.model_seconds
        )

    async def has_language_model(self, agent: Agent) -> bool:
        """Whether an agent's model is a language model, not the offline one. Raises NoAnswer."""
        try:
            return (await self.model(agent)).name != OFFLINE
        except ConfigError as error:
            raise NoAnswer("failed", self.redact(str(error))) from error

    async def ask(
        self, database: Database, agent: Agent, scope: Scope, request: Request, point: Point = SUMMARIES
    ) -> Answer:
        """The nonempty answer of an agent's model about texts that `scope` may read. Raises NoAnswer."""
        guild = guild_of(scope)
        allowed = await self._allow(database, agent, Spender(None, agent.id, None, guild), request)
        answer: Answer | None = None
        try:
            answer = await self._answer(allowed.agent, request, point)
        finally:  # if this is not stored, the next start or the expiry releases the reservation
            cost = None if answer is None or answer.model == OFFLINE else cost_of(answer, request)

            def settle(tx: Tx) -> None:
                if cost is not None:
                    record_upkeep(tx, agent.id, guild, cost, self.clock())
                if allowed.reservation is not None:
                    spending.release(tx, allowed.reservation)

            if cost is not None or allowed.reservation is not None:
                await asyncio.shield(database.write(_SETTLE, settle))
        if answer.model == OFFLINE:
            raise NoAnswer("offline", gettext_lazy("no language model answered"))
        if not answer.text.strip() or answer.finish == "filter":
            raise NoAnswer("failed", gettext_lazy("the model returned nothing, or its provider withheld the answer"))
        return answer

    async def _allow(self, database: Database, agent: Agent, spender: Spender, request: Request) -> Allowance:
        kept, now = self.budgets, self.clock()
        if not kept.concerns(agent):
            return Allowance(BudgetLevel.FULL, agent)
        allowed = await database.write(_RESERVE, lambda tx: kept.allow_upkeep(tx, spender, agent, request, now))
        if allowed is None:
            raise NoAnswer("budget", gettext_lazy("the rest of the budget is reserved for answering people"))
        return allowed

    async def _answer(self, agent: Agent, request: Request, point: Point) -> Answer:
        try:
            model = await self.model(agent)
            found = await outside(point, _last(model, request), self.seconds)
        except (ModelError, ConfigError, TimeoutError) as error:
            raise NoAnswer("failed", self.redact(str(error)) or gettext_lazy("it took too long")) from error
        if found is None:
            raise NoAnswer("failed", gettext_lazy("the model stopped without answering"))
        return found


async def _last(model: Model, request: Request) -> Answer | None:
    found: Answer | None = None
    async for event in model.complete(request):
        if isinstance(event, Answer):
            found = event
    return found


class UpkeepDeps(Struct, frozen=True):
    """The dependencies of model calls in upkeep: the budgets, its settings, and the folder of prompt overrides."""

    background: Background
    settings: Settings
    directives: Path


class RunCalls(Struct):
    """The calls of one run, about texts that `scope` may read. `refused` says why a call was not made or failed."""

    database: Database
    deps: UpkeepDeps
    scope: Scope = _OWNER
    tokens: int = 0
    refused: str = ""

    def has_model(self, agent: Agent) -> bool:
        return self._chosen(agent).model != OFFLINE

    def _chosen(self, agent: Agent) -> Agent:
        return self.deps.background.budgets.for_upkeep(agent)

    async def ask(self, agent: Agent, system: str, text: str, form: type[Form]) -> str | None:
        """A model's answer, constrained to the form if its provider supports that; None without one, with the reason in
        `refused`."""
        request = Request(system, (UserMessage(text),), max_tokens=_ANSWER_TOKENS, form=schema_of(form))
        estimate = estimate_tokens(system + text) + _ANSWER_TOKENS
        if not self.has_model(agent):
            self.refused = NO_MODEL
            return None
        if self.tokens + estimate > self.deps.settings.tokens_per_run:
            self.refused = CAPPED
            return None
        try:
            answer = await self.deps.background.ask(self.database, self._chosen(agent), self.scope, request, _MODEL)
        except NoAnswer as error:
            self.tokens += estimate if error.why != "budget" else 0
            self.refused = NO_BUDGET if error.why == "budget" else gettext_lazy("no language model answered")
            _log.warning("cleanup_unanswered", agent=agent.name, reason=error.reason)
            return None
        self.tokens += estimate
        return self.deps.background.redact(answer.text)
