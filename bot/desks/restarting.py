"""Starting again: the service ends in order, and the same process begins anew with the configuration as it is then."""

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from bot import policy
from bot.config import load_here
from bot.errors import ConfigError, UserError
from bot.policy import Action, Approver, People
from sources.terminal import PERSON

_WORDS = "I finish what I am saying, end, and start again with the configuration as it is now; that takes some seconds."


@dataclass
class Restart:
    """Asked for by the owner; `wanted` is set then, and whoever serves ends and calls `begin_anew`."""

    people: People
    possible: bool = False
    """Whether this process serves (`carina run`) and is not a chat that ends with whoever talks."""
    wanted: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, who: Approver, *, sure: bool = True) -> str:
        """Have it done; without `sure` only say whether it could be. Raises UserError, when nothing is ended."""
        policy.require(self.people, who, Action.RESTART)
        if not self.possible:
            raise UserError("This service ends with the chat that opened it; only one of `carina run` starts again.")
        try:
            load_here()
        except ConfigError as error:
            raise UserError(f"The configuration could not be read, so I go on with the old one: {error}") from error
        if not sure:
            return "The configuration is sound. With `sure` I end and start again."
        self.wanted.set()
        return _WORDS

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {"restart": self.owner_ask}

    async def owner_ask(self) -> dict[str, Any]:
        """Have it done."""
        return {"text": await self.ask(Approver(PERSON, door="command line"))}


def begin_anew() -> NoReturn:
    """Put the program as it was started in the place of this one, which has ended in order: the process stays."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
