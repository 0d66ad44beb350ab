"""Upkeep that is killed at its points, and at every statement of its transaction: all of it is there, or none."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memory.knowledge import entry_changes
from memory.knowledge.entries import NewEntry, Origin
from memory.people.audience import Scope, Trust
from memory.store.database import Rows, as_dict
from memory.store.sqlite import connect
from tests.bot.terminals import Begin, carina
from tests.memory.knowledge.killed_upkeep import GUILD
from tests.memory.parts import ANN, NOON, STAR, opened

ROOT = Path(__file__).parents[3]
TABLES = (
    *("archival_entries", "dream_runs", "dream_items", "dream_tallies", "dream_marks", "dream_changes"),
    "graph_triples",
)


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


def filled(folder: Path) -> None:
    tx = opened(folder)
    for text in ("Ann takes the tram 71", "Ann goes by tram 71", "hm", "likes tea"):
        entry_changes.insert(tx, STAR, NewEntry(text, Origin(Scope(GUILD), Trust.APPROVED, ANN)), NOON)
    tx._raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    tx._raw.close()


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_a_run_and_its_undoing_that_die_at_any_statement_have_not_happened(tmp_path: Path, step: int) -> None:
    filled(tmp_path)
    before = content(tmp_path / "carina.db")
    command = [sys.executable, "-m", "tests.memory.knowledge.killed_upkeep", str(tmp_path), str(step)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    statements = {name: int(count) for name, count in (line.split() for line in done.stdout.splitlines())}
    assert all(count > 20 for count in statements.values()), statements
    after = content(tmp_path / f"tidy_{statements['tidy']}.db")
    undone = content(tmp_path / f"undo_{statements['undo']}.db")
    assert shape(after) != shape(before)
    assert len(after["graph_triples"]) == 2, "of the source, and of what it was merged into"
    assert undone["archival_entries"] == before["archival_entries"]
    for statement in range(1, statements["tidy"], step):
        assert content(tmp_path / f"tidy_{statement}.db") == before, statement
    for statement in range(1, statements["undo"], step):
        assert content(tmp_path / f"undo_{statement}.db") == after, statement


WORDS = ("Tom, the cat, sleeps", "Tom the cat sleeps")


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory, begin: Begin) -> Path:
    """A data folder in which the same stands twice; for copies of it."""
    folder = tmp_path_factory.mktemp("twice")
    begin(folder)
    for words in WORDS:
        assert carina(folder, "archival", "add", words).returncode == 0
    return folder


def listed(folder: Path) -> list[str]:
    return sorted(row["text"] for row in json.loads(carina(folder, "archival", "list", "--json").stdout))


def test_killed_at_its_points_the_real_program_did_all_or_nothing(twice: Path, tmp_path: Path) -> None:
    home = own_copy(twice, tmp_path)
    assert carina(home, "dream", "run", CARINA_FAULT="dreams.store:before").returncode < 0
    assert listed(home) == sorted(WORDS)
    assert carina(home, "dream", "run", CARINA_FAULT="dreams.store:after").returncode < 0
    assert listed(home) == [WORDS[0]]
    assert "there is nothing new" in carina(home, "dream", "run").stdout.lower()
    report = json.loads(carina(home, "dream", "report", "--json").stdout)
    assert [row["what"] for row in report] == ["run", "made", "merged", "merged"]
    assert carina(home, "dream", "undo", CARINA_FAULT="command.write:before").returncode < 0
    assert listed(home) == [WORDS[0]]
    assert carina(home, "dream", "undo", CARINA_FAULT="command.write:after").returncode < 0
    assert listed(home) == sorted(WORDS)
    refused = carina(home, "dream", "undo")
    assert refused.returncode != 0
    assert "no cleanup to undo" in refused.stderr


def own_copy(twice: Path, folder: Path) -> Path:
    """A copy of that folder, so that no test is another's past."""
    return shutil.copytree(twice, folder / "home")


def remembered(home: Path, words: str, change: str) -> None:
    """Keep an entry, and change its row behind the program's back."""
    assert carina(home, "archival", "add", words).returncode == 0
    with closing(sqlite3.connect(file_of(home))) as raw, raw:
        raw.execute(change)


def file_of(folder: Path) -> Path:
    (path,) = folder.rglob("carina.db")
    return path


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(file_of(folder))) as raw:
        return raw.execute(sql).fetchall()


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_run_that_its_own_checks_refuse_changes_nothing_wherever_it_dies(
    twice: Path, tmp_path: Path, side: str
) -> None:
    broken = """UPDATE archival_entries SET archived_at = created_at, superseded_by = 'ent_gone'
                WHERE content = 'An old word'"""
    home = own_copy(twice, tmp_path)
    remembered(home, "An old word", broken)
    before = rows(home, "SELECT * FROM archival_entries ORDER BY n")
    assert carina(home, "dream", "run", CARINA_FAULT=f"dreams.refuse:{side}").returncode < 0
    assert rows(home, "SELECT * FROM archival_entries ORDER BY n") == before
    assert rows(home, "SELECT outcome FROM dream_runs") == ([] if side == "before" else [("refused",)])
    again = carina(home, "dream", "run")
    assert "superseded by one that is not there" in again.stdout
    assert rows(home, "SELECT * FROM archival_entries ORDER BY n") == before
    assert "rejected by its own checks" in carina(home, "dream", "report").stdout


WAITING = """UPDATE archival_entries SET archived_at = created_at, person_id = 'terminal:owner',
             metadata = json_set(metadata, '$.requires_user_permission', json('true')) WHERE content = 'A sore word'"""


@pytest.mark.parametrize("answer", ["allow", "refuse"])
@pytest.mark.parametrize("side", ["before", "after"])
def test_an_answer_about_what_waits_counts_once_wherever_it_dies(
    twice: Path, tmp_path: Path, answer: str, side: str
) -> None:
    home = own_copy(twice, tmp_path)
    remembered(home, "A sore word", WAITING)
    (waits,) = json.loads(carina(home, "dream", "waiting", "--json").stdout)
    assert carina(home, "dream", answer, waits["id"], CARINA_FAULT=f"command.write:{side}").returncode < 0
    again = carina(home, "dream", answer, waits["id"])
    assert again.returncode == (0 if side == "before" else 1), again.stderr
    assert json.loads(carina(home, "dream", "waiting", "--json").stdout) == []
    assert ("A sore word" in listed(home)) is (answer == "allow")
