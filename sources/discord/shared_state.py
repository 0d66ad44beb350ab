"""What receiving and sending share: the settings and callbacks that the Discord source is made with, and its state."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeAlias

import discord
from msgspec import Struct

from memory.queue.missed_messages import Gap, Span
from memory.store.clock import Clock
from memory.store.ids import PersonId, PlaceId
from memory.store.recent_values import RecentValues
from sources.base import UnknownPerson
from sources.discord.command_tree import Commands
from sources.discord.settings import DiscordSettings


class StoredMessage(Struct, frozen=True):
    """A stored message of a place: its external id, and the `text_mark` of its stored text."""

    external_id: str
    mark: str


Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
"""Starts something that ends with the connection."""

FindMember: TypeAlias = Callable[[discord.Guild, int], Awaitable[discord.Member | None]]
"""Looks up a member of a guild; None if they are not one, or if that is unknown."""


class GapStore(Protocol):
    """Stores gaps across restarts. Its writes are durable when they return."""

    async def note(self, spans: Sequence[Span], reason: str, *, at_once: bool = False) -> None: ...

    async def due(self) -> Sequence[Gap]: ...

    async def wait(self) -> float | None:
        """Seconds until the next gap is due; None if there is none."""
        ...

    async def failed(self, span: Span, reason: str) -> None: ...

    async def fill(self, span: Span) -> None:
        """The span was read; recorded only once the messages are stored."""
        ...

    async def close(self, span: Span, reason: str) -> None: ...


@dataclass(frozen=True)
class Wiring:
    """What composition passes to the source.

    `gaps` stores what could not be read, `listens_from` returns the message id from which the bot listens at all
    (called before the first connection, so that no message comes before it); `on_ready` gets the bot's name on the
    first connection, and `reachable` is called on every one.
    """

    cursors: Callable[[], Awaitable[Mapping[PlaceId, str]]]
    """Returns the last seen message id of every Discord place."""
    recent: Callable[[PlaceId], Awaitable[Sequence[StoredMessage]]]
    """Returns the last few stored messages of people in a place."""
    never_wrote: Callable[[], Awaitable[Mapping[PersonId, datetime | None]]]
    """Returns the owner and people who were let in, if none of their direct messages was heard yet.

    The time is when they were let in: earlier messages are ignored.
    """
    gaps: GapStore
    listens_from: Callable[[], Awaitable[int | None]]
    commands: Commands
    on_ready: Callable[[str], None]
    reachable: Callable[[], None]
    gave_up: Callable[[int], Awaitable[None]]
    """Tell the owner that something in a channel could not be handled, despite retries."""
    ignored: Callable[[PersonId], bool]
    """Whether nothing that a person writes may be stored or answered."""
    unknown_wrote: Callable[[UnknownPerson], None]
    """Gets people who wrote directly without being let in, and where."""
    types: Callable[[PlaceId, PersonId], None]
    """Called when somebody types; `spoke` when they have sent it."""
    spoke: Callable[[PlaceId, PersonId], None]
    silence: Callable[[], str]
    """Why nobody is answered at the moment, in a word that the bot's presence shows to everybody; else empty."""
    clock: Clock
    paused: Callable[[], bool]
    """Whether receiving is paused; `read_back` is called when the pause ends."""


class SharedState:
    """The current client, and what was seen through it.

    `newest` is the last message of others per channel, `sent` the channel of each message of ours by its id,
    `withdrawn` those that we deleted, `hooks` our webhooks.
    """

    def __init__(self, settings: DiscordSettings, wiring: Wiring) -> None:
        self.settings = settings
        self.wiring = wiring
        self.client: discord.Client | None = None
        self.usable = asyncio.Event()
        """Logged in: requests can be made."""
        self.spawn: Spawn | None = None
        self.member: FindMember | None = None
        self.newest: RecentValues[int, int] = RecentValues(5_000)
        self.sent: RecentValues[int, int] = RecentValues(5_000)
        self.withdrawn: RecentValues[int, None] = RecentValues(1_000)
        self.hooks: RecentValues[int, None] = RecentValues(1_000)

    def saw(self, channel: int, message: int) -> None:
        self.newest.put(channel, max(message, self.newest.get(channel) or 0))

    def open(self, client: discord.Client, spawn: Spawn, member: FindMember) -> None:
        self.client, self.spawn, self.member = client, spawn, member
        self.usable.set()

    def shut(self) -> None:
        self.usable.clear()
        self.client, self.spawn, self.member = None, None, None

    @property
    def me(self) -> int:
        """The bot's own id; 0 while it is unknown."""
        return self.client.user.id if self.client and self.client.user else 0

    @property
    def application(self) -> int:
        return (self.client.application_id or 0) if self.client else 0

    def ours(self, message: discord.Message) -> bool:
        """Whether we sent it: by the account, or by a webhook of the application."""
        if message.author.id == self.me or message.id in self.sent:
            return True
        if message.webhook_id is None:
            return False
        return message.webhook_id in self.hooks or message.application_id == self.application != 0
