"""What a tool is, and the set of tools an agent has.

Four kinds, by where their effect happens. A `StoreTool` writes memory: it runs inside the transaction that
also stores its result, so that it happens exactly once. A `ReadTool` only looks. An `OutsideTool` leaves the
process: that it began is stored first, and when nobody knows how it ended the model is told so. A `MemberTool` gives
the work to another agent's turn, which is stored with the beginning of the call and goes on after a restart.
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
from bot.agents.permissions.approval_rules import Caution
from bot.errors import ToolError
from bot.models.base import Call, ToolSpec
from memory.agents import Agent
from memory.blocks.store import DEFAULT_POLICY, CheckpointPolicy
from memory.people.audience import Trust
from memory.permission_requests import Permit
from memory.queue.turns import Turn
from memory.search.vector_similarity import Meaning
from memory.store.database import Database, Rows, Tx
from memory.store.ids import BlockId, MessageId, TurnId
from texts import _

A_contra = TypeVar("A_contra", bound="Arguments", contravariant=True)

UseKind: TypeAlias = Literal["entry", "message", "block", "summary"]
Needs: TypeAlias = Mapping[str, tuple[str, ...]]
"""By operation, the arguments that it cannot do without."""


class Arguments(BaseModel):
    """The arguments of a call; unknown ones are errors, so that a misspelt one is not ignored."""

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
        """What to tell the model about arguments that the operation cannot do without."""
        return f"{operation} needs {' and '.join(missing)}"

    def question(self) -> str:
        """What the call looks for by meaning too; empty when it looks for nothing."""
        return ""

    def question_with_expected(self) -> str:
        """The question with words expected in the answer; empty if none are."""
        return ""

    def searched_path(self) -> str | None:
        """The folder, or what is in one, where it looks for that; empty for all folders, None for none."""
        return None

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return cls.model_json_schema()

    @classmethod
    def named(cls) -> Collection[str]:
        """What they are called."""
        return cls.model_fields


def _is_empty(given: object) -> bool:
    return given in (None, {}, ()) or (isinstance(given, str) and not given.strip())


class ToolContext(Struct, frozen=True):
    """For whom a call is made."""

    turn: Turn
    agent: Agent
    message: MessageId | None
    """The newest message that the turn answers."""
    now: datetime
    database: Database
    """Where the turn stands: for an `OutsideTool`, which runs in no transaction of its caller."""
    permit: Permit | None = None
    """The yes under which the call is made, if it took one (`memory.permission_requests.require`)."""
    meaning: Meaning | None = None
    """That of the call's question."""
    checkpoints: CheckpointPolicy = DEFAULT_POLICY
    """How what is written in blocks is kept."""
    shown: Mapping[BlockId, int] = field(default_factory=dict)
    """The versions of blocks that the model had been shown when it made the call."""
    of_folders: Mapping[str, Meaning] = field(default_factory=dict)
    """That of the call's question for folders with an embedding model of their own, by its name."""
    expected_meaning: Meaning | None = None
    """That of the call's question with words expected in the answer."""
    source: str = ""
    """What takes trust from the turn, in words."""


def with_expected(question: str, expected: str) -> str:
    """The text whose meaning a search compares with rows, if words are expected in the answer; otherwise empty."""
    return f"{question} {expected}" if question and expected.strip() else ""


class Outcome(Struct, frozen=True):
    """What came of a call: words for the model, and which rows it used."""

    text: PromptText
    data: Any = None
    """The same as plain data, for the offline model, which reads no words; of tools that it calls, and listings."""
    uses: tuple[tuple[UseKind, str], ...] = ()
    trust: Trust = Trust.SYSTEM
    """How far what came may be trusted: the turn is trusted no further from then on."""
    folders: tuple[str, ...] = ()
    """The folders in which files were looked at or written."""
    noted: bool = False
    """What it did stands in the activity already."""
    ok: bool = True
    """Whether it did what was wanted, as far as whoever did it says."""
    forgets: bool = False
    """Somebody asked to forget: what this turn's tools were told and gave is not kept."""
    shown: Mapping[BlockId, int] = field(default_factory=dict)
    """The versions of blocks whose content stands in the words."""


class Assignment(Struct, frozen=True):
    """A task that was given: the turn that does it, and how many seconds it has."""

    turn: TurnId
    seconds: float


class DirectReply(Struct, frozen=True):
    """No turn was begun for the task: words for the model. `ok`: it will be done all the same."""

    text: str
    ok: bool


