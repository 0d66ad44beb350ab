"""Words are indexed after the commit that brought them: no search misses them, and no death loses them."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import structlog

from memory import activity
from memory.activity import Kind, NewEvent
from memory.agents import Agent, seed_agent
from memory.blocks import Author, NewBlock, Permission, append_block, create_block, delete_block
from memory.blocks import store as stored_blocks
from memory.blocks.document import agent_writer
from memory.erasure.person import erase_here
from memory.people.audience import PUBLIC, Scope, Trust, person_audience
from memory.search.hybrid import search
from memory.search.query import Domain, Query
from memory.store import database, late_indexes
from memory.store.cache import Kept
from memory.store.constellation import Constellations
from memory.store.database import Database, Rows, Tx
from memory.store.errors import DatabaseBusy
from memory.store.faults import commit_point
from memory.store.ids import AgentId, ErasureId, PersonId
from memory.store.migrations import Kind as FileKind
from memory.store.migrations import prepare
from memory.store.sqlite import Connection, connect

POINT = commit_point("test.late_indexes")
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
ADA = AgentId("agt_ada")
ANN = PersonId("discord:ann")
SCOPE = Scope(PUBLIC)
NEVER = 3_600.0


def seed(tx: Tx) -> None:
    seed_agent(tx, Agent(ADA, "Ada", "", "offline", "", ()), NOW)
    notes = NewBlock(ADA, "notes", "Notes.", PUBLIC, Trust.AGENT, permission=Permission.ADMIN)
    create_block(tx, notes, agent_writer(ADA), NOW)


def author() -> Author:
    return Author(ADA, SCOPE, agent_writer(ADA), Trust.AGENT, NOW)


def add(text: str) -> Callable[[Tx], object]:
    return lambda tx: append_block(tx, author(), "notes", text)


def tell(words: str, about: PersonId | None = None) -> Callable[[Tx], None]:
    return lambda tx: activity.note(tx, NewEvent(Kind.NOTABLE, words, PUBLIC, Trust.AGENT, ADA, about), NOW)


def hits(words: str, domain: Domain = "blocks") -> Callable[[Rows], int]:
    return lambda rows: len(search(rows, Query(words, ADA, frozenset({domain})), SCOPE).hits)


def sound(tx: Tx) -> None:
    """Raise unless the indexes hold exactly what their tables have."""
    tx.run("INSERT INTO block_fts (block_fts, rank) VALUES ('integrity-check', 1)")
    tx.run("INSERT INTO activity_fts (activity_fts, rank) VALUES ('integrity-check', 1)")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who searches waits until it is indexed, however slow the machine is."""
    monkeypatch.setattr(database, "_PATIENCE", 30.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "carina.db"
    prepare(found, FileKind.CONSTELLATION)
    return found


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Database]:
    async with Database.open(path) as opened:
        await opened.write(POINT, seed)
        yield opened


@contextmanager
def elsewhere(path: Path) -> Iterator[Tx]:
    """A process that commits and dies before anything is indexed."""
    raw = connect(path)
    try:
        raw.execute("BEGIN IMMEDIATE")
        yield Tx(raw, Kept())
        raw.execute("COMMIT")
    finally:
        raw.close()


