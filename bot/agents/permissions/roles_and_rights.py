"""The owner and admins, the commands of each role, and who may change which memory.

Pure functions over plain values. `who_may_approve.py` decides who may approve calls of agents. A test compares the
table in `docs/permissions.md` with this module.
"""

from collections.abc import Callable, Collection
from enum import Enum, StrEnum
from typing import TypeAlias

from msgspec import Struct, field

from bot.errors import UserError
from memory.people.audience import OWNER, Audience, Scope
from memory.store.ids import PersonId
from texts import _, gettext_noop


class Rank(Enum):
    """A person's role in the constellation, from most to least."""

    OWNER = gettext_noop("the owner")
    ADMIN = gettext_noop("an admin")
    PERSON = "anybody"


class Action(StrEnum):
    """The right that a command needs, and the lowest role that has it."""

    least: Rank

    def __new__(cls, words: str, least: Rank) -> "Action":
        made = str.__new__(cls, words)
        made._value_, made.least = words, least
        return made

    HELP = gettext_noop("see help"), Rank.PERSON
    SEARCH = gettext_noop("search what they are allowed to see"), Rank.PERSON
    READ_MEMORY = gettext_noop("see the memory they are allowed to see"), Rank.PERSON
    KEEP = gettext_noop("save something for private conversations"), Rank.PERSON
    ANSWER = gettext_noop("answer a request addressed to them"), Rank.PERSON
    STATUS = gettext_noop("see the status of the service, its agents and its groups"), Rank.ADMIN
    EXAMINE = gettext_noop("check the whole installation"), Rank.OWNER
    AGENTS = gettext_noop("create, change and archive agents and groups"), Rank.OWNER
    EXPORT = gettext_noop("export agents and groups with all their settings"), Rank.OWNER
    RESTART = gettext_noop("restart the service"), Rank.OWNER
    CONSTELLATIONS = gettext_noop("create, list and delete constellations and assign places to them"), Rank.OWNER
    WEB = gettext_noop("sign in to the dashboard and create API tokens"), Rank.OWNER
    PERMITS = gettext_noop("see requests and lasting permissions"), Rank.ADMIN
    GRANT = gettext_noop("give a lasting permission before an agent asks for it"), Rank.OWNER
    REVOKE = gettext_noop("revoke a lasting permission"), Rank.ADMIN
    AUDIT = gettext_noop("read the audit log of permissions"), Rank.OWNER
    PEOPLE = gettext_noop("allow and block people, and see who is allowed or blocked"), Rank.OWNER
    COORDINATE = gettext_noop("assign tasks to agents, hand over work and leave notes"), Rank.ADMIN
    COST = gettext_noop("see what models cost"), Rank.ADMIN
    BUDGET = gettext_noop("set budgets for models"), Rank.OWNER
    STEER = gettext_noop("set which messages are answered in a channel, and by which group"), Rank.ADMIN
    SLEEP = gettext_noop("hibernate and wake agents"), Rank.ADMIN
    SOURCES = gettext_noop("pause and resume a source"), Rank.OWNER
    BACKUP = gettext_noop("make and list backups"), Rank.OWNER
    AGENDA = gettext_noop("manage their own tasks, reminders and quiet hours"), Rank.PERSON
    UNDO_NIGHT = gettext_noop("undo what agents wrote on their own overnight"), Rank.ADMIN
    JOBS = gettext_noop("see, run, pause and resume scheduled jobs"), Rank.ADMIN
    FOLDERS = gettext_noop("create folders of files and choose which agents can use them"), Rank.OWNER
    HALT = gettext_noop("halt everything and release the halt"), Rank.ADMIN
    INBOX = gettext_noop("see and retry incoming messages"), Rank.ADMIN
    OUTBOX = gettext_noop("see, resend and discard undelivered messages"), Rank.OWNER
    PRIVACY = (
        gettext_noop("see, export and erase what is kept about themselves, and pause data collection"),
        Rank.PERSON,
    )
    PRIVACY_OF_OTHERS = (
        gettext_noop("see, export and erase what is kept about somebody else, and pause data collection"),
        Rank.OWNER,
    )
    LINK = gettext_noop("link their own accounts"), Rank.PERSON
    WHY = gettext_noop("ask why something was said"), Rank.PERSON
    CHANGE_OWN = gettext_noop("forget or correct what is their own, or limit it to direct messages"), Rank.PERSON
    EDIT_OWN = gettext_noop("edit blocks about themselves and undo changes"), Rank.PERSON
    BLOCKS = gettext_noop("create, change and delete memory blocks"), Rank.ADMIN
    SHARE = gettext_noop("share a block with another agent and stop sharing it"), Rank.OWNER
    WIDEN = gettext_noop("share a block that contains only their own words"), Rank.PERSON
    EDIT_ANY = (
        gettext_noop(
            "edit and restore all blocks except those from other people's direct messages, and check all blocks"
        ),
        Rank.OWNER,
    )
    CHANGE_ANY = gettext_noop("forget or correct what others said, except in their direct messages"), Rank.OWNER


