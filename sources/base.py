"""The interface between platforms and agents: sources receive, endpoints send.

A *source* turns traffic into `Notification`s and passes them to the function it was started with, in the order of
arrival in each place. An *endpoint* delivers one `Delivery` at a time. Both raise typed errors; neither retries: only
the outbox does.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct, field

from memory.people.audience import Audience
from memory.queue.message_files import File, Image
from memory.queue.notifications import Kind, Notification, Place, Speaker
from memory.store.ids import AgentId, EntryId, InboxId, OutboxId, PersonId, PlaceId, ReminderId, RequestId, TurnId
from texts import TextError, language


class PlaceKind(StrEnum):
    GUILD = "guild"
    THREAD = "thread"
    DIRECT = "direct"
    GROUP = "group"
    TERMINAL = "terminal"
    API = "api"
    DASHBOARD = "dashboard"


class UnknownPerson(Struct, frozen=True):
    """An unknown person wrote directly: who, where to answer them, and which servers they share with us. Nothing of
    what they wrote."""

    speaker: Speaker
    place: PlaceId
    servers: tuple[str, ...] = ()


def deletion(source: str, message: str, place: Place, at: datetime) -> Notification:
    """A deleted message; `at` is when it was posted, or found to be gone."""
    return Notification(source, f"{message}!", Kind.DELETE, place, None, at, subject=message, answer=False)


Deliver: TypeAlias = Callable[[Notification], None]
"""Accepts a notification without waiting; it is durable a moment later, in this order."""


class SourceRefused(TextError):
    """The platform rejects the operator's settings; the text says what to change. Retries are useless."""


def raise_if_cancelled() -> None:
    """Raise CancelledError if the running task is being canceled and an error during its cleanup hid that."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class Source(Protocol):
    """Receives. `run` returns when its task is canceled; it raises SourceRefused when only the operator can help."""

    name: str

    async def run(self, deliver: Deliver) -> None: ...


Pressed: TypeAlias = RequestId | ReminderId | EntryId | InboxId | PersonId
"""The id that a button refers to."""


class Buttons(Struct, frozen=True):
    """The buttons of a message: the id they refer to, and the possible answers.

    `kind` is the kind of that id: "permit" for a request, "reminder", "preference" for an entry that waits, "retry" for
    a message that was given up, "pairing" for a person who wants to be let in.
    """

    request: Pressed
    offers: tuple[str, ...]
    kind: str = "permit"
    constellation: str = ""
    """The constellation that asks; empty for the configured one."""
    language: str = field(default_factory=language)
    """That of the message, for the labels."""


ANSWERED = Buttons(RequestId(0), (), "answered")
"""For a card that has no buttons any more."""


class Delivery(Struct, frozen=True):
    """One message to send, from its outbox row. The same `id` is the same message, however often it is tried."""

    id: OutboxId
    place: PlaceId
    text: str
    created_at: datetime
    turn: TurnId | None = None
    agent: AgentId | None = None
    speaker: str = ""
    """The agent's name, if it is to be shown; empty if the account itself speaks."""
    avatar: str = ""
    """URL of the agent's picture, shown with its name where the platform can do that."""
    reply_to: str = ""
    """External id of the message to reply to; used if the place has moved on since."""
    act: str = ""
    """An action in place of a message: "like", "repost", "quote", "reply", "post" (these three with the text),
    "follow", "unlike", "unfollow" or "delete"."""
    target: str = ""
    """The post or person that it acts on."""
    earlier: tuple[OutboxId, ...] = ()
    """Rows that did the same before: if the effect of one still exists, it is not repeated."""
    follows: str = ""
    """External id of the piece of the answer that was sent before this one."""
    later: bool = False
    """Whether there is an earlier piece. If `follows` is empty, it was not delivered."""
    again: bool = False
    """Whether an earlier attempt was begun."""
    may_mention: tuple[PersonId, ...] = ()
    files: tuple[File, ...] = ()
    images: tuple[Image, ...] = ()
    buttons: Buttons | None = None

    @property
    def is_card(self) -> bool:
        """Whether it is a text or question of the service itself, not of an agent."""
        return self.buttons is not None or not (self.turn or self.agent or self.act)


