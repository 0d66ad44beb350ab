"""Operations: what people can have done, declared once and offered by every interface.

A method of a service that stands under `@operation` takes its caller, and its arguments if it has any, and gives a
result. The command line, the slash commands, the socket, `--json`, the help and docs/commands.md are all made from the
declaration, and the registry alone decides who may call.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, get_type_hints

from bot.agents.permissions import policy
from bot.agents.permissions.policy import Action, People
from bot.errors import CallError, ToolError, UserError
from bot.services.caller import WITHHELD, Caller, Via, is_offered
from bot.services.parameters import Arguments, Parameter, parameters, validated
from bot.services.results import Plain, Result
from memory.store.clock import Clock
from memory.store.errors import (
    BlockCorrupt,
    BlockExists,
    BlockNotFound,
    BlockRefused,
    BlockTooLong,
    EntryNotFound,
    Refused,
)
from memory.store.ids import PersonId
from texts import _, error_text

F = TypeVar("F", bound=Callable[..., Any])
Suggestions: TypeAlias = Iterable[tuple[str, str]]
"""What can be chosen: pairs of a value and the words that stand for it."""

_SECONDS = 25.0  # below what a command waits for its answer
_REFUSALS = (Refused, BlockCorrupt, BlockExists, BlockNotFound, BlockRefused, BlockTooLong, EntryNotFound)
"""What memory raises with words for whoever asked; other errors of the store are about the store."""
EVERYWHERE = frozenset({Via.TERMINAL, Via.DISCORD})


@dataclass(frozen=True)
class Operation:
    """One declaration."""

    name: str
    """Its words with dots between them: "facts.forget" is `carina facts forget` and `/facts forget`."""
    summary: str
    needs: Action
    arguments: type[Arguments]
    via: frozenset[Via]
    changes: bool
    keeps: bool
    running: bool
    seconds: float | None
    confirm: str
    asks: bool
    first: bool
    file_name: str
    formerly: tuple[str, ...]
    offered: bool
    default: bool
    streams: bool

    @property
    def words(self) -> list[str]:
        return self.name.split(".")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return parameters(self.arguments)

    def keeps_of(self, given: bool) -> bool:
        """Whether it writes down words of its caller: not where they gave none, as who only looks at a setting."""
        return self.keeps and (given or any(each.required for each in self.parameters))


@dataclass(frozen=True)
class Options:
    """What else can be declared. By itself an operation is offered everywhere and changes nothing."""

    via: frozenset[Via] = EVERYWHERE
    changes: bool = False
    keeps: bool = False
    """It writes down words of its caller, so that it is refused to those of whom nothing is kept."""
    running: bool = False
    """It takes a running service."""
    seconds: float | None = _SECONDS
    """None for what takes as long as it takes."""
    confirm: str = ""
    """What the caller is asked before it is done, with the arguments in braces: "Remove {folder}?"."""
    asks: bool = False
    """It asks by `caller.confirm`, in some cases."""
    first: bool = False
    """It is done before anything is answered, and also where no answer arrives."""
    file_name: str = "answer.md"
    """What a long answer is called as a file."""
    formerly: tuple[str, ...] = ()
    """Names that it had; they work, with a warning."""
    offered: bool = True
    """It is a command; otherwise only buttons and forms call it."""
    default: bool = False
    """Its group alone does it at the terminal: `carina summary` is `carina summary show`."""


_PLAIN = Options()
_declared: dict[Callable[..., Any], Operation] = {}
_suggesting: dict[Callable[..., Any], tuple[str, str]] = {}


def operation(name: str, summary: str, needs: Action, options: Options = _PLAIN) -> Callable[[F], F]:
    """Declare a method of a service as an operation; who may call it is decided by `needs`."""

    def declare(method: F) -> F:
        takes = get_type_hints(method).get("arguments", Arguments)
        streams = inspect.isasyncgenfunction(method)
        more = {each: getattr(options, each) for each in Options.__dataclass_fields__}
        _declared[method] = Operation(name=name, summary=summary, needs=needs, arguments=takes, streams=streams, **more)
        return method

    return declare


def suggestions(source: str, within: str = "") -> Callable[[F], F]:
    """Declare a method of a service as a source of suggestions: async, takes the caller, gives pairs.

    With `within` it also takes what was given so far for the argument of that name.
    """

    def declare(method: F) -> F:
        _suggesting[method] = source, within
        return method

    return declare


def operations_of(services: Iterable[type]) -> dict[str, Operation]:
    """What these classes of services declare, by name. Raises ValueError for a name that is declared twice."""
    found: dict[str, Operation] = {}
    for declared in (_declared[each] for service in services for each in _methods(service) if each in _declared):
        if declared.name in found:
            raise ValueError(f"two operations are called {declared.name}")
        found[declared.name] = declared
    defaults = [each.name.rpartition(".")[0] for each in found.values() if each.default]
    if "" in defaults or len(set(defaults)) < len(defaults):
        raise ValueError("a default belongs to a group, which has one")
    return found


def sources_of(services: Iterable[type]) -> set[str]:
    """The names of their sources of suggestions."""
    return {_suggesting[each][0] for service in services for each in _methods(service) if each in _suggesting}


def _methods(service: type) -> Iterator[Callable[..., Any]]:
    return (each for each in vars(service).values() if inspect.isfunction(each))


@dataclass(frozen=True)
class Guard:
    """What is asked before anything is done. `withheld` says of whom nothing is kept; `clean` takes secrets out."""

    people: People
    withheld: Callable[[PersonId | None], bool]
    clean: Callable[[Any], Any]


@dataclass(frozen=True)
class Clocks:
    """By what clock things are told. `zone_of` is asked for the zone of a person's clocks."""

    now: Clock
    zone_of: Callable[[PersonId], Awaitable[str]]


