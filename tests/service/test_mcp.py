"""The tools of an MCP server, over Discord: asked for on a card, run at most once whatever happens, its key kept."""

import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.mcp.stage import KEY, Small
from tests.service.live_service import LABELS, NO_MERGING, WAITS, Live, first_of, labels, live_service, until
from tests.wire.discord import Message
from tests.wire.model import Answer, Call, Calls

DONE = "It is sunny in Linz."
AGENT = '[[agents]]\nname = "Carina"\ntools = ["recall", "mcp:weather"]\n'


@contextlib.asynccontextmanager
async def weather_town(folder: Path, small: Small) -> AsyncIterator[Live]:
    """The program running with an agent that may ask that server."""
    async with live_service(folder, scripted=True) as made:
        made.service.environment["WEATHER_KEY"] = KEY
        made.configure(NO_MERGING, f"{AGENT}{small.stdio()}")
        await made.service.start()
        await made.service.logged("mcp_connected", server="weather")
        yield made
        process = small.process
        await made.service.stop()
        made.check_requests()
        await until(lambda: not alive(process), what="the server's end")


def alive(process: int) -> bool:
    """Whether a process of that id runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def waiting(t: Live, *then: str) -> Message:
    """Ana asks for the weather; gives the card."""
    t.model.script(Calls(Call("weather_forecast", {"town": "Linz"})), Answer(WAITS), *map(Answer, then))
    assert (await t.ask(t.ana, t.general, "<@bot> how is the weather?")).text == WAITS
    return await t.card_of("Linz")


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path / "small")


async def test_a_yes_on_the_card_leads_to_one_call_and_the_answer(tmp_path: Path, small: Small) -> None:
    async with weather_town(tmp_path, small) as t:
        card = await waiting(t, DONE)
        assert labels(card) == LABELS
        assert "weather\\_forecast" in card.text or "weather_forecast" in card.text
        assert 'town: "Linz"' in card.text
        assert "goes to the MCP server “weather”" in card.text
        assert small.called == []
        await t.olga.press(card, "Allow once")
        await t.finished(card, t.general, DONE)
        assert [call["arguments"] for call in small.called] == [{"town": "Linz"}]
        assert small.called[0]["secret"] == KEY
        request = t.request_of("Linz")
        assert t.status_of(request) == "used"
        assert t.record_of(request) == ["asked", "answered", "used"]
        assert "the MCP server weather" in t.model.requests[-1].results[-1]

        assert (await t.service.data("status"))["mcp"] == {"weather": "connected, 1 tool"}
        shown = await t.olga.command("admin status", {})
        assert "MCP server “weather”: connected, 1 tool" in shown.text
        assert KEY not in t.service.text
        assert t.holding(KEY) == []


@pytest.mark.parametrize(
    ("fault", "calls", "told"),
    first_of(
        2,
        ("turn.tool_begin:after", 0, "nobody knows whether it took effect"),
        ("tool.outside:after", 1, "nobody knows whether it took effect"),
        ("turn.tool_begin:before", 1, "It is sunny."),
        ("turn.tool_end:after", 1, "It is sunny."),
    ),
)
async def test_killed_between_the_yes_and_the_answer_it_runs_at_most_once(
    tmp_path: Path, small: Small, fault: str, calls: int, told: str
) -> None:
    async with weather_town(tmp_path, small) as t:
        async with t.service.dying(fault) as doing:
            card = await waiting(t)
            t.model.default = lambda _: Answer(DONE)
            process = small.process
            doing(t.olga.press(card, "Allow once"))
        await until(lambda: not alive(process), what="the server's end")
        await t.service.start()
        await t.finished(card, t.general, DONE)
        assert len(small.called) == calls
        assert told in t.model.requests[-1].results[-1]
        assert "Allowed once" in await t.final(card)


async def test_one_that_cannot_be_started_stops_nothing_and_is_reported(tmp_path: Path, small: Small) -> None:
    small.does(start="die")
    async with live_service(tmp_path, scripted=True) as t:
        t.service.environment["WEATHER_KEY"] = KEY
        t.configure(NO_MERGING, f"{AGENT}{small.stdio()}")
        assert (await t.service.said("status")).count("MCP server “weather”: configured") == 1
        await t.service.start()
        logged = await t.service.logged("mcp_not_connected", server="weather")
        assert logged["reason"] == "closed the connection before it answered"
        t.model.script(Calls(Call("weather_forecast", {"town": "Linz"})), Answer("I could not ask."))
        assert (await t.ask(t.ana, t.general, "<@bot> how is the weather?")).text == "I could not ask."
        assert "Nothing was called" in t.model.requests[-1].results[-1]
        told = "MCP server “weather”: not connected: it closed the connection before it answered"
        assert told in await t.service.said("status")
        small.does()
        t.model.script(Calls(Call("weather_forecast", {"town": "Linz"})), Answer(WAITS))
        assert (await t.ask(t.ana, t.general, "<@bot> and now?")).text == WAITS
