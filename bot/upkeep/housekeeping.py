"""Housekeeping without a model: deletes what expired or is too old, optimizes the search index, and looks for idle
agents, ended sessions, damaged memory, and groups with something to do while nobody talks.
"""

import functools
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bot.agents.groups import sleeptime_triggers
from bot.agents.owner_notices import Notices
from bot.storage_retry import repeat
from bot.upkeep.scheduled_summaries import OF_AGENTS
from memory import activity, jobs
from memory.blocks.repair import Damage, damage_since
from memory.erasure.person_in_one_constellation import optimize
from memory.knowledge import entry_changes, entry_journal, items, sessions
from memory.knowledge.items import Kind
from memory.knowledge.upkeep import run_records
from memory.knowledge.upkeep.run_records import KEPT
from memory.queue import outbox
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import SessionId
from scheduler.job_kinds import DueJob, JobResult, Kinds, QueueJob, WorkJob
from texts import _, gettext_lazy, gettext_noop, ngettext_lazy

OPTIMIZE = "upkeep.search"
TIDY = "upkeep.jobs"
SWEEP = "upkeep.working"
_NIGHTS_KEPT = timedelta(days=30)  # how long a night's changes can be undone
_AT_ONCE = 500  # rows of a table in one transaction


class Housekeeping(Struct, frozen=True):
    """`add` registers its jobs with the scheduler."""

    zone: str = "UTC"
    """The time zone of groups' quiet hours."""
    kept: timedelta | None = None
    """How long activity is kept; None: forever."""

    def kinds(self) -> Kinds:
        return {
            OPTIMIZE: WorkJob(self.optimize),
            TIDY: QueueJob(self.tidy),
            SWEEP: QueueJob(self.sweep),
            sleeptime_triggers.KIND: QueueJob(self.look_after_groups),
        }

    async def optimize(self, database: Database, _firing: DueJob) -> str:
        """Merge the segments of full-text indexes, and update SQLite's statistics."""
        count = await database.maintain(optimize)
        return ngettext_lazy("{count} full-text index merged", "{count} full-text indexes merged", count)

    def tidy(self, tx: Tx, firing: DueJob) -> JobResult:
        """Delete what is too old, in steps short enough to delay nobody."""
        old = firing.now - KEPT
        retired = entry_changes.purge(tx, old, _AT_ONCE)
        told = 0 if self.kept is None else activity.forget_before(tx, firing.now - self.kept, _AT_ONCE)
        gone = run_records.forget_runs(tx, old) + items.forget_before(tx, Kind.SIGNAL, old) + jobs.drop_over(tx, old)
        gone += entry_journal.drop_before(tx, firing.now - _NIGHTS_KEPT) + retired + told
        again = firing.now if _AT_ONCE in (retired, told) else None
        return JobResult(ngettext_lazy("{count} old record deleted", "{count} old records deleted", gone), again)

    def sweep(self, tx: Tx, firing: DueJob) -> JobResult:
        """Delete expired working memory, in steps short enough to delay nobody."""
        gone = items.sweep(tx, firing.now, _AT_ONCE)
        again = firing.now if gone == _AT_ONCE else None
        return JobResult(
            ngettext_lazy(
                "{count} expired entry deleted from working memory",
                "{count} expired entries deleted from working memory",
                gone,
            ),
            again,
        )

    def look_after_groups(self, tx: Tx, firing: DueJob) -> JobResult:
        """Check the triggers of sleeptime groups, and queue the turns that they call for."""
        fired = sleeptime_triggers.check_all(tx, firing.now, self.zone)
        gave = gettext_lazy("gave a turn to {groups}", groups=", ".join(fired))
        return JobResult(gave if fired else gettext_lazy("nothing had to be done"))


_IDLE = commit_point("activity.idle")
_SESSION = commit_point("session.end")
_TELL = commit_point("damage.tell")

_CHECK_SECONDS = 60.0
_RECENT = timedelta(days=30)  # older damage was reported while it was new, or nobody was there


class Monitor(Struct, frozen=True):
    """Looks every minute for idle agents, ended sessions, and blocks that were repaired or cannot be read.

    Agents that become idle are summarized: `asked` is called when that job should run. `resume` delivers notices.
    """

    database: Database
    notices: Notices
    clock: Clock
    resume: Callable[[], None]
    asked: Callable[[], None]

    async def run(self) -> None:
        await repeat("idle agents and damage", self.check, _CHECK_SECONDS)

    async def check(self) -> None:
        """Record which agents are idle and what sessions were about, and tell the owner of damage, once."""
        now = self.clock()

        def due(rows: Rows) -> tuple[bool, list[SessionId], list[Damage]]:
            found = damage_since(rows, now - _RECENT)
            untold = [each for each in found if outbox.of_key(rows, f"notice/{_key(each)}") is None]
            return activity.any_idle(rows, now), sessions.finished(rows, now), untold

        idle, over, untold = await self.database.read(due)
        if idle:
            await self.database.write(_IDLE, lambda tx: _deactivate(tx, now))
            self.asked()
        for session in over:
            await self.database.write(_SESSION, functools.partial(sessions.summarize, identifier=session))
        if untold:
            await self.database.write(_TELL, lambda tx: self._tell(tx, untold, now))
            self.resume()

    def _tell(self, tx: Tx, untold: Sequence[Damage], now: datetime) -> None:
        for damage in reversed(untold):
            with self.notices.reading():
                told = gettext_noop("Damage in memory: {damage}. `carina memory verify` checks every block.")
                text = _(told, damage=damage.words)
            self.notices.tell_owner(tx, _key(damage), text, now)


def _key(damage: Damage) -> str:
    return f"damage/{damage.id}"


def _deactivate(tx: Tx, now: datetime) -> None:
    activity.deactivate_idle(tx, now)
    jobs.prompt(tx, OF_AGENTS, now)
