"""`carina bluesky`: labels the account as a bot, and shows its state."""

from typing import Annotated, Any, ClassVar

from msgspec import Struct
from pydantic import Field

from bot.agents.permissions.roles_and_rights import Action
from bot.config import Config
from bot.errors import UserError
from bot.interfaces.cli.data_folder import loaded
from bot.interfaces.control.async_client import holder_of
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.registry import Options, Param, operation
from bot.services.results import Markup, Result
from memory.store.data_folder import DataFolder

_SHOWS = Options(via=TERMINAL_ONLY, seconds=120.0)
_CHANGES = Options(via=TERMINAL_ONLY, changes=True, seconds=120.0)


_Line = Annotated[
    str, Field(max_length=200), Param("Line for the profile (default: one that names the owner)", metavar="TEXT")
]


class AccountFound(Result):
    """The result, or the state of the account."""

    found: dict[str, Any]
    words: tuple[str, ...]

    def lines(self, markup: Markup) -> list[str]:
        return [markup.text(line) for line in self.words]

    def data(self) -> dict[str, Any]:
        return {**self.found, "lines": list(self.words)}


class BlueskyAccount(Struct, frozen=True):
    """Commands that run in the service, which has the session, or else with a session of their own."""

    titles: ClassVar = {"bluesky": "Manage the Bluesky account"}

    config: Config

    @operation("bluesky.setup", "Label the account as a bot and name its owner", Action.EXAMINE, _CHANGES)
    async def set_up(self, _caller: Caller, line: _Line = "") -> AccountFound:
        return await self._ask("bluesky.setup", {"line": line})

    @operation(
        "bluesky.status", "Show the status of the account and what was skipped in the past day", Action.EXAMINE, _SHOWS
    )
    async def show(self, _caller: Caller) -> AccountFound:
        return await self._ask("bluesky.status", {})

    async def _ask(self, operation: str, arguments: dict[str, Any]) -> AccountFound:
        if not self.config.serves_bluesky:
            raise UserError(
                "Bluesky is not configured. Set BLUESKY_HANDLE and BLUESKY_APP_PASSWORD, or run `carina init`."
            )
        if (holder := holder_of(DataFolder(self.config.home))) is not None:
            found = await holder.ask(operation, **arguments)
        else:
            module = loaded("bot.interfaces.bluesky")  # loads the library
            found = await module.run_without_service(self.config, operation, arguments)
        return AccountFound(words=tuple(found.pop("lines")), found=found)
