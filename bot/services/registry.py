"""Operations: what people can do, declared once and offered by every interface.

A service's method decorated with `@operation` takes its caller, its arguments if any, and returns a result. The command
line, slash commands, socket, `--json`, help and docs/commands.md are all generated from the declaration, and only the
registry decides who may call.
"""

import asyncio
import errno
import inspect
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NewType, TypeAlias, Union, get_args, get_origin, get_type_hints

import annotated_types
from msgspec import Struct, field
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.fields import FieldInfo

from bot.agents.permissions import roles_and_rights
from bot.agents.permissions.roles_and_rights import Action, People
from bot.config.problems import unfit
from bot.errors import CallError, ConfigError, ToolError, UserError
from bot.services.caller import IGNORED, TERMINAL_ONLY, Caller, Location, Via, is_offered
from bot.services.results import Listing, Plain, Result, Sentence
from bot.services.transactions import Declaration, Method, transaction_of
from memory.store.clock import Clock
from memory.store.database import Tx
from memory.store.errors import (
    BlockCorrupt,
    BlockExists,
    BlockNotFound,
    BlockRefused,
    BlockTooLong,
    EntryNotFound,
    Refused,
)
from memory.store.fulltext import storable
from memory.store.ids import PersonId
from memory.store.records import asdict
from texts import _, error_sentence, error_text, gettext_noop

Role = NewType("Role", str)
"""A role of a Discord server, as commands name it: "discord:role:1234"."""
Kind: TypeAlias = Literal["text", "integer", "number", "flag", "path", "many", "person", "role", "location", "content"]
_KINDS: Mapping[Any, Kind] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "flag",
    Path: "path",
    PersonId: "person",
    Role: "role",
    Location: "location",
}


_SAMPLES: Mapping[Kind, str] = {
    "integer": "1",
    "person": "discord:1234",
    "role": "discord:role:1234",
    "location": "discord:1234",
}


class Arguments(BaseModel):
    """The arguments of an operation, if the method's signature cannot express them or several operations share them.

    A text without a default must not be empty.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Param(Struct, frozen=True):
    """How an argument is described to people and passed; type, limits and default come from the annotation.

    Arguments without a default are positional on the command line, all others are options.
    """

    help: str
    """Empty for an argument that only a form sends, which is not documented."""
    metavar: str = ""
    typed: str = ""
    """What is typed for it at a terminal, if it is neither free text nor one of its choices."""
    flag: str = ""
    """Another name on the command line, such as "--from"."""
    short: str = ""
    suggests: str = ""
    """The source of suggestions that are made while somebody types."""
    positional: bool = False
    """Positional despite a default."""
    content: bool = False
    """A text read from a file: the command line takes the file's name; "-" is standard input."""
    piped: bool = False
    """If omitted, the command line reads standard input."""
    words: bool = False
    """The command line takes any number of words, so that nobody has to quote them."""
    via: frozenset[Via] = frozenset(Via)
    """The interfaces that offer it; it needs a default if one does not."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the choices where people pick from a list; a choice without one is its own label."""
    needs: Action | None = None
    """The right needed to pass it, in addition to that of the operation."""
    example: str = ""
    """An example value. Numbers, choices and ids need none."""


Output = Annotated[
    Path | None,
    Param("File to write; it must not exist yet", metavar="FILE", short="-o", via=TERMINAL_ONLY, needs=Action.EXPORT),
]


class Parameter(Param, frozen=True, kw_only=True):
    """An argument with everything known about it, including its type and default."""

    name: str
    kind: Kind
    required: bool
    default: Any = None
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    shortest: int | None = None
    longest: int | None = None
    flags: tuple[str, ...] = ()

    @property
    def choice_labels(self) -> tuple[str, ...]:
        """Labels of the choices, in the same order."""
        return tuple(self.labels.get(each, re.sub("[_-]", " ", each).capitalize()) for each in self.choices)

    @property
    def sample(self) -> str:
        """The example as typed on the command line."""
        found = self.example or next(iter(self.choices), _SAMPLES.get(self.kind, ""))
        return f'"{found}"' if " " in found and not self.words else found

    def called(self, via: Via) -> str:
        if via is not Via.TERMINAL:
            return self.name
        return self.metavar if self.positional else self.flags[-1]


