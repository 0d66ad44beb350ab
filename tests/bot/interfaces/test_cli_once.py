"""`carina chat --once` beside others: every command prints its own answer, whoever's service gives it."""

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bot.config import load_config
from bot.interfaces.cli.chat.chat import _Answered, _pass_on, _Stop
from bot.interfaces.cli.connection import Line, new_id
from memory.store.ids import snowflakes
from sources.screen import ChatView
from sources.terminal import ONCE
from tests.bot.terminals import carina


def test_commands_of_the_same_millisecond_say_two_things(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snowflakes, "next", lambda: 7)  # as two processes may
    assert len({new_id(ONCE) for _ in range(2)}) == 2


def test_commands_at_the_same_time_each_print_their_own_answer(tmp_path: Path) -> None:
    assert carina(tmp_path, "chat", "--once", "hello").returncode == 0
    with ThreadPoolExecutor(4) as threads:
        kept = threads.map(
            lambda number: carina(tmp_path, "chat", "--once", f"remember that my key {number} is V{number}"), range(4)
        )
    for number, done in enumerate(kept):
        assert (done.returncode, done.stderr) == (0, "")
        assert f"V{number}" in done.stdout
        assert done.stdout.count("I'll remember") == 1
    after = carina(tmp_path, "chat", "--once", "what is my key 3?")
    assert "V3" in after.stdout
    assert "I'll remember" not in after.stdout


async def test_a_piped_line_is_not_over_with_the_end_of_other_work(tmp_path: Path) -> None:
    answered, ended = _Answered(), asyncio.Event()

    async def pass_on() -> None:
        await _pass_on(
            "hello", Line(load_config({}, tmp_path), _silent, "", own=False), ChatView(Console()), answered, _Stop()
        )
        ended.set()

    passing = asyncio.create_task(pass_on())
    for ids in ((), ("left by an earlier service",)):
        answered.add(ids)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not ended.is_set()
    answered.add(["mine"])
    await asyncio.wait_for(passing, 10)


async def _silent(_operation: str, **_given: Any) -> AsyncGenerator[dict[str, Any], None]:
    """A service that takes what is said and shows nothing."""
    yield {"id": "mine"}


def test_a_reminder_is_promised_for_as_long_as_something_runs(tmp_path: Path) -> None:
    done = carina(tmp_path, "chat", "--once", "remind me in 2 minutes to drink water")
    assert "drink water" in done.stdout
    assert (
        done.stderr == "No service is running. This will be sent only while Carina runs: start it with `carina run`.\n"
    )
    assert carina(tmp_path, "chat", "--once", "hello").stderr == ""
