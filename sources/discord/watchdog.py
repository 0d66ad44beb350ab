"""A watch on connections that look alive but bring nothing.

discord.py itself reconnects when nothing at all came for a minute, heartbeat acknowledgements included. What it
does not notice is a connection whose heartbeats are answered while events have stopped: after some silence this
asks the gateway for the bot's own membership, and starts the connection anew when no answer comes.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import discord

from memory.store.faults import call_point, outside
from memory.store.logs import Log

log = Log(__name__)

PROBE = call_point("discord.probe")

QUIET_SECONDS = 300.0
PROBE_SECONDS = 30.0
CLOSE_SECONDS = 10.0
RESUMABLE = 4000


class Watch:
    """Counts the silence of one client's gateway."""

    def __init__(
        self,
        client: discord.Client,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        quiet: float = QUIET_SECONDS,
        patience: float = PROBE_SECONDS,
    ) -> None:
        self._client = client
        self._spawn = spawn
        self._quiet = quiet
        self._patience = patience
        self._watching = False
        self._last = 0.0

    def on(self, event: str, _args: tuple[Any, ...]) -> None:
        self._last = asyncio.get_running_loop().time()
        if event == "ready" and not self._watching and not isinstance(self._client, discord.AutoShardedClient):
            self._watching = True
            self._spawn(self._keep())

    async def _keep(self) -> None:
        while True:
            silence = asyncio.get_running_loop().time() - self._last
            if silence < self._quiet:
                await asyncio.sleep(self._quiet - silence)
            else:
                await self._probe()

    async def _probe(self) -> None:
        """Provoke one event; without it, close the socket so that discord.py resumes the session."""
        guilds, me = self._client.guilds, self._client.user
        self._last = asyncio.get_running_loop().time()
        if not guilds or me is None or self._client.is_closed():
            return
        try:
            await outside(PROBE, guilds[0].query_members(user_ids=[me.id], limit=1, cache=False), self._patience)
        except (TimeoutError, discord.DiscordException, OSError):
            log.warning("discord_silent", seconds=self._quiet)
            try:
                await outside(PROBE, self._client.ws.close(RESUMABLE), CLOSE_SECONDS)
            except (TimeoutError, OSError):
                log.warning("the silent connection did not close in time")
