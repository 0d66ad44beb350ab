"""The services of one constellation, made and put into a registry."""

from bot.config import Config
from bot.secrets import Redactor
from bot.services.agenda import Agenda
from bot.services.approvals import Approvals
from bot.services.archive import Archive
from bot.services.block_settings import BlockSettings
from bot.services.block_sharing import BlockSharing
from bot.services.blocks import Blocks
from bot.services.change_report import ChangeReport
from bot.services.context_preview import ContextPreview
from bot.services.coordination import Coordination
from bot.services.facts import Facts
from bot.services.jobs import Schedule
from bot.services.known_people import KnownPeople
from bot.services.person_states import States
from bot.services.privacy import Choices
from bot.services.projects import Projects
from bot.services.registry import Clocks, Guard, Registry
from bot.services.settings import Settings
from bot.services.summaries import Summaries
from bot.services.task_lists import TaskLists
from bot.services.traces import Traces
from bot.services.unanswered import Unanswered
from bot.services.why import Why
from memory.people import quiet_hours
from memory.store.ids import PersonId


def build_registry(
    config: Config, approvals: Approvals, schedule: Schedule, choices: Choices, ready: tuple[object, ...]
) -> Registry:
    """Every service; `schedule` is told what is due, and `choices` says of whom nothing is kept.

    `ready` are those that are made elsewhere.
    """
    database, people, clock, zone = approvals.database, approvals.people, approvals.clock, config.schedule.zone_name()

    async def zone_of(person: PersonId) -> str:
        return await database.read(lambda rows: quiet_hours.zone_for(rows, people.selves(person), zone))

    services = (
        Agenda(database, people, clock, zone, schedule.changed, schedule.queued),
        Archive(database, people, clock),
        Blocks(database, people, clock, config.memory.checkpoints()),
        BlockSettings(database, people, clock),
        BlockSharing(database, people, clock, config.memory.checkpoints()),
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
    return Registry(services, guard, Clocks(clock, zone_of))
