"""Constellations by command."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from bot.config.agent_files import problem_with
from bot.config.tables import Constellation as Section
from bot.errors import UserError
from memory import agents
from memory.queue import inbox
from memory.store.constellation import Constellation, Constellations
from memory.store.database import Rows
from memory.store.ids import ConstellationId
from sources.terminal import PERSON

Listing: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True)
class ConstellationCommands:
    """The constellations of the data folder."""

    registry: Constellations
    configured: ConstellationId

    def handlers(self) -> dict[str, Callable[..., Awaitable[Any]]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "constellation.list": self.constellations,
            "constellation.create": self.create,
            "constellation.status": self.status,
        }

    async def constellations(self) -> Listing:
        """Every constellation of the data folder."""
        return [self._line(each) for each in self.registry.all()]

    async def create(self, name: str) -> Listing:
        """Make an empty constellation. Raises UserError for a name that no configuration takes, or that is there."""
        if wrong := problem_with(Section, name=name):
            raise UserError(f"constellation create: the name: {wrong}")
        known = [each.name for each in self.registry.all()]
        if name.casefold() in map(str.casefold, known):
            raise UserError(f'there is a constellation "{name}" already')
        return [self._line(await self.registry.ensure(name, PERSON))]

    async def status(self, name: str = "") -> dict[str, Any]:
        """How much is in a constellation; without a name in the one that runs. Raises UserError."""
        found = self._find(name)

        def read(rows: Rows) -> dict[str, Any]:
            every = agents.every_agent(rows)
            return {
                "agents": [each.name for each in every if each.status == "active"],
                "hibernated": [each.name for each in every if each.status == "hibernated"],
                "archived": [each.name for each in every if each.status == "archived"],
                "groups": [each.name for each in agents.groups(rows)],
                "waiting": inbox.counts(rows)["waiting"],
            }

        async with self.registry.use(found.id) as database:
            return {**self._line(found), **await database.read(read), "bytes": found.path.stat().st_size}

    def _find(self, name: str) -> Constellation:
        every = self.registry.all()
        for each in every:
            if each.name.casefold() == name.casefold() if name else each.id == self.configured:
                return each
        raise UserError(f"there is no constellation {name[:80]!r}; there are: {', '.join(each.name for each in every)}")

    def _line(self, found: Constellation) -> dict[str, Any]:
        runs = found.id == self.configured
        return {
            "constellation": found.name,
            "id": found.id,
            "state": "the one of the configuration" if runs else f'runs with constellation.name = "{found.name}"',
        }
