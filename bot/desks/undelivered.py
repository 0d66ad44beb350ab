"""What could not be delivered: shown to the owner, sent again at their word, or dropped."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot import policy
from bot.errors import UserError
from bot.policy import Action, Approver, People
from memory import undelivered
from memory.audience import OWNER, Scope
from memory.called import place_named
from memory.clock import to_text
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.faults import commit_point
from memory.ids import ConstellationId, OutboxId
from memory.outbox import OutRow, Status
from memory.undelivered import Undelivered
from sources.terminal import PERSON

_RETRY = commit_point("undelivered.retry")
_DROP = commit_point("undelivered.drop")

_OWNER = Approver(PERSON, door="command line")
_LARGEST = 2**63 - 1  # of what SQLite takes as an integer
_MOST = 1_000
_SHOWN = 200  # characters of what a row says
_KINDS = {"turn": "answer", "tool": "message", "notice": "notice"}
"""What a row is, by the beginning of its key; anything else is a word of the service to somebody."""

MAY_REPEAT = (
    "Nobody can tell whether this was delivered. I look for it there first; where that is not possible it is sent "
    "again and may appear twice."
)


@dataclass(frozen=True)
class Outbox:
    """What one constellation could not deliver. `deliver` sees to what waits to be sent."""

    constellations: Constellations
    house: ConstellationId
    people: People
    deliver: Callable[[], None]

    async def listing(self, who: Approver, limit: int = 20) -> list[dict[str, Any]]:
        """The newest, newest first; words only as far as the owner may read them. Raises UserError."""
        policy.require(self.people, who, Action.OUTBOX)

        def read(rows: Rows) -> list[dict[str, Any]]:
            return [_line(rows, each) for each in undelivered.listing(rows, max(1, min(limit, _MOST)))]

        async with self.constellations.use(self.house) as database:
            return await database.read(read)

    async def retry(self, who: Approver, identifier: int, *, twice: bool = False) -> dict[str, Any]:
        """Have it sent again, with the later pieces of the same answer.

        What may have been delivered is sent only where `twice` says that it may appear twice; without it nothing is
        done, and `asks` is what there is to confirm. Raises UserError.
        """
        policy.require(self.people, who, Action.OUTBOX)

        def work(tx: Tx) -> dict[str, Any]:
            found = _found(tx, identifier)
            asks = MAY_REPEAT if found.row.status is Status.UNKNOWN and not twice else ""
            line = _line(tx, found)
            if not asks:
                undelivered.retry(tx, found)
            return {**line, "asks": asks}

        async with self.constellations.use(self.house) as database:
            done = await database.write(_RETRY, work, durable=True)
        if not done["asks"]:
            self.deliver()
        return done

    async def drop(self, who: Approver, identifier: int) -> dict[str, Any]:
        """Give it up for good and forget what it said. Raises UserError."""
        policy.require(self.people, who, Action.OUTBOX)

        def work(tx: Tx) -> dict[str, Any]:
            found = _found(tx, identifier)
            line = _line(tx, found)
            undelivered.drop(tx, found)
            return line

        async with self.constellations.use(self.house) as database:
            return await database.write(_DROP, work)

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "outbox.list": self.owner_list,
            "outbox.retry": self.owner_retry,
            "outbox.drop": self.owner_drop,
        }

    async def owner_list(self, limit: int = 20) -> list[dict[str, Any]]:
        """What could not be delivered."""
        return await self.listing(_OWNER, limit)

    async def owner_retry(self, identifier: int, twice: bool = False) -> dict[str, Any]:
        """Have one sent again."""
        return await self.retry(_OWNER, identifier, twice=twice)

    async def owner_drop(self, identifier: int) -> dict[str, Any]:
        """Drop one."""
        return await self.drop(_OWNER, identifier)


def _found(rows: Rows, identifier: int) -> Undelivered:
    found = undelivered.undelivered(rows, OutboxId(identifier)) if 0 <= identifier <= _LARGEST else None
    if found is None:
        raise UserError(f"nothing that could not be delivered has the number {identifier}; `outbox list` shows them")
    return found


def _line(rows: Rows, found: Undelivered) -> dict[str, Any]:
    """One of them as plain data."""
    row = found.row
    return {
        "id": str(row.id),
        "status": row.status.value,
        "what": _KINDS.get(row.key.partition("/")[0], "service"),
        "place": place_named(rows, row.place, Scope(OWNER)),
        "made": to_text(row.created_at),
        "pieces": 1 + len(found.held),
        "reason": row.last_error,
        "text": _text(row),
    }


def _text(row: OutRow) -> str:
    if not Scope(OWNER).may_use(row.audience):
        return "(not for the owner to read)"
    words = " ".join(row.content.split())
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN - 1]}…"
