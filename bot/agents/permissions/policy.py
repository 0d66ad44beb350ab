"""Who may do what, decided in one place for every interface.

Pure functions over plain values. A test compares the table in `docs/permissions.md` with this module.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum, StrEnum
from typing import Literal, TypeAlias

from bot.errors import UserError
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust
from memory.queue.turns import Turn
from memory.requests import Kind, Need, Request, Status, Verdict, may_answer
from memory.store.ids import PersonId

GRANT_HOUR = timedelta(hours=1)


class Standing(Enum):
    """What somebody is to the constellation, from most to least."""

    OWNER = "the owner"
    ADMIN = "an admin"
    PERSON = "anybody"


class Action(StrEnum):
    """What a command does, by the right that it takes."""

    HELP = "see help"
    SEARCH = "search what they are allowed to know"
    READ_MEMORY = "see the memory they are allowed to know"
    KEEP = "save something for when an agent talks to them alone"
    ANSWER = "answer a request addressed to them"
    STATUS = "see the status of the service"
    EXAMINE = "check the whole installation"
    AGENTS = "create, change and archive agents and groups"
    EXPORT = "export agents and groups with all their settings"
    RESTART = "restart the service"
    WEB = "sign in to the dashboard and make API tokens"
    PERMITS = "see requests and lasting permissions"
    GRANT = "give a lasting permission before an agent asks for it"
    REVOKE = "revoke a lasting permission"
    AUDIT = "read the audit log of permissions"
    PEOPLE = "let people in, block them, and see who is let in or blocked"
    COORDINATE = "assign tasks to agents, hand over work and leave notes"
    COST = "see what models cost"
    BUDGET = "set budgets for models"
    STEER = "set how a channel is heard and which group answers there"
    SLEEP = "hibernate and wake agents"
    SOURCES = "pause and resume a source"
    BACKUP = "make and list backups"
    AGENDA = "manage their own tasks, reminders and quiet hours"
    UNDO_NIGHT = "undo what agents wrote in a night without supervision"
    JOBS = "see, run, pause and resume scheduled jobs"
    FOLDERS = "make folders of files and choose which agents can use them"
    HALT = "halt everything and release the halt"
    INBOX = "see and retry incoming messages"
    OUTBOX = "see what could not be delivered, and resend or drop it"
    PRIVACY = "see, export, pause and erase what is kept about themselves"
    PRIVACY_OF_OTHERS = "see, export, pause and erase what is kept about somebody else"
    LINK = "link their own accounts, so that they count as one person"
    WHY = "ask why something was said"
    CHANGE_OWN = "forget, correct or keep to direct messages what is their own"
    EDIT_OWN = "edit blocks about themselves and undo changes"
    SHARE = "share a block with another agent and stop sharing it"
    WIDEN = "let more people know a block that holds only their own words"
    EDIT_ANY = "edit and restore any block except those of other people's direct messages, and check all blocks"
    CHANGE_ANY = "forget or correct what others said, except in their direct messages"


_LEAST = {
    Action.HELP: Standing.PERSON,
    Action.SEARCH: Standing.PERSON,
    Action.READ_MEMORY: Standing.PERSON,
    Action.KEEP: Standing.PERSON,
    Action.ANSWER: Standing.PERSON,
    Action.STATUS: Standing.ADMIN,
    Action.EXAMINE: Standing.OWNER,
    Action.AGENTS: Standing.OWNER,
    Action.EXPORT: Standing.OWNER,
    Action.RESTART: Standing.OWNER,
    Action.WEB: Standing.OWNER,
    Action.PERMITS: Standing.ADMIN,
    Action.GRANT: Standing.OWNER,
    Action.REVOKE: Standing.ADMIN,
    Action.AUDIT: Standing.OWNER,
    Action.PEOPLE: Standing.OWNER,
    Action.COORDINATE: Standing.ADMIN,
    Action.COST: Standing.ADMIN,
    Action.BUDGET: Standing.OWNER,
    Action.STEER: Standing.ADMIN,
    Action.SLEEP: Standing.ADMIN,
    Action.SOURCES: Standing.OWNER,
    Action.BACKUP: Standing.OWNER,
    Action.AGENDA: Standing.PERSON,
    Action.UNDO_NIGHT: Standing.ADMIN,
    Action.JOBS: Standing.ADMIN,
    Action.FOLDERS: Standing.OWNER,
    Action.HALT: Standing.ADMIN,
    Action.INBOX: Standing.ADMIN,
    Action.OUTBOX: Standing.OWNER,
    Action.PRIVACY: Standing.PERSON,
    Action.PRIVACY_OF_OTHERS: Standing.OWNER,
    Action.LINK: Standing.PERSON,
    Action.WHY: Standing.PERSON,
    Action.CHANGE_OWN: Standing.PERSON,
    Action.EDIT_OWN: Standing.PERSON,
    Action.SHARE: Standing.OWNER,
    Action.WIDEN: Standing.PERSON,
    Action.EDIT_ANY: Standing.OWNER,
    Action.CHANGE_ANY: Standing.OWNER,
}


@dataclass(frozen=True)
class People:
    """Who is in charge. `owner` are the ids under which the owner is known on each platform.

    `admins` are person ids, and roles as "role:<guild>:<role>", which count in their own guild only.
    """

    owner: tuple[PersonId, ...]
    admins: tuple[str, ...] = ()
    quorum: int = 1
    """How many of them must say yes to what is asked of owner and admins."""
    links: dict[PersonId, frozenset[PersonId]] = field(default_factory=dict)
    """For every account that was linked, all accounts of its person; kept up while the service runs."""

    @property
    def in_charge(self) -> tuple[str, ...]:
        return (*self.owner, *self.admins)

    def selves(self, person: PersonId) -> tuple[PersonId, ...]:
        """Every account of a person, that one first. The owner's are one by configuration, with all linked to any."""
        found = {person} | self.links.get(person, frozenset())
        if not found.isdisjoint(self.owner):
            found = found.union(self.owner, *(self.links.get(each, ()) for each in self.owner))
        return (person, *sorted(found - {person}))


