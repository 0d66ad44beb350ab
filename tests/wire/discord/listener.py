"""A TCP port that can be closed and opened again while the server lives."""

from __future__ import annotations

import asyncio
import socket

from aiohttp import web


class Listener:
    """An aiohttp application on one port of 127.0.0.1."""

    def __init__(self, app: web.Application) -> None:
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        await self._runner.setup()
        await self.open()

    async def open(self) -> None:
        """Listen, on the same port as before if there was one."""
        if self._server is None:
            listening = socket.create_server(("127.0.0.1", self.port), backlog=128)
            self.port = listening.getsockname()[1]
            assert self._runner.server is not None
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(self._runner.server, sock=listening)

    async def shut(self) -> None:
        """Refuse new connections; present ones live on."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def drop(self) -> None:
        """Break the present connections."""
        for protocol in list(self._runner.server.connections if self._runner.server else []):
            if protocol.transport is not None:
                protocol.transport.abort()

    async def stop(self) -> None:
        await self.shut()
        self.drop()
        await self._runner.cleanup()
