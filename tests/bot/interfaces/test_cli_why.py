"""`carina why` on the real program: beside a running service and without one."""

import json
from pathlib import Path

from tests.bot.terminals import carina


def test_it_says_what_the_last_answer_was_made_from(tmp_path: Path) -> None:
    assert carina(tmp_path, "chat", "--once", "remember that my dentist is on Elm Street").returncode == 0
    assert "Elm Street" in carina(tmp_path, "chat", "--once", "where is my dentist?").stdout
    done = carina(tmp_path, "why")
    assert (done.returncode, done.stderr) == (0, "")
    assert "my dentist is on Elm Street" in done.stdout
    found = json.loads(carina(tmp_path, "why", "--json").stdout)
    assert any("Elm Street" in memory["text"] for memory in found["memories"] if memory["kind"] == "entry")
    assert {memory["label"] for memory in found["memories"] if memory["kind"] == "block"} >= {"persona"}


def test_before_the_first_answer_there_is_none(tmp_path: Path) -> None:
    assert carina(tmp_path, "chat", "--once", "/help").returncode == 0
    done = carina(tmp_path, "why")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
