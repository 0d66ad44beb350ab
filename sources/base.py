"""The seam between the outside and the agents: what a source hears and what an endpoint says.

A *source* turns traffic into `Notification`s and gives them to the function it was started with, in the order
of arrival in each place. An *endpoint* delivers one `Delivery` at a time. Both raise typed errors; neither
retries: the outbox does, in one place.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

from memory.people.audience import Audience, Scope, Trust
from memory.store.ids import AgentId, EntryId, InboxId, OutboxId, PersonId, PlaceId, ReminderId, RequestId, TurnId
from texts import TextError


class Kind(StrEnum):
    MESSAGE = "message"
    EDIT = "edit"
    DELETE = "delete"
    REACTION = "reaction"
    PASSED = "passed"
    """Something was said that is not to be heard: only how far its place was read is stored."""


class PlaceKind(StrEnum):
    GUILD = "guild"
    THREAD = "thread"
    DIRECT = "direct"
    GROUP = "group"
    TERMINAL = "terminal"
    API = "api"
    DASHBOARD = "dashboard"


@dataclass(frozen=True)
class Place:
    """Where something was said, and who hears what is said there.

    `id` carries its source ("discord:1234"). `audience` is stamped on everything said there; `within` names
    wider audiences that every hearer belongs to at this moment (checked by the source, never assumed).
    `bindings` are the ids by which global.db maps the place to a constellation, narrowest first.
    """

    id: PlaceId
    kind: PlaceKind
    audience: Audience
    name: str = ""
    within: tuple[Audience, ...] = ()
    bindings: tuple[str, ...] = ()

    @property
    def scope(self) -> Scope:
        return Scope(self.audience, frozenset(self.within))


@dataclass(frozen=True)
class Speaker:
    """Who did it. Names are flattened to one line by the source (`sources.text.flatten`)."""

    id: PersonId
    name: str
    username: str = ""
    roles: tuple[str, ...] = ()
    trust: Trust = Trust.STRANGER
    unshown: bool = False
    """Whether they ask that what they write is not shown to everybody."""


@dataclass(frozen=True)
class Knock:
    """Somebody who is not let in wrote directly: who, where they can be answered, and which servers they share with
    us. Nothing of what they wrote."""

    stranger: Speaker
    place: PlaceId
    servers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Attachment:
    """A file that came with a message.

    `text` holds the content of a small text file. `url` is where the bytes can be had again. When neither was
    possible `skipped` says why, in words for the model ("larger than 20 KB", "download timed out"). A picture that
    came along has `content`; what is `kept` is stored with its message, as nobody else has it.
    """

    name: str
    content_type: str
    size: int
    url: str = ""
    text: str = ""
    skipped: str = ""
    content: bytes = field(default=b"", repr=False)
    kept: bool = False


@dataclass(frozen=True)
class Quoted:
    external_id: str
    speaker: str
    text: str
    by_us: bool = False


@dataclass(frozen=True)
class BlockSpec:
    """An ephemeral working block that a notification brings: in context for that turn, then not.

    `label` is keyed by id ("discord_user:1234"), so that a rename keeps it. `profile` is the read-only part,
    replaced at every notification; the block's document holds what agents note down.
    """

    label: str
    description: str
    profile: str
    about: PersonId | None = None


@dataclass(frozen=True)
class Notification:
    """Something that happened outside, addressed to agents.

    `external_id` is unique for the happening, not for the message: message id; id@edited_timestamp; id!;
    id?; message/user/emoji/count. `subject` is the id of the message it is about, for every kind. `position` is what
    the place's cursor becomes (empty: it does not move). `answer` is False for what is only heard.
    """

    source: str
    external_id: str
    kind: Kind
    place: Place
    speaker: Speaker | None
    subject: str
    at: datetime
    text: str = ""
    answer: bool = True
    position: str = ""
    quoted: Quoted | None = None
    attachments: tuple[Attachment, ...] = ()
    background: tuple[str, ...] = ()
    """Recent lines of the place from before, when the conversation was idle; quoted text of strangers."""
    blocks: tuple[BlockSpec, ...] = ()
    mentioned: Mapping[PersonId, str] = field(default_factory=dict)
    to: str = ""
    """Id of the group that is talked to by name; empty: whichever answers in the place."""
    alone: bool = False
    """Whether it gets an answer of its own, whatever else the same speaker says at the time."""


def deletion(source: str, message: str, place: Place, at: datetime) -> Notification:
    """A message that is not there any more; `at` is when it was posted, or found gone."""
    return Notification(source, f"{message}!", Kind.DELETE, place, None, message, at, answer=False)


Deliver: TypeAlias = Callable[[Notification], None]
"""Takes a notification at once, without waiting; it is durable a moment later, in this order."""


class SourceRefused(TextError):
    """The platform does not accept what the operator gave; the text says what to change. Trying again is useless."""


def raise_if_cancelled() -> None:
    """Raise CancelledError where the running task is to end, and an error in its cleaning up took the place of that."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class Source(Protocol):
    """Hears. `run` returns when its task is cancelled; it raises SourceRefused when only the operator can help."""

    name: str

    async def run(self, deliver: Deliver) -> None: ...


@dataclass(frozen=True)
class OutFile:
    name: str
    text: str


@dataclass(frozen=True)
class OutImage:
    """A picture that goes with what is said; `alt` says what it shows."""

    content_type: str
    alt: str
    content: bytes = field(repr=False)


Pressed: TypeAlias = RequestId | ReminderId | EntryId | InboxId | PersonId
"""What a button is about."""


