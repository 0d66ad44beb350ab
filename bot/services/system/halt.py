"""Commands of the emergency halt: everything stops and stays stopped, also across restarts, until it is released."""

from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

from msgspec import Struct

from bot.agents.permissions.roles_and_rights import Action
from bot.errors import UserError
from bot.runtime.halt import HaltState
from bot.services.caller import Caller
from bot.services.names import command_to_answer
from bot.services.registry import Options, operation
from bot.services.results import ActionReport, report
from memory.store.clock import from_text
from memory.store.database import Database
from memory.store.errors import StoreError
from memory.store.logs import Log
from texts import _

_NOW = Options(changes=True, running=True, first=True, default=True)
_RELEASE = Options(changes=True, running=True, formerly=("release",))
_log = Log("bot.halt")


class Halt(Struct, frozen=True):
    """Halts and releases one service by command. `go_on` is called when a halt is released."""

    titles: ClassVar = {"halt": "Stop everything in an emergency"}

    state: HaltState
    go_on: Callable[[], None]
    database: Database

    @operation("halt.now", "Stop all answers and messages now", Action.HALT, _NOW)
    async def halt(self, caller: Caller) -> ActionReport:
        """Stop everything at once, then record the halt."""
        before = "" if self.state.unstored else self.state.since
        # Even if halted: a release may be under way.
        self.state.begin(f"{caller.person} by {caller.approver.interface}")
        since = from_text(self.state.since)
        try:
            await self.state.store()
        except StoreError as error:
            raise UserError(
                "Everything is halted now, but the halt could not be saved ({error}), so a restart would "
                "end it. Halt again to retry.",
                error=error,
            ) from error
        if before:
            return report(_("Everything has been halted since {since}."), since=since, text="already halted")
        text = _("Halted. I won't answer or send anything until you release the halt. Incoming messages are kept.")
        return report(text, since=since, text="halted")

    @operation("halt.release", "Resume after a halt", Action.HALT, _RELEASE)
    async def release(self, caller: Caller) -> str:
        if not self.state.since:
            return _("Nothing is halted.")
        try:
            over = await self.state.end()
        except StoreError as error:
            raise UserError(
                "Everything is still halted: the release could not be saved ({error}).", error=error
            ) from error
        if not over:
            return _("Somebody halted again just now, so everything stays halted.")
        self.go_on()
        _log.warning("halt_released", by=caller.person, interface=caller.approver.interface)
        with suppress(StoreError):  # it is released, whatever the database says
            if command := await self.database.read(command_to_answer):
                return _("Released, but no agent is answering. {command} changes that.", command=command)
        return _("Released. I'm answering the waiting messages in order.")
