"""Parts that tests of the service share: a scripted model, a platform that only remembers, a clock that is moved.

`tests.bot.stage` runs the real service around them.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, TypeAlias, TypeVar

from bot.models.base import Answer, Call, Event, Request, TextDelta, ToolMessage, Usage, UserMessage
from memory.people.audience import OWNER, PUBLIC, Audience, Trust, channel_audience, guild_audience, person_audience
from memory.queue.notifications import Kind, Notification, Place, Speaker
from memory.queue.outbox import ActDetail, OutRow, TextDetail
from memory.store.ids import GuildId, OutboxId, PersonId, PlaceId, place_source
from memory.store.records import replace
from sources.base import (
    MESSAGES,
    Activity,
    Buttons,
    Delivery,
    DeliveryFailed,
    DeliveryUnclear,
    Endpoint,
    Form,
    HistoryUnreadable,
    PlaceKind,
)

T = TypeVar("T")
NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
SOURCE = "discord"


class MovableClock:
    """Stands still unless it is moved."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


# ---------------------------------------------------------------------------------------------------- who and where


def person(name: str, trust: Trust = Trust.APPROVED) -> Speaker:
    return Speaker(PersonId(f"{SOURCE}:{name.lower()}"), name, name.lower(), trust=trust)


ANN, BOB, OLGA = person("Ann"), person("Bob"), person("Olga", Trust.OWNER)
"""Two people, and the owner."""


def place_id(name: str) -> PlaceId:
    return PlaceId(f"{SOURCE}:{name}")


def guild(name: str) -> Audience:
    return guild_audience(GuildId(f"{SOURCE}:{name}"))


def channel(name: str, of: str = "guild") -> Place:
    """A channel that everybody of the guild can read."""
    bindings = (place_id(name), f"{SOURCE}:guild:{of}")
    return Place(place_id(name), PlaceKind.GUILD, guild(of), name=name, bindings=bindings)


def private(name: str, of: str = "guild", inside: str = "") -> Place:
    """A private channel, or with `inside` a private thread of a private channel."""
    within = (guild(of), *([channel_audience(place_id(inside))] if inside else []))
    bindings = (place_id(name), *([place_id(inside)] if inside else []), f"{SOURCE}:guild:{of}")
    kind = PlaceKind.THREAD if inside else PlaceKind.GUILD
    return Place(place_id(name), kind, channel_audience(place_id(name)), name, within, bindings)


def direct(speaker: Speaker, *sees: str) -> Place:
    """Direct messages with somebody who was checked to see these guilds; the owner's are the owner's."""
    place = PlaceId(f"{SOURCE}:user:{speaker.id.partition(':')[2]}")
    audience = OWNER if speaker.trust is Trust.OWNER else person_audience(speaker.id)
    return Place(place, PlaceKind.DIRECT, audience, f"{speaker.name}'s messages", tuple(map(guild, sees)), (place,))


HALL = channel("hall")


def thread_in_public(name: str) -> Place:
    """A thread on Bluesky: everybody in the world can read it."""
    place = PlaceId(f"bluesky:at://did:plc:{name}/app.bsky.feed.post/3lbw2wm6t6s2a")
    return Place(place, PlaceKind.THREAD, PUBLIC, name=f"a thread of {name}", bindings=(place, "bluesky"))


def said(text: str, number: int, place: Place = HALL, speaker: Speaker = ANN, **more: Any) -> Notification:
    """A message with an external id; `more` are fields of the notification."""
    plain = Notification(
        source=place_source(place.id),
        external_id=str(number),
        kind=Kind.MESSAGE,
        place=place,
        speaker=speaker,
        subject=str(number),
        at=NOON,
        text=text,
        position=str(number),
    )
    return replace(plain, **more)


def edited(text: str, number: int, place: Place = HALL, speaker: Speaker = ANN, after: float = 1) -> Notification:
    at = NOON + timedelta(seconds=after)
    identifier = f"{number}@{at.isoformat()}"
    return said(text, number, place, speaker, kind=Kind.EDIT, external_id=identifier, at=at, position="")


def deleted(number: int, place: Place = HALL) -> Notification:
    more: dict[str, Any] = {"kind": Kind.DELETE, "external_id": f"{number}!", "position": ""}
    return said("", number, place, **more)


# -------------------------------------------------------------------------------------------------------- the model


def says(text: str, *calls: Call) -> Answer:
    return Answer(text, calls, Usage(10, 5), "scripted:one")


def call(name: str, identifier: str = "", **arguments: Any) -> Call:
    return Call(identifier or f"{name}_1", name, json.dumps(arguments))


Reply: TypeAlias = Answer | Exception | Callable[[Request], Answer | Awaitable[Answer]]


def two(first: str, second: str, there: str = "", **more: str) -> str:
    """The tables of two agents: the first answers everywhere, the second there. `more` are further lines of theirs."""
    agents = "".join(f'[[agents]]\nname = "{each}"\n{more.get(each, "")}' for each in (first, second))
    places = f'places = ["{there}"]\n' if there else ""
    return (
        f'{agents}[[groups]]\nname = "Main"\nmembers = ["{first}"]\ndefault = true\n'
        f'[[groups]]\nname = "Night"\nmembers = ["{second}"]\n{places}'
    )


class ScriptedModel:
    """Gives its replies in order, then `otherwise`; keeps every request."""

    name = "scripted:one"
    context_window = 100_000

    def __init__(self, *replies: Reply, otherwise: Reply | None = None) -> None:
        self.replies: deque[Reply] = deque(replies)
        self.otherwise: Reply = says("Yes.") if otherwise is None else otherwise
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        self.requests.append(request)
        reply = self.replies.popleft() if self.replies else self.otherwise
        if isinstance(reply, Exception):
            raise reply
        found = reply if isinstance(reply, Answer) else reply(request)
        answer = found if isinstance(found, Answer) else await found
        if answer.text:
            yield TextDelta(answer.text)
        yield answer


