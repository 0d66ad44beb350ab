"""The writer of one file: group commits, units that fail alone, callers that go away, and disks that refuse."""

import asyncio
import errno
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.store.database import Database, Row, Rows, Tx, as_dict
from memory.store.errors import DatabaseBusy, DatabaseFull
from memory.store.faults import commit_point
from memory.store.row_mapper import json_rows
from memory.store.sqlite import Connection, connect, driver

NOTE = commit_point("test_database.note")

SCHEMA = "CREATE TABLE notes (n INTEGER PRIMARY KEY AUTOINCREMENT, word TEXT UNIQUE NOT NULL) STRICT"


def make(path: Path) -> Path:
    with closing(connect(path)) as raw:
        raw.execute(SCHEMA)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make(tmp_path / "notes.db")


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    async with Database.open(path) as opened:
        yield opened


def put(word: str) -> Callable[[Tx], str]:
    def work(tx: Tx) -> str:
        tx.insert("notes", {"word": word})
        return word

    return work


def words(rows: Rows) -> list[str]:
    return [row["word"] for row in rows.all("SELECT word FROM notes ORDER BY n")]


def stored(path: Path) -> list[str]:
    """What another process would find."""
    with closing(connect(path, read_only=True)) as raw:
        return words(Rows(raw))


class Gate:
    """Keeps the writer's thread busy until it is opened, so that units gather behind it."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._reached = threading.Event()

    def __call__(self, _tx: Tx) -> None:
        self._reached.set()
        assert self._opened.wait(10)

    async def reached(self) -> None:
        assert await asyncio.to_thread(self._reached.wait, 10)

    def open(self) -> None:
        self._opened.set()


async def test_units_that_wait_together_share_one_commit(database: Database) -> None:
    gate = Gate()
    seen: list[object] = []
    first = asyncio.ensure_future(database.write(NOTE, gate))
    await gate.reached()

    def note(tx: Tx) -> None:
        row = tx.one("SELECT count(*) AS n FROM notes")
        assert row is not None
        seen.append((row["n"], len(stored(database.path))))
        tx.insert("notes", {"word": str(len(seen))})

    others = [asyncio.ensure_future(database.write(NOTE, note)) for _ in range(5)]
    await asyncio.sleep(0)
    gate.open()
    await asyncio.gather(first, *others)
    # Each sees what the ones before it wrote, and nobody else sees any of it before all are done.
    assert seen == [(n, 0) for n in range(5)]
    assert len(stored(database.path)) == 5


class _Panic(BaseException):
    """What a library in another language may raise."""


async def test_a_unit_or_a_read_that_takes_the_next_of_nothing_leaves_nobody_waiting(database: Database) -> None:
    async with asyncio.timeout(5):
        with pytest.raises(RuntimeError, match="raised StopIteration"):
            await database.read(lambda _rows: next(iter([])))
        with pytest.raises(RuntimeError, match="raised StopIteration"):
            await database.write(NOTE, lambda _tx: next(iter([])))
        await database.write(NOTE, put("after"))


async def test_only_a_durable_unit_waits_until_the_disk_has_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, syncing = threading.Event(), threading.Event()

    def sync(descriptor: int) -> None:
        assert Path(f"/dev/fd/{descriptor}").read_bytes().count(b"safe")
        syncing.set()
        assert synced.wait(10)

    monkeypatch.setattr("memory.store.database._to_disk", sync)
    safe, quick = database.write(NOTE, put("safe"), durable=True), database.write(NOTE, put("quick"))
    assert await quick == "quick"
    assert stored(database.path) == ["safe", "quick"]
    assert await asyncio.to_thread(syncing.wait, 10)
    assert not safe.done()
    synced.set()
    assert await safe == "safe"
    syncing.clear()
    sharing = database.on_disk(database.write(NOTE, put("next")), 60)
    await database.write(NOTE, put("other"))
    assert not syncing.is_set()
    assert not sharing.done()
    await database.write(NOTE, put("last"), durable=True)
    assert await asyncio.wait_for(sharing, 10) == "next"
    syncing.clear()
    await database.on_disk(database.write(NOTE, put("late")), 0)
    assert syncing.is_set()


async def test_the_log_of_a_linked_file_is_synced_where_it_is(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = list[Path]()

    def sync(descriptor: int) -> None:
        os.write(descriptor, b"")  # Windows syncs only what is open for writing
        synced.append(Path(f"/dev/fd/{descriptor}").resolve())

    monkeypatch.setattr("memory.store.database._to_disk", sync)
    linked = tmp_path / "linked.db"
    linked.symlink_to(path)
    async with Database.open(linked) as database:
        await database.write(NOTE, put("safe"), durable=True)
    assert synced == [Path(f"{path}-wal").resolve()]


async def test_what_the_disk_may_not_keep_is_reported_and_not_done_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(errno.EIO, "the disk is broken")

    monkeypatch.setattr("memory.store.database._to_disk", fail)
    safe = [database.write(NOTE, put(word), durable=True) for word in ("one", "two")]
    assert await database.write(NOTE, put("three")) == "three"
    for each in safe:
        with pytest.raises(DatabaseFull, match="the disk is broken"):
            await each
    assert stored(database.path) == ["one", "two", "three"]


@settings(max_examples=25)
@given(
    plan=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["keep", "cancel", "raise", "panic"]), st.booleans()),
        min_size=1,
        max_size=25,
    )
)
def test_callers_that_go_away_at_random_neither_lose_nor_double_a_unit(plan: list[tuple[int, str, bool]]) -> None:
    """A unit that was given before its caller went away is committed exactly once, or failed as it would have."""

    def unit(number: int, fate: str) -> Callable[[Tx], None]:
        def work(tx: Tx) -> None:
            tx.insert("notes", {"word": str(number)})
            if fate == "raise":
                raise ValueError(number)
            if fate == "panic":
                raise _Panic(number)

        return work

    async def caller(database: Database, number: int, pause: int, fate: str, durable: bool) -> None:
        for _ in range(pause):
            await asyncio.sleep(0)
        await database.write(NOTE, unit(number, fate), durable=durable)

    async def world(path: Path) -> None:
        async with Database.open(path) as database:
            tasks = []
            for number, (pause, fate, durable) in enumerate(plan):
                task = asyncio.create_task(caller(database, number, pause, fate, durable))
                tasks.append(task)
                for _ in range(pause + 1):
                    await asyncio.sleep(0)
                if fate == "cancel":
                    task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError, ValueError, _Panic):
                    await task
            assert await database.maintain(lambda raw: raw.in_transaction) is False
        # In order of giving, each once: none is lost, none is there twice, none of the failed ones left anything.
        wanted = [str(number) for number, (_, fate, _) in enumerate(plan) if fate in ("keep", "cancel")]
        assert sorted(stored(path), key=int) == wanted

    with TemporaryDirectory() as folder:
        asyncio.run(world(make(Path(folder) / "notes.db")))


@pytest.mark.parametrize("broken", [False, True], ids=["in a group", "each for itself"])
async def test_a_writer_that_is_cancelled_itself_commits_nothing_twice(path: Path, *, broken: bool) -> None:
    """The loop's last resort is to cancel every task; what was committed then must not be run again."""
    async with Database.open(path) as database:
        flusher = next(task for task in asyncio.all_tasks() if task.get_name().startswith("writer of"))
        gate = Gate()
        runs: list[str] = []

        def count(tx: Tx) -> None:
            runs.append("run")
            tx.insert("notes", {"word": f"run {len(runs)}"})

        if broken:
            database.write(NOTE, lambda tx: tx.run("BROKEN")).add_done_callback(asyncio.Future.exception)
        units = [database.write(NOTE, gate), database.write(NOTE, count)]
        await gate.reached()
        flusher.cancel()
        await asyncio.sleep(0)
        gate.open()
        await asyncio.wait(units, timeout=5)
        assert all(unit.done() for unit in units)
    assert stored(path) == ([] if broken else ["run 1"])


