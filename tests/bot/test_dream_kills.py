"""Upkeep that is killed at its points, and at every statement of its transaction: all of it is there, or none."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memory import archival
from memory.archival import NewEntry, Origin
from memory.audience import Scope, Trust
from memory.database import Rows, Tx, as_dict, connect
from memory.migrations import Kind, prepare
from tests.bot.test_cli import carina
from tests.memory.dying import GUILD
from tests.memory.parts import ANN, NOON, STAR

ROOT = Path(__file__).parents[2]
TABLES = ("archival_entries", "dream_runs", "dream_items", "dream_tallies", "dream_marks", "dream_changes")


def content(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Every row of what upkeep touches but ids, which are drawn anew each time; and the file is sound."""
    raw = connect(path)
    try:
        rows = Rows(raw)
        (check,) = rows.all("PRAGMA integrity_check")
        assert check[0] == "ok"
        orphans = "SELECT 1 FROM archival_entries WHERE superseded_by NOT IN (SELECT id FROM archival_entries)"
        assert rows.all(orphans) == []
        return {table: [dict(as_dict(row)) for row in rows.all(" ".join(["SELECT * FROM", table]))] for table in TABLES}
    finally:
        raw.close()


def shape(found: dict[str, list[dict[str, Any]]]) -> list[tuple[Any, ...]]:
    """Which words stand, and how many rows there are of the rest."""
    entries = found["archival_entries"]
    return [
        *sorted((row["content"], row["archived_at"] is None, row["category"]) for row in entries),
        tuple(len(found[table]) for table in TABLES),
    ]


def filled(path: Path) -> None:
    prepare(path, Kind.CONSTELLATION)
    raw = connect(path)
    tx = Tx(raw)
    agent = dict.fromkeys(("name", "model", "system_prompt", "enabled_tools", "created_at", "updated_at"), "[]")
    tx.insert("agents", agent | {"id": STAR})
    for text in ("Ann takes the tram 71", "Ann goes by tram 71", "hm", "likes tea"):
        archival.insert(tx, STAR, NewEntry(text, Origin(Scope(GUILD), Trust.APPROVED, ANN)), NOON)
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    raw.close()


def test_a_run_and_its_undoing_that_die_at_any_statement_have_not_happened(tmp_path: Path) -> None:
    filled(tmp_path / "carina.db")
    before = content(tmp_path / "carina.db")
    command = [sys.executable, "-m", "tests.memory.dying", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    statements = {name: int(count) for name, count in (line.split() for line in done.stdout.splitlines())}
    assert all(count > 20 for count in statements.values()), statements
    after = content(tmp_path / f"tidy_{statements['tidy']}.db")
    undone = content(tmp_path / f"undo_{statements['undo']}.db")
    assert shape(after) != shape(before)
    assert undone["archival_entries"] == before["archival_entries"]
    for statement in range(1, statements["tidy"]):
        assert content(tmp_path / f"tidy_{statement}.db") == before, statement
    for statement in range(1, statements["undo"]):
        assert content(tmp_path / f"undo_{statement}.db") == after, statement


WORDS = ("Tom, the cat, sleeps", "Tom the cat sleeps")


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in which the same stands twice."""
    folder = tmp_path_factory.mktemp("twice")
    assert carina(folder, "chat", "--once", "hello").returncode == 0
    for words in WORDS:
        assert carina(folder, "archival", "add", words).returncode == 0
    return folder


def listed(folder: Path) -> list[str]:
    return sorted(row["text"] for row in json.loads(carina(folder, "archival", "list", "--json").stdout))


def test_killed_at_its_points_the_real_program_did_all_or_nothing(twice: Path) -> None:
    assert carina(twice, "dream", "run", CARINA_FAULT="dreams.store:before").returncode < 0
    assert listed(twice) == sorted(WORDS)
    assert carina(twice, "dream", "run", CARINA_FAULT="dreams.store:after").returncode < 0
    assert listed(twice) == [WORDS[0]]
    assert "nothing is new" in carina(twice, "dream", "run").stdout.lower()
    report = json.loads(carina(twice, "dream", "report", "--json").stdout)
    assert [row["what"] for row in report] == ["run", "made", "merged", "merged"]
    assert carina(twice, "dream", "undo", CARINA_FAULT="dreams.undo:before").returncode < 0
    assert listed(twice) == [WORDS[0]]
    assert carina(twice, "dream", "undo", CARINA_FAULT="dreams.undo:after").returncode < 0
    assert listed(twice) == sorted(WORDS)
    refused = carina(twice, "dream", "undo")
    assert refused.returncode != 0
    assert "no run to undo" in refused.stderr
