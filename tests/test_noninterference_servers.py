"""Nothing that is said to one person alone reaches others by a server of tools, nor that server without a yes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agents.mcp import Servers
from bot.agents.mcp.servers import connecting
from bot.config import load_config
from bot.config.values import TOOLS
from tests.mcp.stage import KEY, Small
from tests.worlds import (
    ANNS,
    SECRETS,
    TOML,
    Harness,
    World,
    compared,
    everything_known,
    lines,
    random_worlds,
    tellings,
    world_of,
)

PRIVATE = 'ask = "private"\nread_only = ["forecast"]'
CALLED: list[list[str]] = []
"""What the server was asked for in each world, by towns."""


@asynccontextmanager
async def weather(folder: Path) -> AsyncIterator[tuple[str, Servers]]:
    """A real server of tools: where everybody may know what is said it is called unasked, else only with a yes."""
    small = Small(folder / "small")
    (folder / ".env").write_text(f"WEATHER_KEY={KEY}\n", "utf-8")
    tools = ", ".join(f'"{name}"' for name in (*TOOLS, "mcp:weather"))
    toml = TOML.replace('name = "Carina"\n', f'name = "Carina"\ntools = [{tools}]\n')
    toml = f"{small.stdio(PRIVATE)}\n{toml}"
    (folder / "carina.toml").write_text(toml, "utf-8")
    servers = connecting(load_config({"CARINA_HOME": str(folder)}, folder), str)
    keeping = asyncio.create_task(servers.run())
    try:
        yield toml, servers
    finally:
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping
        CALLED.append(small.towns)


WITH_SERVER = Harness(mcp=weather)


@random_worlds(5)
@given(st.builds(World, lines(4), tellings(ANNS), lines(6)))
def test_with_a_server_of_tools_random_worlds_look_the_same_elsewhere(world: World) -> None:
    CALLED.clear()
    one, other = compared(world, WITH_SERVER)
    assert one.elsewhere == other.elsewhere
    assert CALLED[0] == CALLED[1]


def test_what_is_asked_of_the_server_in_secret_is_seen_by_nobody_and_not_sent() -> None:
    CALLED.clear()
    one, other = compared(world_of([ANNS], ("ask", "remember", "ask"), "ask", "find"), WITH_SERVER)
    assert one.elsewhere == other.elsewhere
    assert one.secret != other.secret
    assert any("weather_forecast" in each for each in one.secret), "it was asked for there"
    assert CALLED[0] == CALLED[1]
    assert CALLED[0], "where everybody may know what is said it is called"
    assert not set(SECRETS) & set(CALLED[0])


def test_what_is_sent_without_a_yes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    CALLED.clear()
    monkeypatch.setattr("bot.agents.permissions.calls_needing_approval.call_needs", lambda *_of: None)
    compared(world_of([ANNS], ("ask",), "find"), WITH_SERVER)
    assert (SECRETS[0] in CALLED[0], SECRETS[1] in CALLED[1]) == (True, True)
    assert CALLED[0] != CALLED[1]


def test_a_leak_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.people.audience.Scope.bind", everything_known)
    one, other = compared(world_of([ANNS], ("ask",), "find"), WITH_SERVER)
    assert one.elsewhere != other.elsewhere
