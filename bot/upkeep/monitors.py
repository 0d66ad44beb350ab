"""Monitors for damaged memory, and for idle agents, idle sessions and old activity."""

import functools
from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import Struct

from bot.agents.notices import Notices
from bot.storage_retry import repeat
from bot.upkeep.summaries import OF_AGENTS
from memory import activity, jobs
from memory.blocks.repair import Damage, damage_since
from memory.knowledge import sessions
from memory.queue import outbox
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import SessionId
from texts import _, gettext_noop

_TELL = commit_point("damage.tell")

_LOOK_SECONDS_INTEGRITY = 30.0
_RECENT = timedelta(days=30)  # older damage was reported while it was new, or nobody was there


class IntegrityMonitor(Struct, frozen=True):
    """Checks for blocks that were repaired or cannot be read. `resume` delivers what was queued."""

    database: Database
    notices: Notices
    clock: Clock
    resume: Callable[[], None]

    async def run(self) -> None:
        await repeat("words on damage", self.check, _LOOK_SECONDS_INTEGRITY)

    async def check(self) -> None:
        """Queue a notice for each damage that the owner does not know yet."""
        now = self.clock()

        def untold(rows: Rows) -> list[Damage]:
            found = damage_since(rows, now - _RECENT)
            return [each for each in found if outbox.of_key(rows, f"notice/{_key(each)}") is None]

        def tell(tx: Tx) -> None:
            for damage in reversed(new):
                with self.notices.reading():
                    told = gettext_noop("Damage in memory: {damage}. `carina memory verify` checks every block.")
                    text = _(told, damage=damage.words)
                self.notices.tell_owner(tx, _key(damage), text, now)

        new = await self.database.read(untold)
        if not new:
            return
        await self.database.write(_TELL, tell)
        self.resume()


def _key(damage: Damage) -> str:
    return f"damage/{damage.id}"


_IDLE = commit_point("activity.idle")
_SESSION = commit_point("session.end")
_FORGET = commit_point("activity.forget")

_LOOK_SECONDS = 60.0


class IdleMonitor(Struct, frozen=True):
    """Checks once a minute. `kept` is how long activity is kept; None: forever.

    Agents that become idle are summarized: `asked` is called when that job should run.
    """

    database: Database
    clock: Clock
    kept: timedelta | None
    asked: Callable[[], None] = lambda: None

    async def run(self) -> None:
        await repeat("the activity of agents", self.check, _LOOK_SECONDS)

    async def check(self) -> None:
        """Record which agents are idle and what sessions were about, and delete what is too old."""
        now = self.clock()
        oldest = now - self.kept if self.kept is not None else None

        def due(rows: Rows) -> tuple[bool, bool, list[SessionId]]:
            old = oldest is not None and activity.any_before(rows, oldest)
            return activity.any_idle(rows, now), old, sessions.finished(rows, now)

        idle, old, over = await self.database.read(due)
        if idle:
            await self.database.write(_IDLE, lambda tx: _deactivate(tx, now))
            self.asked()
        for session in over:
            await self.database.write(_SESSION, functools.partial(sessions.summarize, identifier=session))
        if old and oldest is not None:
            moment: datetime = oldest
            await self.database.write(_FORGET, lambda tx: activity.forget_before(tx, moment))


def _deactivate(tx: Tx, now: datetime) -> None:
    activity.deactivate_idle(tx, now)
    jobs.prompt(tx, OF_AGENTS, now)
