"""Erases a person everywhere: started durably, resumed after a crash, finished with a receipt.

One erasure runs at a time. In each constellation it is one transaction (`memory.erasure.person_in_one_constellation`)
over the tables that `memory.erasure.personal_tables` lists; then the file is rewritten without free pages, its log is
emptied, and finally every file of the data folder is searched for words of the person that were sampled before. The
samples are kept only in memory, so a job resumed after a crash may have none.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from bot.config.templates import beginning_texts
from bot.errors import UserError
from bot.storage_retry import until_stored
from memory.erasure import byte_search, personal_tables
from memory.erasure.person_in_one_constellation import ErasureResult, compact, empty_log, erase_here
from memory.queue import outbox
from memory.store import erasure_records
from memory.store.clock import Clock, to_text
from memory.store.constellations import Constellation, Constellations
from memory.store.database import Database, Rows, Tx
from memory.store.erasure_records import Erasure
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, ErasureId, PersonId, TurnId
from memory.store.logs import Log
from memory.store.records import asdict

_BEGIN = commit_point("privacy.begin")
_ERASE = commit_point("privacy.erase")
_IDENTITIES = commit_point("privacy.identities")
_RECEIPT = commit_point("privacy.receipt")

_LOG_SECONDS = 10.0  # to empty a log that a reader holds; each try may wait as long as a write
_LOG_PAUSE = 0.1

_log = Log("bot.services.people.person_erasure")


Reloaded: TypeAlias = Callable[[], Awaitable[None]]
"""Reloads cached data after it was erased from the files."""
Alone: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]
"""Keeps other programs away from the files, so that their logs can be emptied."""


@dataclass
class Eraser:
    """Erases people from one data folder.

    `settle` waits until earlier messages are stored; `moved` makes running turns reload; `erased` is awaited before the
    receipt, so that no cache holds what the files no longer have.
    """

    constellations: Constellations
    folder: Path
    clock: Clock
    settle: Callable[[], Awaitable[object]]
    moved: Callable[[ConstellationId, Sequence[TurnId]], None]
    erased: Reloaded
    unshow: Callable[[Tx, PersonId, datetime], None]
    """Queues, in the erasure's transaction, the removal of the person's words from delivered messages."""
    deliver: Callable[[ConstellationId], None]
    """Delivers the queued removals of a constellation."""
    alone: Alone
    _woken: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _waiting: dict[ErasureId, list[asyncio.Future[Erasure]]] = field(default_factory=dict, init=False)
    _beginning: set[asyncio.Task[list[asyncio.Future[Erasure]]]] = field(default_factory=set, init=False)
    _serving: bool = field(default=False, init=False)

    @classmethod
    def at_rest(cls, constellations: Constellations, folder: Path, clock: Clock) -> "Eraser":
        """An eraser for a data folder that no service uses: nothing is received, delivered or cached."""

        async def nothing() -> None:
            return None

        def nobody(*_: object) -> None:
            return None

        return cls(constellations, folder, clock, nothing, nobody, nothing, nobody, nobody, nullcontext)

    async def erase_all(self, people: Sequence[PersonId], asked_by: PersonId) -> list[Erasure]:
        """Erase every account of a person and return the erasures with their receipts. All are started, or none.

        Canceling the caller does not stop it. Raises UserError if it could not be finished; the next start resumes it.
        """
        beginning = asyncio.create_task(self._begin(people, asked_by), name="begin an erasure")
        self._beginning.add(beginning)
        beginning.add_done_callback(self._beginning.discard)
        done = await asyncio.shield(beginning)
        if not self._serving:
            await self.take_up()
        return [await each for each in done]

    async def _begin(self, people: Sequence[PersonId], asked_by: PersonId) -> list[asyncio.Future[Erasure]]:
        """Record the erasures and wake the worker; returns a future for each."""
        registry, now = self.constellations.registry, self.clock()

        def work(tx: Tx) -> list[Erasure]:
            return [erasure_records.begin_erasure(tx, person, asked_by, now) for person in people]

        found = []
        for begun in await registry.write(_BEGIN, work, durable=True):
            done: asyncio.Future[Erasure] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(begun.id, []).append(done)
            found.append(done)
        self._woken.set()
        return found

    async def take_up(self) -> None:
        """Carry out every unfinished erasure. A failed one is logged and stays unfinished."""
        for erasure in await self.constellations.registry.read(erasure_records.open_erasures):
            # A failure affects only this erasure: neither the others nor the service.
            async with self.alone():
                (done,) = await asyncio.gather(self._perform(erasure), return_exceptions=True)
            if isinstance(done, BaseException):
                _log.error("erasure_failed", erasure=erasure.id, exc_info=done)
                reason = f"{type(done).__name__}: {done}"
                done = UserError(
                    "The erasure is not finished yet ({reason}). It will continue at the next start.", reason=reason
                )
            self._settle(erasure.id, done)

    async def run(self) -> None:
        self._serving = True
        try:
            while True:
                await self._woken.wait()
                self._woken.clear()
                await until_stored("erasures", self.take_up)
        finally:
            self._serving = False
            for erasure in list(self._waiting):
                self._settle(
                    erasure, UserError("The service is stopping. The erasure will continue when it starts again.")
                )

    def _settle(self, erasure: ErasureId, result: Erasure | UserError) -> None:
        for waiting in self._waiting.pop(erasure, []):
            if waiting.done():
                continue
            if isinstance(result, UserError):
                waiting.set_exception(result)
                waiting.exception()  # the caller may be gone
            else:
                waiting.set_result(result)

    async def _perform(self, erasure: Erasure) -> Erasure:
        await asyncio.to_thread(erasure_records.note, self.folder, erasure.entry)  # for backups that are restored later
        await self.settle()
        person, registry = erasure.person, self.constellations.registry
        constellations = self.constellations.all()
        samples = await self.constellations.read_each(partial(byte_search.samples, person=person))
        words = list(dict.fromkeys(word for found in samples.values() for word in found))
        receipt: dict[str, Any] = {
            "stores": [await self._erase_in(constellation, erasure) for constellation in constellations]
        }
        receipt["stores"].append(await self._erase_identities(person))
        await self.erased()
        words = await self._telling(constellations, words)
        searched = await byte_search.search_in_process(self.folder, words)
        now = self.clock()
        receipt |= {
            "words": len(words),
            "files": searched.files,
            "bytes": searched.size,
            "left": [asdict(left) for left in searched.left],
            "replica": any(self.folder.glob(f"*{byte_search.FOLLOWED}")),
            "copies": [{"file": copy.file, "at": copy.changed_at} for copy in searched.copies],
        }
        await registry.write(
            _RECEIPT, lambda tx: erasure_records.finish_erasure(tx, erasure.id, receipt, now), durable=True
        )
        await _emptied(registry)
        _log.info("erasure_finished", erasure=erasure.id, files=searched.files, left=len(searched.left))
        return Erasure(erasure.id, person, erasure.asked_by, erasure.begun_at, to_text(now), receipt)

    async def _telling(self, constellations: Iterable[Constellation], words: list[str]) -> list[str]:
        """The sample without words that are in our files anyway, or in agents' initial texts."""
        begun = await asyncio.to_thread(beginning_texts)
        others = [word for word in words if word.casefold() not in begun]
        found = await self.constellations.registry.read(lambda rows: byte_search.distinctive(rows, others))
        for constellation in constellations:
            async with self.constellations.use(constellation.id) as database:
                found = await database.read(partial(byte_search.distinctive, words=found))
        return found

    async def _erase_in(self, constellation: Constellation, erasure: Erasure) -> dict[str, Any]:
        now = self.clock()

        def work(tx: Tx) -> ErasureResult:
            self.unshow(tx, erasure.person, now)
            return erase_here(tx, erasure.id, erasure.person, now)

        async with self.constellations.use(constellation.id) as database:
            erased = await database.write(_ERASE, work, durable=True)
            self.moved(constellation.id, erased.moved)
            if await database.read(outbox.open_places):
                self.deliver(constellation.id)
            await _rewritten(database)
        file = constellation.path.relative_to(self.folder).as_posix()
        counts = {"before": erased.before, "after": erased.after, "answers": erased.answers}
        return {"name": constellation.name, "file": file, **counts}

    async def _erase_identities(self, person: PersonId) -> dict[str, Any]:
        registry = self.constellations.registry

        def count(rows: Rows) -> dict[str, int]:
            return {store.name: store.count(rows, person) for store in personal_tables.GLOBAL_STORES}

        def work(tx: Tx) -> tuple[dict[str, int], dict[str, int]]:
            before = count(tx)
            for store in personal_tables.GLOBAL_STORES:
                store.erase(tx, person)
            return before, count(tx)

        before, after = await registry.write(_IDENTITIES, work, durable=True)
        await _rewritten(registry)
        return {"name": "accounts", "file": registry.path.name, "before": before, "after": after, "answers": 0}


async def _rewritten(database: Database) -> None:
    if not await database.maintain(compact):
        await _emptied(database)


async def _emptied(database: Database) -> None:
    """Empty the write-ahead log, waiting a little for readers."""
    clock = asyncio.get_running_loop().time
    latest = clock() + _LOG_SECONDS
    while clock() < latest:
        if await database.maintain(empty_log):
            return
        await asyncio.sleep(_LOG_PAUSE)
    _log.warning(
        "wal_not_truncated", file=database.path.name, hint="the file is being read; `carina db vacuum` empties it"
    )
