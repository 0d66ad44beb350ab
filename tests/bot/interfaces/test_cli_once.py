"""`carina chat --once` beside others: every command prints its own answer, whoever's service gives it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bot.interfaces.cli.connection import new_id
from memory.store.ids import snowflakes
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


def test_a_reminder_is_promised_for_as_long_as_something_runs(tmp_path: Path) -> None:
    done = carina(tmp_path, "chat", "--once", "remind me in 2 minutes to drink water")
    assert "drink water" in done.stdout
    assert (
        done.stderr == "No service is running. This will be sent only while Carina runs: start it with `carina run`.\n"
    )
    assert carina(tmp_path, "chat", "--once", "hello").stderr == ""
