"""A chat that is told to stop by a signal: a clean end, wherever it is, and the terminal as it was."""

import asyncio
import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.bot.terminals import Terminal, carina, environment, serving
from tests.processes import START_SECONDS, Process, start
from tests.wire.model import Answer, Hang, ModelServer, Slow

START = r"Ctrl-D ends the chat(?s:.)*\n>"
BOTH = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])


def assert_restored(terminal: Terminal) -> None:
    """A cursor that is seen, and an empty line for the shell's sign."""
    written = terminal.everything
    assert written.rfind("\x1b[?25h") >= written.rfind("\x1b[?25l"), "the cursor is hidden"
    assert terminal.column == 0, "the shell's sign would not stand on a line of its own"
    for trouble in ("Traceback", "Fatal", "Aborted", "exception"):
        assert trouble not in written


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Process]:
    with serving(tmp_path) as running:
        yield running


@BOTH
def test_at_its_sign_it_ends_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with closing(Terminal(tmp_path, "chat")) as terminal:
        terminal.shows(START)
        terminal.type("half a line")
        terminal.shows("> half a line")  # what reaches a terminal after the chat has left it is echoed by the terminal
        terminal.send_signal(number)
        assert terminal.ended() == 0
        assert_restored(terminal)
        assert terminal.modes() == terminal.at_first


@BOTH
def test_beside_a_running_service_it_ends_alone(tmp_path: Path, service: Process, number: signal.Signals) -> None:
    with closing(Terminal(tmp_path, "chat")) as terminal:
        terminal.shows(START)
        terminal.type("remember that my safe is under the stairs\n")
        terminal.shows("I'll remember")
        terminal.send_signal(number)
        assert terminal.ended() == 0
        assert_restored(terminal)
    os.kill(service.pid, 0)
    assert "under the stairs" in carina(tmp_path, "chat", "--once", "where is my safe?").stdout
    service.send_signal(signal.SIGTERM)
    assert service.wait(START_SECONDS) == 0


@BOTH
def test_before_it_has_begun_it_is_called_off(tmp_path: Path, number: signal.Signals) -> None:
    home = tmp_path / "data"
    with closing(Terminal(tmp_path, "chat")) as terminal:
        while not home.is_dir():  # it opens its folder: the handlers stand, the sign does not yet
            terminal.wait(0.01)
        terminal.send_signal(number)
        assert terminal.ended() == 0
        assert "Traceback" not in terminal.everything
        assert "Aborted" not in terminal.everything
    assert carina(tmp_path, "chat", "--once", "hello").returncode == 0


async def test_what_runs_comes_to_its_end_and_is_there_at_the_next_start(tmp_path: Path) -> None:
    async with ModelServer.start() as model:
        more = {**model.environment(), "CARINA_MODEL": "openai:scripted"}
        model.script(Slow(1.5, Answer("In good time.")))
        with closing(Terminal(tmp_path, "chat", **more)) as terminal:
            await asyncio.to_thread(terminal.shows, START)
            terminal.type("hello\n")
            await model.wait_for(1)
            await asyncio.to_thread(terminal.shows, "thinking")
            terminal.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(terminal.ended) == 0
            assert_restored(terminal)
        with closing(Terminal(tmp_path, "chat", **more)) as terminal:
            await asyncio.to_thread(terminal.shows, r"In good time\.\n")
        assert len(model.requests) == 1


async def test_a_piped_chat_does_not_go_on_with_the_lines_it_has_read(tmp_path: Path) -> None:
    async with ModelServer.start() as model:
        model.script(Hang())
        more = {**model.environment(), "CARINA_MODEL": "openai:scripted"}
        process = await start(("chat",), environment(tmp_path, **more), tmp_path, "one\ntwo\nthree\n")
        await model.wait_for(1, START_SECONDS)
        process.terminate()
        assert await asyncio.wait_for(process.ended(), START_SECONDS) == 0
    listed = json.loads(carina(tmp_path, "inbox", "list", "--json").stdout)
    assert len(listed) == 1


async def test_a_single_question_says_that_it_was_stopped(tmp_path: Path) -> None:
    async with ModelServer.start() as model:
        model.script(Hang())
        more = {**model.environment(), "CARINA_MODEL": "openai:scripted"}
        with closing(Terminal(tmp_path, "chat", "--once", "hello", **more)) as terminal:
            await model.wait_for(1, START_SECONDS)
            terminal.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(terminal.ended) == 1
            assert_restored(terminal)
            plain = re.sub(r"\s+", " ", terminal.everything)
            assert "carina: Stopped before an answer arrived. `carina inbox list` shows" in plain
