"""Documents that stay in memory between edits: never ahead of what is stored, never behind it, and never many."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loro import VersionRange

from memory.agents import Agent, seed_agent
from memory.blocks import (
    Author,
    Block,
    NewBlock,
    Permission,
    append_block,
    create_block,
    delete_block,
    ensure_block,
    find_block,
    replace_in_block,
    write_block,
)
from memory.blocks.document import SYSTEM, BlockDocument, agent_writer, job_writer, person_writer
from memory.blocks.repair import repair_block, verify_block
from memory.blocks.rows import MOST_DOCUMENTS, MOST_WEIGHT, OpenBlock, WarmBlocks, load_block
from memory.blocks.store import CheckpointPolicy
from memory.erasure import stores
from memory.people.audience import Scope, Trust, guild_audience
from memory.store.database import Database, Rows, Tx
from memory.store.errors import BlockTooLong
from memory.store.faults import commit_point, faults
from memory.store.ids import AgentId, BlockId, GuildId, PersonId, TurnId
from memory.store.sqlite import Connection, connect
from tests.memory.parts import lay_tables

NOW = datetime(2026, 11, 22, 12, 0, 0, 123_456, tzinfo=UTC)
MIGRATIONS = Path(__file__).parents[2] / "migrations" / "constellation"
ADA = AgentId("agt_ada")
MIA = PersonId("discord:7")
GUILD = guild_audience(GuildId("discord:1"))
SCOPE = Scope(GUILD)
POINT = commit_point("test.warm_blocks")
SET_UPDATE = "UPDATE memory_block_updates SET update_blob = x'00' WHERE seq = ?"
SET_CHECKPOINT = "UPDATE memory_block_checkpoints SET snapshot = x'00' WHERE up_to_seq = ?"


class Panic(BaseException):
    """What a library in another language may raise."""


def make(path: Path) -> Path:
    raw = connect(path)
    lay_tables(raw)
    seed_agent(Tx(raw), Agent(ADA, "Ada", "", "offline", "", ()), NOW)
    raw.close()
    return path


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with Database.open(make(tmp_path / "carina.db")) as opened:
        yield opened


def new(label: str = "notes", content: str = "") -> NewBlock:
    spec = NewBlock(ADA, label, f"About {label}.", GUILD, Trust.OWNER, permission=Permission.ADMIN, about=MIA)
    return replace(spec, content=content, char_limit=1_000)


def author(**more: Any) -> Author:
    return replace(Author(ADA, SCOPE, agent_writer(ADA), Trust.AGENT, NOW, TurnId(3)), **more)


def create(label: str = "notes", content: str = "") -> Callable[[Tx], Block]:
    return lambda tx: create_block(tx, new(label, content), SYSTEM, NOW)


def add(text: str, label: str = "notes", **more: Any) -> Callable[[Tx], Block]:
    return lambda tx: append_block(tx, author(**more), label, text)


def then(edit: Callable[[Tx], Block], error: BaseException) -> Callable[[Tx], Block]:
    """The edit, and then a failure of the same unit."""

    def work(tx: Tx) -> Block:
        edit(tx)
        raise error

    return work


@contextmanager
def beside(path: Path) -> Iterator[Connection]:
    """Another program at the same file."""
    raw = connect(path)
    try:
        yield raw
    finally:
        raw.close()


def state(opened: OpenBlock) -> dict[str, object]:
    """All of an open block but who edits it; the document by its text, its version and its history."""
    document = opened.document
    return {**vars(opened), "writer": None, "document": (document.text(), document.frontier(), document.changes())}


async def warm(database: Database, block: BlockId) -> OpenBlock | None:
    """What is in memory of a block; it stays there."""

    def look(tx: Tx) -> OpenBlock | None:
        found = tx.kept(WarmBlocks).take(block)
        if found is not None:
            tx.kept(WarmBlocks).put(found, len(found.document.text()))
        return found

    return await database.write(POINT, look)


async def require_sound(database: Database, block: BlockId, text: str) -> None:
    """The row, the stored document and the one in memory, if there is one, are the same and have that text."""
    raw = connect(database.path, read_only=True)
    try:
        rows = Rows(raw)
        assert verify_block(rows, block) == []
        stored = load_block(rows, block, None)
        assert find_block(rows, ADA, stored.heading[0], SCOPE).content == stored.document.text() == text
    finally:
        raw.close()
    kept = await warm(database, block)
    assert kept is None or state(kept) == state(stored)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by the number of updates at every load of a document."""
    seen: list[int] = []
    load = BlockDocument.load

    def counted(checkpoint: Any, updates: Any, peer: int | None = None) -> BlockDocument:
        seen.append(len(updates))
        return load(checkpoint, updates, peer)

    monkeypatch.setattr(BlockDocument, "load", counted)
    return seen


