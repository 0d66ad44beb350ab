"""Asking a model for what nobody waits for: summaries, upkeep. Within budgets and a time limit, and in the books.

What it cost is written when it answered, whatever comes of the answer. What is left of a budget from its third rung on
is kept for people (`bot.agents.budgets`).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Literal

from bot.agents.budgets import Allowed, BudgetLevel, Budgets
from bot.agents.deps import TurnDeps
from bot.errors import ConfigError
from bot.models.base import Answer, Event, Model, ModelError, Request
from bot.models.catalog import OFFLINE
from memory import budgets
from memory.agents import Agent
from memory.budgets import Spender
from memory.people.audience import Scope
from memory.store.clock import Clock
from memory.store.database import Database, Tx
from memory.store.faults import Point, call_point, commit_point, outside
from memory.usage import Spent, guild_of, record_upkeep

_RESERVE = commit_point("background.reserve")
_SETTLE = commit_point("background.settle")
_RELEASE = commit_point("background.release")
SUMMARIES = call_point("summaries.model")

_WAIT_SECONDS = 300  # at most, while people are being answered


async def people_first(busy: Callable[[], bool]) -> None:
    """Wait while people are being answered, for five minutes at most."""
    waited = 0.0
    while busy() and waited < _WAIT_SECONDS:
        await asyncio.sleep(1)
        waited += 1


@dataclass
class NoAnswer(Exception):
    """No model answered; `reason` is for the owner. `why`: the budget is kept for people, there is none, it failed."""

    why: Literal["budget", "offline", "failed"]
    reason: str

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class BackgroundRequest:
    """For which agent a model is asked, about words that those hear; `point` names the call."""

    agent: Agent
    scope: Scope
    point: Point = SUMMARIES

    @property
    def spender(self) -> Spender:
        return Spender(None, self.agent.id, None, guild_of(self.scope))


@dataclass(frozen=True)
class Background:
    """Asks models; `model` finds an agent's, `seconds` is how long one may take."""

    model: Callable[[Agent], Awaitable[Model]]
    budgets: Budgets
    clock: Clock
    redact: Callable[[str], str]
    seconds: float

    @classmethod
    def of(cls, turn_deps: TurnDeps) -> "Background":
        """With what turns ask with."""
        return cls(
            turn_deps.model, turn_deps.budgets, turn_deps.clock, turn_deps.redact, turn_deps.limits.model_seconds
        )

    async def thinks(self, agent: Agent) -> bool:
        """Whether the model that is set for an agent is a language model, not the offline one. Raises NoAnswer."""
        try:
            return (await self.model(agent)).name != OFFLINE
        except ConfigError as error:
            raise NoAnswer("failed", self.redact(str(error))) from error

    async def ask(self, database: Database, errand: BackgroundRequest, request: Request) -> Answer:
        """A model's answer with words in it. Raises NoAnswer."""
        allowed = await self._allow(database, errand, request)
        try:
            answer = await self._ask(allowed, errand, request)
        except BaseException:
            await self._release(database, allowed)
            raise
        await self._settle(database, errand, allowed, answer)
        if answer.model == OFFLINE:
            raise NoAnswer("offline", "no language model answered")
        if not answer.text.strip() or answer.finish == "filter":
            raise NoAnswer("failed", "the model gave nothing, or its provider withheld it")
        return answer

    async def _allow(self, database: Database, errand: BackgroundRequest, request: Request) -> Allowed:
        kept, now = self.budgets, self.clock()
        if not kept.concerns(errand.agent):
            return Allowed(BudgetLevel.FULL, errand.agent)
        allowed = await database.write(
            _RESERVE, lambda tx: kept.allow_upkeep(tx, errand.spender, errand.agent, request, now)
        )
        if allowed is None:
            raise NoAnswer("budget", "what is left of a budget is kept for answers to people")
        return allowed

    async def _ask(self, allowed: Allowed, errand: BackgroundRequest, request: Request) -> Answer:
        try:
            model = await self.model(allowed.agent)
            found = await outside(errand.point, _answer(model.complete(request)), self.seconds)
        except (ModelError, ConfigError, TimeoutError) as error:
            raise NoAnswer("failed", self.redact(str(error)) or "it took too long") from error
        if found is None:
            raise NoAnswer("failed", "the model ended without an answer")
        return found

    async def _settle(self, database: Database, errand: BackgroundRequest, allowed: Allowed, answer: Answer) -> None:
        """Write down what it cost, in place of what was set aside."""
        now = self.clock()

        def work(tx: Tx) -> None:
            if answer.model != OFFLINE:
                cost = Spent(answer.model, **asdict(answer.usage))
                record_upkeep(tx, errand.agent.id, guild_of(errand.scope), cost, now)
            if allowed.reservation is not None:
                budgets.release(tx, allowed.reservation)

        await database.write(_SETTLE, work)

    async def _release(self, database: Database, allowed: Allowed) -> None:
        """Nothing was asked, or nothing came; should this not be stored, the next start or the time sees to it."""
        if (reserved := allowed.reservation) is not None:
            await asyncio.shield(database.write(_RELEASE, lambda tx: budgets.release(tx, reserved)))


async def _answer(events: AsyncIterator[Event]) -> Answer | None:
    found: Answer | None = None
    async for event in events:
        if isinstance(event, Answer):
            found = event
    return found
