"""The agents and groups of the configuration's file beside those of the database: what differs, and applying the file.

A start creates what the database does not know and leaves the rest, so a table that was changed later is applied here.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from bot.agents.permissions.policy import Action
from bot.config.agent_files import Exchange, read_exchange
from bot.errors import ConfigError, UserError
from bot.services.agent_tables import CHANGES, HERE, Difference
from bot.services.agents import Agents
from bot.services.caller import Caller
from bot.services.groups import Groups
from bot.services.parameters import NoArguments
from bot.services.registry import Told, operation
from bot.services.results import Ink, Lines, Row

_SHOWN = 60  # characters of a value; `--json` has all of it


class DifferenceRow(Row):
    """A key that the file and the database do not have alike; without a key, something that is in the file alone."""

    kind: str
    name: str
    key: str
    database: Any
    file: Any

    def line(self, ink: Ink) -> str:
        whose = f"{self.kind} {self.name}"
        if not self.key:
            return ink.text(f"{whose}: not in the database yet; the next start creates it")
        return ink.text(
            f"{whose}, {self.key}: {_short(self.database)} in the database, {_short(self.file)} in the file"
        )


class Applied(Row):
    """What was done with an agent or group."""

    kind: str
    name: str
    did: str

    def line(self, ink: Ink) -> str:
        return ink.text(f"{self.kind} {self.name}: {self.did}")


@dataclass(frozen=True)
class ConfigurationFile:
    """The file as it is now, not as it was when the service started."""

    titles: ClassVar = {"config": "Compare carina.toml with the database, and apply it"}

    path: Path
    agents: Agents
    groups: Groups

    @operation("config.diff", "Show how agents and groups in carina.toml differ from the database", Action.STATUS,
               Told(via=HERE))  # fmt: skip
    async def diff(self, _caller: Caller, arguments: NoArguments) -> Lines[DifferenceRow]:
        """Agents and groups that are not in the file are left out: it says nothing of them."""
        del arguments
        found = await self._differences(self._read())
        rows = (
            DifferenceRow(kind=kind, name=each.name, key=each.key, database=each.database, file=each.file)
            for kind, each in found
        )
        same = f"Agents and groups are as in {self.path.name}."
        return Lines(rows=tuple(rows), empty=same if self.path.exists() else f"There is no {self.path.name}.")

    @operation("config.apply", "Apply the agents and groups of carina.toml to the database", Action.AGENTS, CHANGES)
    async def apply(self, _caller: Caller, arguments: NoArguments) -> Lines[Applied]:
        """Only those that differ; memory stays as it is."""
        del arguments
        file = self._read()
        differing = {(kind, each.name) for kind, each in await self._differences(file)}
        agents = [each for each in file.agents if ("agent", each.name) in differing]
        groups = [each for each in file.groups if ("group", each.name) in differing]
        done = [Applied(kind="agent", name=each.agent, did=each.did) for each in await self._save_agents(agents)]
        try:
            changed = (await self.groups.save(groups)).rows if groups else ()
        except UserError as error:
            before = f"the agents were applied ({', '.join(each.name for each in done)}), the groups were not: "
            raise UserError(f"{before if done else ''}{error}") from error
        done += [Applied(kind="group", name=each.group, did=each.did) for each in changed]
        return Lines(rows=tuple(done), empty=f"Nothing to apply: agents and groups are as in {self.path.name}.")

    async def _save_agents(self, wanted: Sequence[Any]) -> Sequence[Any]:
        return (await self.agents.save(wanted)).rows if wanted else ()

    async def _differences(self, file: Exchange) -> list[tuple[str, Difference]]:
        agents = await self.agents.differences(file.agents)
        groups = await self.groups.differences(file.groups)
        return [*(("agent", each) for each in agents), *(("group", each) for each in groups)]

    def _read(self) -> Exchange:
        """Raises UserError for a file that is there and cannot be used."""
        try:
            text = self.path.read_text("utf-8") if self.path.exists() else ""
            return read_exchange(text, self.path.name, needed=False)
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{self.path} cannot be read: {error}") from error
        except ConfigError as error:
            raise UserError(str(error)) from error


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, default=sorted)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
