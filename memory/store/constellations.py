"""The registry of constellations: which exist, which places belong to each, and which are open.

Each constellation is a file of its own, so that no query can cross. A file is open while somebody uses it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field

from memory.store.clock import Clock, to_text
from memory.store.data_folder import DELETED, GLOBAL_DB, UNFINISHED_RESTORE, private_folder
from memory.store.database import Database, Rows, Tx
from memory.store.errors import DatabaseCorrupt, StoreError
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, PersonId, new_id, snowflakes
from memory.store.migrations import Kind, prepare, unreadable_tables
from memory.store.row_mapper import RowMapper
from memory.store.sqlite import connect, driver

T = TypeVar("T")

_ENSURE = commit_point("constellation.ensure")
_BIND = commit_point("constellation.bind")
_POSITION = commit_point("cursor.note")
_REMOVE = commit_point("constellation.remove")

_LOOKS, _LOOK_SECONDS = 100, 0.02

HALT = "halt"
"""The position that says since when everything is halted; empty without a halt."""
CONFIGURATION = "configuration"
"""Assigned a place to a constellation, where no person did."""


class Constellation(Struct, frozen=True):
    id: ConstellationId
    name: str
    path: Path


class AssignedPlace(Struct, frozen=True):
    """A place that was assigned to a constellation, and by whom."""

    place: str
    constellation: ConstellationId
    by: str
    at: datetime


class _Slot(Struct):
    """A file and the number of its users; the lock keeps two tasks from opening or closing it at once."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    database: Database | None = None
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)


def require_registry(folder: Path) -> None:
    """Raise DatabaseCorrupt if the registry is missing but its constellations exist: a new one would lose them.

    Also if a restore was killed before it had replaced all files.
    """
    if (unfinished := folder / UNFINISHED_RESTORE).exists():
        name = unfinished.read_text("utf-8")
        raise DatabaseCorrupt(
            "the restore of the backup “{name}” did not finish: run `carina backup restore {name}` again", name=name
        )
    registry = folder / GLOBAL_DB
    if not (registry.exists() and registry.stat().st_size) and any(folder.glob("constellations/[!.]*/carina.db")):
        raise DatabaseCorrupt(
            "{folder} is missing, but constellations exist: restore it from a backup, or move "
            "{constellations} away to start over",
            folder=registry,
            constellations=folder / "constellations",
        )


