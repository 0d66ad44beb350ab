"""Housekeeping without a model: deletes what expired, old activity and jobs that ended long ago, optimizes the search
index, and looks for idle agents, ended sessions, damaged memory, and groups with something to do while nobody talks.

`bot.upkeep.dream_run` deletes retired entries.
"""

import functools
from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import Struct

from bot.agents.groups.sleeptime_triggers import check_all
from bot.agents.owner_notices import Notices
from bot.storage_retry import repeat
from bot.upkeep.scheduled_summaries import OF_AGENTS
from memory import activity, jobs
from memory.blocks.repair import Damage, damage_since
from memory.erasure.one_constellation import optimize
from memory.knowledge import entry_journal, items, sessions
from memory.queue import outbox
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import SessionId
from scheduler.job_kinds import DueJob, JobKinds, JobResult, QueueJob, WorkJob
from texts import _, gettext_lazy, gettext_noop, ngettext_lazy

OPTIMIZE = "upkeep.search"
TIDY = "upkeep.jobs"
SLEEPTIME = "sleeptime"
SWEEP = "upkeep.working"
_TIDY_AFTER = timedelta(days=90)
_NIGHTS_KEPT = timedelta(days=30)  # how long a night's changes can be undone
_SWEPT = 500  # rows in one transaction


class Housekeeping(Struct, frozen=True):
    """`add` registers its jobs with the scheduler."""

    zone: str = "UTC"
    """The time zone of groups' quiet hours."""

    def add(self, kinds: JobKinds) -> None:
        kinds.add(WorkJob(OPTIMIZE, self.optimize))
        kinds.add(QueueJob(TIDY, self.tidy))
        kinds.add(QueueJob(SWEEP, self.sweep))
        kinds.add(QueueJob(SLEEPTIME, self.look_after_groups))

    async def optimize(self, database: Database, _firing: DueJob) -> str:
        """Merge the segments of full-text indexes, and update SQLite's statistics."""
        count = await database.maintain(optimize)
        return ngettext_lazy("{count} full-text index merged", "{count} full-text indexes merged", count)

    def tidy(self, tx: Tx, firing: DueJob) -> JobResult:
        """Delete jobs that ended long ago; they contain no texts."""
        gone = jobs.drop_over(tx, firing.now - _TIDY_AFTER)
        entry_journal.drop_before(tx, firing.now - _NIGHTS_KEPT)
        return JobResult(
            ngettext_lazy(
                "{count} job deleted that ended more than {days} days ago",
                "{count} jobs deleted that ended more than {days} days ago",
                gone,
                days=_TIDY_AFTER.days,
            )
        )

    def sweep(self, tx: Tx, firing: DueJob) -> JobResult:
        """Delete expired working memory, in steps short enough to delay nobody."""
        gone = items.sweep(tx, firing.now, _SWEPT)
        again = firing.now if gone == _SWEPT else None
        return JobResult(
            ngettext_lazy(
                "{count} expired entry of working memory deleted",
                "{count} expired entries of working memory deleted",
                gone,
            ),
            again,
        )

    def look_after_groups(self, tx: Tx, firing: DueJob) -> JobResult:
        """Check the triggers of sleeptime groups, and queue the turns that they call for."""
        fired = check_all(tx, firing.now, self.zone)
        gave = gettext_lazy("gave a turn to {groups}", groups=", ".join(fired))
        return JobResult(gave if fired else gettext_lazy("nothing had to be done"))


_TELL = commit_point("damage.tell")

_DAMAGE_SECONDS = 30.0
_RECENT = timedelta(days=30)  # older damage was reported while it was new, or nobody was there


class IntegrityMonitor(Struct, frozen=True):
    """Checks for blocks that were repaired or cannot be read. `resume` delivers what was queued."""

    database: Database
    notices: Notices
    clock: Clock
    resume: Callable[[], None]

    async def run(self) -> None:
        await repeat("words on damage", self.check, _DAMAGE_SECONDS)

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

_IDLE_SECONDS = 60.0


class IdleMonitor(Struct, frozen=True):
    """Checks once a minute. `kept` is how long activity is kept; None: forever.

    Agents that become idle are summarized: `asked` is called when that job should run.
    """

    database: Database
    clock: Clock
    kept: timedelta | None
    asked: Callable[[], None] = lambda: None

    async def run(self) -> None:
        await repeat("the activity of agents", self.check, _IDLE_SECONDS)

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
