"""`carina init`: what it writes loads and runs as it is, and what was there stays."""

import json
from pathlib import Path

import pytest

from bot.interfaces.cli.wizard.init import Starter, starter_text
from tests.bot.terminals import carina

AGENTS = ["Anchor", "Archive", "Entropy", "Flux", "Momentum", "Pattern"]


@pytest.mark.parametrize(("starter", "agents"), [("plain", ["Carina"]), ("adhd", AGENTS)])
def test_a_starter_is_written_once_loads_and_answers(tmp_path: Path, starter: Starter, agents: list[str]) -> None:
    done = carina(tmp_path, "init", "--starter", starter)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"(starter: {starter})" in done.stdout
    assert (tmp_path / "carina.toml").read_text("utf-8") == starter_text(starter)
    assert (
        "your dentist is on Elm Street"
        in carina(tmp_path, "chat", "--once", "remember that my dentist is on Elm Street").stdout
    )
    found = json.loads(carina(tmp_path, "agent", "list", "--json").stdout)
    assert [(row["agent"], row["file"]) for row in found] == [(name, "as in carina.toml") for name in agents]
    again = carina(tmp_path, "init", "--starter", "plain")
    assert (again.returncode, "was not changed" in again.stderr) == (1, True)
    assert (tmp_path / "carina.toml").read_text("utf-8") == starter_text(starter)
