"""The interface of tools, and the set of tools of an agent.

There are four kinds, by where their effect happens. A `StoreTool` writes memory: it runs inside the transaction that
also stores its result, so that it happens exactly once. A `ReadTool` only reads. An `OutsideTool` leaves the process:
its start is stored first, and if its end is unknown, the model is told so. A `MemberTool` gives the work to another
agent's turn, which is stored when the call begins and continues after a restart.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar, get_args

from msgspec import Struct, field
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from bot.agents.context.quotes import PromptText
from bot.agents.permissions.calls_needing_approval import Caution
from bot.errors import ToolError
from bot.models.base import Call, ToolSpec
from memory.agents import Agent
from memory.blocks.store import DEFAULT_POLICY, CheckpointPolicy
from memory.people.audience import Trust
from memory.permission_requests import Permit
from memory.queue.turns import Turn, UseKind
from memory.search.vector_similarity import Meaning
from memory.store.database import Database, Rows, Tx
from memory.store.ids import BlockId, MessageId, TurnId
from texts import _

ArgumentsT_contra = TypeVar("ArgumentsT_contra", bound="Arguments", contravariant=True)

Needs: TypeAlias = Mapping[str, tuple[str, ...]]
"""The required arguments of each operation."""


class Arguments(BaseModel):
    """The arguments of a call; unknown ones are errors, so that typos are not ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    needs: ClassVar[Needs] = {}

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        given = dict(self)
        operation = given.get("operation", "")
        if missing := [name for name in self.needs.get(operation, ()) if _is_empty(given[name])]:
            raise ValueError(self.lacking(operation, missing))
        return self

    def lacking(self, operation: str, missing: Sequence[str]) -> str:
        """The error for the model about missing arguments of the operation."""
        return f"{operation} needs {' and '.join(missing)}"

    def question(self) -> str:
        """The text whose meaning the call searches for; empty if none."""
        return ""

    def question_with_expected(self) -> str:
        """The question with words expected in the answer; empty if none are."""
        return ""

    def searched_path(self) -> str | None:
        """The folder or path that is searched for it; empty for all folders, None for none."""
        return None

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return cls.model_json_schema()

    @classmethod
    def named(cls) -> Collection[str]:
        """The names of the tools."""
        return cls.model_fields


def _is_empty(given: object) -> bool:
    return given in (None, {}, ()) or (isinstance(given, str) and not given.strip())


class ToolContext(Struct, frozen=True):
    """The context of a call."""

    turn: Turn
    agent: Agent
    message: MessageId | None
    """The newest message that the turn answers."""
    now: datetime
    database: Database
    """The database of the turn, for an `OutsideTool`, which runs in no transaction of its caller."""
    permit: Permit | None = None
    """The approval under which the call is made, if it needed one (`memory.permission_requests.require`)."""
    meaning: Meaning | None = None
    """The embedding of the call's question."""
    checkpoints: CheckpointPolicy = DEFAULT_POLICY
    """How often documents of blocks get checkpoints."""
    shown: Mapping[BlockId, int] = field(default_factory=dict)
    """The versions of blocks that the model had seen when it made the call."""
    of_folders: Mapping[str, Meaning] = field(default_factory=dict)
    """The embeddings of the question for folders with their own embedding model, by model name."""
    expected_meaning: Meaning | None = None
    """The embedding of the question with words expected in the answer."""
    source: str = ""
    """The sources that lower the turn's trust, in words."""


def with_expected(question: str, expected: str) -> str:
    """The text that a search embeds if words are expected in the answer; otherwise empty."""
    return f"{question} {expected}" if question and expected.strip() else ""


class Outcome(Struct, frozen=True):
    """The result of a call: a text for the model, and the rows that it used."""

    text: PromptText
    data: Any = None
    """The result as plain data, for the offline model, which reads no text; only from tools that it calls, and
    listings."""
    uses: tuple[tuple[UseKind, str], ...] = ()
    trust: Trust = Trust.SYSTEM
    """The trust of the result, which limits that of the turn from then on."""
    folders: tuple[str, ...] = ()
    """The folders in which files were read or written."""
    noted: bool = False
    """Whether the activity log has an entry for it already."""
    ok: bool = True
    """Whether the call succeeded, as far as the tool knows."""
    forgets: bool = False
    """Somebody asked to forget: the arguments and results of this turn's tools are not kept."""
    shown: Mapping[BlockId, int] = field(default_factory=dict)
    """The versions of blocks whose content the text contains."""


class Assignment(Struct, frozen=True):
    """A delegated task: the turn that carries it out, and its time limit in seconds."""

    turn: TurnId
    seconds: float


class DirectReply(Struct, frozen=True):
    """A text for the model instead of a turn. `ok`: the task will be done nevertheless."""

    text: str
    ok: bool


class Brief(Struct, frozen=True):
    """The part of a tool's schema that a prompt shows until a model asks for the rest; calls are checked against all of
    it."""

    description: str
    arguments: Mapping[str, str]
    """The arguments shown, with their descriptions; an empty one is that of the whole tool."""
    rest: str
    """What the whole tool does in addition."""
    operations: tuple[str, ...] = ()


class Rarely(Struct, frozen=True):
    """Marks a tool as rarely needed: a prompt names it with its purpose, and shows the schema when a model asks."""

    what_for: str
    where: Literal["anywhere", "in public", "off Bluesky"] = "anywhere"


