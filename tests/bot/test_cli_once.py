"""`carina chat --once` beside others: every command prints its own answer, whoever's service gives it."""

import subprocess
import sys
from pathlib import Path

from tests.bot.test_cli import carina, environment


def test_commands_at_the_same_time_each_print_their_own_answer(tmp_path: Path) -> None:
    assert carina(tmp_path, "chat", "--once", "hello").returncode == 0
    words = [sys.executable, "-m", "bot", "chat", "--once"]
    running = [
        subprocess.Popen(
            [*words, f"remember that my key {number} is V{number}"],
            cwd=tmp_path,
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        for number in range(4)
    ]
    for number, process in enumerate(running):
        out, error = process.communicate(timeout=120)
        assert (process.returncode, error) == (0, "")
        assert f"V{number}" in out
        assert out.count("I'll remember") == 1
    after = carina(tmp_path, "chat", "--once", "what is my key 3?")
    assert "V3" in after.stdout
    assert "I'll remember" not in after.stdout
