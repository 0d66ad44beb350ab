"""Asking a model in upkeep: only within the budgets and the cap of a run, and what it cost is in the books."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from bot.agents.budgets import OFFLINE, Budgets
from bot.agents.context.quotes import estimate_tokens
from bot.config.dreams import Dreams as Settings
from bot.models.base import Request, UserMessage
from bot.upkeep.background_calls import Background, BackgroundRequest, NoAnswer
from bot.upkeep.model_answers import Form, schema_of
from memory.agents import Agent
from memory.people.audience import OWNER, Scope
from memory.store.database import Database
from memory.store.faults import call_point

_MODEL = call_point("dreams.model")

_ANSWER_TOKENS = 2_000
_log = structlog.get_logger("bot.upkeep")

_OWNER = Scope(OWNER)

NO_MODEL = "no language model"
NO_BUDGET = "the budget is spent"
CAPPED = "the run has used what it may (dreams.tokens_per_run)"


@dataclass(frozen=True)
class Means:
    """What upkeep thinks with."""

    background: Background
    settings: Settings
    directives: Path


def chosen(agent: Agent, settings: Settings, budgets: Budgets) -> Agent:
    """The agent with the model that upkeep uses for it."""
    own = budgets.model_of(agent)
    if own == OFFLINE and not settings.model:
        return replace(agent, model=OFFLINE)
    return replace(agent, model=settings.model or budgets.ladder.cheaper_model or own)


@dataclass
class Asking:
    """The calls of one run, about what `scope` hears. `refused` says why a call was not made or came to nothing, in
    words of ours."""

    database: Database
    means: Means
    scope: Scope = _OWNER
    tokens: int = 0
    refused: str = ""
    calls: int = field(default=0, init=False)

    def chosen(self, agent: Agent) -> Agent:
        """The agent with the model that upkeep uses for it."""
        return chosen(agent, self.means.settings, self.means.background.budgets)

    def has_model(self, agent: Agent) -> bool:
        """Whether there is anybody to ask at all."""
        return self.chosen(agent).model != OFFLINE

    async def ask(self, agent: Agent, system: str, text: str, form: type[Form]) -> str | None:
        """What a model answers, held to the form where its provider can; None when it was not asked or gave no answer,
        and then `refused` says why."""
        request = Request(system, (UserMessage(text),), max_tokens=_ANSWER_TOKENS, form=schema_of(form))
        estimate = estimate_tokens(system + text) + _ANSWER_TOKENS
        if not self.has_model(agent):
            self.refused = NO_MODEL
            return None
        if self.tokens + estimate > self.means.settings.tokens_per_run:
            self.refused = CAPPED
            return None
        errand = BackgroundRequest(self.chosen(agent), self.scope, _MODEL)
        try:
            answer = await self.means.background.ask(self.database, errand, request)
        except NoAnswer as error:
            self._spent(estimate, asked=error.why != "budget")
            self.refused = NO_BUDGET if error.why == "budget" else "no language model answered"
            _log.warning("dream_unanswered", agent=agent.name, reason=error.reason)
            return None
        self._spent(estimate, asked=True)
        return self.means.background.redact(answer.text)

    def _spent(self, estimate: int, *, asked: bool) -> None:
        self.tokens += estimate if asked else 0
        self.calls += asked