class _Tool(ABC, Generic[ArgumentsT_contra]):
    """The common base of all kinds; each tool is of one kind."""

    name: str
    shown: str = ""
    """A name for people; empty: the same name."""
    description: str
    rarely: Rarely | None = None
    brief: Brief | None = None
    arguments: type[Arguments]
    caution: Caution
    """The approval that a call needs. It has no default: a tool without it fails at its first call."""

    def __init_subclass__(cls) -> None:
        """A tool names its arguments once, as its type parameter."""
        given = (each for base in cls.__dict__.get("__orig_bases__", ()) for each in get_args(base))
        cls.arguments = next((each for each in given if isinstance(each, type)), getattr(cls, "arguments", Arguments))


class StoreTool(_Tool[ArgumentsT_contra]):
    @abstractmethod
    def work(self, tx: Tx, context: ToolContext, arguments: ArgumentsT_contra, /) -> Outcome:
        """Carry out the call; if it raises ToolError or a StoreError, nothing is stored."""


class ReadTool(_Tool[ArgumentsT_contra]):
    @abstractmethod
    def read(self, rows: Rows, context: ToolContext, arguments: ArgumentsT_contra, /) -> Outcome:
        """Read the result; raises ToolError or a StoreError."""


class OutsideTool(_Tool[ArgumentsT_contra]):
    idempotent: bool
    """Whether a call with an unknown end may be repeated."""

    @abstractmethod
    async def run(self, context: ToolContext, arguments: ArgumentsT_contra, /) -> Outcome:
        """Carry out the call within the tool's time limit; raises ToolError."""


class MemberTool(_Tool[ArgumentsT_contra]):
    @abstractmethod
    def hand(
        self, tx: Tx, context: ToolContext, call: Call, arguments: ArgumentsT_contra, /
    ) -> Assignment | DirectReply:
        """Begin the other agent's turn, or find the one that this call began; raises ToolError."""


Tool: TypeAlias = StoreTool[Any] | ReadTool[Any] | OutsideTool[Any] | MemberTool[Any]


class Toolset(Struct, frozen=True, eq=False, dict=True):
    """The tools of one agent, the same for every turn: a call that a turn may not make is refused when it is made.
    `more_tools.py` decides which of them a prompt shows."""

    tools: dict[str, Tool] = field(default_factory=dict)
    operations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The operations that remain of a tool that a rule restricts; the model sees no others."""

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them, in stable order."""
        found = (self.tools[name] for name in sorted(self.tools))
        left = self.operations
        return tuple(spec_of(tool.name, tool.description, tool.arguments, left.get(tool.name, ())) for tool in found)

    def called(self, name: str) -> str:
        """What people read in place of a tool's name; empty for a tool that the agent does not have now."""
        return (_(self.tools[name].shown) or name) if name in self.tools else ""

    @cached_property
    def rarely(self) -> Mapping[str, Rarely]:
        """The rarely needed tools, by name."""
        return {name: tool.rarely for name, tool in self.tools.items() if tool.rarely}

    @cached_property
    def in_brief(self) -> Mapping[str, Brief]:
        """The parts of tools that suffice on most days, by name; a tool that a rule restricts is shown whole."""
        return {name: tool.brief for name, tool in self.tools.items() if tool.brief and name not in self.operations}

    def resolve(self, call: Call) -> tuple[Tool, Arguments]:
        """The tool of a call and its checked arguments; raises ToolError with a text for the model."""
        tool = self.tools.get(call.name)
        if tool is None:
            raise ToolError(f"There is no tool {call.name!r}. The tools are: {', '.join(sorted(self.tools))}.")
        try:
            return tool, tool.arguments.model_validate_json(call.arguments or "{}")
        except ValidationError as error:
            problems = "; ".join(_problem(dict(found), tool.arguments) for found in error.errors())
            raise ToolError(f"The arguments of {call.name} are wrong: {problems}. Call it again, corrected.") from error


def _problem(found: dict[str, Any], arguments: type[Arguments]) -> str:
    where = ".".join(str(part) for part in found["loc"])
    if found["type"] == "extra_forbidden" and len(found["loc"]) == 1:
        return f"{where}: there is no such argument; there are {', '.join(arguments.named()) or 'none'}"
    return f"{where}: {found['msg']}" if where else str(found["msg"])


@functools.lru_cache(maxsize=1_000)
def spec_of(name: str, description: str, arguments: type[Arguments], operations: tuple[str, ...]) -> ToolSpec:
    """Cached: pydantic takes half a millisecond for a schema."""
    schema = dict(arguments.json_schema())
    schema.pop("title", None)
    schema.pop("description", None)
    schema["properties"] = {field: _lean(part) for field, part in schema.get("properties", {}).items()}
    if operations and "operation" in schema.get("properties", {}):
        schema["properties"]["operation"]["enum"] = list(operations)
    return ToolSpec(name, description, schema)


def shortened(spec: ToolSpec, brief: Brief) -> ToolSpec:
    there = spec.parameters["properties"]
    properties = {name: there[name] | ({"description": told} if told else {}) for name, told in brief.arguments.items()}
    if brief.operations:
        properties = {"operation": {"enum": list(brief.operations), "type": "string"}} | properties
    return ToolSpec(spec.name, brief.description, {**spec.parameters, "properties": properties})


def _lean(part: dict[str, Any]) -> dict[str, Any]:
    """An argument's schema without the obvious, because every prompt pays for it.

    Optional arguments need no mention of an empty or null default; the error for a text that is too long states the
    limit.
    """
    kept = {name: value for name, value in part.items() if name not in ("title", "maxLength", "minLength")}
    if not kept.get("default", True):
        del kept["default"]
    if {"type": "null"} in (choices := kept.pop("anyOf", [])):
        choices = [each for each in choices if each != {"type": "null"}]
    return kept | (choices[0] if len(choices) == 1 else {"anyOf": choices} if choices else {})