class Constellations:
    def __init__(self, folder: Path, registry: Database, clock: Clock) -> None:
        self._folder = folder
        self.registry = registry
        self._clock = clock
        self._known: dict[ConstellationId, Constellation] = {}
        self._places: dict[str, AssignedPlace] = {}
        self._former: dict[str, set[ConstellationId]] = {}
        self._slots: dict[ConstellationId, _Slot] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, folder: Path, clock: Clock) -> AsyncIterator["Constellations"]:
        """Open the registry under `folder`."""
        require_registry(folder)
        prepare(folder / GLOBAL_DB, Kind.GLOBAL)
        async with Database.open(folder / GLOBAL_DB) as registry:
            opened = cls(folder, registry, clock)
            await opened._load()
            try:
                yield opened
            finally:  # after a second cancellation, its own may still be open
                for slot in opened._slots.values():
                    await slot.stack.aclose()

    async def _load(self) -> None:
        read = self.registry.read
        self._known = {each.id: each for each in await read(lambda rows: constellations(rows, self._folder))}
        self._places = {each.place: each for each in await read(lambda rows: _assigned.all(rows, _PLACES))}
        for place, former in await read(lambda rows: rows.all("SELECT place_id, constellation_id FROM former_places")):
            self._former.setdefault(place, set()).add(former)

    def all(self) -> list[Constellation]:
        return sorted(self._known.values(), key=lambda constellation: constellation.name)

    def has(self, identifier: ConstellationId) -> bool:
        return identifier in self._known

    def of(self, identifier: ConstellationId) -> Constellation:
        """A constellation by id. Raises KeyError."""
        return self._known[identifier]

    def named(self, name: str) -> Constellation | None:
        return next((known for known in self._known.values() if known.name == name), None)

    async def ensure(self, name: str, owner: PersonId) -> Constellation:
        """The constellation of that name, created if it does not exist."""
        found = self.named(name)
        if found is not None:
            return found
        identifier = ConstellationId(new_id("con"))
        path = Path("constellations") / identifier / "carina.db"
        now = to_text(self._clock())
        prepare(self._folder / path, Kind.CONSTELLATION)

        def work(tx: Tx) -> None:
            user = {"id": owner, "username": owner, "created_at": now, "updated_at": now}
            tx.insert("users", user, ignore=True)
            row = {"id": identifier, "owner_id": owner, "name": name, "db_path": path.as_posix()}
            tx.insert("constellations", {**row, "created_at": now, "last_accessed_at": now})

        await self.registry.write(_ENSURE, work)
        self._known[identifier] = Constellation(identifier, name, self._folder / path)
        return self._known[identifier]

    async def bind(
        self, place: str, constellation: ConstellationId, by: str, before: ConstellationId | None = None
    ) -> None:
        """Assign a place (guild, channel, direct conversation, account) to a constellation; `before`: its old one."""
        await self._assign(place, self._owner(place) or before, constellation, by)

    async def configure(self, places: Collection[str], constellation: ConstellationId) -> None:
        """Assign the places that the configuration names, and no others, to the constellation.

        A person's decision about a place takes precedence.
        """
        for place in places:
            if place not in self._places or self._places[place].by == CONFIGURATION:
                await self.bind(place, constellation, CONFIGURATION)
        for assigned in self.assigned():
            if assigned.by == CONFIGURATION and assigned.place not in places:
                await self.unbind(assigned.place, constellation)

    async def unbind(self, place: str, default: ConstellationId) -> bool:
        """Let a place belong to the default again; False if it was not assigned."""
        former = self._owner(place)
        if former is not None:
            await self._assign(place, former, default, None)
        return former is not None

    async def _assign(
        self, place: str, former: ConstellationId | None, constellation: ConstellationId, by: str | None
    ) -> None:
        """Move a place to a constellation; without `by`, because it is the default."""
        assigned = None if by is None else AssignedPlace(place, constellation, by, self._clock())
        moved = former not in (None, constellation)

        def work(tx: Tx) -> None:
            tx.run("DELETE FROM places WHERE id = ?", (place,))
            if assigned is not None:
                tx.insert("places", _assigned.values(assigned))
            if moved:
                tx.insert("former_places", {"place_id": place, "constellation_id": former}, ignore=True)

        await self.registry.write(_BIND, work, durable=True)
        self._places.pop(place, None)
        if assigned is not None:
            self._places[place] = assigned
        if moved and former is not None:
            self._former.setdefault(place, set()).add(former)

    def _owner(self, place: str) -> ConstellationId | None:
        return self._places[place].constellation if place in self._places else None

    def assigned(self, constellation: ConstellationId | None = None) -> list[AssignedPlace]:
        """The places assigned to a constellation, or to any, by name."""
        found = (self._places[place] for place in sorted(self._places))
        return [each for each in found if constellation in (None, each.constellation)]

    async def remove(self, constellation: ConstellationId) -> tuple[Path, int]:
        """Remove an unused constellation and move its folder away; returns the new path and the number of its places.

        Raises StoreError while somebody uses its file.
        """
        found = self._known.pop(constellation)  # nobody opens it from now on
        try:
            await self._require_unused(found)
            await self.registry.write(_REMOVE, lambda tx: _remove(tx, constellation), durable=True)
        except BaseException:
            self._known[constellation] = found
            raise
        places = [each.place for each in self.assigned(constellation)]
        for place in places:
            del self._places[place]
        for former in self._former.values():
            former.discard(constellation)
        return await asyncio.to_thread(set_aside, self._folder, found, self._clock()), len(places)

    async def position(self, source: str) -> str | None:
        """The value that `note_position` stored last under that name."""
        sql = "SELECT position FROM cursors WHERE source = ?"
        return await self.registry.read(lambda rows: rows.value(sql, (source,), str))

    async def note_position(self, source: str, position: str, *, durable: bool = False) -> None:
        """Store a position, or another mark, of a whole source; `durable` also over a power cut."""
        sql = """INSERT INTO cursors (source, position, updated_at) VALUES (?, ?, ?)
                 ON CONFLICT (source) DO UPDATE SET position = excluded.position, updated_at = excluded.updated_at"""
        now = self._clock()
        await self.registry.write(_POSITION, lambda tx: tx.run(sql, (source, position, now)), durable=durable)

    async def _require_unused(self, found: Constellation) -> None:
        """Wait a moment for short uses of a file to end. Raises StoreError if somebody still uses it."""
        for _ in range(_LOOKS):
            if found.id not in self._slots:
                return
            await asyncio.sleep(_LOOK_SECONDS)
        raise StoreError("the constellation “{name}” is in use; try again in a moment", name=found.name)

    def of_place(self, bindings: Iterable[str], default: ConstellationId) -> ConstellationId:
        """The constellation of a place: that of its first known binding, narrowest first, else the default."""
        found = next((self._places[binding] for binding in bindings if binding in self._places), None)
        return default if found is None else found.constellation

    def formerly_of(self, bindings: Iterable[str]) -> set[ConstellationId]:
        """The constellations that a place belonged to before: old messages are there."""
        return {each for binding in bindings for each in self._former.get(binding, ())}

    def open_now(self) -> list[ConstellationId]:
        return [identifier for identifier, slot in self._slots.items() if slot.database is not None]

    async def hurry(self) -> None:
        """Wait only shortly for open files from now on: the service is about to end."""
        opened = [slot.database for slot in self._slots.values() if slot.database is not None]
        await asyncio.gather(*(database.hurry() for database in (self.registry, *opened)))

    @asynccontextmanager
    async def use(self, constellation: ConstellationId) -> AsyncIterator[Database]:
        """The open database of a constellation, kept open within the context."""
        slot = self._slots.setdefault(constellation, _Slot())
        slot.users += 1
        try:
            async with slot.lock:
                if constellation not in self._known:
                    raise StoreError("that constellation was deleted")
                database = slot.database or await self._open_file(slot, self._known[constellation].path)
            yield database
        finally:
            slot.users -= 1
            async with slot.lock:
                if not slot.users:
                    slot.database = None
                    await slot.stack.aclose()
            if not slot.users and self._slots.get(constellation) is slot:
                del self._slots[constellation]

    async def read_each(self, work: Callable[[Rows], T]) -> dict[str, T]:
        """What is read in every constellation, by its name."""
        found = {}
        for each in self.all():
            async with self.use(each.id) as database:
                found[each.name] = await database.read(work)
        return found

    async def _open_file(self, slot: _Slot, path: Path) -> Database:
        require(path)
        prepare(path, Kind.CONSTELLATION)
        slot.database = await slot.stack.enter_async_context(Database.open(path))
        snowflakes.follow(await slot.database.read(_newest))
        return slot.database


