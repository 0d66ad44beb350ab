"""Agents and groups that people address by name, as with `/chat`, and the group that answers for them."""

from collections.abc import Callable

from msgspec import Struct

from bot.errors import UserError
from bot.services.names import find_agent, find_group
from bot.services.people.place_settings import Places
from bot.services.transactions import reads
from memory import agent_groups, agents
from memory.queue.notifications import Notification, Place
from memory.store.database import Database, Rows
from memory.store.ids import GroupId
from memory.store.records import replace
from texts import _


class Addressee(Struct, frozen=True):
    """An addressee: the name as written, and the group that answers."""

    name: str
    group: GroupId


class Addressees(Struct, frozen=True):
    """Direct messages to agents in one constellation; `receive` accepts them like any other."""

    database: Database
    places: Places
    receive: Callable[[Notification], None]

    @reads
    def names(self, rows: Rows) -> list[str]:
        return [agent.name for agent in agents.agents(rows)]

    @reads
    def agent(self, rows: Rows, name: str, place: Place) -> Addressee:
        """An agent by name, in the place's group if it is a member, else in its first group.

        Raises UserError.
        """
        found = find_agent(rows, name)
        if found.status != "active":
            raise UserError(
                "{name} is {status}, so it does not answer. Choose another agent.",
                name=found.name,
                status=_(found.status),
            )
        here = self.places.answering(place, "")
        groups = [each for each in agent_groups.groups_of(rows, found.id) if each.speaks(found.id)]
        if not groups:
            raise UserError("{name} is in no group. `carina group add member` adds it to one.", name=found.name)
        return Addressee(found.name, next((each for each in groups if each.id == here), groups[0]).id)

    @reads
    def group(self, rows: Rows, name: str) -> Addressee:
        """A group by name. Raises UserError."""
        found = find_group(rows, name)
        if not agent_groups.answering(rows, found):
            raise UserError(
                "Every agent in {name} is archived or hibernated, so nobody answers. Choose another group.",
                name=found.name,
            )
        return Addressee(found.name, found.id)

    def say(self, notification: Notification, to: Addressee) -> None:
        """Send a person's message to the addressee, as if it began with that name."""
        self.receive(replace(notification, text=f"{to.name}: {notification.text}", to=to.group))
