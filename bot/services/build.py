"""Creates the services of one constellation and puts them into a registry."""

from collections.abc import Callable
from datetime import datetime

from bot.agents import patrols
from bot.agents.agenda.calendar import EventJob
from bot.agents.agenda.reminders import ReminderJob
from bot.agents.deps import OwnersSide
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
from bot.services.system.jobs import Schedule
from bot.services.system.upkeep_jobs import Upkeep, standing
from bot.upkeep.consent import ConsentRequests
from memory.people import quiet_hours
from memory.people.privacy import Choice
from memory.store.database import Tx
from memory.store.ids import PersonId


def open_reminders(
    config: Config,
    approvals: Approvals,
    schedule: Schedule,
    choices: Choices,
    spoken: Callable[[PersonId], str],
    notices: Notices,
) -> None:
    """Let the schedule deliver what is due in people's agendas."""
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
    """The schedule of one constellation with its built-in jobs; other kinds are added to it.

    `backups`: it also backs up the whole data folder.
    """
    zone = config.schedule.zone_name()

    def plan(tx: Tx, now: datetime) -> None:
        patrols.plan(tx, zone, now)

    own = [each for each in standing(zone, summaries=config.schedule.summaries) if backups or each.kind != BACKUP]
    schedule = Schedule(approvals.database, approvals.clock, changed, approvals.resume, standing=own, plan=plan)
    Upkeep(approvals.clock, zone).add(schedule.kinds)
    return schedule


def open_patrols(config: Config, approvals: Approvals, schedule: Schedule, side: OwnersSide) -> None:
    """Let the schedule start due patrols, which report to the owner."""
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
    """Every service. `schedule` gets the jobs, `choices` says who opted out, and `spoken` is the language of a person.

    `ready` are services that were created elsewhere.
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
