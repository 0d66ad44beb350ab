"""The same over streamable HTTP, with the protocol's own library; it wants a header."""

import asyncio
import os
import socket
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server

from tests.mcp.behaviour import Behaviour


def make(behaviour: Behaviour) -> Server[Any]:
    async def listing(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": behaviour.read()["tools"]})

    async def call(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        behaviour.note(params.name, params.arguments or {})
        match behaviour.read().get("faults", {}).get(params.name):
            case "hang":
                await asyncio.sleep(3_600)
            case "die":
                os._exit(3)
        return types.CallToolResult.model_validate(behaviour.result(params.name, params.arguments or {}))

    return Server("small", on_list_tools=listing, on_call_tool=call)


def guarded(app: Any, wanted: str) -> Any:
    async def guard(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization", b"").decode() != wanted:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    return guard


def main() -> None:
    folder, port, json_response = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "json"
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen()
    app = make(Behaviour(folder)).streamable_http_app(json_response=json_response)
    wanted = os.environ.get("API_KEY", "")
    serving = uvicorn.Server(uvicorn.Config(guarded(app, wanted), log_level="critical", lifespan="on"))
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    asyncio.run(serving.serve([listening]))


if __name__ == "__main__":
    main()
