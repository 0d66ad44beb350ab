"""The caller of an operation: who, from where, and who sees the answer."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct

from bot.agents.permissions.roles_and_rights import Approver
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
    """Whether an interface offers an operation that is offered to these.

    The web offers the owner everything that the terminal does; a person's own page offers everything that Discord
    offers everybody.
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
    """A place with its names in settings, narrowest first: a channel, its category, its server."""

    place: PlaceId
    audience: Audience
    """The audience of messages there."""
    names: tuple[str, ...]
    """Its names in channel modes."""
    bindings: tuple[str, ...]
    """Its names in the routing of groups."""
    parent: str = ""
    """For a thread, the name of its channel."""
    guild: str = ""
    """The name of its server."""
    direct: bool = False
    """Whether it is a direct message channel."""


class Caller(Struct, frozen=True):
    """The caller of an operation. The owner at the terminal is a caller like any other."""

    approver: Approver
    via: Via
    scope: Scope
    """Who sees the answer, which decides what it may contain."""
    alone: PlaceScope
    """The place where only this person gets messages: what they write there is for their ears alone."""
    trust: Trust
    here: PlaceScope | None = None
    """The place of the call, if others can read it."""
    sure: bool = False
    """Whether they confirmed in advance."""
    location: Location | None = None
    """The place of the call, even if nobody else can read it; None at a terminal."""
    locale: str = ""
    """The language of their client, such as "de", if known."""
    shown: str = ""
    """The question that they confirmed; empty if they confirmed in advance."""
    constellation: str = ""
    """The name or id of a constellation, if they name one; empty for that of the place."""

    @property
    def person(self) -> PersonId:
        return self.approver.person

    @property
    def place(self) -> PlaceId:
        return self.alone.place if self.location is None else self.location.place

    def scope_of_own(self, selves: tuple[PersonId, ...], *, rings: bool = False) -> Scope:
        """The scope for their own settings: their own page shows all of them, wherever they were set.

        With `rings`, their direct messages do so as well: what is delivered there is listed, also for people who
        paused.
        """
        whole = self.via is Via.PAGE or (rings and self.location is not None and self.location.direct)
        return Scope(OWNER, frozenset(map(person_audience, selves))) if whole else self.scope

    def confirm(self, question: str) -> None:
        """Raise Unconfirmed unless they have confirmed this question; the interface asks and calls again."""
        if not self.sure or self.shown not in ("", question):
            raise Unconfirmed(question)


def owner_at_terminal(*, sure: bool = False) -> Caller:
    """The owner, which is anybody who can reach the service's socket or its data folder."""
    scope = Scope(OWNER)
    alone = PlaceScope(PLACE.id, scope)
    return Caller(Approver(PERSON, interface="command line"), Via.TERMINAL, scope, alone, Trust.OWNER, sure=sure)
