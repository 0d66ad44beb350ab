"""What people call by its name: found whatever the case of its letters, and one wording where there is none."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from bot.errors import UserError
from memory import agents
from memory.agents import Agent, Group
from memory.store.database import Rows
from texts import _, gettext_noop

NO_AGENT = gettext_noop("There is no agent {name}. There are: {known}.")
NO_GROUP = gettext_noop("There is no group {name}. There are: {known}.")
NO_FEED = gettext_noop("There is no feed, calendar or folder {name}. There are: {known}.")
NO_TEMPLATE = gettext_noop("There is no task template {name}. There are: {known}.")
NO_CONSTELLATION = gettext_noop("There is no constellation {name}. There are: {known}.")
_SHOWN = 80  # characters of a name that is not known
LARGEST = 2**63 - 1  # of what SQLite takes as an integer


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def find(every: Iterable[N], name: str, missing: str) -> N:
    """The one of that name. Raises UserError with the text `missing`, which says which there are."""
    known, wanted = list(every), name.strip().removeprefix("@").casefold()
    for each in known:
        if each.name.casefold() == wanted:
            return each
    there = ", ".join(each.name for each in known) or _("none")
    raise UserError(_(missing, name=repr(name[:_SHOWN]), known=there))


def find_agent(rows: Rows, name: str) -> Agent:
    """An agent, also one that is archived, whose memory stays. Raises UserError."""
    return find(agents.every_agent(rows), name, NO_AGENT)


def find_living(rows: Rows, name: str) -> Agent:
    """An agent that is not archived; without a name the first. Raises UserError."""
    known = agents.agents(rows)
    if not known:
        raise UserError("All agents are archived.")
    return find(known, name, NO_AGENT) if name.strip() else known[0]


def find_group(rows: Rows, name: str) -> Group:
    """A group. Raises UserError."""
    return find(agents.groups(rows), name, NO_GROUP)