class HeldReply:
    """A reply that waits until it is let go; `begun` is set when the model was asked."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.begun = asyncio.Event()
        self.free = asyncio.Event()

    async def __call__(self, _request: Request) -> Answer:
        self.begun.set()
        await self.free.wait()
        return self._answer


def texts(request: Request) -> list[str]:
    """What people said in a request, in order, bare."""
    return [message.said for message in request.messages if isinstance(message, UserMessage) and message.said]


def told(request: Request) -> str:
    """The only message of a request."""
    (message,) = request.messages
    return message.text


def whole(request: Request) -> str:
    return "\n".join([request.system, *(message.text for message in request.messages)])


def results(request: Request) -> list[tuple[str, bool]]:
    """The tool results in a request, in order."""
    return [(message.text, message.ok) for message in request.messages if isinstance(message, ToolMessage)]


# ----------------------------------------------------------------------------------------------------- the platform


class Fate(Enum):
    ARRIVES = "it arrives and is answered"
    LOST_ANSWER = "it arrives, but no answer comes"
    NOWHERE = "it does not arrive, and no answer comes"


@dataclass
class Post:
    """A message of ours that stands in a place."""

    external_id: str
    place: PlaceId
    text: str
    by: OutboxId
    at: datetime
    reply_to: str = ""
    buttons: Buttons | None = None


@dataclass
class Platform:
    """An endpoint that remembers what it was told; `fates` decide what becomes of the next sends."""

    clock: MovableClock
    fates: deque[Fate | DeliveryFailed] = field(default_factory=deque)
    posts: list[Post] = field(default_factory=list)
    sends: list[Delivery] = field(default_factory=list)
    """Every attempt."""
    refuses: dict[PlaceId, DeliveryFailed] = field(default_factory=dict)
    """Places that take no message."""
    odd: dict[PlaceId, Exception] = field(default_factory=dict)
    """Places where sending ends with something that nobody foresaw."""
    parted: set[Audience] = field(default_factory=set)
    """Servers that everybody left since they wrote."""
    finds: list[tuple[OutboxId, ...]] = field(default_factory=list)
    readable: bool = True
    edit_fails: bool = False
    max_length: int = 2000
    has_previews: bool = True
    nonce_seconds: float = 60
    form: Form = MESSAGES
    _count: int = 0

    def at(self, _place: PlaceId) -> Endpoint:
        return self

    def split(self, text: str) -> list[str]:
        return [text[start : start + self.max_length] for start in range(0, len(text), self.max_length)]

    async def send(self, delivery: Delivery) -> str:
        await asyncio.sleep(0)
        self.sends.append(delivery)
        fate = self.fates.popleft() if self.fates else Fate.ARRIVES
        fate = self.refuses.get(delivery.place, fate)
        if delivery.place in self.odd:
            raise self.odd[delivery.place]
        if isinstance(fate, DeliveryFailed):
            raise fate
        if fate is Fate.NOWHERE:
            raise DeliveryUnclear("no answer came")
        post = self._known(delivery) or self._add(delivery)
        if fate is Fate.LOST_ANSWER:
            raise DeliveryUnclear("no answer came")
        return post.external_id

    def _known(self, delivery: Delivery) -> Post | None:
        """The nonce is remembered for a while."""
        found = next((post for post in self.posts if post.by == delivery.id), None)
        recent = found is not None and (self.clock() - found.at).total_seconds() < self.nonce_seconds
        return found if recent else None

    def _add(self, delivery: Delivery) -> Post:
        self._count += 1
        number = f"post-{self._count}"
        at, answered = self.clock(), delivery.reply_to
        post = Post(number, delivery.place, delivery.text, delivery.id, at, answered, delivery.buttons)
        self.posts.append(post)
        return post

    async def find(self, deliveries: tuple[Delivery, ...], taken: Collection[str] = ()) -> dict[OutboxId, str]:
        self.finds.append(tuple(delivery.id for delivery in deliveries))
        if not self.readable:
            raise HistoryUnreadable("forbidden")
        left = [post for post in self.posts if post.external_id not in taken]
        found: dict[OutboxId, str] = {}
        for delivery in deliveries:
            match = next((post for post in left if _same(post, delivery)), None)
            if match is not None:
                left.remove(match)
                found[delivery.id] = match.external_id
        return found

    async def edit(self, place: PlaceId, external_id: str, text: str, buttons: Buttons | None = None) -> None:
        post = next((post for post in self.posts if post.external_id == external_id), None)
        if post is None or self.edit_fails:
            raise DeliveryFailed("unknown message")
        post.text, post.buttons = text, buttons

    async def withdraw(self, place: PlaceId, external_id: str) -> None:
        self.posts = [post for post in self.posts if post.external_id != external_id]

    async def still_in(self, _person: PersonId, servers: Collection[Audience]) -> Collection[Audience]:
        return {*servers} - self.parted

    def show(self, activity: Activity) -> None:
        pass

    def texts(self, place: PlaceId = HALL.id) -> list[str]:
        return [post.text for post in self.posts if post.place == place]


def _same(post: Post, delivery: Delivery) -> bool:
    return (post.place, post.text) == (delivery.place, delivery.text) and post.at >= delivery.created_at


def words_of(row: OutRow) -> TextDetail:
    assert isinstance(row.detail, TextDetail)
    return row.detail


def act_of(row: OutRow) -> ActDetail:
    """What a row does instead of saying anything."""
    assert isinstance(row.detail, ActDetail)
    return row.detail
