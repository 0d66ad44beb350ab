"""Methods that are one transaction each: written as plain functions of the rows, awaited by their callers.

An operation or a source of suggestions is one by its signature; `reads` and `writes` are for all other methods.
"""

import functools
import inspect
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, overload, runtime_checkable

from msgspec import Struct

from bot.agents.permissions import roles_and_rights
from bot.agents.permissions.roles_and_rights import Change, MemoryRights, People
from bot.errors import UserError
from bot.services.caller import Caller
from memory.people import person_settings
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import PersonId

_COMMAND = commit_point("command.write")

P = ParamSpec("P")
T = TypeVar("T")
Method: TypeAlias = Callable[..., Any]
F = TypeVar("F", bound=Method)
Awaited: TypeAlias = Coroutine[Any, Any, T]


class _Stored(Protocol):
    @property
    def database(self) -> Database: ...


S = TypeVar("S", bound=_Stored)


class Service(Struct, frozen=True):
    """Base class of most services."""

    database: Database
    clock: Clock


class MemoryService(Struct, frozen=True):
    database: Database
    people: People
    clock: Clock

    def require_change(self, caller: Caller, change: Change, held: MemoryRights) -> None:
        """Raise UserError if the caller may not change a memory in this way."""
        if refused := roles_and_rights.change_refusal(self.people, caller.approver, change, held):
            raise UserError(refused)

    def asking(self, caller: Caller, said: Sequence[PersonId]) -> PersonId:
        """The account whose words are taken back: the one of the caller's that said them."""
        own = self.people.selves(caller.person)
        return next((person for person in said if person in own), caller.person)


class ZonedService(MemoryService, frozen=True):
    """A service that reads and tells times. `zone` is for people who set none."""

    zone: str

    def zone_of(self, rows: Rows, caller: Caller) -> str:
        return person_settings.zone_for(rows, self.people.selves(caller.person), self.zone)


@runtime_checkable
class CommitListener(Protocol):
    """A service that is notified of its own commits, for example to run a job that is now due earlier."""

    def announce(self) -> None:
        """A write was committed."""


def reads(work: Callable[Concatenate[S, Rows, P], T]) -> Callable[Concatenate[S, P], Awaited[T]]:
    """Decorate a method that reads one state of the database, on a thread of the database."""

    @functools.wraps(work)
    async def run(self: S, /, *given: P.args, **named: P.kwargs) -> T:
        return await self.database.read(lambda rows: work(self, rows, *given, **named))

    return run


class _RolledBack(Exception):
    pass


async def commit(database: Database, work: Callable[[Tx], T]) -> T:
    """Run the writes of a command; they are durable when this returns."""
    return await database.write(_COMMAND, work, durable=True)


async def tried(database: Database, work: Callable[[Tx], T]) -> T:
    """Do the work and roll it back; returns its result. Raises the same errors."""
    made: list[T] = []

    def undone(tx: Tx) -> None:
        made.append(work(tx))
        raise _RolledBack

    with suppress(_RolledBack):
        await database.write(_COMMAND, undone)
    return made[0]


def writes(work: Callable[Concatenate[S, Tx, P], T]) -> Callable[Concatenate[S, P], Awaited[T]]:
    """Decorate a method whose writes are durable when it returns; nothing is written if it raises."""

    @functools.wraps(work)
    async def run(self: S, /, *given: P.args, **named: P.kwargs) -> T:
        done = await commit(self.database, lambda tx: work(self, tx, *given, **named))
        if isinstance(self, CommitListener):
            self.announce()
        return done

    return run


def transaction_of(method: Method) -> type | None:
    """The kind of rows that a method takes: `Rows`, `Tx`, or none."""
    first = next(iter(method.__annotations__.values()), None)
    return first if first in (Rows, Tx) else None


class Declaration:
    """A decorator that declares a method; one that takes a transaction's rows becomes a transaction."""

    def __init__(self, declare: Callable[[Method], object]) -> None:
        self._declare = declare

    @overload
    def __call__(self, method: Callable[Concatenate[S, Tx, P], T]) -> Callable[Concatenate[S, P], Awaited[T]]: ...
    @overload
    def __call__(self, method: F) -> F: ...
    def __call__(self, method: Method) -> Method:
        kind = None if inspect.iscoroutinefunction(method) else transaction_of(method)
        run = writes(method) if kind is Tx else reads(method) if kind is Rows else method
        self._declare(run)
        return run
