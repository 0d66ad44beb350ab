"""The services of one constellation, made and put into a registry."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.agents import patrols
from bot.agents.agenda.calendar import EventJob
from bot.agents.agenda.reminders import ReminderJob
from bot.agents.deps import OwnersSide
from bot.agents.groups.sleeptime import look_all
from bot.agents.notices import Notices
from bot.agents.patrols import Patrols
from bot.config import Config
from bot.secrets import Redactor
from bot.services.agents.agenda import Agenda
from bot.services.agents.coordination import Coordination
from bot.services.agents.task_lists import TaskLists
from bot.services.memory.archive import Archive
from bot.services.memory.block_settings import BlockSettings
from bot.services.memory.blocks import Blocks
from bot.services.memory.context_preview import ContextPreview
from bot.services.memory.facts import Facts, Projects
from bot.services.memory.summaries import ChangeReport, Summaries
from bot.services.memory.why import Why
from bot.services.people.approvals import Approvals
from bot.services.people.people import KnownPeople, States
from bot.services.people.privacy import Choices
from bot.services.registry import Clocks, Guard, Registry
from bot.services.system.backups import BACKUP, Backups
from bot.services.system.configuration import Settings
from bot.services.system.inbox import Traces, Unanswered
from bot.services.system.jobs import Schedule, Standing
from bot.upkeep.consent import ConsentRequests
from bot.upkeep.evaluations import EVALUATE
from bot.upkeep.runs import DREAM
from bot.upkeep.summaries import OF_AGENTS, OF_DAYS
from memory import jobs
from memory.erasure.person import optimise
from memory.knowledge import items
from memory.knowledge.archival import journal
from memory.people import quiet_hours
from memory.people.privacy import Choice
from memory.store.clock import Clock
from memory.store.database import Database, Tx
from memory.store.ids import PersonId
from scheduler.jobs import Done, Firing, Kinds, Queueing, Working
from scheduler.triggers import Cron
from texts import _, ngettext

_TIDY_AFTER = timedelta(days=90)
_NIGHTS_KEPT = timedelta(days=30)  # so long a night can be undone

OPTIMISE = "upkeep.search"
TIDY = "upkeep.jobs"
SLEEPTIME = "sleeptime"
SWEEP = "upkeep.working"
_SWEPT = 500  # rows in one transaction


def standing(zone: str, *, summaries: bool = True) -> tuple[Standing, ...]:
    """Carina's own jobs, at night on the clocks of its zone; `summaries`: also those that tell things in short."""
    told = (Standing(OF_AGENTS, Cron("5 * * * *", zone)), Standing(OF_DAYS, Cron("0 4 * * *", zone)))
    return (
        *(told if summaries else ()),
        Standing(BACKUP, Cron("20 4 * * *", zone)),
        Standing(OPTIMISE, Cron("20 3 * * *", zone)),
        Standing(TIDY, Cron("40 3 * * 0", zone)),
        Standing(SWEEP, Cron("50 * * * *", zone)),  # what has expired is not read before that either
        Standing(SLEEPTIME, Cron("*/5 * * * *", zone)),  # each group has its own `check_minutes`
        Standing(EVALUATE, Cron("25,55 * * * *", zone)),  # talks that are over
        Standing(DREAM, Cron("10,40 * * * *", zone)),  # it looks whether it is time
    )


@dataclass(frozen=True)
class Upkeep:
    """What is done; `add` makes it known to the scheduler."""

    clock: Clock
    zone: str = "UTC"
    """By whose clocks groups have quiet hours."""

    def add(self, kinds: Kinds) -> None:
        kinds.add(Working(OPTIMISE, self.optimise))
        kinds.add(Queueing(TIDY, self.tidy))
        kinds.add(Queueing(SWEEP, self.sweep))
        kinds.add(Queueing(SLEEPTIME, self.look_after_groups))

    async def optimise(self, database: Database, _firing: Firing) -> str:
        """Merge what full-text indexes keep in pieces, and let SQLite look at its statistics."""
        count = await database.maintain(optimise)
        return ngettext("{count} full-text index merged", "{count} full-text indexes merged", count)

    def tidy(self, tx: Tx, firing: Firing) -> Done:
        """Forget jobs that ended long ago; they hold no words."""
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
        """Delete what has expired in working memory, so much at a time that nobody waits for it."""
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
        """See whether something in sleeptime groups calls for a turn of theirs, and queue it."""
        fired = look_all(tx, firing.now, self.zone)
        return Done(_("fired: {groups}", groups=", ".join(fired)) if fired else _("no turn was needed"))


