"""What the command line does by itself, without a service: declared as every operation is.

These look at files that no service can open, or make what a service needs to start.
"""

from bot.agents.permissions.policy import People
from bot.config import Config
from bot.interfaces.cli.bluesky import BlueskyAccount
from bot.interfaces.cli.database_files import BackupFiles, DatabaseFiles
from bot.interfaces.cli.init import Beginning
from bot.interfaces.cli.portability import CarFiles
from bot.interfaces.cli.service import Removal, SystemService
from bot.interfaces.cli.status import IdleService, Installation
from bot.secrets import Redactor
from bot.services.registry import Clocks, Guard, Registry
from memory.store.clock import utc_now
from memory.store.ids import PersonId
from sources.terminal import PERSON

LOCAL = (
    SystemService,
    Removal,
    BackupFiles,
    Beginning,
    BlueskyAccount,
    CarFiles,
    DatabaseFiles,
    IdleService,
    Installation,
)


def local_registry(config: Config) -> Registry:
    """For the owner at the terminal, who is the only one here."""

    async def zone_of(_person: PersonId) -> str:
        return config.schedule.zone_name()

    guard = Guard(People((PERSON,)), lambda _person: False, Redactor(config.secrets()).clean)
    return Registry([each(config) for each in LOCAL], guard, Clocks(utc_now, zone_of))
