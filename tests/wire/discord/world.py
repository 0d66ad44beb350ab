"""Everything that exists on the test server, and the events its changes cause."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar

from tests.wire import require_served
from tests.wire.discord import payloads
from tests.wire.discord.channels import Channel, DirectChannel, GuildChannel
from tests.wire.discord.errors import refuse
from tests.wire.discord.guild import Guild
from tests.wire.discord.messages import Attachment, Json, Message, Webhook
from tests.wire.discord.people import Snowflakes, User

if TYPE_CHECKING:
    from tests.wire.discord.interactions import Interaction

Privileged = Literal["members", "presences", "message_content"]
P = TypeVar("P", bound=User)
T = TypeVar("T")


class Changes:
    """Wakes everyone who waits whenever anything in the server has changed."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def notify(self) -> None:
        self._next.set()
        self._next = asyncio.Event()

    async def until(self, find: Callable[[], T | None], timeout: float, what: str) -> T:
        """The first true thing `find` returns; TimeoutError naming `what` if none comes."""
        try:
            async with asyncio.timeout(timeout):
                while not (found := find()):
                    require_served()
                    await self._next.wait()
        except TimeoutError:
            raise TimeoutError(f"after {timeout} s still waiting for {what}") from None
        return found


@dataclass
class Settings:
    """What a test may set at any time."""

    nonce_window: float = 120.0
    answer_seconds: float = 3.0
    locale: str = "en-US"
    starts_left: int = 999
    starts_reset: float = 0.0
    """Seconds until the session starts of a day are whole again."""
    granted_privileged: set[Privileged] = field(default_factory=lambda: {"members", "presences", "message_content"})


@dataclass(frozen=True)
class Event:
    """One dispatch, before it is decided which sessions get it."""

    name: str
    data: Json
    guild: Guild | None = None
    message: Message | None = None


class World:
    """The state behind REST, gateway and persons."""

    def __init__(self, bot_name: str, settings: Settings) -> None:
        self.settings = settings
        self.ids = Snowflakes()
        self.changes = Changes()
        self.users: dict[int, User] = {}
        self.guilds: dict[int, Guild] = {}
        self.directs: dict[int, DirectChannel] = {}
        self.webhooks: dict[int, Webhook] = {}
        self.files: dict[int, Attachment] = {}
        self.commands: list[Json] = []
        self.interactions: dict[str, Interaction] = {}
        self.cdn_url = self.rest_url = self.gateway_url = ""
        self.publish: Callable[[Event], None] = lambda _: None
        self.application_id = next(self.ids)
        self.bot = User(next(self.ids), bot_name, bot=True)
        self.users[self.bot.id] = self.bot
        self.owner = self.user("operator")
        self._nonces: dict[tuple[int, int, str], tuple[Message, float]] = {}

    def user(self, username: str) -> User:
        return self.enrol(User(next(self.ids), username))

    def enrol(self, user: P) -> P:
        self.users[user.id] = user
        return user

    def guild(self, name: str, *, with_bot: bool = True) -> Guild:
        guild = Guild(self, name, with_bot=with_bot)
        self.guilds[guild.id] = guild
        self.emit("GUILD_CREATE", {}, guild)
        return guild

    def direct(self, user: User) -> DirectChannel:
        """The direct channel between this person and the bot, opened when there is none."""
        if user.id not in self.directs:
            self.directs[user.id] = DirectChannel(self, next(self.ids), user)
        return self.directs[user.id]

    def find_channel(self, number: int) -> Channel:
        for guild in self.guilds.values():
            for channel in (*guild.channels, *guild.threads):
                if channel.id == number:
                    return channel
        for direct in self.directs.values():
            if direct.id == number:
                return direct
        raise refuse(10003)

    def find_guild_channel(self, number: int) -> GuildChannel:
        channel = self.find_channel(number)
        if not isinstance(channel, GuildChannel):
            raise refuse(50003 if isinstance(channel, DirectChannel) else 50024)
        return channel

    def find_message(self, channel: Channel, number: int) -> Message:
        message = channel.posts.get(number)
        if message is None or message.deleted:
            raise refuse(10008)
        return message

    def find_guild(self, number: int) -> Guild:
        guild = self.guilds.get(number)
        if guild is None or not guild.has_bot:
            raise refuse(10004)
        return guild

    def find_user(self, number: int) -> User:
        if number not in self.users:
            raise refuse(10013)
        return self.users[number]

    def emit(self, name: str, data: Json, guild: Guild | None = None, seen_in: Channel | None = None) -> None:
        """Tell the bot, unless the event's channel is hidden from it."""
        bot_is_there = guild is None or guild.has_bot
        if bot_is_there and (seen_in is None or seen_in.permissions_of(self.bot)):
            self.publish(Event(name, data, guild))
        self.changes.notify()

    def emit_message(self, name: str, message: Message) -> None:
        """Tell the bot of a message made or changed."""
        guild = message.channel.guild
        if message.channel.permissions_of(self.bot) and message.only_for is None:
            data = payloads.dispatched(message, self.bot)
            self.publish(Event(name, data, guild, message))
        self.changes.notify()

    def own_ids(self) -> set[str]:
        """The ids under which the bot speaks."""
        return {str(number) for number in (self.bot.id, *self.webhooks)}

    def recall_nonce(self, author: User, channel: Channel, nonce: str) -> Message | None:
        """The message already made with this nonce, as long as the window lasts."""
        known = self._nonces.get((author.id, channel.id, nonce))
        if known is None or time.monotonic() - known[1] > self.settings.nonce_window:
            return None
        if known[0].deleted:
            raise refuse(10008)
        return known[0]

    def remember_nonce(self, message: Message) -> None:
        if message.nonce is not None:
            key = (message.author.id, message.channel.id, message.nonce)
            self._nonces[key] = (message, time.monotonic())
