"""The emergency halt: everything stops at once and stays stopped, also over restarts, until it is released."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import structlog
from pydantic import Field

from bot.agents.permissions.policy import Action
from bot.errors import UserError
from bot.runtime.halt import HaltState
from bot.services.caller import Caller
from bot.services.registry import Options, operation
from bot.services.results import Ink, Result, Sentence
from memory.store.clock import from_text
from memory.store.errors import StoreError
from texts import _

_NOW = Options(changes=True, running=True, first=True, default=True)
_RELEASE = Options(changes=True, running=True, formerly=("release",))
_log = structlog.get_logger("bot.halt")


class Halted(Result):
    """Everything is halted."""

    since: datetime
    already: bool = Field(exclude=True)

    def lines(self, ink: Ink) -> list[str]:
        if self.already:
            return [_("Everything has been halted since {since}.", since=ink.time(self.since))]
        return [_("Halted. I answer and send nothing until you release the halt. Incoming messages are kept.")]

    def data(self) -> dict[str, str]:
        return {**super().data(), "text": "already halted" if self.already else "halted"}


@dataclass(frozen=True)
class Halt:
    """Halts and releases one service by command. `go_on` is told when a halt is over."""

    titles: ClassVar = {"halt": "Stop everything in an emergency"}

    state: HaltState
    go_on: Callable[[], None]

    @property
    def since(self) -> str:
        """Since when everything is halted; empty when nothing is."""
        return self.state.since

    @operation("halt.now", "Stop all answers and messages now", Action.HALT, _NOW)
    async def halt(self, caller: Caller) -> Halted:
        """Stop everything at once, then write that down."""
        before = "" if self.state.unstored else self.since
        if not before:
            self.state.begin(f"{caller.person} by {caller.approver.door}")
        try:
            await self.state.store()
        except StoreError as error:
            raise UserError(
                _(
                    "Everything is halted now, but the halt could not be saved ({error}), so a restart would "
                    "end it. Halt again to retry.",
                    error=error,
                )
            ) from error
        return Halted(since=from_text(self.since), already=bool(before))

    @operation("halt.release", "Resume after a halt", Action.HALT, _RELEASE)
    async def release(self, caller: Caller) -> Sentence:
        """Go on."""
        if not self.since:
            return Sentence(text=_("Nothing is halted."))
        try:
            over = await self.state.end()
        except StoreError as error:
            raise UserError(
                _("Everything is still halted: the release could not be saved ({error}).", error=error)
            ) from error
        if not over:
            return Sentence(text=_("Somebody halted again just now, so everything stays halted."))
        self.go_on()
        _log.warning("released", by=caller.person, door=caller.approver.door)
        return Sentence(text=_("Released. I am answering the waiting messages in order."))