class PlatformError(Exception):
    """Something went wrong with a platform; `reason` is for logs and for the owner."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class DeliveryFailed(PlatformError):
    """It was certainly not delivered. `retry_after` is in seconds; None if retries are useless.

    `reached` is False if the message is not to blame: during an outage a row is retried without limit. `withdrawn`:
    nothing failed, but the person does not want it, its question was taken back, or an action became impossible.
    """

    def __init__(
        self, reason: str, *, retry_after: float | None = None, reached: bool = True, withdrawn: bool = False
    ) -> None:
        super().__init__(reason)
        self.withdrawn = withdrawn
        self.retry_after = retry_after
        self.reached = reached


class DeliveryUnclear(PlatformError):
    """It may or may not have been delivered (there was no answer): check before sending again."""


class HistoryUnreadable(PlatformError):
    """The place's history cannot be read, so nobody can tell whether a message is there.

    `passing`: it will be readable again, since the platform is only unreachable at the moment.
    """

    def __init__(self, reason: str, *, passing: bool = False) -> None:
        super().__init__(reason)
        self.passing = passing


class Activity(Struct, frozen=True):
    """What a turn does in a place, for typing indicators; `busy` False ends it."""

    place: PlaceId
    busy: bool


class Form(Struct, frozen=True):
    """The form of an answer: how many messages at most, whether a file can hold the rest, whether names are shown."""

    most_pieces: int = 5
    takes_files: bool = True
    shows_names: bool = True


MESSAGES = Form()


class Endpoint(Protocol):
    max_length: int
    """The maximum length of one message, in the units of `split`."""
    has_previews: bool = False
    """Whether a growing answer is shown by editing one message."""
    nonce_seconds: float = 0.0
    """How long the platform recognizes a repeated delivery, minus a margin."""
    form: Form = MESSAGES
    """The form of an answer there."""

    def at(self, _place: PlaceId) -> "Endpoint":
        """The endpoint as it splits texts for a place."""
        return self

    def split(self, text: str) -> list[str]:
        """Split a text into messages that the platform accepts; no piece is empty."""
        ...

    async def send(self, delivery: Delivery) -> str:
        """Send it; returns the platform's message id. Raises DeliveryFailed or DeliveryUnclear."""
        ...

    async def find(self, deliveries: tuple[Delivery, ...], taken: Collection[str] = ()) -> dict[OutboxId, str]:
        """Which of these, all of one place and in order, are in the place's history, with their message ids.

        `taken` are ids of messages that are known to be others, even with the same text. Identical messages are matched
        in order. Raises HistoryUnreadable.
        """
        ...

    async def edit(self, place: PlaceId, external_id: str, text: str, buttons: Buttons | None = None) -> None:
        """Replace the text of a message of ours, and a card's buttons. Raises DeliveryFailed."""
        ...

    async def withdraw(self, place: PlaceId, external_id: str) -> None:
        """Delete a message of ours, if it still exists. Raises DeliveryFailed."""
        ...

    def show(self, activity: Activity) -> None:
        """Show or end a typing indicator; never raises if the platform refuses."""
        ...


@runtime_checkable
class Directory(Protocol):
    """An endpoint where people have handles."""

    async def person(self, handle: str) -> PersonId | None:
        """Who has this handle now; None if nobody has. Raises PlatformError."""
        ...


@runtime_checkable
class Memberships(Protocol):
    """An endpoint of a platform with servers, which people join and leave."""

    async def still_in(self, person: PersonId, servers: Collection[Audience]) -> Collection[Audience]:
        """The servers among these, by audience, that a person is certainly in at the moment."""
        ...


class Readiness(Struct, frozen=True):
    """Whether a front end can receive and send at the moment; if not, why."""

    ready: bool
    words: str = ""


class Front(Struct, frozen=True):
    """A source and its endpoint; `pause` stops the source from receiving while the endpoint still sends.

    `finish` waits for other work that people wait for, for at most so many seconds, and never raises. `read_back`,
    where a platform has a history, reads what was missed while the owner had paused the source.
    """

    source: Source
    endpoint: Endpoint
    pause: Callable[[], None] | None
    """None if the source receives only what a request brings, and requests are no longer answered then."""
    finish: Callable[[float], Coroutine[Any, Any, None]] | None
    """None if there is no such work."""
    readiness: Callable[[], Readiness] = lambda: Readiness(ready=True)
    read_back: Callable[[], None] | None = None
    words: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    """Its status for people, under the name of the part that people know."""
    handlers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Functions for commands of the owner, by their names in the control socket."""