def _parameter(name: str, given: FieldInfo) -> Parameter:
    told = next((each for each in given.metadata if isinstance(each, Param)), None)
    if told is None:
        raise TypeError(f"the argument {name} has no Param, which says what it is")
    kind, choices = _kind(given.annotation, name)
    default = None if given.is_required() else given.get_default(call_default_factory=False)
    positional = told.positional or given.is_required()
    least = 1 if given.is_required() and kind == "text" and not choices else None
    flag = told.flag or f"--{name.replace('_', '-')}"
    known = {**asdict(told), "positional": positional, "metavar": told.metavar or name.upper()}
    return Parameter(
        **known,
        name=name,
        kind="content" if told.content else kind,
        required=given.is_required(),
        default=default.value if isinstance(default, StrEnum) else default,
        choices=choices,
        low=_limit(given, annotated_types.Ge, "ge"),
        high=_limit(given, annotated_types.Le, "le"),
        shortest=least or _limit(given, annotated_types.MinLen, "min_length"),
        longest=_limit(given, annotated_types.MaxLen, "max_length"),
        flags=() if positional else tuple(filter(None, (told.short, flag))),
    )


def _kind(annotation: Any, name: str) -> tuple[Kind, tuple[str, ...]]:
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(each for each in get_args(annotation) if each is not type(None))
    if get_origin(annotation) is Literal:
        return "text", get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return "text", tuple(each.value for each in annotation)
    if annotation == tuple[str, ...]:
        return "many", ()
    if annotation not in _KINDS:
        raise TypeError(f"the argument {name} is of a type that no interface offers: {annotation}")
    return _KINDS[annotation], ()


def _require_usable(given: object, kind: Kind, name: str) -> None:
    """Raise CallError for text that no operation can store or use as a file name."""
    try:
        for value in given if isinstance(given, list | tuple) else (given,):
            if kind == "path" and isinstance(value, str | Path):
                os.lstat(value)
            elif isinstance(value, str) and storable(value) != value:
                raise ValueError
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise CallError("{name}: {reason}", name=name, reason=error.strerror) from None
    except ValueError:
        raise CallError(
            "{what} contains a NUL character or half of a surrogate pair: leave it out", what=name
        ) from None


def _limit(given: FieldInfo, kind: type, attribute: str) -> Any:
    return next((getattr(each, attribute) for each in given.metadata if isinstance(each, kind)), None)


ArgumentNames: TypeAlias = Callable[[Parameter], str]
"""An interface's name for an argument."""
Suggested: TypeAlias = Iterable[tuple[str, str]]
"""Suggestions: pairs of a value and its display text."""
Suggestions: TypeAlias = Iterable[tuple[str, str] | str]
"""What services return: a value may be its own display text. An operation can also return a list of rows."""

_SECONDS = 25.0  # less than a command waits for its answer
_REFUSALS = (Refused, BlockExists, BlockNotFound, BlockRefused, BlockTooLong, EntryNotFound)
"""Errors of memory whose text is for the caller; other store errors are about the store."""
_DAMAGED = gettext_noop(
    "The block is damaged ({error}). `carina memory verify --repair` rebuilds "
    "it from its intact parts and keeps its text."
)
EVERYWHERE = frozenset({Via.TERMINAL, Via.DISCORD})


class Options(Struct, frozen=True):
    """Further options of an operation. By default it is offered everywhere and changes nothing."""

    via: frozenset[Via] = EVERYWHERE
    changes: bool = False
    keeps: bool = False
    """It stores words of its caller, so it is refused to people who opted out."""
    running: bool = False
    """It requires a running service."""
    seconds: float | None = _SECONDS
    """None for no limit."""
    asks: bool = False
    """It calls `caller.confirm` once there is something to do."""
    first: bool = False
    """It is carried out before anything is answered, even if the answer cannot arrive."""
    suffix: str = "md"
    """The suffix of the file in which a long answer is sent."""
    formerly: tuple[str, ...] = ()
    """Its former names, which still work, with a warning."""
    offered: bool = True
    """Whether it is a command; otherwise only buttons and forms call it."""
    default: bool = False
    """Its group's name alone calls it in the terminal: `carina summary` is `carina summary show`."""
    example: str = ""
    """Example arguments, if those of its parameters are not enough."""


