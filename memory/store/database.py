"""SQLite for one file: one writer that commits units of work in groups, and up to two readers.

A *unit of work* is a plain function that gets a `Tx` and runs on the writer's thread. Units that arrive while a commit
is running share the next one (group commit). If one of them raises, all are rolled back and each runs again in a
transaction of its own: a unit may run twice, and must change nothing but the database. There is no public begin or
commit: a canceled caller would leave a transaction that the next task joins. Units run in the order of the `write`
calls, which keeps the events of one place in order.

A commit survives the death of the process at once. If one of its units is durable, the log is written to the disk next,
and only the callers of durable units wait for that.

This is the only module that imports aiosqlite; `memory.store.sqlite` opens the connections.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from memory.store.errors import DatabaseBusy, DatabaseFull
from memory.store.faults import Point, faults
from memory.store.read_cache import Numbered, ReadCache
from memory.store.sqlite import Code, Connection, connect, driver, result_code, transaction
from texts import carried

# isort: split
import aiosqlite  # after the module that chooses which SQLite it gets

T = TypeVar("T")
M = TypeVar("M", bound=Numbered)
Value: TypeAlias = str | int | float | bytes | datetime | Sequence[str] | Sequence[int] | None
"""A bound value; a datetime is bound as by `clock.to_text`, and a list or tuple as JSON, as for `json_each`."""
Parameters: TypeAlias = Sequence[Value] | Mapping[str, Value]

_HURRIED_MS = 500
_to_disk: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)  # macOS has only the slower one
_READERS = 2
"""A third was no faster on two cores: besides SQLite's own work, reading is Python, one thread at a time."""


class Row(Protocol):
    """One result row, read by column name or position."""

    def __getitem__(self, key: str | int, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def keys(self) -> list[str]: ...


def as_dict(row: Row) -> dict[str, Value]:
    names = row.keys()
    return {name: row[name] for name in names}


class Rows:
    """Reading: every statement here is a SELECT. The writer's have a cache of what seldom changes."""

    def __init__(self, raw: Connection, cache: ReadCache | None = None) -> None:
        self._raw = raw
        self._cache = cache

    def all(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        return self._raw.execute(sql, parameters).fetchall()

    def one(self, sql: str, parameters: Parameters = ()) -> Row | None:
        found: Row | None = self._raw.execute(sql, parameters).fetchone()
        return found

    def value(self, sql: str, parameters: Parameters, of: Callable[[Any], T]) -> T | None:
        """The single value that a statement returns; None if it returns no row, or NULL."""
        row = self._raw.execute(sql, parameters).fetchone()
        return None if row is None or row[0] is None else of(row[0])

    def number(self, sql: str, parameters: Parameters = ()) -> int:
        """The number that a statement returns; 0 if it returns none."""
        return self.value(sql, parameters, int) or 0

    def cached(self, tables: Sequence[str], key: Hashable, read: Callable[[], T]) -> T:
        """The result of a read of watched tables (`memory.store.read_cache`), which nobody may change.

        The key says what is read, and with which parameters, the scope included.
        """
        return read() if self._cache is None else self._cache.get(self._raw, tables, key, read)

    def newest(self, place: str, key: Hashable, most: int, read: Callable[[int], list[M]]) -> Sequence[M]:
        """The newest messages of a place, which nobody may change. `read` gives those after an id, at most the `most`
        newest, oldest first, and all that its result depends on is in the key and in messages and inbox rows."""
        return read(0) if self._cache is None else self._cache.newest(self._raw, place, key, most, read)

    def may_have(self, table: str, condition: str = "1") -> bool:
        """False if a watched table is known to have no such row: then there is nothing to look for in it."""
        sql = f"SELECT 1 FROM {table} WHERE {condition} LIMIT 1"
        return self._cache is None or self.cached((table,), sql, lambda: self.one(sql) is not None)


class Tx(Rows):
    """Reading and writing inside one unit of work."""

    def run(self, sql: str, parameters: Parameters = ()) -> int:
        """Execute one statement; returns the number of rows it changed."""
        return self._raw.execute(sql, parameters).rowcount

    def insert(self, table: str, values: Mapping[str, Value], *, ignore: bool = False) -> bool:
        """Insert one row; with `ignore`, False if a unique row already exists."""
        return self._raw.execute(_insertion(table, tuple(values), ignore), tuple(values.values())).rowcount == 1


@lru_cache(maxsize=512)
def _insertion(table: str, columns: tuple[str, ...], ignore: bool) -> str:
    """Names of tables and columns come from our own code; values are bound."""
    tail = " ON CONFLICT DO NOTHING" if ignore else ""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}){tail}"


class _Unit(Struct, Generic[T], frozen=True):
    point: Point
    work: Callable[[Tx], T]
    durable: bool
    done: "asyncio.Future[T]"