@dataclass(frozen=True)
class Approver:
    """Somebody who answers, or gives a command. `roles` are those that count where they do it; `name` is flattened."""

    person: PersonId
    name: str = ""
    roles: frozenset[str] = frozenset()
    door: str = ""
    account: str = ""
    """Their handle where the door has handles, flattened; for words beside the id, never for a decision."""

    @property
    def identities(self) -> tuple[str, ...]:
        return (self.person, *sorted(self.roles))


def role_identity(guild: int, role: int) -> str:
    """How a role stands among admins and approvers."""
    return f"role:{guild}:{role}"


def standing(people: People, who: Approver) -> Standing:
    """What somebody is to the constellation, in the place where they act."""
    if who.person in people.owner:
        return Standing.OWNER
    if not set(people.admins).isdisjoint(who.identities):
        return Standing.ADMIN
    return Standing.PERSON


def may(people: People, who: Approver, action: Action) -> bool:
    """Whether somebody may give a command of that right."""
    order = list(Standing)
    return order.index(standing(people, who)) <= order.index(_LEAST[action])


def require(people: People, who: Approver, action: Action) -> None:
    """Raise UserError, in words for them, when somebody may not give a command of that right."""
    if not may(people, who, action):
        raise UserError(f"Only {_LEAST[action].value} may {action.value}.")


def table() -> list[tuple[Action, Standing]]:
    """Every action with the least standing that it takes, for the docs."""
    return list(_LEAST.items())


def approvers(people: People, need: Need, turn: Turn) -> tuple[tuple[str, ...], int]:
    """Who may answer, and how many must say yes.

    Someone who is asked in person is asked only about a turn of their own: what others said is not shown to them.
    """
    if need.asks is not None and need.asks == turn.person:
        return (need.asks,), 1
    if need.kind is Kind.SOURCE:
        return (), 1  # words can be carried on only by those who said them
    return people.in_charge, people.quorum