@dataclass(frozen=True)
class Buttons:
    """What a message offers to press: the id of the question, and the answers it takes.

    `kind` says what that is the id of: "permit" for a request, "reminder", "preference" for an entry that waits,
    "retry" for something that arrived and was given up, "pairing" for a person who wants to be let in.
    """

    request: Pressed
    offers: tuple[str, ...]
    kind: str = "permit"
    constellation: str = ""
    """Whose question it is; empty for that of the configured one."""


ANSWERED = Buttons(RequestId(0), (), "answered")
"""Of a card that offers nothing any more."""


@dataclass(frozen=True)
class Delivery:
    """One message to send, as its outbox row says. The same `id` is the same message, however often it is tried."""

    id: OutboxId
    place: PlaceId
    text: str
    created_at: datetime
    turn: TurnId | None = None
    agent: AgentId | None = None
    speaker: str = ""
    """The agent's name, when it should be shown; empty when the account itself speaks."""
    avatar: str = ""
    """URL of the agent's picture, shown with its name where the platform can."""
    reply_to: str = ""
    """External id of the message that is answered; used when the place has moved on since."""
    act: str = ""
    """What is done instead of saying something: "like", "repost", "quote", "reply", "post" (three with the text),
    "follow", "unlike", "unfollow" or "delete"."""
    target: str = ""
    """The post or person that it is done to."""
    earlier: tuple[OutboxId, ...] = ()
    """Rows that did the same before: while what one of them did stands, it is not done again."""
    follows: str = ""
    """External id of the piece of the same answer that was sent before this one."""
    later: bool = False
    """Whether there is such a piece. Without `follows` it was not delivered."""
    again: bool = False
    """Whether it was begun to be sent before."""
    may_mention: tuple[PersonId, ...] = ()
    files: tuple[OutFile, ...] = ()
    images: tuple[OutImage, ...] = ()
    buttons: Buttons | None = None

    @property
    def is_card(self) -> bool:
        """Whether the service itself says it, or asks something, and no agent."""
        return self.buttons is not None or not (self.turn or self.agent or self.act)


class DeliveryFailed(Exception):
    """It was certainly not delivered. `retry_after` in seconds when another try may work, None when none will.

    `reached` is False when that says nothing about the message: during an outage a row is tried however often.
    `withheld`: nothing failed, the person does not want it, or what it answers was taken back.
    """

    def __init__(
        self, reason: str, *, retry_after: float | None = None, reached: bool = True, withheld: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.withheld = withheld
        self.retry_after = retry_after
        self.reached = reached


class DeliveryUnclear(Exception):
    """It may or may not have been delivered (no answer came): to be looked up before anything is sent again."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class HistoryUnreadable(Exception):
    """The place's history cannot be read, so nobody can tell whether something was said there.

    `passing` says that it can be read again sooner or later by itself: the platform is out of reach at the moment.
    """

    def __init__(self, reason: str, *, passing: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing


@dataclass(frozen=True)
class Activity:
    """What a turn is doing in a place, for typing indicators; `busy` False ends it."""

    place: PlaceId
    busy: bool


@dataclass(frozen=True)
class Form:
    """What one answer may be: so many messages at most, and whether a file can hold what is longer."""

    most_pieces: int = 5
    takes_files: bool = True


MESSAGES = Form()


class Endpoint(Protocol):
    max_length: int
    """Longest text of one message, in the units of `split`."""
    has_previews: bool = False
    """Whether an answer is shown while it is written, by editing one message."""
    nonce_seconds: float = 0.0
    """How long the platform recognises that the same delivery is sent again, with a margin."""
    form: Form = MESSAGES
    """What an answer may be there."""

    def split(self, text: str) -> list[str]:
        """Cut a text into messages the platform takes; never empty pieces."""
        ...

    async def send(self, delivery: Delivery) -> str:
        """Send it; gives the platform's message id. Raises DeliveryFailed or DeliveryUnclear."""
        ...

    async def find(self, deliveries: tuple[Delivery, ...], taken: Collection[str] = ()) -> dict[OutboxId, str]:
        """Which of these, all of one place and in order, stand in the place's history, with their message ids.

        `taken` are ids of messages that are known to be others, even where the words are the same.
        Raises HistoryUnreadable. Messages that are identical are matched in order.
        """
        ...

    async def edit(self, place: PlaceId, external_id: str, text: str, buttons: Buttons | None = None) -> None:
        """Replace the text of a message of ours, and the buttons of a card. Raises DeliveryFailed."""
        ...

    async def withdraw(self, place: PlaceId, external_id: str) -> None:
        """Delete a message of ours; one that is already gone is fine. Raises DeliveryFailed."""
        ...

    async def show(self, activity: Activity) -> None:
        """Show or end a typing indicator; never raises for the platform's refusal."""
        ...


@dataclass(frozen=True)
class Readiness:
    """Whether a front end can be heard and spoken through at the moment; if not, why."""

    ready: bool
    words: str = ""


async def _at_once(_seconds: float) -> None:
    """For a source where nobody waits for anything but what turns say."""


@dataclass(frozen=True)
class Front:
    """A source with the endpoint that speaks for it; `pause` makes the source deaf while the endpoint still speaks.

    `finish` lets whatever else people wait for there come to its end, for so many seconds at most, and raises nothing.
    """

    source: Source
    endpoint: Endpoint
    pause: Callable[[], None] = lambda: None
    finish: Callable[[float], Awaitable[None]] = _at_once
    readiness: Callable[[], Readiness] = lambda: Readiness(ready=True)
    handlers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """What the owner can ask it by command, by the names that the control socket knows."""
