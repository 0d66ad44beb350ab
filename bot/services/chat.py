"""Talking to one agent or group by name, in whatever place: who answers is named, and the rest is as always."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.errors import UserError
from bot.services.approvals import Approvals
from bot.services.named import find_agent, find_group
from bot.services.places import Places
from memory import agents
from memory.agents import Group
from memory.store.database import Rows
from memory.store.ids import AgentId, GroupId
from sources.base import Notification, Place
from texts import _


@dataclass(frozen=True)
class Addressee:
    """Who is talked to: the name as it is written, and the group that answers."""

    name: str
    group: GroupId


@dataclass(frozen=True)
class Talking:
    """In one constellation; `receive` takes what is said as if it had been heard."""

    approvals: Approvals
    places: Places
    receive: Callable[[Notification], None]

    async def agent(self, name: str, place: Place) -> Addressee:
        """An agent by name, in the group that answers in the place if it is in it, else in its first one.

        Raises UserError.
        """

        def read(rows: Rows) -> Addressee:
            found = find_agent(rows, name)
            if found.status != "active":
                raise UserError(
                    _("{name} is {status}, so it does not answer.", name=found.name, status=_(found.status))
                )
            here = self.places.answering(place, "")
            groups = [each for each in agents.groups_of(rows, found.id) if _speaks(each, found.id)]
            if not groups:
                raise UserError(
                    _(
                        "{name} is in no group. At a terminal, `carina group add member` adds it to one.",
                        name=found.name,
                    )
                )
            return Addressee(found.name, next((each for each in groups if each.id == here), groups[0]).id)

        return await self.approvals.database.read(read)

    async def group(self, name: str) -> Addressee:
        """A group by name. Raises UserError."""

        def read(rows: Rows) -> Addressee:
            found = find_group(rows, name)
            if not agents.answering(rows, found):
                raise UserError(_("Everyone in {name} is archived, so nobody answers.", name=found.name))
            return Addressee(found.name, found.id)

        return await self.approvals.database.read(read)

    def say(self, notification: Notification, to: Addressee) -> None:
        """Have somebody's words answered by who is named. Its text begins with that name, as if it were written."""
        self.receive(replace(notification, text=f"{to.name}: {notification.text}", to=to.group))


def _speaks(group: Group, agent: AgentId) -> bool:
    return any(member.agent == agent and member.role != "observer" for member in group.members)
