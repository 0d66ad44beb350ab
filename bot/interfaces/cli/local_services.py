"""The services of a constellation in the process of a command, while no service runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.config import Config
from bot.interfaces.cli.database_files import require_data
from bot.services.registry import Registry
from bot.services.shared import ServedRegistry, open_shared
from bot.services.system.halt import Restart
from memory.store.clock import utc_now


@asynccontextmanager
async def open_registry(config: Config, asked: str = "") -> AsyncIterator[Registry]:
    """The operations, run in this process while it holds the data folder. Raises FolderLocked, UserError.

    `asked` is the constellation that the command names; empty for the configured one.
    """
    require_data(config)
    async with (
        open_shared(config, utc_now, {}, Restart(possible=False), lambda: "", asked=asked) as served,
        served.use(served.shared.configured) as services,
    ):
        yield ServedRegistry(served, services.registry.operations)
