"""The test server as a whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

import yarl
from aiohttp import web
from discord.asset import Asset
from discord.gateway import DiscordWebSocket
from discord.http import Route

from tests.wire import LAUNCH, PATIENCE, UNSERVED
from tests.wire.discord import posting
from tests.wire.discord.calls import Request
from tests.wire.discord.checker import Checker
from tests.wire.discord.faults import Faults, Listener
from tests.wire.discord.gateway import Gateway, make_token
from tests.wire.discord.guild import Guild
from tests.wire.discord.messages import Json, Message
from tests.wire.discord.person import Person
from tests.wire.discord.rest import Rest
from tests.wire.discord.world import Settings, World

T = TypeVar("T")


class DiscordServer:
    """A Discord of one's own on 127.0.0.1, with one bot."""

    def __init__(self, bot_name: str = "carina", openapi: Path | None = None) -> None:
        self.settings = Settings()
        self.world = World(bot_name, self.settings)
        self.token = make_token(self.world.bot.id)
        self.gateway = Gateway(self.world, self.token)
        self._checker = Checker(openapi) if openapi else None
        self._rest = Rest(self.world, self.token, self._checker)
        sockets = web.Application()
        sockets.router.add_get("/gateway", self.gateway.handle)
        sockets.router.add_get("/gateway/", self.gateway.handle)
        self._rest_door = Listener(self._rest.application())
        self._gateway_door = Listener(sockets)
        self.faults = Faults(self.gateway, self._gateway_door, self._rest_door)
        self._rest.faults = self.faults
        self.bot, self.owner = self.world.bot, self.world.owner
        """The bot's account, and the one that owns the application."""
        self.requests, self.unserved = self._rest.requests, self._rest.unserved
        """Every REST request so far, answered or not, and those for which there is no route."""
        self.application_id = self.world.application_id

    @classmethod
    @contextlib.asynccontextmanager
    async def start(cls, openapi: Path | None = None, *, bot_name: str = "carina") -> AsyncIterator[DiscordServer]:
        """A listening server; with `openapi` every request and answer is checked against it."""
        server = cls(bot_name, openapi)
        await server._rest_door.start()
        await server._gateway_door.start()
        base, world = f"http://127.0.0.1:{server._rest_door.port}", server.world
        world.rest_url, world.cdn_url = f"{base}/api/v10", f"{base}/cdn"
        world.gateway_url = server.gateway.url = f"ws://127.0.0.1:{server._gateway_door.port}/gateway"
        try:
            yield server
        finally:
            server.faults.clear()
            server.faults.cut()
            await server._gateway_door.stop()
            await server._rest_door.stop()
            UNSERVED[:] = [each for each in UNSERVED if each not in server.unserved]

    @property
    def checked(self) -> bool:
        """Whether there is an OpenAPI description to check against."""
        return self._checker is not None

    @property
    def violations(self) -> list[str]:
        """How requests deviate from the OpenAPI description."""
        return self._checker.violations if self._checker else []

    @property
    def own_faults(self) -> list[str]:
        """How this server's own answers deviate from the OpenAPI description."""
        return self._checker.own_faults if self._checker else []

    @property
    def commands(self) -> list[Json]:
        """The global commands the bot synced."""
        return self.world.commands

    @property
    def connected(self) -> bool:
        """Whether the bot has a session with a living connection."""
        return bool(self.gateway.live)

    def guild(self, name: str, *, with_bot: bool = True) -> Guild:
        """A new guild, with the bot in it; without it only user-installed commands work there."""
        return self.world.guild(name, with_bot=with_bot)

    def person(self, name: str, *, global_name: str | None = None, bot: bool = False) -> Person:
        """A new account (with `bot`, another bot's)."""
        return self.world.enrol(Person(self.world, name, global_name, bot=bot))

    async def unfurl(self, message: Message, url: str = "https://example.org/", title: str = "Example") -> None:
        """Add a link preview: MESSAGE_UPDATE with embeds and without edited_timestamp."""
        posting.unfurl(self.world, message, [{"type": "link", "url": url, "title": title}])

    async def bulk_delete(self, *messages: Message) -> None:
        """MESSAGE_DELETE_BULK, as when a moderator cleans up."""
        posting.bulk_delete(self.world, list(messages))

    async def until(self, find: Callable[[], T | None], timeout: float = PATIENCE, what: str = "") -> T:
        """The first true thing `find` returns; it is asked again after every change in the server."""
        return await self.world.changes.until(find, timeout, what or "a condition")

    async def wait_disconnected(self, timeout: float = PATIENCE) -> None:
        await self.until(lambda: not self.gateway.connections, timeout, "the bot to disconnect")

    async def wait_for_commands(self, timeout: float = PATIENCE) -> list[Json]:
        """Until the bot has synced global commands."""
        return await self.until(lambda: self.world.commands, timeout, "commands to be synced")

    async def wait_for_request(self, method: str, path: str, *, count: int = 1, timeout: float = PATIENCE) -> Request:
        """The count-th answered request that matches; the path without /api/v10, with wildcards."""

        def find() -> Request | None:
            found = [r for r in self.requests_to(method, path) if r.status is not None]
            return found[count - 1] if len(found) >= count else None

        return await self.until(find, timeout, f"{count} x {method} {path}")

    def requests_to(self, method: str, path: str) -> list[Request]:
        return [r for r in self.requests if r.method == method and fnmatchcase(r.path, path)]

    def environment(self, *, hurry: bool = True) -> dict[str, str]:
        """What a process needs in its environment so that discord.py in it talks to this server.

        `hurry` shortens discord.py's own pauses: for guilds before on_ready, before a second IDENTIFY,
        and before connecting anew.
        """
        paths = [str(LAUNCH), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {
            "PYTHONPATH": os.pathsep.join(paths),
            "DISCORD_TEST_REST": self.world.rest_url,
            "DISCORD_TEST_GATEWAY": self.world.gateway_url,
            "DISCORD_TEST_CDN": self.world.cdn_url,
            "DISCORD_TEST_PAUSE": "0.2" if hurry else "",
        }

    @contextlib.contextmanager
    def patched(self) -> Iterator[None]:
        """Point discord.py in this very process at the server, for as long as the block lasts."""
        before = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY, Asset.BASE
        Route.BASE = self.world.rest_url
        DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(self.world.gateway_url)
        Asset.BASE = self.world.cdn_url
        try:
            yield
        finally:
            Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY, Asset.BASE = before