class _NotSynced(DatabaseFull):
    """The disk did not accept a committed write: it must not be repeated, and may not survive a power cut."""


class _Connection(aiosqlite.Connection):
    """aiosqlite's thread, given whole functions: one hop per unit instead of one per statement."""

    def run(self, function: Callable[..., T], *arguments: Any) -> Awaitable[T]:
        execute: Callable[..., Awaitable[T]] = self._execute
        return execute(_without_stop, function, self._conn, *arguments)

    async def failed(self) -> None:
        """Wait for the thread of a connection that did not open: it ends, and reports that to this loop."""
        await asyncio.to_thread(self._thread.join)


class _Thread:
    """A connection and its thread, both from the first use on: most files are never read by two at once."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self._connect: Any = partial(connect, path, read_only=read_only)
        self._read_only = read_only
        self._opening = asyncio.Lock()
        self._opened: _Connection | None = None
        self.busy = 0
        """The number of its users and waiters."""

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call it with the connection. Raises DatabaseBusy or DatabaseFull."""
        self.busy += 1
        try:
            return await (self._opened or await self._open()).run(function, *arguments)
        except driver.OperationalError as error:
            if self._read_only and result_code(error) == Code.READONLY:
                raise  # a reader that writes
            raise _translate(error) from error
        finally:
            self.busy -= 1

    async def close(self) -> None:
        async with self._opening:
            if self._opened is not None:
                await _ended(asyncio.ensure_future(self._opened.close()))

    async def _open(self) -> _Connection:
        async with self._opening:
            if self._opened is not None:
                return self._opened
            made = _Connection(self._connect, iter_chunk_size=64)
            opening = asyncio.ensure_future(made.__aenter__())
            try:
                await _ended(opening)  # a canceled caller waits for it: the thread would report to a closed loop
            finally:
                if opening.exception() is None:
                    self._opened = made
                else:
                    await made.failed()
            opening.result()
            return made


def _without_stop(function: Callable[..., T], *arguments: Any) -> T:
    try:
        return function(*arguments)
    except StopIteration as error:  # no future can hold it: its caller would wait forever
        raise RuntimeError("a unit of work or a read raised StopIteration") from error


def _translate(error: BaseException) -> BaseException:
    """Our own error for failures that a caller can handle; any other is a defect and stays as it is."""
    match result_code(error):
        case Code.BUSY | Code.LOCKED:
            return DatabaseBusy("another program is locking the database: {error}", error=error)
        case Code.FULL | Code.IOERR | Code.READONLY | Code.CANTOPEN:
            return DatabaseFull("the disk did not accept the write: {error}", error=error)
        case _:
            return error


def _read(raw: Connection, work: Callable[[Rows], T]) -> T:
    """Run it in one transaction: all its statements see the same state, and lock the file once."""
    raw.execute("BEGIN")
    try:
        return work(Rows(raw))
    finally:
        if raw.in_transaction:  # on a damaged file SQLite has ended it
            raw.execute("COMMIT")


def _run_units(raw: Connection, cache: ReadCache, units: Sequence[_Unit[Any]]) -> list[Any]:
    tx = Tx(raw, cache)
    return [unit.work(tx) for unit in units]


