"""Model calls that nobody waits for (summaries, upkeep): within budgets and a time limit, with their costs recorded.

The cost is recorded when the model has answered, whatever comes of the answer. From its third level on, the rest of a
budget is kept for people (`bot.agents.budgets`).
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, SkipValidation, StringConstraints, ValidationError

from bot.agents.budgets import Allowance, BudgetLevel, Budgets, cost_of
from bot.agents.context.quotes import estimate_tokens
from bot.agents.turn_deps import TurnDeps
from bot.config.file_settings import Dreams as Settings
from bot.config.values import OFFLINE
from bot.errors import ConfigError
from bot.models.base import Answer, Model, ModelError, Request, UserMessage
from memory import spending
from memory.agents import Agent
from memory.knowledge.graph import Kind
from memory.people.audience import OWNER, Scope
from memory.spending import Spender, guild_of, record_upkeep
from memory.store.clock import Clock
from memory.store.database import Database, Tx
from memory.store.faults import Point, call_point, commit_point, outside
from memory.store.logs import Log
from memory.store.records import replace
from texts import TextError, gettext_lazy, gettext_noop

T = TypeVar("T", bound="Form")

_THOUGHT_BEGINS, _THOUGHT_ENDS = re.compile(r"<think>", re.IGNORECASE), re.compile(r"</think>", re.IGNORECASE)
_BRACKET, _JSON_BEGINS = re.compile(r"[\[{]"), re.compile(r'\{\s*"|\[\s*\{')
_MOST = 60  # of anything in one answer
_MOST_BROKEN = 40  # brackets that begin nothing: a model that repeats itself is not read to its end
_CONSTRAINABLE = ("type", "properties", "items", "enum", "const", "anyOf", "$ref", "$defs")
"""The part of JSON Schema that every provider with constrained output supports."""


class UnusableAnswer(TextError):
    """An answer that cannot be used, in our words; it changes nothing."""


class Form(BaseModel):
    """What an answer, or a part of one, has. Other keys are not read."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, defer_build=True)


class MergeWish(Form):
    sources: list[str] = Field(min_length=2, max_length=3)
    content: str = Field(min_length=1, max_length=2_000)
    category: str = ""
    tags: list[str] = Field(default=[], max_length=20)


class RefineWish(Form):
    id: str
    category: str = ""
    tags: list[str] = Field(default=[], max_length=20)


class Consolidation(Form):
    merge: list[MergeWish] = Field(default=[], max_length=_MOST)
    retire: list[str] = Field(default=[], max_length=_MOST)
    refine: list[RefineWish] = Field(default=[], max_length=_MOST)


class Lesson(Form):
    sources: list[str] = Field(min_length=1, max_length=10)
    domain: str = Field(min_length=1, max_length=40)
    dont: str = Field(min_length=1, max_length=300)
    because: str = Field(default="", max_length=300)
    instead: str = Field(default="", max_length=300)


class Lessons(Form):
    lessons: list[Lesson] = Field(default=[], max_length=_MOST)


class Preference(Form):
    sources: list[str] = Field(min_length=1, max_length=20)
    content: str = Field(min_length=1, max_length=500)
    strength: Literal["strong", "mild", "casual"]
    sensitive: bool = False


class Preferences(Form):
    preferences: list[Preference] = Field(default=[], max_length=_MOST)


class NamedEntity(Form):
    name: str = Field(min_length=1, max_length=80)
    kind: Kind


class Relation(Form):
    source: str
    subject: NamedEntity
    relation: str = Field(min_length=1, max_length=40)
    object: NamedEntity


class Relations(Form):
    """Who and what entries speak of, and how these belong together."""

    triples: list[SkipValidation[Relation]] = Field(default=[], max_length=4 * _MOST)


class Contradiction(Form):
    wrong: str
    right: str


class Contradictions(Form):
    """Which entries do not hold any more, and by which."""

    contradictions: list[Contradiction] = Field(default=[], max_length=_MOST)


class FocusedEntry(Form):
    content: str = Field(min_length=1, max_length=600)
    category: str = ""
    tags: list[str] = Field(default=[], max_length=20)
    importance: float = Field(default=0.5, ge=0, le=1)


class ExpandedEntries(Form):
    """What was saved, as entries of one matter each."""

    entries: list[SkipValidation[FocusedEntry]] = Field(default=[], max_length=_MOST)


class Judgement(Form):
    """How a talk went: tools that helped, tools that failed or were missed, and messages that set something right."""

    quality: Literal["good", "fair", "poor"]
    worked: list[str] = Field(default=[], max_length=_MOST)
    failed: list[str] = Field(default=[], max_length=_MOST)
    corrections: list[str] = Field(default=[], max_length=_MOST)


Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]


class AgentDigest(Form):
    summary: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=800)]


class DayDigest(Form):
    summary: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]
    key_decisions: tuple[Line, ...] = Field(default=(), max_length=12)
    open_threads: tuple[Line, ...] = Field(default=(), max_length=12)


