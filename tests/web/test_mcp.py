"""The tools of `carina mcp` over HTTP, called by the MCP library's own client."""

from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.web.site import site


async def test_an_mcp_client_calls_the_tools(tmp_path: Path) -> None:
    async with site(tmp_path) as s:
        token = (await s.call("token.create", name="ide", scope="admin"))["token"]
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=20, trust_env=False)
        async with http, Client(streamable_http_client(f"{s.address}/mcp", http_client=http)) as mcp:
            tools = {each.name for each in (await mcp.list_tools()).tools}
            assert tools == {"list_groups", "route_to_group", "search_memory", "read_block"}
            assert "Main (round_robin): Carina" in str((await mcp.call_tool("list_groups", {})).content)
            shown = await mcp.call_tool("read_block", {"block": "persona"})
            assert "My name is Carina" in str(shown.content)
            said = await mcp.call_tool("route_to_group", {"group": "Main", "message": "hello"})
            assert not said.is_error
            wrong = await mcp.call_tool("route_to_group", {"group": "Nobody", "message": "hello"})
            assert wrong.is_error


@pytest.mark.parametrize("scope", ["chat", "read"])
async def test_a_narrower_token_reaches_no_tool(tmp_path: Path, scope: str) -> None:
    async with site(tmp_path) as s:
        program = await s.program(scope)
        refused = await program.post("/mcp", json={})
        assert refused.status_code == 403
        assert "needs a token with the scope admin" in refused.json()["error"]["message"]
