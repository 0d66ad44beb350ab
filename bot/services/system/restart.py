"""A restart of the service at the owner's request."""

import asyncio
import os
import sys
from typing import NoReturn

from msgspec import Struct, field

from bot.agents.permissions.roles_and_rights import Action
from bot.config import load_here
from bot.errors import ConfigError, UserError
from bot.services.caller import Caller
from bot.services.registry import Options, operation
from texts import _


class Restart(Struct, frozen=True):
    """A restart by the owner: it sets `wanted`, then the server shuts down and calls `begin_anew`."""

    possible: bool
    """Whether this process is a service (`carina run`), not a chat that ends with its user."""
    wanted: asyncio.Event = field(default_factory=asyncio.Event)

    @operation("restart", "Restart the service gracefully", Action.RESTART, Options(changes=True, running=True))
    async def restart(self, _caller: Caller) -> str:
        """Request a restart. Raises UserError if the configuration is invalid, before anything is stopped."""
        if not self.possible:
            raise UserError("This service was started by a chat and ends with it, so it cannot be restarted.")
        try:
            load_here()
        except ConfigError as error:
            raise UserError(
                "The configuration is not valid, so the old one stays in use: {error}", error=error
            ) from error
        self.wanted.set()
        return _("Restarting. I'll finish my current answers first, so it will take a few seconds.")


def begin_anew() -> NoReturn:
    """Replace this process, after its orderly shutdown, by the same program with the same arguments."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