async def test_who_is_cancelled_while_a_file_opens_leaves_no_thread_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, go_on = threading.Event(), threading.Event()

    def slowly(path: Path, *, read_only: bool) -> Connection:
        opening.set()
        go_on.wait(10)
        return connect(path, read_only=read_only)

    monkeypatch.setattr("memory.store.database.connect", slowly)
    before = set(threading.enumerate())
    context = Database.open(path)
    entering = asyncio.create_task(context.__aenter__())
    await asyncio.to_thread(opening.wait, 10)
    entering.cancel()
    await asyncio.sleep(0.05)
    assert not entering.done(), "the thread would report to nobody"
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await entering
    for thread in set(threading.enumerate()) - before:
        if "asyncio" not in thread.name:
            await asyncio.to_thread(thread.join, 10)
            assert not thread.is_alive()


async def test_a_file_that_another_program_holds_is_busy_and_works_again_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.store.sqlite._BUSY_MS", 50)
    other = connect(path)
    async with Database.open(path) as database:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseBusy, match="another program is locking the database"):
            await database.write(NOTE, put("refused"))
        assert await database.read(words) == []
        other.execute("ROLLBACK")
        await database.write(NOTE, put("taken"))
    other.close()
    assert stored(path) == ["taken"]


async def test_a_disk_that_became_read_only_is_full_and_works_again_later(path: Path) -> None:
    async with Database.open(path) as database:
        await database.maintain(lambda raw: raw.execute("PRAGMA query_only=1").fetchall())
        with pytest.raises(DatabaseFull, match="readonly database"):
            await database.write(NOTE, put("refused"))
        await database.maintain(lambda raw: raw.execute("PRAGMA query_only=0").fetchall())
        await database.write(NOTE, put("taken"))
    assert stored(path) == ["taken"]


