"""What people ask for and have done: one module for each noun, one method for each operation.

`SERVICES` are the classes whose operations every interface offers; docs/services.md tells the way of a call.
"""

from bot.services.access import Access
from bot.services.accounts import Accounts
from bot.services.agenda import Agenda
from bot.services.agents import Agents
from bot.services.archive import Archive
from bot.services.backups import Backups
from bot.services.block_settings import BlockSettings
from bot.services.block_sharing import BlockSharing
from bot.services.blocks import Blocks
from bot.services.budgets import Spending
from bot.services.change_report import ChangeReport
from bot.services.configuration import ConfigurationFile
from bot.services.constellations import ConstellationCommands
from bot.services.coordination import Coordination
from bot.services.data_sources import SourceSettings
from bot.services.databases import Databases
from bot.services.doctor import Doctor
from bot.services.facts import Facts
from bot.services.folders import Folders
from bot.services.groups import Groups
from bot.services.halt import Halt
from bot.services.imports import Imports
from bot.services.inbox import Inbox
from bot.services.jobs import Schedule
from bot.services.known_people import KnownPeople
from bot.services.outbox import Outbox
from bot.services.permits import Permits
from bot.services.person_states import States
from bot.services.places import Places
from bot.services.privacy import Privacy
from bot.services.projects import Projects
from bot.services.restart import Restart
from bot.services.search import Search
from bot.services.settings import Settings
from bot.services.status import Status
from bot.services.summaries import Summaries
from bot.services.task_lists import TaskLists
from bot.services.traces import Traces
from bot.services.unanswered import Unanswered
from bot.services.upkeep import Upkeep
from bot.services.web_access import WebAccess
from bot.services.why import Why

SERVICES: tuple[type, ...] = (
    Access,
    Accounts,
    Agenda,
    Agents,
    Archive,
    Backups,
    Blocks,
    BlockSettings,
    BlockSharing,
    ConfigurationFile,
    ConstellationCommands,
    Coordination,
    SourceSettings,
    Databases,
    Doctor,
    Facts,
    Folders,
    Groups,
    Halt,
    Imports,
    Inbox,
    KnownPeople,
    Outbox,
    Permits,
    Places,
    Privacy,
    Projects,
    Restart,
    Schedule,
    Search,
    Settings,
    Spending,
    Status,
    States,
    Summaries,
    TaskLists,
    ChangeReport,
    Traces,
    Upkeep,
    WebAccess,
    Why,
    Unanswered,
)


def titles() -> dict[str, str]:
    """What each group of commands is for, by its name."""
    return {name: title for service in SERVICES for name, title in vars(service).get("titles", {}).items()}


__all__ = ["SERVICES", "titles"]
