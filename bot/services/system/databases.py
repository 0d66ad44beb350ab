"""The database files of all constellations while the service runs."""

from contextlib import nullcontext
from typing import Any, ClassVar

from msgspec import Struct

from bot.agents.permissions.roles_and_rights import Action
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.people.person_erasure import Alone
from bot.services.registry import Options, operation
from bot.services.results import Lines, Markup, Row
from memory.store.constellations import Constellations
from memory.store.sqlite import Connection
from texts import _, size_text

_VACUUMS = Options(via=TERMINAL_ONLY, changes=True, seconds=3_600.0)


class VacuumedFile(Row):
    file: str
    bytes_before: int
    bytes_after: int

    def line(self, markup: Markup) -> str:
        freed = self.bytes_before - self.bytes_after
        done = _("{size} freed", size=size_text(freed)) if freed > 0 else _("nothing to free")
        return markup.text(f"{self.file}: {size_text(self.bytes_after)}, {done}")


class Databases(Struct, frozen=True):
    titles: ClassVar = {"db": "Check, migrate and compact the database files"}

    constellations: Constellations
    alone: Alone = nullcontext

    @operation("db.vacuum", "Free unused disk space in the database files", Action.EXAMINE, _VACUUMS)
    async def vacuum(self, _caller: Caller) -> Lines[VacuumedFile]:
        registry, done = self.constellations.registry, []
        async with self.alone():
            for constellation in self.constellations.all():
                async with self.constellations.use(constellation.id) as database:
                    file = database.path.relative_to(registry.path.parent)
                    done.append(VacuumedFile(file=str(file), **await database.maintain(_vacuum)))
            done.append(VacuumedFile(file=registry.path.name, **await registry.maintain(_vacuum)))
        return Lines.of(done)


def _vacuum(raw: Connection) -> dict[str, Any]:
    before = _pages(raw)
    raw.execute("VACUUM")
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return {"bytes_before": before, "bytes_after": _pages(raw)}


def _pages(raw: Connection) -> int:
    count, size = raw.execute("PRAGMA page_count").fetchone(), raw.execute("PRAGMA page_size").fetchone()
    return int(count[0]) * int(size[0]) if count and size else 0
