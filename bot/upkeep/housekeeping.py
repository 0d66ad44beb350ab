"""Housekeeping at fixed times, without a model: deletes what expired and jobs that ended long ago, optimizes the search
index, and checks whether groups have something to do while nobody is talking.

`bot.upkeep.runs` deletes retired entries, `bot.upkeep.monitors` old activity.
"""

from datetime import timedelta

from msgspec import Struct

from bot.agents.groups.sleeptime import check_all
from memory import jobs
from memory.erasure.one_constellation import optimize
from memory.knowledge import entry_journal, items
from memory.store.database import Database, Tx
from scheduler.jobs import DueJob, JobKinds, JobResult, QueueJob, WorkJob
from texts import _, ngettext

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
        return ngettext("{count} full-text index merged", "{count} full-text indexes merged", count)

    def tidy(self, tx: Tx, firing: DueJob) -> JobResult:
        """Delete jobs that ended long ago; they contain no texts."""
        gone = jobs.drop_over(tx, firing.now - _TIDY_AFTER)
        entry_journal.drop_before(tx, firing.now - _NIGHTS_KEPT)
        return JobResult(
            ngettext(
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
            ngettext(
                "{count} expired entry of working memory deleted",
                "{count} expired entries of working memory deleted",
                gone,
            ),
            again,
        )

    def look_after_groups(self, tx: Tx, firing: DueJob) -> JobResult:
        """Check the triggers of sleeptime groups, and queue the turns that they call for."""
        fired = check_all(tx, firing.now, self.zone)
        return JobResult(
            _("gave a turn to {groups}", groups=", ".join(fired)) if fired else _("nothing had to be done")
        )