# ---------------------------------------------------------------- staying warm


async def test_after_one_edit_the_next_ones_load_nothing(database: Database, loads: list[int]) -> None:
    block = await database.write(POINT, create(content="a"))
    await database.write(POINT, add("b"))
    await database.write(POINT, lambda tx: replace_in_block(tx, author(), "notes", "a", "A"))
    same = await database.write(POINT, lambda tx: write_block(tx, author(), "notes", "Ab"))
    await database.write(POINT, add("c"))
    assert loads == [0]  # when it was made
    assert same.content == "Ab"
    kept = await warm(database, block.id)
    assert kept is not None
    assert (kept.next_seq, kept.pending, kept.document.text()) == (5, 4, "Abc")
    await require_sound(database, block.id, "Abc")
    assert await warm(database, block.id) is kept  # looking does not cool it, so that it can be compared


async def test_writers_that_take_turns_at_a_warm_document_keep_their_own_peers(
    database: Database, loads: list[int]
) -> None:
    block = await database.write(POINT, create(content="."))
    ada, mia = agent_writer(ADA), person_writer(MIA)
    for number, writer in enumerate([ada, mia, mia, ada, mia]):
        await database.write(POINT, add(str(number), writer=writer))
    assert loads == [0]
    await require_sound(database, block.id, ".01234")
    with beside(database.path) as raw:
        document = load_block(Rows(raw), block.id, None).document
        rows = Rows(raw).all("SELECT writer, peer FROM memory_block_writers")
    assert [change.writer for change in document.changes()] == ["system", ada, mia, mia, ada, mia]
    spans = VersionRange.from_vv(document._loro.oplog_vv).inner()
    typed = {row["writer"]: spans[row["peer"]] for row in rows}  # of each peer, the numbers of its operations
    assert typed == {"system": (0, 1), ada: (0, 2), mia: (0, 3)}


async def test_a_document_is_loaded_again_after_each_checkpoint(database: Database, loads: list[int]) -> None:
    block = await database.write(POINT, create())
    policy = CheckpointPolicy(updates=3)
    for number in range(7):
        await database.write(POINT, add(str(number), policy=policy))
    assert loads == [0, 0, 0]  # at first, and from the checkpoints at 3 and at 6
    await require_sound(database, block.id, "0123456")
    stored = await database.read(lambda rows: rows.one("SELECT max(length(snapshot)) FROM memory_block_checkpoints"))
    found = await warm(database, block.id)
    assert found is not None
    assert stored is not None
    assert (found.pending, found.checkpoint_bytes) == (1, stored[0])


async def test_checkpoints_come_by_size_and_age_though_nothing_is_loaded(database: Database) -> None:
    block = await database.write(POINT, create(content="x" * 300))
    for _ in range(3):
        await database.write(POINT, add("y" * 100, policy=CheckpointPolicy(size=700)))
    await database.write(POINT, add("z", now=NOW + timedelta(hours=2)))
    with beside(database.path) as raw:
        found = Rows(raw).all("SELECT up_to_seq FROM memory_block_checkpoints ORDER BY 1")
        assert [row[0] for row in found] == [3, 5]
    await require_sound(database, block.id, "x" * 300 + "y" * 300 + "z")


