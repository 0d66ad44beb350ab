"""Who calls an operation, from where, and who sees the answer."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bot.agents.permissions.policy import Approver
from bot.errors import UserError
from memory.people.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.store.ids import PersonId, PlaceId
from sources.terminal import PERSON, PLACE
from texts import gettext_noop


class Via(StrEnum):
    TERMINAL = "terminal"
    DISCORD = "discord"
    WEB = "web"
    PAGE = "page"
    """A person's own page in a browser."""


def is_offered(via: Via, offered: Collection[str]) -> bool:
    """Whether an interface offers what these do.

    The web is the owner's, and has all that the terminal has; a person's own page has what Discord offers anybody.
    """
    like = {Via.WEB: Via.TERMINAL, Via.PAGE: Via.DISCORD}.get(via, via)
    return via in offered or like in offered


TERMINAL_ONLY, DISCORD_ONLY = frozenset({Via.TERMINAL}), frozenset({Via.DISCORD})


WITHHELD = gettext_noop("You chose to have me neither keep nor answer what you say. {command} changes that.")


class Unconfirmed(UserError):
    """Nothing is done before the caller says yes; the text is the question."""


@dataclass(frozen=True)
class Spoken:
    """A place in which something can be said, and who hears it there."""

    place: PlaceId
    scope: Scope


@dataclass(frozen=True)
class Location:
    """A place as settings name it, narrowest name first: a channel, what is around it, its server."""

    place: PlaceId
    audience: Audience
    """Who hears what is said there."""
    names: tuple[str, ...]
    """As modes name it."""
    bindings: tuple[str, ...]
    """As groups of agents are bound to it."""
    parent: str = ""
    """Of a thread: the name of its channel."""
    guild: str = ""
    """The name of its server."""
    direct: bool = False
    """It is somebody's direct messages."""


@dataclass(frozen=True)
class Caller:
    """Somebody who calls an operation. The owner at the terminal is one like everybody else."""

    approver: Approver
    via: Via
    scope: Scope
    """Those who see the answer, with what they may know."""
    alone: Spoken
    """Where this person alone is told things: what they write down is known there and nowhere else."""
    trust: Trust
    here: Spoken | None = None
    """The place of the call, where others can hear what is said."""
    sure: bool = False
    """They said yes already to whatever they are asked before it is done."""
    location: Location | None = None
    """Where they call, also where nobody else hears them; None at a terminal."""
    locale: str = ""
    """The language of their program, such as "de", where it says so."""
    shown: str = ""
    """The question to which they said yes; empty where they said it unasked."""
    constellation: str = ""
    """The name or id of the one that they name; empty for that of the place where they call."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """What commands are called where they call, by the words of the operation; the others by those."""

    @property
    def person(self) -> PersonId:
        return self.approver.person

    @property
    def place(self) -> PlaceId:
        return self.alone.place if self.location is None else self.location.place

    def scope_of_own(self, selves: tuple[PersonId, ...]) -> Scope:
        """Where what they set themselves is shown: on their own page, where they alone read, wherever they set it."""
        return Scope(OWNER, frozenset(map(person_audience, selves))) if self.via is Via.PAGE else self.scope

    def confirm(self, question: str) -> None:
        """Go on only where they are sure, and of this. Raises Unconfirmed: the interface asks, and calls again."""
        if not self.sure or self.shown not in ("", question):
            raise Unconfirmed(question)

    def command(self, words: str) -> str:
        given = words.split()
        name = next((" ".join(given[:n]) for n in range(len(given), 0, -1) if " ".join(given[:n]) in self.commands), "")
        words = f"{self.commands.get(name, '')}{words.removeprefix(name)}"
        return f"`{'/' if self.via in (Via.DISCORD, Via.PAGE) else 'carina '}{words}`"


def owner_at_terminal(*, sure: bool = False) -> Caller:
    """Whoever reaches the socket of the service, or its data folder, is the owner."""
    scope = Scope(OWNER)
    alone = Spoken(PLACE.id, scope)
    return Caller(Approver(PERSON, door="command line"), Via.TERMINAL, scope, alone, Trust.OWNER, sure=sure)