async def test_a_search_right_after_an_edit_finds_it(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LATE", NEVER)
    await store.write(POINT, add("the walrus"))
    await store.write(POINT, tell("saw a narwhal"))
    assert await store.read(hits("walrus")) == 0
    assert await store.read(hits("narwhal", "activity"), indexed=True) == 1
    assert await store.read(hits("walrus")) == 1
    await store.write(POINT, sound)


async def test_all_who_search_at_once_find_it(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LATE", NEVER)
    await store.write(POINT, add("the walrus"))
    assert await asyncio.gather(*(store.read(hits("walrus"), indexed=True) for _ in range(5))) == [1] * 5


async def test_it_is_indexed_when_nobody_searches(store: Database) -> None:
    await store.write(POINT, add("the walrus"))
    async with asyncio.timeout(5):
        while await store.read(late_indexes.waiting):
            await asyncio.sleep(0.01)
    assert await store.read(hits("walrus")) == 1


async def test_it_is_indexed_at_the_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LATE", NEVER)
    async with Database.open(path) as store:
        await store.write(POINT, seed)
        await store.write(POINT, add("the walrus"))
    async with Database.open(path) as store:
        assert await store.read(hits("walrus")) == 1


async def test_what_a_death_left_is_indexed_at_the_start(tmp_path: Path) -> None:
    async with Constellations.open(tmp_path, lambda: NOW) as constellations:
        home = await constellations.ensure("home", ANN)
    with elsewhere(home.path) as tx:
        seed(tx)
        add("the walrus")(tx)
        tell("saw a narwhal")(tx)
    async with Constellations.open(tmp_path, lambda: NOW) as constellations, constellations.use(home.id) as store:
        assert await store.read(hits("walrus"), indexed=True) == 1
        assert await store.read(hits("narwhal", "activity")) == 1


async def test_what_cannot_be_indexed_at_the_start_keeps_no_constellation_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Constellations.open(tmp_path, lambda: NOW) as constellations:
        home = await constellations.ensure("home", ANN)
    with elsewhere(home.path) as tx:
        seed(tx)
        add("the walrus")(tx)
    with structlog.testing.capture_logs() as logged, monkeypatch.context() as broken:
        broken.setattr(late_indexes, "block_words", broken_words)
        async with Constellations.open(tmp_path, lambda: NOW) as constellations, constellations.use(home.id) as store:
            assert await store.read(hits("walrus"), indexed=True) == 0
            broken.undo()
            assert await store.read(hits("walrus"), indexed=True) == 1
    told = {(line["event"], line["log_level"], line.get("exc_info")) for line in logged}
    assert told == {("words_not_indexed", "error", True)}


def broken_words(*_: str) -> str:
    raise ZeroDivisionError


async def test_many_edits_are_indexed_once(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LATE", NEVER)
    indexed: list[str] = []
    words = late_indexes.block_words

    def counted(label: str, description: str, content: str) -> str:
        indexed.append(content)
        return words(label, description, content)

    monkeypatch.setattr(late_indexes, "block_words", counted)
    for number in range(10):
        await store.write(POINT, add(f"{number}"))
    assert await store.read(hits("0123456789"), indexed=True) == 1
    assert indexed == ["0123456789"]


async def test_what_fails_is_tried_again_and_reading_goes_on(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LATE", NEVER)
    failing = [DatabaseBusy("somebody holds it")]

    def late(tx: Tx) -> None:
        if failing:
            raise failing.pop()
        late_indexes.index_waiting(tx)

    monkeypatch.setattr(stored_blocks, "index_waiting", late)
    await store.write(POINT, add("the walrus"))
    assert await store.read(hits("walrus"), indexed=True) == 0
    assert await store.read(hits("walrus"), indexed=True) == 1


async def test_an_index_that_is_broken_is_told_of_and_edits_go_on(store: Database) -> None:
    await store.write(POINT, lambda tx: tx.run("DROP TABLE block_fts"))
    with structlog.testing.capture_logs() as logged:
        await store.write(POINT, add("the walrus"))
        await store.read(late_indexes.waiting, indexed=True)
    assert [(line["event"], line["log_level"]) for line in logged][:1] == [("words_not_indexed", "error")]


class Panic(BaseException):
    """What a library in another language may raise."""


async def test_a_unit_that_breaks_the_group_does_not_end_it(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LATE", NEVER)
    groups: list[int] = []
    commit = database._commit

    def counted(raw: Connection, kept: Kept, units: Sequence[Any]) -> list[Any]:
        groups.append(len(units))
        return commit(raw, kept, units)

    def panic(_tx: Tx) -> None:
        raise Panic

    await store.write(POINT, add("the walrus"))
    monkeypatch.setattr(database, "_commit", counted)
    slow = store.submit(POINT, lambda _tx: time.sleep(0.1))
    await asyncio.sleep(0.02)
    search = asyncio.ensure_future(store.read(hits("walrus"), indexed=True))
    await asyncio.sleep(0)
    broken = store.submit(POINT, panic)
    await slow
    with pytest.raises(Panic):
        await broken
    assert (await search, groups) == (1, [1, 2, 1, 1])


async def test_who_searches_while_the_writer_is_busy_does_not_wait_for_long(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_PATIENCE", 0.05)
    await store.write(POINT, add("the walrus"))
    with elsewhere(store.path):  # holds the file
        async with asyncio.timeout(2):
            await store.read(hits("walrus"), indexed=True)
    assert await store.read(hits("walrus"), indexed=True) == 1


async def test_what_goes_before_it_is_indexed_leaves_nothing(path: Path) -> None:
    with elsewhere(path) as tx:
        seed(tx)
        add("the walrus")(tx)
        tell("saw a narwhal")(tx)
        delete_block(tx, author(), "notes")
        tx.run("DELETE FROM activity_events")
        late_indexes.index_waiting(tx)
        assert not late_indexes.waiting(tx)
        assert hits("walrus")(tx) == hits("narwhal", "activity")(tx) == 0
        assert tx.all("SELECT rowid FROM activity_fts WHERE activity_fts MATCH 'narwhal'") == []
        assert tx.all("SELECT rowid FROM block_fts WHERE block_fts MATCH 'walrus'") == []
        sound(tx)


async def test_erasing_takes_what_waits_along_and_indexes_the_rest_once(path: Path) -> None:
    with elsewhere(path) as tx:
        seed(tx)
        add("the walrus")(tx)
        tell("saw a narwhal")(tx)
        tell("saw Ann with a narwhal", ANN)(tx)
        about = NewBlock(ADA, "human", "Ann.", person_audience(ANN), Trust.AGENT, content="the walrus", about=ANN)
        create_block(tx, about, agent_writer(ADA), NOW)
        erase_here(tx, ErasureId(1), ANN, NOW)
        assert not late_indexes.waiting(tx)
        assert hits("walrus")(tx) == hits("narwhal", "activity")(tx) == 1
        sound(tx)
