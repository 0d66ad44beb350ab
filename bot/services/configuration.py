"""The agents and groups of the configuration's file beside those of the database: what differs, and applying the file.

A start creates what the database does not know and leaves the rest, so a table that was changed later is applied here.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bot.agents.permissions.policy import Action
from bot.config.agent_files import Exchange, read_exchange
from bot.errors import UserError
from bot.services.agent_tables import CHANGES, HERE, Changed, Changes, Difference, explained
from bot.services.agents import Agents
from bot.services.caller import Caller
from bot.services.groups import Groups
from bot.services.registry import Options, operation
from bot.services.results import Lines
from memory.store.database import Tx
from memory.store.faults import commit_point
from texts import _, gettext_noop

_APPLY = commit_point("config.apply")


@dataclass(frozen=True)
class ConfigurationFile:
    """The file as it is now, not as it was when the service started."""

    titles: ClassVar = {"config": "Compare carina.toml with the database, and apply it"}

    path: Path
    agents: Agents
    groups: Groups

    @operation("config.diff", "Show how agents and groups in carina.toml differ from the database", Action.STATUS,
               Options(via=HERE))  # fmt: skip
    async def diff(self, _caller: Caller) -> Lines[Difference]:
        """Agents and groups that are not in the file are left out: it says nothing of them."""
        same = gettext_noop("Agents and groups are as in {file}.")
        empty = _(same if self.path.exists() else gettext_noop("There is no {file}."), file=self.path.name)
        return Lines(rows=tuple(await self._differences(self._read())), empty=empty)

    @operation("config.apply", "Apply the agents and groups of carina.toml to the database", Action.AGENTS, CHANGES)
    async def apply(self, _caller: Caller) -> Changes:
        """Only those that differ, all of them or none; memory stays as it is."""
        file = self._read()
        differing = {(each.kind, each.name) for each in await self._differences(file)}
        agents = [each for each in file.agents if ("agent", each.name) in differing]
        groups = [each for each in file.groups if ("group", each.name) in differing]

        def work(tx: Tx) -> tuple[Changed, ...]:
            return (*self.agents.store(tx, agents), *self.groups.store(tx, groups))

        done: tuple[Changed, ...] = ()
        if differing:
            with explained():
                done = await self.agents.approvals.database.write(_APPLY, work, durable=True)
            await self.groups.place(groups)
        empty = _("Nothing to apply: agents and groups are as in {file}.", file=self.path.name)
        return Lines(rows=done, empty=empty)

    async def _differences(self, file: Exchange) -> list[Difference]:
        return [*await self.agents.differences(file.agents), *await self.groups.differences(file.groups)]

    def _read(self) -> Exchange:
        """Raises UserError for a file that is there and cannot be used."""
        try:
            with explained():
                text = self.path.read_text("utf-8") if self.path.exists() else ""
                return read_exchange(text, self.path.name, needed=False)
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(_("{path} cannot be read: {error}.", path=self.path, error=error)) from error
