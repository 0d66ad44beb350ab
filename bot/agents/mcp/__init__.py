"""The Model Context Protocol: tools of external servers for our agents.

Only this package and `bot.interfaces.mcp_server` import the protocol's library, when a server is configured or
`carina mcp` runs.
"""

import asyncio
import importlib
from collections.abc import Callable, Mapping

from bot.agents.tools.base import Tool
from bot.config import Config
from memory.agents import Agent


class Servers:
    """The configured servers; this class stands for none."""

    def tools(self, _agent: Agent) -> tuple[Tool, ...]:
        """The known tools that an agent may use."""
        return ()

    async def ready(self, _agent: Agent, _call: str) -> None:
        """Wait for the first attempt at each of an agent's servers; reload the tools of a call's server.

        Raises ToolError when that server is not available.
        """

    def states(self) -> Mapping[str, str]:
        return {}

    async def run(self) -> None:
        """Keep the servers connected until canceled."""


async def open_servers(config: Config, redact: Callable[[str], str]) -> Servers:
    """The configured servers, not connected yet. This imports the protocol's library, which takes a second."""
    if not config.mcp:
        return Servers()
    module = await asyncio.to_thread(importlib.import_module, "bot.agents.mcp.servers")
    servers: Servers = module.connecting(config, redact)
    return servers
