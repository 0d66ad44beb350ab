"""Asking a model in upkeep: only within the budgets and the cap of a run, and what it cost is in the books."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from bot.budgets import OFFLINE, Allowed, Budgets
from bot.config.dreams import Dreams as Settings
from bot.errors import ConfigError
from bot.models.base import Answer, Event, Model, ModelError, Request, UserMessage
from bot.quoting import estimate_tokens
from bot.spending import spent
from memory import budgets
from memory.agents import Agent
from memory.budgets import Spender
from memory.clock import Clock
from memory.database import Database, Tx
from memory.faults import call_point, commit_point, outside
from memory.usage import record_upkeep

_RESERVE = commit_point("dreams.reserve")
_SETTLE = commit_point("dreams.settle")
_MODEL = call_point("dreams.model")

_ANSWER_TOKENS = 2_000
_log = structlog.get_logger("bot.dreams")

NO_MODEL = "no language model"
NO_BUDGET = "the budget is spent"
CAPPED = "the run has used what it may (dreams.tokens_per_run)"


@dataclass(frozen=True)
class Means:
    """What upkeep thinks with."""

    model: Callable[[Agent], Awaitable[Model]]
    budgets: Budgets
    settings: Settings
    directives: Path
    clock: Clock
    redact: Callable[[str], str] = str
    seconds: float = 180


@dataclass
class Asking:
    """The calls of one run. `refused` says why a call was not made or came to nothing, in words of ours."""

    database: Database
    means: Means
    tokens: int = 0
    refused: str = ""
    calls: int = field(default=0, init=False)

    def chosen(self, agent: Agent) -> Agent:
        """The agent with the model that upkeep uses for it."""
        settings, ladder = self.means.settings, self.means.budgets.ladder
        own = self.means.budgets.model_of(agent)
        if own == OFFLINE and not settings.model:
            return replace(agent, model=OFFLINE)
        return replace(agent, model=settings.model or ladder.cheaper_model or own)

    def has_model(self, agent: Agent) -> bool:
        """Whether there is anybody to ask at all."""
        return self.chosen(agent).model != OFFLINE

    async def ask(self, agent: Agent, system: str, text: str) -> str | None:
        """What a model answers; None when it was not asked or gave no answer, and then `refused` says why."""
        request = Request(system, (UserMessage(text),), max_tokens=_ANSWER_TOKENS)
        estimate = estimate_tokens(system + text) + _ANSWER_TOKENS
        if not self.has_model(agent):
            self.refused = NO_MODEL
            return None
        if self.tokens + estimate > self.means.settings.tokens_per_run:
            self.refused = CAPPED
            return None
        now = self.means.clock()
        wanted = self.chosen(agent)
        spender, kept = Spender(None, agent.id, None, None), self.means.budgets
        allowed = await self.database.write(_RESERVE, lambda tx: kept.allow_upkeep(tx, spender, wanted, request, now))
        if allowed is None:
            self.refused = NO_BUDGET
            return None
        self.tokens += estimate
        self.calls += 1
        try:
            answer = await self._answer(allowed, request)
        except BaseException:  # cut off: what was set aside for the call is free again
            await asyncio.shield(self.database.write(_SETTLE, lambda tx: self._settle(tx, allowed, None)))
            raise
        await self.database.write(_SETTLE, lambda tx: self._settle(tx, allowed, answer))
        if answer is None or answer.model == OFFLINE or answer.finish == "filter":
            self.refused = self.refused or "no language model answered"
            return None
        return self.means.redact(answer.text)

    async def _answer(self, allowed: Allowed, request: Request) -> Answer | None:
        self.refused = ""
        try:
            model = await self.means.model(allowed.agent)
            return await outside(_MODEL, _last(model.complete(request)), self.means.seconds)
        except (ModelError, ConfigError, TimeoutError) as error:
            self.refused = "no language model answered"
            _log.warning("dream_unanswered", agent=allowed.agent.name, reason=self.means.redact(str(error)))
            return None

    def _settle(self, tx: Tx, allowed: Allowed, answer: Answer | None) -> None:
        if allowed.reservation is not None:
            budgets.release(tx, allowed.reservation)
        if answer is not None:
            record_upkeep(tx, allowed.agent.id, None, spent(answer.model, answer.usage), self.means.clock())


async def _last(events: AsyncIterator[Event]) -> Answer | None:
    found: Answer | None = None
    async for event in events:
        if isinstance(event, Answer):
            found = event
    return found
