"""Searching the files of an open database: it stays locked, and what is found comes from another process."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memory.erasure import byte_search
from memory.store.database import Database
from memory.store.errors import StoreError
from memory.store.faults import commit_point

_WRITE = commit_point("tests.traces")
READ = """import sqlite3, sys
raw = sqlite3.connect(sys.argv[1])
print(raw.execute("SELECT * FROM said").fetchall())
raw.close()"""


def read_elsewhere(path: Path) -> str:
    """What another process reads, which opens the database and closes it again, as an editor or a backup does."""
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


async def test_a_search_leaves_the_locks_of_an_open_database_alone(tmp_path: Path) -> None:
    """Without them whoever closes the database next takes its log away, and the process dies of it."""
    path = tmp_path / "home.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA journal_mode = wal")
        raw.execute("CREATE TABLE said (words TEXT)")
    async with Database.open(path) as database:
        await database.write(_WRITE, lambda tx: tx.run("INSERT INTO said VALUES ('a quokka')"))
        log = path.with_name("home.db-wal")
        before = log.stat().st_ino
        assert (await byte_search.search_in_process(tmp_path, ["quokka"])).left != ()
        assert read_elsewhere(path) == "[('a quokka',)]"
        assert log.exists()
        assert log.stat().st_ino == before
        await database.write(_WRITE, lambda tx: tx.run("INSERT INTO said VALUES ('a quoll')"))
        assert read_elsewhere(path) == "[('a quokka',), ('a quoll',)]"


async def test_both_ways_find_the_same(tmp_path: Path) -> None:
    tmp_path = tmp_path / "beside-litestream"  # the name of a data folder hides nothing in it
    tmp_path.mkdir()
    (tmp_path / "notes.txt").write_text("A Quokka, größer als Öl", "utf-8")
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "old.db").write_bytes(b"quokka")
    words = ["quokka", "Größer als Öl", "\ud800 is no word"]
    found = await byte_search.search_in_process(tmp_path, words)
    assert found == byte_search.search(tmp_path, words)
    assert [(left.file, left.samples, left.copy) for left in found.left] == [
        ("backups/old.db", 1, True),
        ("notes.txt", 2, False),
    ]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("sys.executable", "/bin/false", "could not be searched"),
        ("memory.erasure.byte_search._SEARCH_SECONDS", 0.0, "took longer than 0 seconds"),
    ],
)
async def test_a_search_that_breaks_or_does_not_end_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: object, said: str
) -> None:
    monkeypatch.setattr(name, value)
    with pytest.raises(StoreError, match=said):
        await byte_search.search_in_process(tmp_path, ["quokka"])