class Operation(Options, frozen=True, kw_only=True, dict=True):
    name: str
    """Its words joined by dots: "facts.forget" is `carina facts forget` and `/facts forget`."""
    summary: str
    needs: Action
    method: Callable[..., Any]

    @cached_property
    def _hints(self) -> Mapping[str, Any]:
        return get_type_hints(self.method, include_extras=True)

    @cached_property
    def arguments(self) -> type[Arguments]:
        """The model that checks the arguments, built at the first call because each takes 10 kB."""
        return self._hints.get("arguments") or create_model(
            self.method.__qualname__, __base__=Arguments, **self._in_signature()
        )

    @property
    def by_name(self) -> bool:
        """Whether the method takes its arguments one by one instead of as a model."""
        return "arguments" not in self._hints

    @property
    def gives(self) -> Any:
        """The type of its result, such as `Listing[FactRow]`."""
        return self._hints["return"]

    @property
    def lists(self) -> bool:
        """Whether it returns a list."""
        kind = get_origin(self.gives) or self.gives
        return isinstance(kind, type) and issubclass(kind, Listing)

    @property
    def words(self) -> list[str]:
        return self.name.split(".")

    @property
    def file_name(self) -> str:
        """The file name for a long answer: "facts.md"."""
        return f"{self.words[0]}.{self.suffix}"

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in the order of the fields. Raises TypeError for a field that no interface can offer."""
        fields = (
            {name: FieldInfo.from_annotated_attribute(*each) for name, each in self._in_signature().items()}
            if self.by_name
            else self.arguments.model_fields
        )
        return tuple(_parameter(name, each) for name, each in fields.items())

    def taken(self, via: Via) -> list[Parameter]:
        """The arguments that an interface can pass; paths only work on the machine where a command runs."""
        there = (each for each in self.parameters if is_offered(via, each.via))
        return [each for each in there if not (via is Via.WEB and each.kind == "path")]

    def keeps_of(self, given: bool) -> bool:
        """Whether the call stores words of its caller: not without arguments, which only shows a setting."""
        return self.keeps and (given or any(each.required for each in self.parameters))

    def validated(self, given: Mapping[str, Any], called: ArgumentNames) -> Arguments:
        """The arguments of a call. Raises CallError with the reason for each invalid one, by its `called` name."""
        shown = {each.name: called(each) for each in self.parameters}
        if empty := [shown[each.name] for each in self.parameters if each.shortest == 1 and given.get(each.name) == ""]:
            raise CallError("{names}: must not be empty", names=", ".join(empty))
        for each in self.parameters:
            _require_usable(given.get(each.name), each.kind, shown[each.name])
        try:
            return self.arguments.model_validate(given)
        except ValidationError as error:
            names = ((shown.get(str(each["loc"][0]), str(each["loc"][0])), unfit(each)) for each in error.errors())
            raise CallError("; ".join(f"{name}: {why[:1].lower()}{why[1:]}" for name, why in names)) from None

    def _in_signature(self) -> dict[str, Any]:
        """The parameters after the caller in the method's signature, each with its type and default."""
        own = list(inspect.signature(self.method).parameters.values())
        caller = next(at for at, each in enumerate(own) if self._hints.get(each.name) is Caller)
        return {
            each.name: (self._hints[each.name], ... if each.default is each.empty else each.default)
            for each in own[caller + 1 :]
        }


_PLAIN = Options()
CHANGES = Options(changes=True)
KEEPS = Options(changes=True, keeps=True)
ASKS = Options(changes=True, asks=True)
FORM = Options(changes=True, keeps=True, offered=False)
LISTS = Options(default=True)
AT_TERMINAL = Options(via=TERMINAL_ONLY)
CHANGES_AT_TERMINAL = Options(via=TERMINAL_ONLY, changes=True)
_declared: dict[Method, Operation] = {}
_suggesting: dict[Method, tuple[str, str]] = {}


def operation(name: str, summary: str, needs: Action, told: Options = _PLAIN) -> Declaration:
    """Declare a service's method as an operation; `needs` decides who may call it.

    It returns a result or a text. A method that takes `rows: Rows` or `tx: Tx` before its caller is a transaction; with
    `tx`, it changes something.
    """

    def declare(method: Method) -> None:
        known = {**asdict(told), "changes": told.changes or transaction_of(method) is Tx}
        _declared[method] = Operation(**known, name=name, summary=summary, needs=needs, method=method)

    return Declaration(declare)


def suggestions(source: str, within: str = "") -> Declaration:
    """Declare a method of a service, possibly an operation that lists, as a source of suggestions.

    It takes the caller, after `rows: Rows` if it reads, and, with `within`, the value of the argument of that name, as
    far as it was typed.
    """
    return Declaration(lambda method: _suggesting.__setitem__(method, (source, within)))


def operations_of(services: Iterable[type]) -> dict[str, Operation]:
    """The operations of these classes, by name. Raises ValueError for a duplicate name."""
    found: dict[str, Operation] = {}
    for declared in (_declared[each] for service in services for each in _methods(service) if each in _declared):
        if declared.name in found:
            raise ValueError(f"two operations are called {declared.name}")
        found[declared.name] = declared
    defaults = [each.name.rpartition(".")[0] for each in found.values() if each.default]
    if "" in defaults or len(set(defaults)) < len(defaults):
        raise ValueError("a default belongs to a group, which has one")
    return found


def _methods(service: type) -> Iterator[Callable[..., Any]]:
    return (each for each in vars(service).values() if inspect.isfunction(each))


