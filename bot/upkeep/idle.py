"""What passes by itself: agents and sessions without a turn for 30 minutes, and activity that is old."""

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.storage_retry import until_stored
from bot.upkeep.summaries import OF_AGENTS
from memory import activity, jobs, presence
from memory.knowledge import sessions
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import SessionId

_IDLE = commit_point("activity.idle")
_SESSION = commit_point("session.end")
_FORGET = commit_point("activity.forget")

_LOOK_SECONDS = 60.0


@dataclass(frozen=True)
class IdleMonitor:
    """Looks once a minute. `kept` is how long activity is kept; None: for ever.

    Agents that are not active any more are told of in short: `asked` is called when that job is to run.
    """

    database: Database
    clock: Clock
    kept: timedelta | None
    asked: Callable[[], None] = lambda: None

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await until_stored("the activity of agents", self.look)
            await asyncio.sleep(_LOOK_SECONDS)

    async def look(self) -> None:
        """Write down who is not active any more and what sessions were about, and forget what is too old."""
        now = self.clock()
        oldest = now - self.kept if self.kept is not None else None

        def due(rows: Rows) -> tuple[bool, bool, list[SessionId]]:
            old = oldest is not None and activity.any_before(rows, oldest)
            return presence.any_idle(rows, now), old, sessions.over(rows, now)

        idle, old, over = await self.database.read(due)
        if idle:
            await self.database.write(_IDLE, lambda tx: _deactivate(tx, now))
            self.asked()
        for session in over:
            await self.database.write(_SESSION, functools.partial(sessions.put_in_short, identifier=session))
        if old and oldest is not None:
            moment: datetime = oldest
            await self.database.write(_FORGET, lambda tx: activity.forget_before(tx, moment))


def _deactivate(tx: Tx, now: datetime) -> None:
    presence.deactivate_idle(tx, now)
    jobs.prompt(tx, OF_AGENTS, now)