async def test_a_file_that_the_system_does_not_open_is_no_defect(path: Path) -> None:
    with pytest.raises(DatabaseFull, match="unable to open"):
        async with Database.open(path.parent / "gone" / path.name):
            pass


async def test_units_that_wait_for_a_held_file_wait_together_and_before_an_end_only_for_a_moment(path: Path) -> None:
    async with Database.open(path) as database:
        await database.hurry()
        other = connect(path)
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        units = [database.write(NOTE, put(f"word {number}")) for number in range(8)]
        results = await asyncio.gather(*units, return_exceptions=True)
        other.execute("ROLLBACK")
        other.close()
        assert {type(each) for each in results} == {DatabaseBusy}
        assert time.monotonic() - began < 2.5
        assert await database.write(NOTE, put("later")) == "later"
    assert stored(path) == ["later"]


async def test_a_full_disk_stores_nothing_says_so_and_works_again_when_there_is_room(path: Path) -> None:
    async with Database.open(path) as database:
        await database.write(NOTE, put("first"))
        await database.maintain(lambda raw: raw.execute("PRAGMA max_page_count=1").fetchall())
        gate = Gate()
        first = database.write(NOTE, gate)
        await gate.reached()
        small = [database.write(NOTE, put(f"small {n}")) for n in range(2)]
        big = database.write(NOTE, put("x" * 100_000))
        last = database.write(NOTE, put("last"))
        gate.open()
        await first
        with pytest.raises(DatabaseFull, match="database or disk is full"):
            await big
        assert [await each for each in small] == ["small 0", "small 1"]
        assert await last == "last"
        assert await database.read(words) == ["first", "small 0", "small 1", "last"]
        with pytest.raises(DatabaseFull, match="database or disk is full"):
            await database.maintain(lambda raw: raw.execute("CREATE TABLE big AS SELECT zeroblob(100000) AS b"))
        await database.maintain(lambda raw: raw.execute("PRAGMA max_page_count=100000").fetchall())
        await database.write(NOTE, put("y" * 100_000))
    assert len(stored(path)) == 5


async def test_what_waits_is_committed_when_the_file_is_closed_and_nothing_is_taken_after(path: Path) -> None:
    async with Database.open(path) as database:
        units = [database.write(NOTE, put(str(number))) for number in range(20)]
    assert [unit.result() for unit in units] == [str(number) for number in range(20)]
    assert stored(path) == [str(number) for number in range(20)]
    with pytest.raises(RuntimeError, match="closing"):
        await database.write(NOTE, put("late"))


async def test_a_closing_that_is_cancelled_still_commits_what_waits(path: Path) -> None:
    inside = asyncio.Event()
    gate = Gate()

    async def use() -> None:
        async with Database.open(path) as database:
            database.write(NOTE, gate)
            await gate.reached()
            database.write(NOTE, put("waits"))
            inside.set()

    task = asyncio.create_task(use())
    await inside.wait()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    gate.open()
    with suppress(asyncio.CancelledError):
        await task
    assert stored(path) == ["waits"]


async def test_the_reader_cannot_write(database: Database) -> None:
    with pytest.raises(driver.OperationalError, match="readonly"):
        await database.read(lambda rows: rows.one("INSERT INTO notes (word) VALUES ('x') RETURNING n"))


