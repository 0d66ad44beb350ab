"""Everything about agents, groups and constellations that is done by command."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bot.config import Config
from bot.config.exchange import problem_with
from bot.config.sections import Constellation as Section
from bot.desks.approving import Approvals
from bot.desks.community import Moved
from bot.desks.grouping import Grouping
from bot.desks.staff import Listing, Staff
from bot.desks.steering import Steering
from bot.errors import UserError
from memory import agents, inbox
from memory.constellation import Constellation
from memory.database import Rows
from sources.terminal import PERSON


@dataclass(frozen=True)
class Household:
    """The agents and groups of the constellation that runs, and the constellations of the data folder."""

    staff: Staff
    grouping: Grouping
    approvals: Approvals

    def handlers(self) -> dict[str, Callable[..., Awaitable[Any]]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        own: dict[str, Callable[..., Awaitable[Any]]] = {
            "constellation.list": self.constellations,
            "constellation.create": self.create,
            "constellation.status": self.status,
        }
        return {**self.staff.handlers(), **self.grouping.handlers(), **own}

    async def constellations(self) -> Listing:
        """Every constellation of the data folder."""
        return [self._line(each) for each in self.approvals.constellations.all()]

    async def create(self, name: str) -> Listing:
        """Make an empty constellation. Raises UserError for a name that no configuration takes, or that is there."""
        if wrong := problem_with(Section, name=name):
            raise UserError(f"constellation create: the name: {wrong}")
        known = [each.name for each in self.approvals.constellations.all()]
        if name.casefold() in map(str.casefold, known):
            raise UserError(f'there is a constellation "{name}" already')
        return [self._line(await self.approvals.constellations.ensure(name, PERSON))]

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

        async with self.approvals.constellations.use(found.id) as database:
            return {**self._line(found), **await database.read(read), "bytes": found.path.stat().st_size}

    def _find(self, name: str) -> Constellation:
        every = self.approvals.constellations.all()
        for each in every:
            if each.name.casefold() == name.casefold() if name else each.id == self.approvals.house:
                return each
        raise UserError(f"there is no constellation {name[:80]!r}; there are: {', '.join(each.name for each in every)}")

    def _line(self, found: Constellation) -> dict[str, Any]:
        runs = found.id == self.approvals.house
        return {
            "constellation": found.name,
            "id": found.id,
            "state": "the one of the configuration" if runs else f'runs with constellation.name = "{found.name}"',
        }


def open_household(config: Config, approvals: Approvals, steering: Steering, moved: Moved) -> Household:
    """Make it for one constellation."""
    staff = Staff(config, approvals, steering.answering, moved)
    return Household(staff, Grouping(config, approvals, steering), approvals)
