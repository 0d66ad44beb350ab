"""What receiving and sending share about the one connection."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import discord

from memory.store.recent import Recent
from sources.discord.settings import DiscordSettings
from sources.discord.wiring import Wiring


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
        self.spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]] | None = None
        self.newest: Recent[int, int] = Recent(5_000)
        self.sent: Recent[int, int] = Recent(5_000)
        self.withdrawn: Recent[int, None] = Recent(1_000)
        self.hooks: Recent[int, None] = Recent(1_000)

    def saw(self, channel: int, message: int) -> None:
        self.newest.put(channel, max(message, self.newest.get(channel) or 0))

    def open(self, client: discord.Client, spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]) -> None:
        self.client, self.spawn = client, spawn
        self.usable.set()

    def shut(self) -> None:
        self.usable.clear()
        self.client, self.spawn = None, None

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
