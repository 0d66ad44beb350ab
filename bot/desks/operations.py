"""What commands ask of a running service over its control socket, as functions that give plain JSON data.

The same functions serve a command that opens the data folder itself because no service runs.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from bot.errors import UserError
from memory import inbox, messages
from memory.audience import OWNER, Scope
from memory.clock import to_text
from memory.constellation import Constellations
from memory.database import Rows
from memory.faults import commit_point
from memory.ids import ConstellationId, GroupId, InboxId, PlaceId
from memory.inbox import InRow, Status
from memory.sqlite import Connection

_REVIVE = commit_point("inbox.revive")
_LARGEST = 2**63 - 1  # of what SQLite takes as an integer

Wake: TypeAlias = Callable[[ConstellationId, PlaceId, GroupId], None]


@dataclass(frozen=True)
class Operations:
    """Administration of one constellation. `wake` is told of a lane in which something waits again."""

    constellations: Constellations
    house: ConstellationId
    wake: Wake

    async def inbox_list(self, status: str = "", limit: int = 20) -> list[dict[str, Any]]:
        """The newest inbox rows, newest first; `status` is received, claimed, done or dead."""
        if status and status not in list(Status):
            raise UserError(f"there is no status {status!r}: {', '.join(Status)}")
        wanted = Status(status) if status else None
        async with self.constellations.use(self.house) as database:
            rows = await database.read(lambda rows: inbox.listing(rows, wanted, max(1, min(limit, 1000))))
        return [_line(row) for row in rows]

    async def inbox_show(self, identifier: int) -> dict[str, Any]:
        """One inbox row with the words it brought, as far as the owner may read them."""
        if not 0 <= identifier <= _LARGEST:
            raise UserError(f"there is no inbox row {identifier}; `carina inbox list` shows them")
        async with self.constellations.use(self.house) as database:
            row = await database.read(lambda rows: inbox.get(rows, InboxId(identifier)))
            if row is None:
                raise UserError(f"there is no inbox row {identifier}; `carina inbox list` shows them")
            text = await database.read(lambda rows: _text(rows, row))
        return {**_line(row), "text": text, "turn": row.turn}

    async def inbox_retry(self, identifier: int) -> dict[str, Any]:
        """Let a dead row be tried again."""
        await self.inbox_show(identifier)  # says so when there is no such row
        async with self.constellations.use(self.house) as database:
            row = await database.write(_REVIVE, lambda tx: inbox.revive(tx, InboxId(identifier)))
        if row is None:
            raise UserError(f"row {identifier} is not dead; `carina inbox list --dead` shows those that are")
        if row.group is not None:
            self.wake(self.house, row.place, row.group)
        return _line(row)

    async def db_vacuum(self) -> list[dict[str, Any]]:
        """Give freed pages back to the disk and empty the write-ahead logs, file by file."""
        registry, done = self.constellations.registry, []
        for constellation in self.constellations.all():
            async with self.constellations.use(constellation.id) as database:
                file = database.path.relative_to(registry.path.parent)
                done.append({"file": str(file), **await database.maintain(_vacuum)})
        done.append({"file": registry.path.name, **await registry.maintain(_vacuum)})
        return done

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows."""
        return {
            "inbox.list": self.inbox_list,
            "inbox.show": self.inbox_show,
            "inbox.retry": self.inbox_retry,
            "db.vacuum": self.db_vacuum,
        }


def _vacuum(raw: Connection) -> dict[str, Any]:
    before = _pages(raw)
    raw.execute("VACUUM")
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return {"bytes_before": before, "bytes_after": _pages(raw)}


def _pages(raw: Connection) -> int:
    count, size = raw.execute("PRAGMA page_count").fetchone(), raw.execute("PRAGMA page_size").fetchone()
    return int(count[0]) * int(size[0]) if count and size else 0


def _text(rows: Rows, row: InRow) -> str:
    """The owner may read what the owner's places may use, and never another person's direct messages."""
    found = messages.by_ids(rows, [row.message] if row.message else [], Scope(OWNER))
    return found[0].text if found else "(not for the owner to read, or no longer there)"


def _line(row: InRow) -> dict[str, Any]:
    plain = asdict(row)
    if not Scope(OWNER).may_use(row.audience):  # the words of an error may quote what was said
        plain["last_error"] = row.last_error.partition(":")[0]
    kept = ("id", "source", "kind", "place", "status", "attempts", "last_error")
    return {key: plain[key] for key in kept} | {
        "received_at": to_text(row.received_at),
        "again_at": to_text(row.next_attempt_at) if row.next_attempt_at else "",
    }
