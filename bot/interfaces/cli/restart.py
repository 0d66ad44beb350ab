"""`carina restart`: asks the running service to restart, and waits until it answers again."""

import asyncio
from contextlib import suppress

from msgspec import Struct

from bot.agents.permissions.roles_and_rights import Action
from bot.config import Config
from bot.errors import UserError
from bot.interfaces.control.async_client import holder_of
from bot.interfaces.control.client import not_running
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.registry import Options, operation
from bot.services.results import ActionReport, report
from memory.store.clock import from_text
from memory.store.data_folder import DataFolder
from texts import _

_RESTARTS = Options(via=TERMINAL_ONLY, changes=True, running=True, seconds=300.0)
_LOOKS, _LOOK_SECONDS = 300, 0.2  # at least a minute until it answers again


class RunningService(Struct, frozen=True):
    config: Config

    @operation("restart", "Restart the service gracefully", Action.RESTART, _RESTARTS)
    async def restart(self, _caller: Caller) -> ActionReport:
        """Restart the service, and wait until it answers. Raises UserError."""
        folder = DataFolder(self.config.home)
        holder = holder_of(folder)
        if holder is None:
            raise not_running(folder)
        before = (await holder.data("status"))["started"]
        await holder.data("restart")
        for _look in range(_LOOKS):
            await asyncio.sleep(_LOOK_SECONDS)
            with suppress(UserError):  # it is stopping, or not ready yet
                if (holder := holder_of(folder)) and (started := (await holder.data("status"))["started"]) != before:
                    return report(_("The service restarted on {started}."), started=from_text(started))
        raise UserError(
            "The service did not come back within {seconds} seconds. Check its log.",
            seconds=f"{_LOOKS * _LOOK_SECONDS:.0f}",
        )