Asks: TypeAlias = Literal["never", "private", "always"]
"""Whether calls of a tool ask whoever they are made for; "private": where not everybody may know what is said."""


@dataclass(frozen=True)
class Caution:
    """When calls of a tool are asked for, whatever they say, and what a lasting yes to one is bound to.

    Turns of less trust than `trusted` ask. `bound` names the arguments that a grant fixes, None for all of them.
    """

    trusted: Trust = Trust.WEB
    asks: Asks = "never"
    bound: tuple[str, ...] | None = None
    once_only: bool = False
    edition: str = ""
    """What somebody else says the tool does, as a digest: a yes is for that and no other. Empty for ours."""
    goes_to: str = ""
    """Who is told what the call says, in words; empty for nobody outside."""


def subject(tool: str, caution: Caution) -> str:
    """What a yes to calls of a tool is for."""
    return f"{tool}@{caution.edition}" if caution.edition else tool


def call_needs(turn: Turn, tool: str, consent: Collection[str], caution: Caution) -> Need | None:
    """Why a call of a tool may not run by itself, as far as its name and the turn decide that.

    `consent` are the tools for which the agent's rules want a yes.
    """
    if tool in consent:
        reason = f"the agent's rules want a yes before {tool}"
    elif turn.trust < caution.trusted:
        reason = f"{tool} was called for somebody who is not trusted with it ({turn.trust.name.lower()})"
    elif caution.asks == "always":
        reason = f"{tool} is never called without a yes"
    elif caution.asks == "private" and turn.scope.audience != PUBLIC:
        reason = f"{tool} could carry out of here what not everybody may know"
    else:
        return None
    reason += f", and what it is given goes to {caution.goes_to}" if caution.goes_to else ""
    return Need(Kind.TOOL, subject(tool, caution), reason, once_only=caution.once_only)


class Change(StrEnum):
    """What somebody does to one memory."""

    FORGET = "forget"
    CORRECT = "correct"
    NARROW = "narrow"


_DONE = {Change.FORGET: "forgotten", Change.CORRECT: "corrected", Change.NARROW: "kept to direct messages"}


@dataclass(frozen=True)
class Held:
    """A memory as far as rights go: whose words it holds, who knows it, and what can be done to its kind at all."""

    people: tuple[PersonId, ...]
    audience: Audience
    changes: Collection[Change]


def change_refusal(people: People, who: Approver, change: Change, held: Held) -> str:
    """Why somebody may not do that to a memory, in words for them; empty when they may.

    That they may know it where they ask is for whoever reads it to see to.
    """
    if change not in held.changes:
        return f"This is nothing that can be {_DONE[change]}."
    own = people.selves(who.person)
    theirs = not set(own).isdisjoint(held.people) and may(people, who, Action.CHANGE_OWN)
    alone = theirs and set(own).issuperset(held.people)
    any_other = may(people, who, Action.CHANGE_ANY) and Scope(OWNER).may_use(held.audience)
    match change:
        case Change.NARROW if alone:
            return ""
        case Change.NARROW:
            return "Only the person whose words these are, and nobody else's with them, can keep them to themselves."
        case Change.CORRECT if alone or any_other:
            return ""
        case Change.FORGET if theirs or any_other:
            return ""
        case _:
            return f"This is not yours to be {_DONE[change]}: it holds words of others."


def refusal(request: Request, who: Approver, verdict: Verdict) -> str:
    """Why this answer does not count, in words for who gave it; empty when it does."""
    if not may_answer(request, who.identities):
        return "This is not yours to answer: those who may were chosen when it was asked."
    match request.status:
        case Status.EXPIRED:
            return "This question has expired; nothing was done. The agent can ask again."
        case Status.WITHDRAWN:
            return "This question was taken back; nothing is done."
        case Status.WAITING:
            pass
        case _:
            return "This is decided already."
    if verdict in (Verdict.HOUR, Verdict.ALWAYS) and request.once_only:
        return "This can be allowed once at a time only."
    return ""
