"""Carina's own jobs: when each runs, and the work of those that no other module does."""

from dataclasses import dataclass
from datetime import timedelta

from bot.agents.groups.sleeptime import look_all
from bot.services.system.backups import BACKUP
from bot.services.system.jobs import BuiltInJob
from bot.upkeep.evaluations import EVALUATE
from bot.upkeep.runs import DREAM
from bot.upkeep.summaries import OF_AGENTS, OF_DAYS
from memory import jobs
from memory.erasure.person import optimize
from memory.knowledge import items
from memory.knowledge.archival import journal
from memory.store.clock import Clock
from memory.store.database import Database, Tx
from scheduler.jobs import Done, Firing, Kinds, Queueing, Working
from scheduler.triggers import Cron
from texts import _, ngettext

_TIDY_AFTER = timedelta(days=90)
_NIGHTS_KEPT = timedelta(days=30)  # how long a night's changes can be undone

OPTIMIZE = "upkeep.search"
TIDY = "upkeep.jobs"
SLEEPTIME = "sleeptime"
SWEEP = "upkeep.working"
_SWEPT = 500  # rows in one transaction


def built_in_jobs(zone: str, *, summaries: bool = True, backups: bool = True) -> tuple[BuiltInJob, ...]:
    """The built-in jobs; those at night use the zone; `summaries` and `backups` add the jobs for these."""
    told = (BuiltInJob(OF_AGENTS, Cron("5 * * * *", zone)), BuiltInJob(OF_DAYS, Cron("0 4 * * *", zone)))
    return (
        *(told if summaries else ()),
        *((BuiltInJob(BACKUP, Cron("20 4 * * *", zone)),) if backups else ()),
        BuiltInJob(OPTIMIZE, Cron("20 3 * * *", zone)),
        BuiltInJob(TIDY, Cron("40 3 * * 0", zone)),
        BuiltInJob(SWEEP, Cron("50 * * * *", zone)),  # expired entries are not read before that either
        BuiltInJob(SLEEPTIME, Cron("*/5 * * * *", zone)),  # each group has its own `check_minutes`
        BuiltInJob(EVALUATE, Cron("25,55 * * * *", zone)),  # finished talks
        BuiltInJob(DREAM, Cron("10,40 * * * *", zone)),  # it checks whether it is time
    )


@dataclass(frozen=True)
class Upkeep:
    """Built-in maintenance; `add` registers its jobs with the scheduler."""

    clock: Clock
    zone: str = "UTC"
    """The time zone of groups' quiet hours."""

    def add(self, kinds: Kinds) -> None:
        kinds.add(Working(OPTIMIZE, self.optimize))
        kinds.add(Queueing(TIDY, self.tidy))
        kinds.add(Queueing(SWEEP, self.sweep))
        kinds.add(Queueing(SLEEPTIME, self.look_after_groups))

    async def optimize(self, database: Database, _firing: Firing) -> str:
        """Merge the segments of full-text indexes, and update SQLite's statistics."""
        count = await database.maintain(optimize)
        return ngettext("{count} full-text index merged", "{count} full-text indexes merged", count)

    def tidy(self, tx: Tx, firing: Firing) -> Done:
        """Delete jobs that ended long ago; they contain no texts."""
        gone = jobs.drop_over(tx, firing.now - _TIDY_AFTER)
        journal.drop_before(tx, firing.now - _NIGHTS_KEPT)
        return Done(
            ngettext(
                "{count} job deleted that ended more than {days} days ago",
                "{count} jobs deleted that ended more than {days} days ago",
                gone,
                days=_TIDY_AFTER.days,
            )
        )

    def sweep(self, tx: Tx, firing: Firing) -> Done:
        """Delete expired working memory, in steps short enough to delay nobody."""
        gone = items.sweep(tx, firing.now, _SWEPT)
        again = firing.now if gone == _SWEPT else None
        return Done(
            ngettext(
                "{count} expired entry of working memory deleted",
                "{count} expired entries of working memory deleted",
                gone,
            ),
            again,
        )

    def look_after_groups(self, tx: Tx, firing: Firing) -> Done:
        """Check the triggers of sleeptime groups, and queue the turns that they call for."""
        fired = look_all(tx, firing.now, self.zone)
        return Done(_("fired: {groups}", groups=", ".join(fired)) if fired else _("no turn was needed"))