async def test_a_new_description_is_searched_after_the_next_edit(database: Database) -> None:
    await database.write(POINT, create(content="tea"))
    await database.write(
        POINT, lambda tx: ensure_block(tx, replace(new(), description="Concerns zebras."), SYSTEM, NOW)
    )
    await database.write(POINT, add(" and cake"))
    query = "SELECT search_text FROM memory_blocks WHERE search_text LIKE '%zebras tea and cake%'"
    assert await database.read(lambda rows: len(rows.all(query)), indexed=True) == 1


async def test_a_file_that_is_opened_again_has_the_same_text(tmp_path: Path) -> None:
    path = make(tmp_path / "carina.db")
    async with Database.open(path) as database:
        block = await database.write(POINT, create(content="a"))
        await database.write(POINT, add("b"))
        await database.write(POINT, add("c"))
    async with Database.open(path) as database:
        assert await warm(database, block.id) is None
        assert (await database.write(POINT, add("d"))).content == "abcd"
        await require_sound(database, block.id, "abcd")


# ---------------------------------------------------------------- what was undone


async def test_a_unit_that_fails_after_its_edit_leaves_no_trace_of_it(database: Database) -> None:
    block = await database.write(POINT, create(content="a"))
    with pytest.raises(ValueError, match="no"):
        await database.write(POINT, then(add("lost"), ValueError("no")))
    await require_sound(database, block.id, "a")
    assert (await database.write(POINT, add("b"))).content == "ab"
    await require_sound(database, block.id, "ab")


async def test_an_edit_that_is_refused_leaves_no_trace_though_its_unit_goes_on(database: Database) -> None:
    block = await database.write(POINT, create(content="a"))

    def work(tx: Tx) -> None:
        with suppress(BlockTooLong):
            append_block(tx, author(), "notes", "x" * 2_000)
        append_block(tx, author(), "notes", "b")

    await database.write(POINT, work)
    await require_sound(database, block.id, "ab")


async def grouped(database: Database, *works: Callable[[Tx], Block]) -> list[Block | BaseException]:
    """Run units in one group; they wait behind one that takes its time."""
    begun, go = threading.Event(), threading.Event()

    def wait(_tx: Tx) -> None:
        begun.set()
        assert go.wait(10)

    first = database.submit(POINT, wait)
    assert await asyncio.to_thread(begun.wait, 10)
    units = [database.submit(POINT, work) for work in works]
    go.set()
    await first
    return await asyncio.gather(*units, return_exceptions=True)


async def test_a_unit_that_fails_between_two_of_its_group_takes_only_its_own_edit_along(database: Database) -> None:
    block = await database.write(POINT, create())
    error = ValueError("no")
    results = await grouped(database, add("a"), then(add("b"), error), add("c"))
    assert [each.content if isinstance(each, Block) else each for each in results] == ["a", error, "ac"]
    await require_sound(database, block.id, "ac")


async def test_when_a_whole_group_is_undone_and_run_again_each_edit_is_there_once(database: Database) -> None:
    block = await database.write(POINT, create(content="."))
    results = await grouped(database, add("a"), add("b"), then(add("c"), Panic()), add("d"))
    assert isinstance(results[2], Panic)
    await require_sound(database, block.id, ".abd")


