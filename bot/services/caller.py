"""Who calls an operation, from where, and who sees the answer."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct

from bot.agents.permissions.who_may import Approver
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
    """Whether an interface offers something that is offered to these.

    The web is the owner's and offers what the terminal does; a person's own page offers what Discord offers everybody.
    """
    like = {Via.WEB: Via.TERMINAL, Via.PAGE: Via.DISCORD}.get(via, via)
    return via in offered or like in offered


TERMINAL_ONLY, DISCORD_ONLY = frozenset({Via.TERMINAL}), frozenset({Via.DISCORD})


IGNORED = gettext_noop(
    "You chose to have me neither keep nor answer what you say. `carina privacy resume` changes that."
)


class Unconfirmed(UserError):
    """The caller must confirm before anything is done; the text is the question."""


class PlaceScope(Struct, frozen=True):
    """A place that messages can be sent to, and its audience."""

    place: PlaceId
    scope: Scope


@dataclass(frozen=True)
class Location:
    """A place with its names for settings, narrowest first: a channel, what contains it, its server."""

    place: PlaceId
    audience: Audience
    """Who hears what is said there."""
    names: tuple[str, ...]
    """Its names for channel modes."""
    bindings: tuple[str, ...]
    """Its names for the routing of groups."""
    parent: str = ""
    """For a thread: the name of its channel."""
    guild: str = ""
    """The name of its server."""
    direct: bool = False
    """Whether it is somebody's direct messages."""


class Caller(Struct, frozen=True):
    """The caller of an operation. The owner at the terminal is one like everybody else."""

    approver: Approver
    via: Via
    scope: Scope
    """Who sees the answer, and what they may know."""
    alone: PlaceScope
    """Where only this person gets messages: what they write there is known nowhere else."""
    trust: Trust
    here: PlaceScope | None = None
    """The place of the call, if others hear it."""
    sure: bool = False
    """Whether they have already confirmed whatever would be asked."""
    location: Location | None = None
    """Where they call, even if nobody else hears it; None at a terminal."""
    locale: str = ""
    """The language of their program, such as "de", if known."""
    shown: str = ""
    """The question that they confirmed; empty if they confirmed in advance."""
    constellation: str = ""
    """The name or id of the constellation that they name; empty for that of the place."""

    @property
    def person(self) -> PersonId:
        return self.approver.person

    @property
    def place(self) -> PlaceId:
        return self.alone.place if self.location is None else self.location.place

    def scope_of_own(self, selves: tuple[PersonId, ...], *, rings: bool = False) -> Scope:
        """The scope for what they set themselves: their own page shows all of it, wherever they set it.

        With `rings`, so do their direct messages: what comes to them is listed, also for who paused.
        """
        whole = self.via is Via.PAGE or (rings and self.location is not None and self.location.direct)
        return Scope(OWNER, frozenset(map(person_audience, selves))) if whole else self.scope

    def confirm(self, question: str) -> None:
        """Raise Unconfirmed unless they have confirmed this question: the interface asks, and calls again."""
        if not self.sure or self.shown not in ("", question):
            raise Unconfirmed(question)


def owner_at_terminal(*, sure: bool = False) -> Caller:
    """Whoever reaches the service's socket, or its data folder, is the owner."""
    scope = Scope(OWNER)
    alone = PlaceScope(PLACE.id, scope)
    return Caller(Approver(PERSON, door="command line"), Via.TERMINAL, scope, alone, Trust.OWNER, sure=sure)