def open_reminders(
    config: Config,
    approvals: Approvals,
    schedule: Schedule,
    choices: Choices,
    spoken: Callable[[PersonId], str],
    notices: Notices,
) -> None:
    """Have what is due in people's agendas said by the schedule."""
    zone, people = config.schedule.zone_name(), approvals.people

    def opted_out(person: PersonId) -> bool:
        chosen = choices.of(person)
        return chosen is not None and chosen[0] is Choice.OPTED_OUT

    reminding = ReminderJob(notices, zone, opted_out, people.selves, spoken)
    reminding.add(schedule.kinds)
    EventJob(reminding).add(schedule.kinds)
    ConsentRequests(reminding).add(schedule.kinds)


def open_backups(config: Config, approvals: Approvals, schedule: Schedule) -> Backups:
    made = Backups(config.home, approvals.clock, config.schedule.backups_kept)
    made.add(schedule.kinds)
    return made


def open_schedule(config: Config, approvals: Approvals, changed: Callable[[], None], *, backups: bool) -> Schedule:
    """The schedule of one constellation with its own upkeep; other kinds are added to it.

    `backups`: it also makes those of the whole data folder.
    """
    zone = config.schedule.zone_name()

    def plan(tx: Tx, now: datetime) -> None:
        patrols.plan(tx, zone, now)

    own = [each for each in standing(zone, summaries=config.schedule.summaries) if backups or each.kind != BACKUP]
    schedule = Schedule(approvals.database, approvals.clock, changed, approvals.resume, standing=own, plan=plan)
    Upkeep(approvals.clock, zone).add(schedule.kinds)
    return schedule


def open_patrols(config: Config, approvals: Approvals, schedule: Schedule, side: OwnersSide) -> None:
    """Let patrols that are due be begun by the schedule, for the owner where they are told things."""
    terms = approvals.broker.terms
    owners = terms.people.owner
    owner = next((each for each in owners if terms.private(each) == side.place), owners[0])
    Patrols(config.home, owner, side.quiet).add(schedule.kinds)


def build_registry(
    config: Config,
    approvals: Approvals,
    schedule: Schedule,
    choices: Choices,
    spoken: Callable[[PersonId], str],
    ready: tuple[object, ...],
) -> Registry:
    """Every service; `schedule` is told what is due, `choices` says of whom nothing is kept, and `spoken` in which
    language somebody is answered.

    `ready` are those that are made elsewhere.
    """
    database, people, clock, zone = approvals.database, approvals.people, approvals.clock, config.schedule.zone_name()

    async def zone_of(person: PersonId) -> str:
        return await database.read(lambda rows: quiet_hours.zone_for(rows, people.selves(person), zone))

    services = (
        Agenda(database, people, clock, zone, schedule.changed, schedule.queued),
        Archive(database, people, clock),
        Blocks(database, people, clock, config.memory.checkpoints()),
        BlockSettings(database, people, clock, config.memory.checkpoints()),
        ContextPreview(database, clock),
        Coordination(database, clock),
        Facts(database, people, clock),
        KnownPeople(database, clock),
        Settings(config),
        Traces(database, clock),
        Projects(database, people, clock),
        schedule,
        ChangeReport(database, people, clock, zone, config.memory.checkpoints()),
        Summaries(database),
        TaskLists(database, people, clock, zone),
        Why(database, people, clock),
        States(database, people, clock),
        Unanswered(database, people, clock, schedule.queued),
        *ready,
    )
    guard = Guard(people, choices.withheld, Redactor(config.secrets()).clean)
    return Registry(services, guard, Clocks(clock, zone_of, spoken))
