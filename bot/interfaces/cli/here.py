"""Doing an operation in the process of the command, where no service runs, holding the data folder.

Those of `LOCAL` look at files that no service can open, or make what a service needs to start.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from bot.agents.permissions.policy import People
from bot.config import Config
from bot.errors import ConfigError, UserError
from bot.interfaces import socket
from bot.interfaces.cli.bluesky import BlueskyAccount
from bot.interfaces.cli.database_files import BackupFiles, DatabaseFiles, require_data
from bot.interfaces.cli.init import Beginning
from bot.interfaces.cli.portability import CarFiles
from bot.interfaces.cli.service import Removal, SystemService
from bot.interfaces.cli.setup import NOT_RUNNING, configured, in_constellation, log_to
from bot.interfaces.cli.status import IdleService, Installation
from bot.interfaces.exit_codes import exit_code
from bot.secrets import Redactor
from bot.services.halt import Restart
from bot.services.registry import Clocks, Guard, Registry
from bot.services.sharing import ServedRegistry, open_shared
from memory.store.clock import utc_now
from memory.store.errors import FolderLocked, StoreError
from memory.store.ids import PersonId
from sources.terminal import PERSON
from texts import _, error_text

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


@asynccontextmanager
async def open_registry(config: Config) -> AsyncIterator[Registry]:
    """The operations, done in this process while it holds the data folder. Raises FolderLocked, UserError."""
    require_data(config)
    async with (
        open_shared(config, utc_now, {}, Restart(possible=False), lambda: "", at_rest=True) as served,
        served.use(served.shared.configured) as services,
    ):
        yield ServedRegistry(served, services.registry.operations)


BEGINNING = "init"
"""Makes the configuration that all else reads."""

_LATER = frozenset({"remind.me", "remind.snooze", "events.add"})


def replies(name: str, arguments: Mapping[str, Any], view: Mapping[str, Any], *, alone: bool) -> list[socket.Reply]:
    """What came of it. Raises FolderLocked where somebody else uses the folder.

    `alone`: no service is opened, as for what looks at files or makes them.
    """
    try:
        config = configured(beginning=name == BEGINNING)
        if alone and (constellation := view.get("constellation")):
            config = in_constellation(config, str(constellation))
        log_to(config, level="error")
        return asyncio.run(_replies(config, name, arguments, view, alone))
    except FolderLocked:
        raise
    except (ConfigError, UserError, StoreError) as error:
        return [{"error": error_text(error), "code": exit_code(error)}]


async def _replies(
    config: Config, name: str, arguments: Mapping[str, Any], view: Mapping[str, Any], alone: bool
) -> list[socket.Reply]:
    async with AsyncExitStack() as stack:
        registry = local_registry(config) if alone else await stack.enter_async_context(open_registry(config))
        done = [each async for each in socket.replies(registry, name, arguments, view)]
    if name in _LATER and not view.get("as_json") and "text" in done[-1]:
        done[-1] = {"aside": _(NOT_RUNNING), **done[-1]}
    return done