def set_aside(folder: Path, constellation: Constellation, now: datetime) -> Path:
    """Move the files of a constellation that is no longer registered to `deleted/`; returns where they are."""
    target = private_folder(folder / DELETED) / f"{now:%Y%m%dT%H%M%S}-{constellation.id}"
    return constellation.path.parent.rename(target)


def registered(folder: Path) -> list[Path]:
    """The files in the registry under `folder`: for commands, which do not open it. Raises DatabaseCorrupt."""
    path = folder / GLOBAL_DB
    try:
        with closing(connect(path, read_only=True)) as raw:
            return [each.path for each in constellations(Rows(raw), folder)]
    except driver.DatabaseError as error:
        raise unreadable_tables(path, error) from error


def constellations(rows: Rows, folder: Path) -> list[Constellation]:
    """Those in the registry under `folder`."""
    found = rows.all("SELECT id, name, db_path FROM constellations")
    return [Constellation(row["id"], row["name"], folder / row["db_path"]) for row in found]


def require(path: Path) -> None:
    """Never recreate a registered file: an empty memory would look like a good one. Raises DatabaseCorrupt."""
    if not path.exists() or path.stat().st_size == 0:
        raise DatabaseCorrupt(
            "{path} should hold a constellation, but is missing or empty: restore it from a backup", path=path
        )


def _newest(rows: Rows) -> int:
    """The newest number in a constellation, in whose order its rows are read."""
    tables = ("messages", "turns", "inbox", "outbox", "items")
    return max(rows.number(f"SELECT max(id) FROM {table}") for table in tables)


def _remove(tx: Tx, constellation: ConstellationId) -> None:
    for table in ("places", "former_places"):
        tx.run(f"DELETE FROM {table} WHERE constellation_id = ?", (constellation,))
    tx.run("DELETE FROM constellations WHERE id = ?", (constellation,))


_PLACES = "SELECT id, constellation_id, bound_by, created_at FROM places"
_assigned = RowMapper(AssignedPlace, place="id", by="bound_by", at="created_at")