class Brief(Struct, frozen=True):
    """What a prompt shows of a tool until a model asks for all of it; calls are checked against all of it."""

    description: str
    arguments: Mapping[str, str]
    """Those that are shown, and how they are described; empty: as in the whole tool."""
    rest: str
    """What the whole tool does beside."""
    operations: tuple[str, ...] = ()


class Rarely(Struct, frozen=True):
    """That a tool is not needed every day: a prompt only names it, with what it is for, until a model asks for it."""

    what_for: str
    where: Literal["anywhere", "in public", "off Bluesky"] = "anywhere"


class _Tool(ABC, Generic[A_contra]):
    """What all kinds have; a tool is of one kind."""

    name: str
    shown: str = ""
    """What people read in place of the name; empty: the name."""
    description: str
    rarely: Rarely | None = None
    brief: Brief | None = None
    arguments: type[Arguments]
    caution: Caution
    """What it takes before a call is run. It has no default: a tool that forgets it fails at its first call."""

    def __init_subclass__(cls) -> None:
        """A tool names its arguments once, as what it is a tool of."""
        given = (each for base in cls.__dict__.get("__orig_bases__", ()) for each in get_args(base))
        cls.arguments = next((each for each in given if isinstance(each, type)), getattr(cls, "arguments", Arguments))


class StoreTool(_Tool[A_contra]):
    @abstractmethod
    def work(self, tx: Tx, context: ToolContext, arguments: A_contra, /) -> Outcome:
        """Do it; raises ToolError or a StoreError, and then nothing is stored."""


class ReadTool(_Tool[A_contra]):
    @abstractmethod
    def read(self, rows: Rows, context: ToolContext, arguments: A_contra, /) -> Outcome:
        """Look it up; raises ToolError or a StoreError."""


class OutsideTool(_Tool[A_contra]):
    idempotent: bool
    """Whether a call whose end nobody saw may simply be made again."""

    @abstractmethod
    async def run(self, context: ToolContext, arguments: A_contra, /) -> Outcome:
        """Do it within the tool's time limit; raises ToolError."""


class MemberTool(_Tool[A_contra]):
    @abstractmethod
    def hand(self, tx: Tx, context: ToolContext, call: Call, arguments: A_contra, /) -> Assignment | DirectReply:
        """Begin the other agent's turn, or find the one this call began; raises ToolError."""


Tool: TypeAlias = StoreTool[Any] | ReadTool[Any] | OutsideTool[Any] | MemberTool[Any]


class Toolset(Struct, frozen=True, eq=False, dict=True):
    """The tools of one agent, the same for every turn: what a turn may not do is refused at the call. Which of them a
    prompt shows is decided in `more.py`."""

    tools: dict[str, Tool] = field(default_factory=dict)
    operations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The operations that are left of a tool, where a rule names them; the model is shown no others."""

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """As the model sees them, in stable order."""
        found = (self.tools[name] for name in sorted(self.tools))
        left = self.operations
        return tuple(spec_of(tool.name, tool.description, tool.arguments, left.get(tool.name, ())) for tool in found)

    def called(self, name: str) -> str:
        """What people read in place of a tool's name; empty for a tool that the agent does not have now."""
        return (_(self.tools[name].shown) or name) if name in self.tools else ""

    @cached_property
    def rarely(self) -> Mapping[str, Rarely]:
        """The tools that are not needed every day, by name."""
        return {name: tool.rarely for name, tool in self.tools.items() if tool.rarely}

    @cached_property
    def in_brief(self) -> Mapping[str, Brief]:
        """What is enough of a tool on most days, by its name; a tool that a rule restricts is shown whole."""
        return {name: tool.brief for name, tool in self.tools.items() if tool.brief and name not in self.operations}

    def resolve(self, call: Call) -> tuple[Tool, Arguments]:
        """The tool of a call and its checked arguments; raises ToolError in words for the model."""
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
    """Made once: pydantic takes half a millisecond for a schema."""
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
    """An argument's schema without what a model knows anyway, as every prompt pays for it.

    What is not required may be left out, so that it is empty or null then needs no saying; how long a text may be is
    said by the error when one is too long.
    """
    kept = {name: value for name, value in part.items() if name not in ("title", "maxLength", "minLength")}
    if not kept.get("default", True):
        del kept["default"]
    if {"type": "null"} in (choices := kept.pop("anyOf", [])):
        choices = [each for each in choices if each != {"type": "null"}]
    return kept | (choices[0] if len(choices) == 1 else {"anyOf": choices} if choices else {})