async def test_an_edit_whose_commit_fails_leaves_no_trace(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    block = await database.write(POINT, create(content="a"))

    def refuse(*_: object) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(faults, "reach", refuse)  # stands between the unit and its commit
        with pytest.raises(OSError, match="gone"):
            await database.write(POINT, add("lost"))
    await require_sound(database, block.id, "a")
    assert (await database.write(POINT, add("b"))).content == "ab"
    await require_sound(database, block.id, "ab")


# ---------------------------------------------------------------- what was taken away or repaired


@pytest.mark.parametrize(
    "remove",
    [
        pytest.param(lambda tx: stores.of("blocks").erase(tx, MIA), id="erased"),
        pytest.param(lambda tx: delete_block(tx, author(), "notes"), id="deleted"),
    ],
)
async def test_of_a_block_that_is_gone_nothing_stays_in_memory(
    database: Database, remove: Callable[[Tx], object]
) -> None:
    old = await database.write(POINT, create(content="secret"))
    assert await warm(database, old.id) is not None
    await database.write(POINT, remove)
    assert await warm(database, old.id) is None
    again = await database.write(POINT, create())
    assert (await database.write(POINT, add("new"))).content == "new"
    await require_sound(database, again.id, "new")


def damage_and_repair(tx: Tx, block: BlockId) -> None:
    """Lose updates 2 and 3, which put a word in and took it out again: the text and the row stay just as they are."""
    assert tx.run(SET_UPDATE, (2,)) == 1
    assert len(repair_block(tx, block, NOW)) == 3


async def in_a_unit(database: Database, block: BlockId) -> None:
    await database.write(POINT, lambda tx: damage_and_repair(tx, block))


async def by_maintenance(database: Database, block: BlockId) -> None:
    await database.maintain(lambda raw: damage_and_repair(Tx(raw), block))


async def by_another_program(database: Database, block: BlockId) -> None:
    with beside(database.path) as raw:
        damage_and_repair(Tx(raw), block)


@pytest.mark.parametrize("repair", [in_a_unit, by_maintenance, by_another_program])
async def test_an_edit_after_a_repair_does_not_build_on_what_was_lost(
    database: Database, repair: Callable[[Database, BlockId], Any]
) -> None:
    block = await database.write(POINT, create(content="a"))
    await database.write(POINT, add("word"))
    await database.write(POINT, lambda tx: replace_in_block(tx, author(), "notes", "word", ""))
    before = await warm(database, block.id)
    assert before is not None
    await repair(database, block.id)
    with beside(database.path) as raw:
        row = Rows(raw).one("SELECT next_seq, content FROM memory_blocks")
        assert row is not None
        assert tuple(row) == (before.next_seq, "a")  # nothing here tells of the repair
    assert (await database.write(POINT, add("b"))).content == "ab"
    await require_sound(database, block.id, "ab")


async def test_damage_by_another_program_is_noticed_by_the_next_edit(database: Database) -> None:
    block = await database.write(POINT, create(content="a"))
    await database.write(POINT, add("b"))
    with beside(database.path) as raw:
        assert Tx(raw).run(SET_UPDATE, (2,)) == 1
    assert (await database.write(POINT, add("c"))).content == "abc"
    bad = await database.read(lambda rows: rows.all("SELECT kind, seq FROM memory_block_quarantine"))
    assert [tuple(row) for row in bad] == [("update", 2)]
    await require_sound(database, block.id, "abc")


async def test_a_checkpoint_that_was_badly_stored_is_noticed_by_the_next_edit(database: Database) -> None:
    block = await database.write(POINT, create(content="a"))

    def work(tx: Tx) -> None:
        append_block(tx, author(policy=CheckpointPolicy(updates=2)), "notes", "b")
        assert tx.run(SET_CHECKPOINT, (2,)) == 1

    await database.write(POINT, work)
    assert (await database.write(POINT, add("c"))).content == "abc"
    bad = await database.read(lambda rows: rows.all("SELECT kind, seq FROM memory_block_quarantine"))
    assert [tuple(row) for row in bad] == [("checkpoint", 2)]
    await require_sound(database, block.id, "abc")


# ---------------------------------------------------------------- not many


async def test_only_the_blocks_that_were_edited_last_stay_in_memory(database: Database, loads: list[int]) -> None:
    blocks = [await database.write(POINT, create(f"notes {number}")) for number in range(MOST_DOCUMENTS + 1)]
    for block in [*blocks, blocks[1]]:  # so that the third is the oldest but one
        await database.write(POINT, add("x", block.label))
    loads.clear()
    await database.write(POINT, add("y", "notes 1"))
    await database.write(POINT, add("y", "notes 2"))
    assert loads == []
    await database.write(POINT, add("y", "notes 0"))
    await database.write(POINT, add("y", "notes 3"))
    assert loads == [1, 1]
    for block in blocks:
        await require_sound(database, block.id, "xxy" if block is blocks[1] else "xy" if block in blocks[:4] else "x")


def opened(number: int, checkpoint: int = 0, updates: int = 0) -> OpenBlock:
    identifier = BlockId(f"blk_{number}")
    return OpenBlock(identifier, ("", ""), GUILD, 1, BlockDocument(), 1, updates, NOW, checkpoint)


def kept(blocks: WarmBlocks, numbers: range) -> list[int]:
    return [number for number in numbers if blocks.take(BlockId(f"blk_{number}")) is not None]


def test_the_oldest_make_room_by_number_and_by_the_weight_of_text_and_history() -> None:
    blocks = WarmBlocks()
    for number in range(MOST_DOCUMENTS + 2):
        blocks.put(opened(number), 0)
    assert kept(blocks, range(20)) == list(range(2, MOST_DOCUMENTS + 2))
    third = MOST_WEIGHT // 3
    weights = [(third, 0, 0), (0, third, 0), (0, 0, third), (1_000, 0, 0)]
    for number, (characters, checkpoint, updates) in enumerate(weights):
        blocks.put(opened(number, checkpoint, updates), characters)
    assert kept(blocks, range(20)) == [1, 2, 3]


def test_a_document_that_is_too_heavy_alone_drives_no_other_out() -> None:
    blocks = WarmBlocks()
    blocks.put(opened(0), 10)
    blocks.put(opened(1), 10)
    blocks.put(opened(1), MOST_WEIGHT + 1)
    assert kept(blocks, range(2)) == [0]


# ---------------------------------------------------------------- anything at all

WRITERS = (agent_writer(ADA), person_writer(MIA), job_writer("sleep"))
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
ERRORS: dict[str, type[BaseException]] = {"raise": ValueError, "panic": Panic}
FATES = st.sampled_from(["keep", "keep", "keep", "raise", "panic", "refused"])
Step = tuple[int, str, int, int, str, str]
STEPS = st.tuples(st.integers(0, 2), st.sampled_from(["append", "write"]), st.integers(), st.integers(), TEXTS, FATES)


def changed(text: str, plan: Step) -> str:
    """What a step makes of a text, if it ends well."""
    _, kind, one, other, part, _ = plan
    start, end = sorted((one % (len(text) + 1), other % (len(text) + 1)))
    return text + part if kind == "append" else text[:start] + part + text[end:]


def step(plan: Step) -> Callable[[Tx], Block]:
    """A unit that edits the block as it then is, and ends as the plan says."""
    number, kind, *_, part, fate = plan
    who = author(writer=WRITERS[number], policy=CheckpointPolicy(updates=4, keep=2))

    def work(tx: Tx) -> Block:
        before = find_block(tx, ADA, "notes", SCOPE).content
        if fate == "refused":
            with suppress(BlockTooLong):
                append_block(tx, who, "notes", "x" * 2_000)
        if kind == "append":
            block = append_block(tx, who, "notes", part)
        else:
            block = write_block(tx, who, "notes", changed(before, plan))
        if fate in ERRORS:
            raise ERRORS[fate]
        return block

    return work


@settings(max_examples=40, deadline=None)
@given(groups=st.lists(st.lists(STEPS, min_size=1, max_size=4), max_size=8))
def test_a_warm_document_is_always_what_a_cold_load_gives(groups: list[list[Step]]) -> None:
    async def world(path: Path) -> None:
        text = ""
        async with Database.open(path) as database:
            block = await database.write(POINT, create())
            for group in groups:
                units = [database.submit(POINT, step(plan)) for plan in group]  # none runs before all are given
                await asyncio.wait(units)
                for unit, plan in zip(units, group, strict=True):
                    if plan[-1] in ERRORS:
                        assert type(unit.exception()) is ERRORS[plan[-1]]
                    else:
                        text = changed(text, plan)
                        assert unit.result().content == text
                await require_sound(database, block.id, text)

    with TemporaryDirectory() as folder:
        asyncio.run(world(make(Path(folder) / "carina.db")))
