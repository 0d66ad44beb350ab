"""Asking the process that holds the data folder, or doing the work here when none does."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bot.config import Config
from bot.interfaces.cli.database_files import require_data
from bot.interfaces.service_client import ANSWER_SECONDS, TakesNoCommands, holder_of
from bot.secrets import Redactor
from bot.services.composition import ServedConstellations
from bot.services.constellations import ConstellationCommands
from bot.services.registry import Registry
from bot.services.restart import Restart
from bot.services.sharing import open_shared
from memory.store.clock import utc_now
from memory.store.errors import FolderLocked


async def ask(config: Config, operation: str, within: float | None = ANSWER_SECONDS, **arguments: Any) -> Any:
    """Ask who holds the folder, waiting so many seconds, or do it here when nobody does. Raises UserError.

    What is written down of it holds no secret, whatever was typed or read from a file.
    """
    folder, arguments = require_data(config), Redactor(config.secrets()).clean(arguments)
    if (holder := holder_of(folder)) is None:
        return await _do(config, operation, arguments)
    try:
        return await holder.ask(operation, within, **arguments)
    except TakesNoCommands as error:
        try:
            return await _do(config, operation, arguments)  # it may have been a command that is over
        except FolderLocked:
            raise error from None


async def _do(config: Config, operation: str, arguments: Mapping[str, Any]) -> Any:
    """Do it here, holding the folder. Raises FolderLocked when somebody else holds it."""
    async with _opened(config) as served:
        commands = ConstellationCommands(served.shared.constellations, served.shared.configured)
        return await commands.handlers()[operation](**arguments)


@asynccontextmanager
async def open_registry(config: Config) -> AsyncIterator[Registry]:
    """The operations, done in this process while it holds the data folder. Raises FolderLocked, UserError."""
    require_data(config)
    async with _opened(config) as served, served.use(served.shared.configured) as services:
        yield services.registry


@asynccontextmanager
async def _opened(config: Config) -> AsyncIterator[ServedConstellations]:
    async with open_shared(config, utc_now, {}, Restart(possible=False), lambda: "", at_rest=True) as served:
        yield served