class Database:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._log: int | None = None
        self._cache = ReadCache()
        self._writer = _Thread(path, read_only=False)
        self._readers = [_Thread(path, read_only=True) for _ in range(_READERS)]
        self._waiting: list[_Unit[Any]] = []
        self._arrived = asyncio.Event()
        self._closing = False
        self._loop = asyncio.get_running_loop()
        self.committed = asyncio.Event()
        """Set after every commit; to wait for the next one, clear it first."""
        self._synced = asyncio.Event()
        self.commits, self.commit_seconds = 0, 0.0

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path) -> AsyncIterator["Database"]:
        """Open an existing, migrated file; on exit, waiting units are committed first."""
        async with AsyncExitStack() as stack:
            database = cls(path)
            stack.callback(database._close_log)  # after the writer, which may still be syncing
            for thread in (database._writer, *database._readers):
                stack.push_async_callback(thread.close)
            await database.maintain(database._prepare)
            flusher = asyncio.create_task(database._flush(), name=f"writer of {path.name}")
            try:
                yield database
            finally:
                database._closing = True
                database._arrived.set()
                await _ended(flusher)

    def write(self, point: Point, work: Callable[[Tx], T], *, durable: bool = False) -> "asyncio.Future[T]":
        """Queue a unit of work now, in order. When the result is there, it is committed; canceling does not undo it.

        If it is `durable`, the commit also survives a power cut when the result is there (one fsync, about 4 ms on a
        laptop's disk), and so do all earlier ones.
        """
        if self._closing:
            raise RuntimeError(f"{self.path.name} is closing")
        done: asyncio.Future[T] = self._loop.create_future()
        self._waiting.append(_Unit(point, carried(work), durable, done))
        self._arrived.set()
        return done

    async def read(self, work: Callable[[Rows], T]) -> T:
        """Run `work` on a reader's thread; it sees everything that was committed before."""
        return await min(self._readers, key=attrgetter("busy")).run(_read, carried(work))

    async def maintain(self, work: Callable[[Connection], T]) -> T:
        """Run what cannot be in a transaction (VACUUM, checkpoint). Raises DatabaseBusy or DatabaseFull."""
        return await self._writer.run(work)

    def on_disk(self, written: Awaitable[T], within: float) -> "asyncio.Future[T]":
        """The result of a write once the disk has it: with the next durable unit, or these seconds later."""

        async def synced() -> T:
            result = await written
            self._synced.clear()
            try:
                async with asyncio.timeout(within):
                    await self._synced.wait()
            except TimeoutError:
                await self._writer.run(lambda _raw: self._sync())
            return result

        return self._loop.create_task(synced())

    async def hurry(self) -> None:
        """From now on wait only shortly for another program that holds the file: the service is about to end."""
        with suppress(DatabaseBusy, DatabaseFull):
            await self.maintain(lambda raw: raw.execute(f"PRAGMA busy_timeout={_HURRIED_MS}"))

    async def _flush(self) -> None:
        units: list[_Unit[Any]] = []
        try:
            while not self._closing or self._waiting:
                await self._arrived.wait()
                self._arrived.clear()
                while self._waiting:
                    await asyncio.sleep(0)  # other tasks woken with this one may add units to the same commit
                    units, self._waiting = self._waiting, []
                    await self._commit_group(units)
                    self.committed.set()
        finally:  # canceled, with the loop: nobody may wait for what will not be done
            self._closing = True
            for unit in (*units, *self._waiting):
                unit.done.cancel()

    async def _commit_group(self, units: Sequence[_Unit[Any]]) -> None:
        begun = time.perf_counter()
        try:
            results = await self._writer.run(self._commit, units)
        except asyncio.CancelledError:
            raise  # the thread continues and may commit them all: a retry could do it twice
        except BaseException as why:
            # Alone, each would only wait as long for others again, or be done twice.
            if len(units) == 1 or isinstance(why, DatabaseBusy | _NotSynced):
                for unit in units:
                    if not unit.done.done():
                        unit.done.set_exception(why)
                return
            for unit in units:  # one of them broke the group: run each alone
                await self._commit_group([unit])
            return
        self.commits, self.commit_seconds = self.commits + 1, self.commit_seconds + time.perf_counter() - begun
        _give(units, results)

    def _commit(self, raw: Connection, units: Sequence[_Unit[Any]]) -> list[Any]:
        with self._cache.transaction(), transaction(raw):
            results = _run_units(raw, self._cache, units)
            faults.reach("before", *map(attrgetter("point"), units))
        faults.reach("after", *map(attrgetter("point"), units))
        durable = [unit.durable for unit in units]
        if any(durable):
            if not all(durable):
                self._loop.call_soon_threadsafe(_give, units, results, False)
            self._sync()
        return results

    def _prepare(self, raw: Connection) -> None:
        raw.execute("PRAGMA synchronous=NORMAL")
        self._cache.watch(raw)

    def _sync(self) -> None:
        """Have everything that is committed survive a power cut, as SQLite does if `synchronous` is FULL.

        The log stays open: each call that opens or closes it would wait for Python's lock while the turn goes on.
        """
        try:
            if self._log is None:  # SQLite follows links, too; Windows syncs only what is open for writing
                self._log = os.open(f"{os.path.realpath(self.path)}-wal", os.O_RDWR)
            _to_disk(self._log)
            self._loop.call_soon_threadsafe(self._synced.set)
        except FileNotFoundError:
            return  # on drives that cannot have a log, SQLite has synced
        except OSError as error:
            raise _NotSynced("the disk did not accept the write: {error}", error=error) from error

    def _close_log(self) -> None:
        if self._log is not None:
            os.close(self._log)


def _give(units: Sequence[_Unit[Any]], results: Sequence[Any], durable: bool = True) -> None:
    """Give the callers their results; those of durable units only if it is `durable`."""
    for unit, result in zip(units, results, strict=True):
        if not unit.done.done() and (durable or not unit.durable):
            unit.done.set_result(result)


async def _ended(task: asyncio.Future[Any]) -> None:
    """Wait for a task to end, even if the waiting task is canceled meanwhile."""
    interrupted: BaseException | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except BaseException as error:
            interrupted = error
    if interrupted is not None:
        raise interrupted
