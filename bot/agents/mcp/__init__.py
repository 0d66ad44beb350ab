"""The Model Context Protocol: tools of external servers for our agents.

Only this package and `bot.interfaces.mcp` import the protocol's library, when a server is configured or `carina mcp`
runs.
"""

import asyncio
import importlib
from collections.abc import Callable, Mapping
from typing import Protocol

from bot.agents.tools.base import Tool
from bot.config import Config
from memory.agents import Agent


class Servers(Protocol):
    def tools(self, agent: Agent) -> tuple[Tool, ...]:
        """The known tools that an agent may use."""
        ...

    async def ready(self, agent: Agent, call: str) -> None:
        """Wait a while until an agent's servers have listed their tools.

        Before a call of such a tool, its server is asked again, so that changes are noticed.
        """
        ...

    def states(self) -> Mapping[str, str]: ...

    async def run(self) -> None:
        """Keep the servers connected until canceled."""
        ...


class NoServers:
    """Stands for no configured server."""

    def tools(self, _agent: Agent) -> tuple[Tool, ...]:
        return ()

    async def ready(self, _agent: Agent, _call: str) -> None:
        return

    def states(self) -> Mapping[str, str]:
        return {}

    async def run(self) -> None:
        return


async def open_servers(config: Config, redact: Callable[[str], str]) -> Servers:
    """The configured servers, not connected yet. This imports the protocol's library, which takes a second."""
    if not config.mcp:
        return NoServers()
    module = await asyncio.to_thread(importlib.import_module, "bot.agents.mcp.servers")
    servers: Servers = module.connecting(config, redact)
    return servers
