"""The Model Context Protocol: tools of external servers for our agents.

Only this package and `bot.interfaces.mcp` know the protocol's library. It is loaded when a server is configured or
`carina mcp` runs.
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
        """Those that are offered to an agent, as far as they are known."""
        ...

    async def ready(self, agent: Agent, call: str) -> None:
        """Wait a while until an agent's servers were asked for their tools once.

        Before a tool of theirs is called it is asked for anew, so that what was changed meanwhile is noticed.
        """
        ...

    def states(self) -> Mapping[str, str]: ...

    async def run(self) -> None:
        """Keep them connected until it is cancelled."""
        ...


class NoServers:
    """None is configured."""

    def tools(self, _agent: Agent) -> tuple[Tool, ...]:
        return ()

    async def ready(self, _agent: Agent, _call: str) -> None:
        return

    def states(self) -> Mapping[str, str]:
        return {}

    async def run(self) -> None:
        return


async def open_servers(config: Config, redact: Callable[[str], str]) -> Servers:
    """Those of the configuration, not yet connected. The protocol's library, a second's work, is loaded for them."""
    if not config.mcp:
        return NoServers()
    module = await asyncio.to_thread(importlib.import_module, "bot.agents.mcp.servers")
    servers: Servers = module.connecting(config, redact)
    return servers
