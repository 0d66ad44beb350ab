"""A TCP port that can be closed and opened again while the server lives."""

from __future__ import annotations

import asyncio

from aiohttp import web

from tests.wire import bound


class Listener:
    """An aiohttp application on one port of 127.0.0.1."""

    def __init__(self, app: web.Application) -> None:
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        self._server: asyncio.Server | None = None
        self._waiting = bound(0)
        self.port: int = self._waiting.getsockname()[1]

    async def start(self) -> None:
        await self._runner.setup()
        await self.open()

    async def open(self) -> None:
        """Listen, on the same port as before if there was one."""
        if self._server is None:
            assert self._runner.server is not None
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(self._runner.server, sock=self._waiting, backlog=128)

    async def shut(self) -> None:
        """Refuse new connections; present ones live on."""
        if self._server is not None:
            self._server.close()
            self._server = None
            self._waiting = bound(self.port)

    def drop(self) -> None:
        """Break the present connections."""
        for protocol in list(self._runner.server.connections if self._runner.server else []):
            if protocol.transport is not None:
                protocol.transport.abort()

    async def stop(self) -> None:
        await self.shut()
        self._waiting.close()
        self.drop()
        await self._runner.cleanup()
