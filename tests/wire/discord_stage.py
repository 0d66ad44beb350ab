"""A server with a guild, a channel, a person, and a small plain discord.py client in the same loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import discord

from tests.wire import PATIENCE
from tests.wire.discord import DiscordServer, GuildChannel


class Bot(discord.Client):
    """A small client that keeps what it hears."""

    def __init__(self, intents: discord.Intents, **options: Any) -> None:
        super().__init__(intents=intents, guild_ready_timeout=0.05, **options)
        self.heard: list[discord.Message] = []
        self.events: list[tuple[str, int]] = []
        self.resumed = 0
        self.readies = 0
        self.changed = asyncio.Condition()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Identify again without discord.py's pause of 5 s."""

    async def note(self, name: str, number: int = 0) -> None:
        async with self.changed:
            self.events.append((name, number))
            self.changed.notify_all()

    async def until(self, *wanted: tuple[str, int]) -> None:
        """Until all these events have come."""
        async with asyncio.timeout(PATIENCE), self.changed:
            await self.changed.wait_for(lambda: all(event in self.events for event in wanted))

    async def on_ready(self) -> None:
        self.readies += 1
        await self.note("ready", self.readies)

    async def on_resumed(self) -> None:
        self.resumed += 1
        await self.note("resumed", self.resumed)

    async def on_message(self, message: discord.Message) -> None:
        self.heard.append(message)
        await self.note("message", message.id)


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
                await self.bot.until(("ready", 1))
                yield self.bot
            finally:
                await self.bot.close()
                await asyncio.gather(task, return_exceptions=True)

    def place(self, channel: GuildChannel | None = None) -> discord.TextChannel:
        found = self.bot.get_channel((channel or self.general).id)
        assert isinstance(found, discord.TextChannel)
        return found
