"""What hearing and speaking know of the one connection together."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
import discord

from memory.store.ids import PersonId
from memory.store.recent import Recent
from sources.base import Knock

REFUSED = (discord.HTTPException, discord.RateLimited, aiohttp.ClientError, OSError, TimeoutError, RuntimeError)
"""What a request to Discord fails with: `outside`'s time limit, and a session that is closed (RuntimeError)."""


class Link:
    """The client of the moment, and what was seen through it.

    `newest` is the last message of others per channel, `sent` the channel of each message we sent, by its id,
    `withdrawn` those that we deleted ourselves, `hooks` the webhooks that are ours.
    """

    def __init__(
        self,
        withheld: Callable[[PersonId], bool],
        deaf: Callable[[], bool],
        knocks: Callable[[Knock], None],
    ) -> None:
        self.client: discord.Client | None = None
        self.usable = asyncio.Event()
        """Logged in: requests can be made."""
        self.spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]] | None = None
        self.newest: Recent[int, int] = Recent(5_000)
        self.sent: Recent[int, int] = Recent(5_000)
        self.withdrawn: Recent[int, None] = Recent(1_000)
        self.hooks: Recent[int, None] = Recent(1_000)
        self.withheld = withheld
        """Whether a person chose that nothing they say is heard: then it is not quoted either."""
        self.deaf = deaf
        """Whether nothing that is said is heard for the time being."""
        self.knocks = knocks
        """Told who wrote directly without being let in; never what."""

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
        """The bot's own id; 0 while it is not known."""
        return self.client.user.id if self.client and self.client.user else 0

    @property
    def application(self) -> int:
        return (self.client.application_id or 0) if self.client else 0

    def ours(self, message: discord.Message) -> bool:
        """Whether we said it: by the account, or by a webhook of the application."""
        if message.author.id == self.me or message.id in self.sent:
            return True
        if message.webhook_id is None:
            return False
        return message.webhook_id in self.hooks or message.application_id == self.application != 0