async def test_a_second_reader_is_opened_when_two_read_at_once(database: Database) -> None:
    both = threading.Barrier(2, timeout=10)
    before = threading.active_count()
    for _ in range(3):
        await database.read(lambda _rows: None)
    assert threading.active_count() == before + 1
    await asyncio.gather(*(database.read(lambda _rows: both.wait()) for _ in range(2)))
    assert threading.active_count() == before + 2


async def test_a_slow_read_holds_up_no_other(database: Database) -> None:
    begun, over = threading.Event(), threading.Event()

    def slow(rows: Rows) -> list[str]:
        begun.set()
        assert over.wait(20)
        return words(rows)

    await database.write(NOTE, put("first"))
    waiting = asyncio.create_task(database.read(slow))
    await asyncio.to_thread(begun.wait, 20)
    try:
        assert await asyncio.wait_for(database.read(words), 10) == ["first"]
    finally:
        over.set()
    assert await waiting == ["first"]


async def test_one_read_sees_the_file_at_one_moment(database: Database) -> None:
    looked, written = threading.Event(), threading.Event()

    def twice(rows: Rows) -> tuple[list[str], list[str]]:
        before = words(rows)
        looked.set()
        assert written.wait(20)
        return before, words(rows)

    await database.write(NOTE, put("first"))
    reading = asyncio.create_task(database.read(twice))
    await asyncio.to_thread(looked.wait, 20)
    await database.write(NOTE, put("second"))
    written.set()
    assert await reading == (["first"], ["first"])
    assert await database.read(words) == ["first", "second"]


async def test_a_row_as_plain_data_and_an_insert_that_may_be_ignored(database: Database) -> None:
    def work(tx: Tx) -> tuple[bool, bool, Row | None]:
        again = {"word": "same"}
        return tx.insert("notes", again), tx.insert("notes", again, ignore=True), tx.one("SELECT * FROM notes")

    first, second, row = await database.write(NOTE, work)
    assert (first, second) == (True, False)
    assert row is not None
    assert as_dict(row) == {"n": 1, "word": "same"}


async def test_every_connection_has_the_pragmas_that_erasure_and_references_need(database: Database) -> None:
    def pragmas(tx: Tx) -> list[object]:
        found = [tx.one(f"PRAGMA {name}") for name in ("journal_mode", "foreign_keys", "secure_delete")]
        return [row[0] for row in found if row is not None]

    assert await database.write(NOTE, pragmas) == ["wal", 1, 1]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM found WHERE found MATCH 'busy)'",
        "SELECT * FROM fulltext_index",
        "SELECT * FROM locked",
        "SELECT 'database is locked' FROM notes WHERE",
        'SELECT * FROM "disk I/O"',
    ],
)
async def test_a_defect_of_ours_is_not_laid_to_the_disk_or_to_another_program(path: Path, sql: str) -> None:
    async with Database.open(path) as database:
        await database.write(NOTE, lambda tx: tx.run("CREATE VIRTUAL TABLE found USING fts5 (word)"))
        with pytest.raises(driver.OperationalError):
            await database.read(lambda rows: rows.all(sql))
        with pytest.raises(driver.OperationalError):
            await database.write(NOTE, lambda tx: tx.all(sql))


# -------------------------------------------------------------------- what one query packs into a row


ODD = [
    "",
    "plain",
    'quoted "twice" and \\ once',
    "line\nline\ttab",
    "nul \x00 and bell \x07",
    "日本語 👩‍👩‍👧",
    "\u2028 \ufeff",
    "{}",
]


def test_texts_numbers_and_nothing_come_back_as_they_are(tx: Tx) -> None:
    tx.run("CREATE TABLE odd (id INTEGER PRIMARY KEY, words TEXT, number INTEGER) STRICT")
    kept: list[list[Any]] = [[number, words, 2**62 + number] for number, words in enumerate(ODD)]
    kept += [[90, None, None], [91, "x" * 100_000, -(2**63)]]
    for each in kept:
        tx.run("INSERT INTO odd VALUES (?, ?, ?)", each)
    found = json_rows(tx, "id, words, number", "SELECT * FROM odd WHERE id >= ?", (0,))
    assert sorted(found) == kept
    assert json_rows(tx, "id", "SELECT id FROM odd WHERE id < 0") == []