Selves: TypeAlias = Callable[[PersonId], tuple[PersonId, ...]]
"""Gives all accounts of a person: `People.selves`."""


class People(Struct, frozen=True):
    """The people with a role. `owner` are the owner's ids on each platform.

    `admins` are person ids, and roles as "role:<guild>:<role>", which count only in their own guild.
    """

    owner: tuple[PersonId, ...]
    admins: tuple[str, ...] = ()
    quorum: int = 1
    """How many of owner and admins must approve a request."""
    links: dict[PersonId, frozenset[PersonId]] = field(default_factory=dict)
    """For every linked account, all accounts of its person; updated while the service runs."""

    @property
    def in_charge(self) -> tuple[str, ...]:
        return (*self.owner, *self.admins)

    def selves(self, person: PersonId) -> tuple[PersonId, ...]:
        """All accounts of a person, this one first; for the owner, the configured ones and all linked to them."""
        found = {person} | self.links.get(person, frozenset())
        if not found.isdisjoint(self.owner):
            found = found.union(self.owner, *(self.links.get(each, ()) for each in self.owner))
        return (person, *sorted(found - {person}))


class Approver(Struct, frozen=True):
    """A person who answers or uses a command. `roles` are those in that place; `name` is flattened."""

    person: PersonId
    name: str = ""
    roles: frozenset[str] = frozenset()
    interface: str = ""
    account: str = ""
    """Their handle, flattened, if the interface has handles; shown next to the id, never used for a decision."""

    @property
    def identities(self) -> tuple[str, ...]:
        return (self.person, *sorted(self.roles))


def role_identity(guild: int, role: int) -> str:
    """The id of a role in lists of admins and approvers."""
    return f"role:{guild}:{role}"


def rank_of(people: People, who: Approver) -> Rank:
    """A person's role in the constellation, in the place where they act."""
    if who.person in people.owner:
        return Rank.OWNER
    if not set(people.admins).isdisjoint(who.identities):
        return Rank.ADMIN
    return Rank.PERSON


def may(people: People, who: Approver, action: Action) -> bool:
    """Whether a person may give a command with that right."""
    order = list(Rank)
    return order.index(rank_of(people, who)) <= order.index(action.least)


def require(people: People, who: Approver, action: Action) -> None:
    """Raise UserError, with a text for the person, if they may not use such a command."""
    if not may(people, who, action):
        raise UserError("Only {value} may {action}.", value=_(action.least.value), action=_(action.value))


class Change(StrEnum):
    FORGET = "forget"
    CORRECT = "correct"
    NARROW = "narrow"


_CANNOT = {
    Change.FORGET: gettext_noop("This cannot be forgotten."),
    Change.CORRECT: gettext_noop("This cannot be corrected."),
    Change.NARROW: gettext_noop("This cannot be limited to direct messages."),
}
_NOT_YOURS = {
    Change.FORGET: gettext_noop("You cannot have this forgotten, because it contains other people's words."),
    Change.CORRECT: gettext_noop("You cannot correct this, because it contains other people's words."),
    Change.NARROW: gettext_noop("You cannot limit this to direct messages, because it contains other people's words."),
}


class MemoryRights(Struct, frozen=True):
    """The properties of a memory that decide rights: whose words it holds, its audience, and what its kind permits."""

    people: tuple[PersonId, ...]
    audience: Audience
    changes: Collection[Change]


def change_refusal(people: People, who: Approver, change: Change, held: MemoryRights) -> str:
    """Why a person may not change a memory in this way, in words for them; empty if they may.

    The caller checks whether they may know it in this place.
    """
    if change not in held.changes:
        return _(_CANNOT[change])
    own = people.selves(who.person)
    theirs = not set(own).isdisjoint(held.people) and may(people, who, Action.CHANGE_OWN)
    alone = theirs and set(own).issuperset(held.people)
    any_other = may(people, who, Action.CHANGE_ANY) and Scope(OWNER).may_use(held.audience)
    match change:
        case Change.NARROW if alone:
            return ""
        case Change.NARROW:
            return _("Only the person who said this can make it private, and only if it contains nobody else's words.")
        case Change.CORRECT if alone or any_other:
            return ""
        case Change.FORGET if theirs or any_other:
            return ""
        case _:
            return _(_NOT_YOURS[change])
