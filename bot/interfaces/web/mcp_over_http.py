"""MCP over HTTP: the tools of `carina mcp` (`mcp_server.py`), for programs with an admin token."""

import asyncio
import importlib
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bot.interfaces.answers import ask_group
from bot.interfaces.control import operations
from bot.interfaces.version import version
from bot.interfaces.web.request import Context


async def serve(ctx: Context) -> Response:
    """Offer the tools of `carina mcp` over streamable HTTP."""
    # Imported here because it takes a second to load.
    tools: Any = await asyncio.to_thread(importlib.import_module, "bot.interfaces.mcp_server")

    async def ask(operation: str, within: float, **arguments: Any) -> Any:
        async with asyncio.timeout(within):
            if operation == "group.ask":
                return await ask_group(ctx.web.services, ctx.web.talk.router, **arguments)
            registry = ctx.web.services.registry
            return await operations.reply(registry, operation, arguments["arguments"], arguments["view"])

    server = tools.tools_server(ask, version())
    # Without a host, since `request_checks.py` has checked the request's: the library would accept only this machine's.
    server.streamable_http_app(json_response=True, stateless_http=True, host="")
    return _McpResponse(server.session_manager)


class _McpResponse(Response):
    """A response written by the MCP library."""

    def __init__(self, manager: Any) -> None:
        super().__init__()
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._manager.run():
            await self._manager.handle_request(scope, receive, send)


ROUTES = (("GET", "/mcp", serve), ("POST", "/mcp", serve), ("DELETE", "/mcp", serve))
