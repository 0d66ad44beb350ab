"""A server with a guild, a channel, a person, and a small plain discord.py client in the same loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import discord

from tests.wire import PATIENCE, until
from tests.wire.discord import DiscordServer, GuildChannel, Message


class Bot(discord.Client):
    """A small client that keeps what it hears."""

    def __init__(self, intents: discord.Intents, **options: Any) -> None:
        super().__init__(intents=intents, guild_ready_timeout=0.05, **options)
        self.heard: list[discord.Message] = []
        self.changed = asyncio.Condition()

    async def until(self, *said: Message | discord.Message) -> None:
        """Until all these messages have come."""
        wanted = {message.id for message in said}
        async with asyncio.timeout(PATIENCE), self.changed:
            await self.changed.wait_for(lambda: wanted <= {message.id for message in self.heard})

    async def on_message(self, message: discord.Message) -> None:
        async with self.changed:
            self.heard.append(message)
            self.changed.notify_all()


class Stage:
    """A server with a guild, a channel, a person and a running client."""

    def __init__(self, server: DiscordServer) -> None:
        self.server = server
        self.guild = server.guild("Home")
        self.general = self.guild.text_channel("general")
        self.ana = server.person("ana", global_name="Ana")
        self.guild.add(self.ana, nick="Annie")
        self.bot = Bot(discord.Intents.all())

    @contextlib.asynccontextmanager
    async def running(self, bot: Bot | None = None) -> AsyncIterator[Bot]:
        """A client, ready, and closed again."""
        self.bot = bot or self.bot
        with self.server.patched():
            task = asyncio.create_task(self.bot.start(self.server.token))
            try:
                await until(self.bot.is_ready)
                yield self.bot
            finally:
                await self.bot.close()
                await asyncio.gather(task, return_exceptions=True)

    def place(self, channel: GuildChannel | None = None) -> discord.TextChannel:
        found = self.bot.get_channel((channel or self.general).id)
        assert isinstance(found, discord.TextChannel)
        return found