class Registry:
    """The operations of the services that are there."""

    def __init__(self, services: Sequence[object], guard: Guard, clocks: Clocks) -> None:
        self._guard, self._clocks = guard, clocks
        kinds = [type(service) for service in services]
        self.operations: Mapping[str, Operation] = operations_of(kinds)
        self._run: dict[str, Callable[..., Any]] = {}
        self._suggest: dict[str, tuple[Callable[..., Awaitable[Suggestions]], str]] = {}
        for service in services:
            for method in _methods(type(service)):
                if method in _declared:
                    self._run[_declared[method].name] = method.__get__(service)
                elif method in _suggesting:
                    source, within = _suggesting[method]
                    self._suggest[source] = method.__get__(service), within

    async def call(self, name: str, caller: Caller, given: Mapping[str, Any]) -> Result:
        """Do it and give the one result. Raises UserError or CallError, with words for the caller."""
        return [each async for each in self.results(name, caller, given)][-1]

    async def results(self, name: str, caller: Caller, given: Mapping[str, Any]) -> AsyncIterator[Result]:
        """Do it and give the results as they come."""
        declared = self._permitted(name, caller)
        self._require(declared, caller, given)
        arguments = validated(declared.arguments, self._guard.clean(dict(given)), caller.via)
        if declared.confirm:
            caller.confirm(_(declared.confirm).format_map(arguments.model_dump()))
        run = self._run[name](caller, arguments) if declared.parameters else self._run[name](caller)
        try:
            if declared.streams:
                async for result in run:
                    yield result
            else:
                async with asyncio.timeout(declared.seconds):
                    result = await run
                yield result
        except TimeoutError:
            words = _(
                "{words} took longer than {seconds} seconds. Part of it may be done.",
                words=" ".join(declared.words),
                seconds=f"{declared.seconds:g}",
            )
            raise UserError(words) from None
        except (ToolError, *_REFUSALS) as error:
            raise UserError(error_text(error)) from error

    async def plain(self, caller: Caller) -> Plain:
        """How a caller at a terminal is written to: on their clocks."""
        return Plain(await self._clocks.zone_of(caller.person), self._clocks.now())

    async def suggest(self, name: str, argument: str, caller: Caller, given: Mapping[str, Any]) -> Suggestions:
        """What can be given for an argument beside those that are given, as far as the caller may call at all."""
        declared = self._permitted(name, caller)
        source = next(each.suggests for each in declared.parameters if each.name == argument)
        suggest, within = self._suggest[source]
        return await suggest(caller, *([str(given.get(within) or "")] if within else []))

    async def permitted(self, operations: Sequence[Operation], caller: Caller) -> list[Operation]:
        """Those of them that this caller may call."""
        return [each for each in operations if policy.may(self._guard.people, caller.approver, each.needs)]

    def _permitted(self, name: str, caller: Caller) -> Operation:
        """The operation, if this caller may call it: the one place where that is decided. Raises UserError."""
        declared = self.operations.get(name)
        if declared is None or not is_offered(caller.via, declared.via):
            raise CallError(_("There is no operation {name!r} here.", name=name))
        policy.require(self._guard.people, caller.approver, declared.needs)
        return declared

    def _require(self, declared: Operation, caller: Caller, given: Mapping[str, Any]) -> None:
        """Refuse what this caller may not give. Raises UserError."""
        if declared.keeps_of(bool(given)) and self._guard.withheld(caller.person):
            raise UserError(_(WITHHELD, command=caller.command("privacy resume")))
        if unknown := [each for each in declared.parameters if each.name in given and not _takes(caller.via, each)]:
            shown = ", ".join(each.called(caller.via) for each in unknown)
            raise CallError(_("{shown}: not available here", shown=shown))
        for each in declared.parameters:
            if each.needs is not None and given.get(each.name, each.default) != each.default:
                policy.require(self._guard.people, caller.approver, each.needs)


def _takes(via: Via, parameter: Parameter) -> bool:
    """Whether an interface can give an argument; a path is one of the machine on which a command runs."""
    return is_offered(via, parameter.via) and not (via is Via.WEB and parameter.kind == "path")
