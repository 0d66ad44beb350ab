"""Which group of agents answers a message: by the names in it, its keywords, its person's state, and its place.

`bot.agents.groups.who_answers` then decides which of its members does.
"""

import re
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct, field

from bot.agents.groups.settings import State
from bot.agents.groups.who_answers import addressed, mentioned_words, signed
from bot.agents.permissions.roles_and_rights import Selves
from memory import agent_groups, agents
from memory.agent_groups import Group
from memory.people import person_states
from memory.people.audience import Scope
from memory.queue.notifications import Kind, Notification, Place
from memory.store.database import Rows
from memory.store.ids import AgentId, GroupId, PersonId

EVERYWHERE_ELSE = "default"
"""The key, among routing set by command, for places without a rule of their own."""


class GroupRouting(Struct, frozen=True):
    """Chooses the group that answers a message: the one that it names, else the one with a keyword in it, else
    (`for_state`) the one for its person's state, else that of the place's first binding with a rule, else the default.
    If "@name" is an agent outside that group, a group in which this agent speaks.

    Routing set by command takes precedence over the configuration and changes while the service runs.
    """

    places: dict[str, GroupId]
    default: GroupId
    decided: dict[str, GroupId] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    """Groups with the names and keywords that address them; `heed` reloads them from the store."""
    names: dict[str, AgentId] = field(default_factory=dict)
    """Agents by name, also reloaded by `heed`."""

    def heed(self, rows: Rows) -> None:
        """Reload names and keywords of groups, and names of agents."""
        self.groups[:] = agent_groups.groups(rows)
        self.names.clear()
        self.names.update({agent.name: agent.id for agent in agents.agents(rows)})

    def __call__(self, place: Place, text: str) -> GroupId:
        called = self._called(text) if text and len(self.groups) > 1 else None
        if called is not None:
            return called
        said = {**self.places, **self.decided}
        bindings = (str(place.id), *place.bindings, EVERYWHERE_ELSE)
        chosen = next((said[binding] for binding in bindings if binding in said), self.default)
        return self._with_the_named(text, chosen) if "@" in text and len(self.groups) > 1 else chosen

    def group_of(self, notification: Notification) -> GroupId | None:
        """The group that answers: the one that the notification names, else that of the place. For an edit, the one
        that stores learned facts again; None if there is nothing to do."""
        answered = notification.answer and notification.kind in (Kind.MESSAGE, Kind.REACTION)
        if not answered and notification.kind != Kind.EDIT:
            return None
        if notification.to:
            return GroupId(notification.to)
        return self(notification.place, notification.text if notification.kind == Kind.MESSAGE else "")

    def for_state(self, rows: Rows, said: Notification, usual: GroupId | None, selves: Selves) -> GroupId | None:
        """The group for the person's state; the usual one if the message names an addressee."""
        there = [group for group in self.groups if group.states]
        if not there or usual is None or said.to or said.person is None or said.kind != Kind.MESSAGE:
            return usual
        if self._called(said.text) or signed(said.text, list(self.names)):
            return usual
        return _group_for(rows, there, selves(said.person), said.place.scope, said.at) or usual

    def _with_the_named(self, text: str, chosen: GroupId) -> GroupId:
        """The chosen group, unless the message names an agent that speaks only in another one."""
        spoken = signed(text, list(self.names))
        if len(spoken) != 1:
            return chosen
        named = self.names[spoken[0]]
        having = [
            group.id
            for group in self.groups
            if group.speaks(named) and (group.id == chosen or (group.mention and group.pattern != "sleeptime"))
        ]
        return chosen if chosen in having or not having else having[0]

    def _called(self, text: str) -> GroupId | None:
        names = {group.name: group.id for group in self.groups if group.mention}
        if spoken := addressed(text, list(names), everybody=False):
            return names[spoken[0]]
        return next((group.id for group in self.groups if mentioned_words(text, group.keywords)), None)


def _group_for(
    rows: Rows, groups: Sequence[Group], people: tuple[PersonId, ...], scope: Scope, now: datetime
) -> GroupId | None:
    """The first of these groups for a person's current state, as far as the scope may know the state."""
    wanted = [(group.id, State.model_validate(state)) for group in groups for state in group.states]
    said = person_states.of(rows, people, scope, now).casefold()
    blocks = {
        label: person_states.noted(rows, people, scope, label) for label in {each.block for _, each in wanted} - {""}
    }
    for group, state in wanted:
        if (state.said and state.said.casefold() == said) or any(
            holds(state, text) for text in blocks.get(state.block, ())
        ):
            return group
    return None


def holds(state: State, content: str) -> bool:
    """Whether a block's text ("name: value" lines) has a field with a value that matches the state."""
    line = re.search(rf"(?m)^(?:- )?{re.escape(state.field)}: (.+)$", content)
    if line is None:
        return False
    value = line[1].strip()
    if state.value:
        return value.casefold() == state.value.casefold()
    number = re.match(r"-?\d+(?:\.\d+)?", value)
    if number is None:
        return False
    return (state.below is not None and float(number[0]) < state.below) or (
        state.above is not None and float(number[0]) > state.above
    )