def read_answer(text: str, form: type[T]) -> T:
    """The one JSON object in an answer that has keys of the form. UnusableAnswer quotes nothing of it."""
    answered = _THOUGHT_BEGINS.split(_THOUGHT_ENDS.split(text)[-1])[0]
    found = list(_objects(answered))
    fitting = [each for each in found if each.keys() & form.model_fields.keys()]
    if not found:
        raise UnusableAnswer(gettext_noop("the model did not answer in JSON"))
    if any(each != fitting[0] for each in fitting):
        raise UnusableAnswer(gettext_noop("the model answered with several JSON objects"))
    if not fitting and any(found):
        raise UnusableAnswer(gettext_noop("the model's answer did not have the required form"))
    try:
        return form.model_validate(fitting[0] if fitting else {})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(each) for each in first["loc"])
        what = f"{where}: {first['type'].replace('_', ' ')}"
        raise UnusableAnswer(
            gettext_noop("the model's answer did not have the required form ({what})"), what=what
        ) from error


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text that are not inside a list."""
    decoder, at, broken = json.JSONDecoder(), 0, 0
    while (begins := _BRACKET.search(text, at)) is not None:
        try:
            found, at = decoder.raw_decode(text, begins.start())
        except (ValueError, RecursionError):
            at, broken = begins.end(), broken + 1
            # The content of a broken or truncated object is no answer.
            if broken == _MOST_BROKEN or _JSON_BEGINS.match(text, begins.start()):
                return
            continue
        if isinstance(found, dict):
            yield found


def each_fitting(given: Sequence[object], form: type[T]) -> list[T]:
    found = []
    for each in given:
        with suppress(ValidationError):
            found.append(form.model_validate(each))
    return found


def schema_of(form: type[Form]) -> dict[str, Any]:
    """The form as a JSON schema for constrained output: every key is required, and no other is allowed."""
    return _constrained(form.model_json_schema())


def _constrained(schema: dict[str, Any]) -> dict[str, Any]:
    found = {name: schema[name] for name in _CONSTRAINABLE if name in schema}
    for name in ("properties", "$defs"):
        if name in found:
            found[name] = {key: _constrained(value) for key, value in found[name].items()}
    if "items" in found:
        found["items"] = _constrained(found["items"])
    if "anyOf" in found:
        found["anyOf"] = [_constrained(each) for each in found["anyOf"]]
    if "properties" in found:
        found |= {"required": [*found["properties"]], "additionalProperties": False}
    return found


def known(named: list[str], shown: set[str]) -> None:
    """Raise UnusableAnswer unless every id in an answer was shown, and occurs once."""
    if not set(named) <= shown:
        raise UnusableAnswer(gettext_noop("the model named entries that it was not shown"))
    if len(set(named)) != len(named):
        raise UnusableAnswer(gettext_noop("the model named an entry more than once"))


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
    """No model answered; `reason` is for the owner. `why`: the budget is kept for people, there is none, it failed."""

    why: Literal["budget", "offline", "failed"]
    reason: str

    def __str__(self) -> str:
        return self.reason


class Background(Struct, frozen=True):
    """Asks models; `model` returns an agent's, `seconds` is the time limit."""

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

    async def thinks(self, agent: Agent) -> bool:
        """Whether an agent's model is a language model, not the offline one. Raises NoAnswer."""
        try:
            return (await self.model(agent)).name != OFFLINE
        except ConfigError as error:
            raise NoAnswer("failed", self.redact(str(error))) from error

    async def ask(
        self, database: Database, agent: Agent, scope: Scope, request: Request, point: Point = SUMMARIES
    ) -> Answer:
        """The nonempty answer of an agent's model about texts that `scope` hears. Raises NoAnswer."""
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
            raise NoAnswer("failed", gettext_lazy("the model returned nothing, or its provider withheld it"))
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
            raise NoAnswer("failed", gettext_lazy("the model ended without an answer"))
        return found


async def _last(model: Model, request: Request) -> Answer | None:
    found: Answer | None = None
    async for event in model.complete(request):
        if isinstance(event, Answer):
            found = event
    return found


class UpkeepDeps(Struct, frozen=True):
    """What upkeep asks models with: the budgets' rules, its settings, and the folder of texts that replace ours."""

    background: Background
    settings: Settings
    directives: Path


def chosen(agent: Agent, settings: Settings, budgets: Budgets) -> Agent:
    """The agent with the model that upkeep uses for it."""
    own = budgets.model_of(agent)
    if own == OFFLINE and not settings.model:
        return replace(agent, model=OFFLINE)
    return replace(agent, model=settings.model or budgets.ladder.cheaper_model or own)


class RunCalls(Struct):
    """The calls of one run, about what `scope` hears. `refused` says in our words why a call was not made or failed."""

    database: Database
    means: UpkeepDeps
    scope: Scope = _OWNER
    tokens: int = 0
    refused: str = ""

    def chosen(self, agent: Agent) -> Agent:
        return chosen(agent, self.means.settings, self.means.background.budgets)

    def has_model(self, agent: Agent) -> bool:
        return self.chosen(agent).model != OFFLINE

    async def ask(self, agent: Agent, system: str, text: str, form: type[Form]) -> str | None:
        """A model's answer, held to the form where its provider supports that; None if there is none, and then
        `refused` says why."""
        request = Request(system, (UserMessage(text),), max_tokens=_ANSWER_TOKENS, form=schema_of(form))
        estimate = estimate_tokens(system + text) + _ANSWER_TOKENS
        if not self.has_model(agent):
            self.refused = NO_MODEL
            return None
        if self.tokens + estimate > self.means.settings.tokens_per_run:
            self.refused = CAPPED
            return None
        try:
            answer = await self.means.background.ask(self.database, self.chosen(agent), self.scope, request, _MODEL)
        except NoAnswer as error:
            self.tokens += estimate if error.why != "budget" else 0
            self.refused = NO_BUDGET if error.why == "budget" else gettext_lazy("no language model answered")
            _log.warning("cleanup_unanswered", agent=agent.name, reason=error.reason)
            return None
        self.tokens += estimate
        return self.means.background.redact(answer.text)