class Guard(Struct, frozen=True):
    """Checks before a call. `ignored`: the person opted out; `clean` removes secrets."""

    people: People
    ignored: Callable[[PersonId | None], bool]
    clean: Callable[[Any], Any]


class Clocks(Struct, frozen=True):
    """Times and languages: `zone_of` returns a person's time zone, `language` the language they chose, empty without a
    choice."""

    now: Clock
    zone_of: Callable[[PersonId], Awaitable[str]]
    language: Callable[[PersonId], str]


class Registry:
    def __init__(self, services: Sequence[object], guard: Guard, clocks: Clocks) -> None:
        self._guard, self._clocks = guard, clocks
        kinds = [type(service) for service in services]
        self.operations: Mapping[str, Operation] = operations_of(kinds)
        self._run: dict[str, Callable[..., Any]] = {}
        self._suggest: dict[str, tuple[Callable[..., Awaitable[Suggestions | Listing[Any]]], str]] = {}
        for service in services:
            for method in _methods(type(service)):
                if method in _declared:
                    self._run[_declared[method].name] = method.__get__(service)
                if method in _suggesting:
                    source, within = _suggesting[method]
                    self._suggest[source] = method.__get__(service), within

    async def call(
        self, name: str, caller: Caller, given: Mapping[str, Any], called: ArgumentNames | None = None
    ) -> Result:
        """Call an operation. Raises UserError or CallError, with a text for the caller.

        `called` is a form's name for an argument, if not the interface's.
        """
        declared = self._permitted(name, caller)
        self._require(declared, caller, given)
        called = called or (lambda each: each.called(caller.via))
        arguments = declared.validated(self._guard.clean(dict(given)), called)
        run = self._run[name](caller, **(dict(arguments) if declared.by_name else {"arguments": arguments}))
        try:
            async with asyncio.timeout(declared.seconds):
                found = await run
            return Sentence(text=found) if isinstance(found, str) else found
        except TimeoutError:
            raise UserError(
                "{words} took longer than {seconds} seconds. Part of it may have been done.",
                words=" ".join(declared.words),
                seconds=f"{declared.seconds:g}",
            ) from None
        except ConfigError as error:  # in a table that was passed in
            raise UserError(error_text(error)) from error
        except BlockCorrupt as error:
            raise UserError(_(_DAMAGED, error=error)) from error
        except (ToolError, *_REFUSALS) as error:
            raise UserError(error_sentence(error)) from error

    def language(self, person: PersonId) -> str:
        """The language that a person chose; empty without a choice."""
        return self._clocks.language(person)

    async def plain(self, caller: Caller) -> Plain:
        typed = caller.via not in (Via.WEB, Via.PAGE)
        return Plain(await self._clocks.zone_of(caller.person), self._clocks.now(), typed)

    async def suggest(self, name: str, argument: str, caller: Caller, given: Mapping[str, Any]) -> Suggested:
        """Suggestions for an argument, given the others, if the caller may call the operation."""
        declared = self._permitted(name, caller)
        source = next(each.suggests for each in declared.parameters if each.name == argument)
        suggest, within = self._suggest[source]
        found = await suggest(caller, *([str(given.get(within) or "")] if within else []))
        if isinstance(found, Listing):
            return [row.choice for row in found.rows]
        return [(each, each) if isinstance(each, str) else each for each in found]

    async def permitted(self, operations: Sequence[Operation], caller: Caller) -> list[Operation]:
        return [each for each in operations if roles_and_rights.may(self._guard.people, caller.approver, each.needs)]

    def _permitted(self, name: str, caller: Caller) -> Operation:
        """The operation, if this caller may call it; this is the only check. Raises UserError."""
        declared = self.operations.get(name)
        if declared is None or not is_offered(caller.via, declared.via):
            raise CallError("There is no operation “{name}” here.", name=name)
        roles_and_rights.require(self._guard.people, caller.approver, declared.needs)
        return declared

    def _require(self, declared: Operation, caller: Caller, given: Mapping[str, Any]) -> None:
        """Raise UserError for arguments that this caller may not pass."""
        if declared.keeps_of(bool(given)) and self._guard.ignored(caller.person):
            raise UserError(_(IGNORED))
        taken = declared.taken(caller.via)
        if unknown := [each for each in declared.parameters if each.name in given and each not in taken]:
            shown = ", ".join(each.called(caller.via) for each in unknown)
            raise CallError("{shown}: not available here", shown=shown)
        for each in declared.parameters:
            if each.needs is not None and given.get(each.name, each.default) != each.default:
                roles_and_rights.require(self._guard.people, caller.approver, each.needs)
