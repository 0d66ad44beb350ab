"""`carina mcp`, started by the protocol's own client as another program would, beside a real service."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from tests.processes import ROOT
from tests.service.live_service import NO_MERGING, Live, live_service, started
from tests.wire.model import Answer, Slow

GROUPS = """\
[[agents]]
name = "Carina"
[[agents]]
name = "Vega"
[[groups]]
name = "Main"
members = ["Carina"]
default = true
[[groups]]
name = "Stars"
members = ["Vega"]
"""


@contextlib.asynccontextmanager
async def calling(t: Live) -> AsyncIterator[Client]:
    """The client of another program, which starts `carina mcp`."""
    inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    own = {"CARINA_HOME": str(t.service.home), "CARINA_CONFIG": str(t.service.file), "EMBEDDING_MODEL": "none"}
    environment = {**inherited, **own, **t.service.environment}
    command = StdioServerParameters(command=sys.executable, args=["-m", "bot", "mcp"], env=environment, cwd=ROOT)
    async with asyncio.timeout(120), Client(command) as client:
        yield client


async def called(client: Client, tool: str, **arguments: Any) -> tuple[str, bool]:
    """What a call gave, and whether it did what was wanted."""
    result = await client.call_tool(tool, arguments)
    (part,) = result.content
    assert isinstance(part, TextContent)
    return part.text, not result.is_error


async def test_what_it_offers_says_what_it_takes(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t, calling(t) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == ["list_groups", "read_block", "route_to_group", "search_memory"]
        assert tools["route_to_group"].input_schema["required"] == ["group", "message"]
        for tool, given, words in (
            (
                "search_memory",
                {"query": "x", "limit": 0},
                "limit is wrong: input should be greater than or equal to 1.",
            ),
            ("route_to_group", {"group": "Main"}, "message is missing."),
        ):
            assert await called(client, tool, **given) == (f"{tool} was not called. The argument {words}", False)
        assert await called(client, "read_block", block="persona", group_id="Main", version=3) == (
            "read_block was not called. It has no argument group_id, version; its arguments are: block.",
            False,
        )


async def test_without_a_service_it_says_so_and_what_to_do(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t, calling(t) as client:
        for tool, arguments in (
            ("route_to_group", {"group": "Main", "message": "hello"}),
            ("list_groups", {}),
            ("search_memory", {"query": "cat"}),
            ("read_block", {"block": "persona"}),
        ):
            text, ok = await called(client, tool, **arguments)
            assert not ok
            assert text.startswith("Carina is not running with the data folder")
            assert "`carina run`" in text


async def test_a_group_answers_as_the_owner_s_and_the_terminal_is_not_told_again(tmp_path: Path) -> None:
    async with started(tmp_path, NO_MERGING, GROUPS) as t:
        async with calling(t) as client:
            t.model.script(Answer("The tea is in the tin."), Answer("I am Vega."))
            assert await called(client, "route_to_group", group="main", message="Where is tea?") == (
                "The tea is in the tin.",
                True,
            )
            assert "Where is tea?" in t.model.requests[-1].last_user
            assert await called(client, "route_to_group", group_id="Stars", message="Who are you?") == (
                "I am Vega.",
                True,
            )
            groups, ok = await called(client, "list_groups")
            assert (ok, sorted(line.partition(" ")[0] for line in groups.splitlines())) == (True, ["Main", "Stars"])
            text, ok = await called(client, "route_to_group", group="Planets", message="Who are you?")
            assert not ok
            assert "There is no group “Planets”. Choose from: Main, Stars" in text
            assert await called(client, "route_to_group", group="Main", group_id="Stars", message="Who are you?") == (
                "route_to_group was not called. The arguments group and group_id are the same, but have different "
                "values.",
                False,
            )
        spoken = t.rows("SELECT place_id, role, content FROM messages WHERE content LIKE '%tea%' ORDER BY id")
        assert spoken == [
            ("terminal:local", "user", "Where is tea?"),
            ("terminal:local", "assistant", "The tea is in the tin."),
        ]
        assert (await t.service.data("status"))["unsent"] == 0


async def test_memory_is_read_as_the_owner_may(tmp_path: Path) -> None:
    async with started(tmp_path, scripted=False) as t:
        await t.ask(t.ana, t.ana.direct, "remember that my secret word is xylophone")
        await t.ask(t.ana, t.general, "<@bot> remember that the guild meets on Fridays")
        async with calling(t) as client:
            found, ok = await called(client, "search_memory", query="guild meets")
            assert ok
            assert "Fridays" in found
            assert "known in Home]" in found
            found, ok = await called(client, "search_memory", query="xylophone")
            assert (found, ok) == ("Nothing was found.", True)
            block, ok = await called(client, "read_block", block="persona")
            assert ok
            assert "My name is Carina." in block
            text, ok = await called(client, "read_block", block="nonsense")
            assert not ok
            assert "There is no block “nonsense” here. Choose from:" in text


async def test_a_service_that_ends_meanwhile_and_one_that_is_halted(tmp_path: Path) -> None:
    async with started(tmp_path) as t, calling(t) as client:
        await t.service.run("halt")
        text, ok = await called(client, "route_to_group", group="Main", message="Hello")
        assert not ok
        assert "Everything has been halted since" in text
        await t.service.run("halt", "release")
        t.model.script(Slow(60, Answer("never")))
        asked = asyncio.create_task(called(client, "route_to_group", group="Main", message="Hello"))
        await t.model.wait_for(1)
        await t.service.kill()
        text, ok = await asked
        assert not ok
        assert "The service stopped. When it is running again, it will answer the messages that it accepted." in text
        text, ok = await called(client, "search_memory", query="Hello")
        assert not ok
        assert "`carina run`" in text


@pytest.mark.parametrize("fault", ["group_request.take:before", "group_request.take:after"])
async def test_killed_as_the_answer_is_handed_over_nothing_is_lost(tmp_path: Path, fault: str) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.model.script(Answer("It is in the tin."), Answer("And this."))
        async with t.service.dying(fault), calling(t) as client:
            _text, ok = await called(client, "route_to_group", group="Main", message="Where is tea?")
            assert not ok
        await t.service.start()
        out = await t.service.said("chat", "--once", "Thanks")
        assert ("It is in the tin." in out) is (fault == "group_request.take:before")
        assert t.rows("SELECT count(*) FROM messages WHERE content = 'It is in the tin.'") == [(1,)]
