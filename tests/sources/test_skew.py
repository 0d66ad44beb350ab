"""How far clocks are apart, by what a real server says of its own."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from aiohttp import web

from sources.clock_skew import examine_clock
from sources.findings import Finding, State


class Clockwork:
    """A server whose clock goes wrong by so much; None: it says no time."""

    def __init__(self) -> None:
        self.url = ""
        self.off: timedelta | None = timedelta()

    async def answer(self, _request: web.Request) -> web.Response:
        date = "tomorrow" if self.off is None else format_datetime(datetime.now(UTC) + self.off, usegmt=True)
        return web.Response(status=401, headers={"Date": date})


@pytest.fixture
async def server() -> AsyncIterator[Clockwork]:
    clockwork, app = Clockwork(), web.Application()
    app.router.add_get("/", clockwork.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    clockwork.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    yield clockwork
    await runner.cleanup()


@pytest.mark.parametrize("off", [-20, 0, 20])
async def test_a_clock_that_is_right_enough(server: Clockwork, off: int) -> None:
    server.off = timedelta(seconds=off)
    assert await examine_clock(server.url) == Finding("clock", State.GOOD, "within 30 seconds of 127.0.0.1")


@pytest.mark.parametrize(("off", "words"), [(-120, "120 seconds ahead of"), (120, "120 seconds behind")])
async def test_a_clock_that_is_wrong(server: Clockwork, off: int, words: str) -> None:
    server.off = timedelta(seconds=off)
    found = await examine_clock(server.url)
    assert found.state is State.PROBLEM
    assert found.words.replace("119 ", "120 ").replace("121 ", "120 ").startswith(words)
    assert "NTP" in found.remedy


async def test_nobody_to_ask(server: Clockwork) -> None:
    server.off = None
    found = await examine_clock(server.url)
    assert (found.state, found.words) == (State.DOUBT, "the clock could not be checked: ValueError")
    found = await examine_clock("http://127.0.0.1:9/")
    assert (found.state, found.words) == (State.DOUBT, "the clock could not be checked: ClientConnectorError")
