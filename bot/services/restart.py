"""Restarting: the service ends in order, and the same process begins anew with the configuration as it is then."""

import asyncio
import os
import sys
from dataclasses import dataclass, field
from typing import Annotated, NoReturn

from bot.agents.permissions.policy import Action
from bot.config import load_here
from bot.errors import ConfigError, UserError
from bot.services.caller import Caller
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, operation
from bot.services.results import Sentence
from texts import _


class RestartArguments(Arguments):
    check: Annotated[bool, Param("Only check the configuration")] = False


@dataclass(frozen=True)
class Restart:
    """Asked for by the owner; `wanted` is set then, and whoever serves ends and calls `begin_anew`."""

    possible: bool
    """Whether this process serves (`carina run`) and is not a chat that ends with whoever talks."""
    wanted: asyncio.Event = field(default_factory=asyncio.Event)

    @operation("restart", "Restart the service gracefully", Action.RESTART, Options(changes=True, running=True))
    async def restart(self, _caller: Caller, arguments: RestartArguments) -> Sentence:
        """Have it done. Raises UserError where the configuration is wrong: then nothing is ended."""
        if not self.possible:
            raise UserError(_("This service ends with the chat that opened it; only `carina run` can restart."))
        try:
            load_here()
        except ConfigError as error:
            raise UserError(
                _("The configuration is not valid, so the old one stays in use: {error}", error=error)
            ) from error
        if arguments.check:
            return Sentence(text=_("The configuration is valid."))
        self.wanted.set()
        return Sentence(text=_("Restarting. I finish my current answers first, so it takes a few seconds."))


def begin_anew() -> NoReturn:
    """Put the program as it was started in the place of this one, which has ended in order: the process stays."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
