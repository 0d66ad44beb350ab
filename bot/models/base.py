"""The interface of language models: message types, one protocol, typed errors.

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


def json_object(arguments: str) -> dict[str, Any] | None:
    """The arguments as values; None if they are not a JSON object. A model that repeats itself may nest too deeply."""
    try:
        found = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def parsed(arguments: str) -> dict[str, Any]:
    """The arguments as values; empty if they are not a JSON object."""
    return json_object(arguments) or {}


class UserMessage(NamedTuple):
    """A person's message, rendered for the model. `said` is the bare text without header or context tail."""

    text: str
    said: str = ""
    at: datetime | None = None
    speaker: str = ""
    images: tuple[str, ...] = ()
    """URLs of images for a model that accepts images; a `data:` URL contains the image."""
    event: str = ""
    """The decision on a request, if it is the reason for the message; for the offline model."""
    overheard: bool = False
    """Whether it never gets an answer: it was addressed to others, or set aside because nobody could answer."""
    files: bool = False
    """Whether files or images are attached."""
    answer: bool = False
    """Whether it is the text of another agent's answer."""

    @property
    def digest(self) -> str:
        """A digest that identifies the message. The offline model derives the ids of its calls from it."""
        raw = f"{self.at.isoformat() if self.at else ''}\0{self.speaker}\0{self.said}"
        return hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class AssistantMessage(NamedTuple):
    text: str
    calls: tuple[Call, ...] = ()
    at: datetime | None = None


class ToolMessage(NamedTuple):
    """The result of one call. `ok` is False if it describes an error; with `waits`, somebody is asked first.

    `reason` is the text of a failure as a message of the catalog, if it is one.
    """

    call_id: str
    name: str
    text: str
    ok: bool = True
    data: Any = None
    """The result as plain JSON data, for the offline model; never sent to a provider. Texts of the tool itself, such as
    a remark instead of a time, may be packed for translation."""
    waits: bool = False
    reason: str = ""

    def told_in(self, language: str) -> str:
        """The text; the reason for a failure is in that language if the catalog has it."""
        with speaking(language):
            return _(unpacked(self.reason)) if self.reason else self.text

    def data_in(self, language: str) -> Any:
        """The data, with the tool's own texts in that language."""
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
    """Whether the call answers somebody, as this agent or another one."""
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
        """Its approximate number of characters in a request."""
        return len(self.description) + len(str(self.parameters))


class Trouble(StrEnum):
    """Why a model gave no answer, as far as it matters to those who read about it or fix it."""

    KEY = "key"
    """The provider rejects the key, or the key may not use the model."""
    MISSING = "missing"
    """The provider has no model of that name."""
    QUOTA = "quota"
    """The account's credit is used up."""
    BUDGET = "budget"
    """Our budget for models is used up, so it was not called."""
    UNREACHABLE = "unreachable"
    """No connection, or no answer in time."""
    FAILING = "failing"
    """It responds, but without a usable answer: overload, an internal error, garbage, or a rejected request."""


class FailedModel(Struct, frozen=True):
    """A model of the chain that was called before and gave no answer."""

    model: str
    trouble: Trouble


class Request(Struct, frozen=True):
    """One model call: stable parts first (`system`, `tools`), then the conversation, append-only."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    named_tools: tuple[ToolSpec, ...] = ()
    """Tools that a model knows by name and may call, without their schemas in the prompt."""
    temperature: float | None = None
    max_tokens: int | None = None
    form: Mapping[str, Any] | None = None
    """A JSON schema for the answer. Only Chat Completions sends it; other protocols describe it in the prompt."""
    force_tool: str = ""
    """Name of a tool the model must call now; empty for free choice."""
    begun_by: str = ""
    """Name of the model that made the calls whose results follow: a chain continues with it, not with an earlier
    one."""
    compactable: bool = False
    """Whether the caller can compact the conversation: a request that is too long then raises ContextTooLong instead of
    being cut or passed on to another model."""
    failed: tuple[FailedModel, ...] = ()
    """The models before this one in the chain that gave no answer, for the offline model's explanation."""
    agent: str = ""
    """The name of the answering agent, for the offline model; others read it in `system`."""
    zone: str = ""
    """The person's time zone, if they set one; for the offline model."""
    source: str = ""
    """The platform of the answer, such as "discord"; for the offline model."""
    owner: bool = False
    """Whether only the owner reads the answer: only then may it name models and settings."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """The number of characters of each part."""


class Usage(Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = 0.0
    """None if the model's price is unknown."""


class TextDelta(Struct, frozen=True):
    """A piece of the answer's text as it is written."""

    text: str


class Answer(Struct, frozen=True):
    """The whole answer. `model` is the "provider:name" of the model that gave it, after any fallback."""

    text: str
    calls: tuple[Call, ...]
    usage: Usage
    model: str
    finish: Literal["stop", "length", "filter"] = "stop"
    degraded: str = ""
    """Why a fallback answered, in words for the operator; empty if the first model did."""
    trouble: Trouble | None = None
    """The reason as a kind, for the last model that failed."""
    reasoning: str = ""
    """The model's thinking before the answer, if its provider shows it."""


class AnswerRestarted(Struct, frozen=True):
    """The text streamed so far is void: another attempt or another model starts over."""


Event: TypeAlias = TextDelta | AnswerRestarted | Answer


class Model(Protocol):
    @property
    def name(self) -> str:
        """The name as "provider:name"."""
        ...

    @property
    def context_window(self) -> int:
        """The model's context size in tokens."""
        ...

    def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        """Stream an answer; raises a ModelError."""
        ...


@dataclass
class ModelError(Exception):
    """A call without an answer; `reason` is for the operator and contains no secret.

    `said` are the provider's own words, shortened. They can repeat people's messages, so nobody is shown them.
    """

    reason: str
    trouble: Trouble = dataclasses.field(default=Trouble.FAILING, kw_only=True)
    said: str = dataclasses.field(default="", kw_only=True)

    def __str__(self) -> str:
        return self.reason


@dataclass
class ModelBusy(ModelError):
    """Overloaded, rate limited, unreachable or too slow: a retry may work, after `retry_after` seconds if given."""

    retry_after: float | None = None


@dataclass
class ModelRefused(ModelError):
    """The provider rejects our access (key, permission, unknown model): a retry is useless."""


@dataclass
class ModelRejected(ModelError):
    """The provider rejects this request: repeating it is useless, another one may work."""


@dataclass
class ModelGarbage(ModelError):
    """The response is not a valid answer."""


@dataclass
class ContextTooLong(ModelError):
    """The request exceeds the model's context."""


class Limits(Struct, frozen=True):
    """Seconds for one attempt, for silence within it, and for all models of a chain except the offline one."""

    attempt: float = 120
    silence: float = 45
    chain: float = 150
    tries: int = 3


@dataclass(frozen=True)
class Access:
    """Access to a model; `name` is "provider:model". Without a base URL the provider's own is used; `images` says
    whether images are sent to that server."""

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
        """The assumed context size until the provider library knows it: that of a self-hosted server is often small."""
        return 32_000 if self.base_url else 128_000


class ModelWrapper:
    """A model that calls another one and has its name."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def context_window(self) -> int:
        return self._model.context_window


class Relay(Struct):
    """Tracks whether listeners hold text; if so, the next attempt first announces that it is void."""

    spoken: bool = False

    def passed(self, event: Event) -> Event:
        if isinstance(event, TextDelta | AnswerRestarted):
            self.spoken = isinstance(event, TextDelta)
        return event
