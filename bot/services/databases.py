"""The database files of a data folder, as far as a running service can take care of them."""

from dataclasses import dataclass
from typing import Any, ClassVar

from bot.agents.permissions.policy import Action
from bot.services.caller import Caller, Via
from bot.services.registry import Options, operation
from bot.services.results import Ink, Lines, Row
from memory.store.constellation import Constellations
from memory.store.sqlite import Connection

_SECONDS = 600.0


class VacuumedFile(Row):
    """A file, before and after."""

    file: str
    bytes_before: int
    bytes_after: int

    def line(self, ink: Ink) -> str:
        freed = self.bytes_before - self.bytes_after
        return ink.text(
            f"{self.file}: {_size(self.bytes_after)}, {f'{_size(freed)} freed' if freed > 0 else 'nothing to free'}"
        )


@dataclass(frozen=True)
class Databases:
    """The files of every constellation and the registry."""

    titles: ClassVar = {"db": "Check, migrate and compact the database files"}

    constellations: Constellations

    @operation(
        "db.vacuum", "Free unused disk space in the database files", Action.EXAMINE,
        Options(via=frozenset({Via.TERMINAL}), changes=True, seconds=_SECONDS),
    )  # fmt: skip
    async def vacuum(self, _caller: Caller) -> Lines[VacuumedFile]:
        """Also empty the write-ahead logs, file by file."""
        registry, done = self.constellations.registry, []
        for constellation in self.constellations.all():
            async with self.constellations.use(constellation.id) as database:
                file = database.path.relative_to(registry.path.parent)
                done.append(VacuumedFile(file=str(file), **await database.maintain(_vacuum)))
        done.append(VacuumedFile(file=registry.path.name, **await registry.maintain(_vacuum)))
        return Lines(rows=tuple(done), empty="")


def _vacuum(raw: Connection) -> dict[str, Any]:
    before = _pages(raw)
    raw.execute("VACUUM")
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return {"bytes_before": before, "bytes_after": _pages(raw)}


def _pages(raw: Connection) -> int:
    count, size = raw.execute("PRAGMA page_count").fetchone(), raw.execute("PRAGMA page_size").fetchone()
    return int(count[0]) * int(size[0]) if count and size else 0


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1_000_000 else f"{count / 1e3:,.0f} kB"
