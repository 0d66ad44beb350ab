"""The interface of language models: message types, one protocol, typed failures.

The types are our own because they are stored (turn steps) and must outlive any provider library. A model gets a
`Request` and streams `Event`s that end with exactly one `Answer`.
"""

import dataclasses
import hashlib
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeGuard

from msgspec import Struct, field

from texts import _, speaking, unpacked


class Call(NamedTuple):
    """A tool call as the model made it; `arguments` is JSON text, not yet checked."""

    id: str
    name: str
    arguments: str


def parsed(arguments: str) -> dict[str, Any]:
    """Arguments as values; empty if they are no JSON object."""
    try:
        found = json.loads(arguments or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


class UserMessage(NamedTuple):
    """What somebody said, rendered for the model. `said` is the bare text without header or context tail."""

    text: str
    said: str = ""
    at: datetime | None = None
    speaker: str = ""
    images: tuple[str, ...] = ()
    """URLs of images that a model that can see may look at; a `data:` URL holds one itself."""
    event: str = ""
    """How a request was decided, where nobody said anything but that is told; for the offline model."""
    overheard: bool = False
    """Whether it was never to be answered: said to others, or set aside because nobody was there to answer."""
    files: bool = False
    """Whether files or images came with it."""
    answer: bool = False
    """Whether it is an answer of another agent, told as its words."""

    @property
    def digest(self) -> str:
        """Tells this message from others. It is part of the ids of the calls that the offline model makes for it."""
        raw = f"{self.at.isoformat() if self.at else ''}\0{self.speaker}\0{self.said}"
        return hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class AssistantMessage(NamedTuple):
    text: str
    calls: tuple[Call, ...] = ()
    at: datetime | None = None


class ToolMessage(NamedTuple):
    """The result of one call. `ok` is False when it says what went wrong."""

    call_id: str
    name: str
    text: str
    ok: bool = True
    data: Any = None
    """The same result as plain JSON data, for the offline model; never sent to a provider. What the tool says of it
    itself, as a remark or in place of a time, may be a packed text."""

    def told_in(self, language: str) -> str:
        """The text; why a call failed is in that language where the catalog has it."""
        reason = self.data.get("reason", "") if isinstance(self.data, dict) else ""
        with speaking(language):
            return _(unpacked(reason)) if reason else self.text

    def data_in(self, language: str) -> Any:
        """The data, with what the tool says of it in that language."""
        with speaking(language):
            return _shown(self.data)


def _shown(data: Any) -> Any:
    match data:
        case dict():
            said = {name: _(unpacked(data[name])) for name in ("note", "when") if isinstance(data.get(name), str)}
            return {name: _shown(each) for name, each in data.items()} | said
        case list():
            return [_shown(each) for each in data]
        case _:
            return data


Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage


def is_answer(message: Message) -> TypeGuard[UserMessage | AssistantMessage]:
    """Whether somebody was answered with it, by this agent or by another one."""
    return (
        message.answer
        if isinstance(message, UserMessage)
        else isinstance(message, AssistantMessage) and not message.calls
    )


class ToolSpec(Struct, frozen=True, dict=True):
    """A tool as the model sees it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]

    @cached_property
    def size(self) -> int:
        """About how many characters it takes in a request."""
        return len(self.description) + len(str(self.parameters))


class Trouble(StrEnum):
    """Why a model gave no answer, as far as it matters to those who read that or mend it."""

    KEY = "key"
    """The provider does not accept the key, or the key may not use the model."""
    MISSING = "missing"
    """The provider has no model of that name."""
    QUOTA = "quota"
    """What the account may spend is spent."""
    BUDGET = "budget"
    """What we may spend on models is spent, so it was not asked."""
    UNREACHABLE = "unreachable"
    """No connection, or no answer in time."""
    FAILING = "failing"
    """It is there and gives no usable answer: overloaded, an error of its own, garbage, a request it does not take."""


class FailedModel(Struct, frozen=True):
    """A model of the chain that was asked before and gave no answer."""

    model: str
    trouble: Trouble


class Request(Struct, frozen=True):
    """One model call: stable parts first (`system`, `tools`), then the conversation, append-only."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    named_tools: tuple[ToolSpec, ...] = ()
    """Those that a model knows by name and may call; its prompt does not pay for their schemas."""
    temperature: float | None = None
    max_tokens: int | None = None
    form: Mapping[str, Any] | None = None
    """A JSON schema for the answer. Only Chat Completions sends it; other protocols ask for it in words alone."""
    force_tool: str = ""
    """Name of a tool the model must call now; empty for free choice."""
    begun_by: str = ""
    """Name of the model that made the calls whose results come now: a chain goes on with it, not with one before it."""
    compactable: bool = False
    """Whether who asks can compact the conversation: a request that is too long is then given back to them
    (ContextTooLong) instead of being cut or passed on to another model."""
    failed: tuple[FailedModel, ...] = ()
    """The models that stand before this one in the chain and gave no answer, for the offline model's words."""
    agent: str = ""
    """The name by which people call who answers, for the offline model; others read it in `system`."""
    zone: str = ""
    """On whose clocks the person lives, where they said so; for the offline model."""
    source: str = ""
    """Where the answer is read, such as "discord"; for the offline model."""
    owner: bool = False
    """Whether nobody but the owner hears the answer: only then may it name models and settings."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """How many characters each of its parts has."""


class Usage(Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = 0.0
    """None when the model's price is not known."""


class TextDelta(Struct, frozen=True):
    """A piece of the answer's text as it is written."""

    text: str


class Answer(Struct, frozen=True):
    """The whole answer. `model` is "provider:name" of the one that gave it, after any fallback."""

    text: str
    calls: tuple[Call, ...]
    usage: Usage
    model: str
    finish: Literal["stop", "length", "filter"] = "stop"
    degraded: str = ""
    """Why a lesser model answered, in words for the operator; empty when the first one did."""
    trouble: Trouble | None = None
    """The same as a kind: of the model that was asked last in vain."""
    reasoning: str = ""
    """What the model thought before it answered, where its provider shows that."""


class AnswerRestarted(Struct, frozen=True):
    """What was streamed so far is void: another attempt or another model begins from nothing."""


Event: TypeAlias = TextDelta | AnswerRestarted | Answer


class Model(Protocol):
    @property
    def name(self) -> str:
        """As "provider:name"."""
        ...

    @property
    def context_window(self) -> int:
        """Tokens the model takes in all."""
        ...

    def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        """Stream an answer; raises a ModelError."""
        ...


@dataclass
class ModelError(Exception):
    """A call that gave no answer; `reason` is for the operator and names no secret.

    `said` are the provider's own words, shortened. They can repeat what people said, so nobody is shown them.
    """

    reason: str
    trouble: Trouble = dataclasses.field(default=Trouble.FAILING, kw_only=True)
    said: str = dataclasses.field(default="", kw_only=True)

    def __str__(self) -> str:
        return self.reason


@dataclass
class ModelBusy(ModelError):
    """Overloaded, rate limited, unreachable or too slow: another try may work, after `retry_after` seconds if given."""

    retry_after: float | None = None


@dataclass
class ModelRefused(ModelError):
    """The provider does not accept us (key, permission, unknown model): trying again is useless."""


@dataclass
class ModelRejected(ModelError):
    """The provider does not take this request: the same again is useless, another one may work."""


@dataclass
class ModelGarbage(ModelError):
    """It answered something that is no answer."""


@dataclass
class ContextTooLong(ModelError):
    """The request is longer than the model takes."""


class Limits(Struct, frozen=True):
    """Seconds for one attempt, for silence within it, and for all models of a chain but the offline one."""

    attempt: float = 120
    silence: float = 45
    chain: float = 150
    tries: int = 3


@dataclass(frozen=True)
class Access:
    """`name` is "provider:model". Without a base URL the provider's own is used; `images` says whether that server
    is shown pictures."""

    name: str
    limits: Limits
    key: str = dataclasses.field(default="", repr=False)
    base_url: str = ""
    images: bool = False

    @property
    def provider(self) -> str:
        return self.name.partition(":")[0]

    @property
    def model(self) -> str:
        return self.name.partition(":")[2]

    @property
    def context_window(self) -> int:
        """What to count on until the provider library says better: a server of one's own is often small."""
        return 32_000 if self.base_url else 128_000


class ModelWrapper:
    """A model that asks another one, under whose name it stands."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def context_window(self) -> int:
        return self._model.context_window


class Relay(Struct):
    """Remembers whether listeners hold text; the next attempt then begins by saying that it is void."""

    spoken: bool = False

    def passed(self, event: Event) -> Event:
        if isinstance(event, TextDelta | AnswerRestarted):
            self.spoken = isinstance(event, TextDelta)
        return event
