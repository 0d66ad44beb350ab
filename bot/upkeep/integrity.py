"""Telling the owner what was found damaged in memory; `carina status` and `carina memory verify` show it too."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from bot.agents.notices import Notices
from bot.storage_retry import until_stored
from memory.blocks.repair import Damage, damage_since
from memory.queue import outbox
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from texts import _

_TELL = commit_point("damage.tell")

_LOOK_SECONDS = 30.0
_RECENT = timedelta(days=30)  # what is older was told while it was new, or nobody was there to tell it


@dataclass(frozen=True)
class IntegrityMonitor:
    """Looks now and then for blocks that were repaired or cannot be read. `resume` sees to what was queued."""

    database: Database
    notices: Notices
    clock: Clock
    resume: Callable[[], None]

    async def run(self) -> None:
        """Tell the owner, once of each, until cancelled."""
        while True:
            await until_stored("words on damage", self.look)
            await asyncio.sleep(_LOOK_SECONDS)

    async def look(self) -> None:
        """Queue a notice for each damage of which the owner was not told yet."""
        now = self.clock()

        def untold(rows: Rows) -> list[Damage]:
            found = damage_since(rows, now - _RECENT)
            return [each for each in found if outbox.of_key(rows, f"notice/{_key(each)}") is None]

        def tell(tx: Tx) -> None:
            for damage in reversed(new):
                text = _("Damage in memory: {damage}. `carina memory verify` checks every block.", damage=damage.words)
                self.notices.tell_owner(tx, _key(damage), text, now)

        new = await self.database.read(untold)
        if not new:
            return
        await self.database.write(_TELL, tell)
        self.resume()


def _key(damage: Damage) -> str:
    return f"damage/{damage.id}"
