"""The past of blocks with fields, lists, sections and logs: every version reads as the row read then."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.blocks import Block, add_item, append_block, find_block, remove_item, set_field, set_item
from memory.blocks.changes import Change, Step, difference, played
from memory.blocks.document import SYSTEM, Writer, agent_writer, person_writer
from memory.blocks.history import ChangeLog, blame, history_of
from memory.blocks.manual_edits import write
from memory.blocks.repair import verify_block
from memory.blocks.revert import by_agent, revert, roll_back, undo
from memory.blocks.rows import archives_of, load_block
from memory.blocks.schemas import CompositeSchema, Field, FieldType, ListSchema, LogSchema, MapSchema, Section
from memory.blocks.store import CheckpointPolicy, Limits
from memory.store.database import Tx
from memory.store.errors import BlockRefused, BlockTooLong, Refused
from memory.store.ids import BlockId
from memory.store.records import replace
from tests.memory.blocks.block_parts import ADA, IN_GUILD, MIA, NOW, author, blocks_store, made, new

WRITERS = (agent_writer(ADA), person_writer(MIA), Writer("job:sleep"), SYSTEM)
BOOK = CompositeSchema(
    sections=(
        Section(name="notes"),
        Section(
            name="state",
            schema=MapSchema(
                fields=(
                    Field(name="mood", default="calm"),
                    Field(name="energy", type=FieldType.NUMBER),
                    Field(name="rested", type=FieldType.BOOLEAN),
                    Field(name="goals", type=FieldType.LIST),
                    Field(name="talks", type=FieldType.COUNTER),
                )
            ),
        ),
        Section(name="tasks", schema=ListSchema(fields=(Field(name="title"),))),
    )
)
LOG = LogSchema(max_entries=5)
SMALL = CheckpointPolicy(updates=4, keep=2, limits=Limits(changes=8, recent=3))
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
WORDS = st.sampled_from(["walk", "swim", "日記 👩‍🚀", "a\nb"])
EDITS = st.one_of(
    st.tuples(st.just(set_field), st.sampled_from(["notes", "state.mood"]), TEXTS),
    st.tuples(st.just(append_block), TEXTS, st.sampled_from(["notes", "state.mood"])),
    st.tuples(st.just(set_field), st.just("state.energy"), st.integers(-(2**53), 2**53)),
    st.tuples(st.just(set_field), st.just("state.rested"), st.sampled_from([True, False, None])),
    st.tuples(st.just(set_field), st.just("state.goals"), st.lists(WORDS, max_size=3)),
    st.tuples(st.just(add_item), st.just("state.talks"), st.integers(-3, 3)),
    st.tuples(st.just(add_item), st.just("state.goals"), WORDS),
    st.tuples(st.just(add_item), st.just("tasks"), WORDS.map(lambda word: {"title": word})),
    st.tuples(st.just(set_item), st.just("tasks"), st.integers(1, 3), WORDS.map(lambda word: {"title": word})),
    st.tuples(st.just(remove_item), st.sampled_from(["tasks", "state.goals"]), st.integers(1, 3)),
)


def past(tx: Tx, block: BlockId) -> ChangeLog:
    """What is found by one who has only what is stored."""
    return history_of(load_block(tx, block, None).document, archives_of(tx, block))


def row(tx: Tx) -> Block:
    return find_block(tx, ADA, "notes", IN_GUILD)


class Kept:
    """What the row said at each version, and who made it."""

    def __init__(self, tx: Tx, block: BlockId) -> None:
        self.tx, self.block = tx, block
        self.texts: dict[int, str] = {0: ""}
        self.writers: dict[int, str] = {}
        self.take(SYSTEM)

    def take(self, writer: str) -> None:
        found = self.tx.one("SELECT next_seq - 1 AS seq, content FROM memory_blocks WHERE id = ?", (self.block,))
        assert found is not None
        if found["seq"] not in self.texts:
            self.texts[found["seq"]], self.writers[found["seq"]] = found["content"], writer

    def agrees(self) -> None:
        found = past(self.tx, self.block)
        assert (found.start, found.why) == (0, "")
        assert {version: found.text_at(version) for version in self.texts} == self.texts
        assert {step.change.seq: step.change.writer for step in found.steps} == self.writers
        assert "".join(piece.text for piece in blame(found)) == self.texts[found.version]
        assert verify_block(self.tx, self.block) == []


@given(
    edits=st.lists(st.tuples(st.sampled_from(WRITERS), EDITS), max_size=30),
    limits=st.sampled_from([Limits(), Limits(8, 400_000, 3), Limits(6, 60, 5), Limits(9, 900, 0)]),
)
def test_every_version_of_parts_reads_as_the_row_did(edits: list[tuple[Any, Any]], limits: Limits) -> None:
    policy = replace(SMALL, limits=limits)
    with blocks_store() as tx:
        kept = Kept(tx, made(tx, new(schema=BOOK, char_limit=10**6)).id)
        for writer, (edit, *arguments) in edits:
            with suppress(Refused):  # an item that is not there
                edit(tx, author(writer=writer, policy=policy), "notes", *arguments)
            kept.take(writer)
        kept.agrees()
        document = load_block(tx, kept.block, None).document
        assert document.version - document.base.version <= limits.changes + policy.updates


@settings(max_examples=30)
@given(entries=st.lists(st.tuples(st.sampled_from(WRITERS), TEXTS), max_size=30))
def test_every_version_of_a_log_reads_as_the_row_did(entries: list[tuple[Any, str]]) -> None:
    with blocks_store() as tx:
        kept = Kept(tx, made(tx, new(schema=LOG)).id)
        for writer, text in entries:
            add_item(tx, author(writer=writer, policy=SMALL), "notes", "", f"x{text}")
            kept.take(writer)
        kept.agrees()


@given(before=st.text("ab\n", max_size=30), after=st.text("ab\n", max_size=30))
def test_a_difference_leads_from_one_text_to_the_other(before: str, after: str) -> None:
    change = Change(SYSTEM, None, 1, NOW)
    assert played(before, [Step(change, difference(before, after))]) == after


def test_what_came_back_after_damage_is_in_the_past() -> None:
    with blocks_store() as tx:
        kept = Kept(tx, made(tx, new(schema=BOOK)).id)
        large = CheckpointPolicy(updates=50, keep=2)
        for word in ("one", "two", "three"):
            set_field(tx, author(policy=large), "notes", "state.mood", word)
            kept.take(WRITERS[0])
        tx.run("UPDATE memory_block_updates SET update_blob = x'00' WHERE seq = 3")
        set_field(tx, author(policy=large), "notes", "state.energy", 9)
        found = past(tx, kept.block)
        assert found.text_at(2) == kept.texts[2]
        assert "recovered" in found.text_at(5)
        assert found.change(5).writer == SYSTEM
        assert found.text_at(6) == row(tx).content
        with pytest.raises(Refused, match="version 3 is no longer stored"):
            found.text_at(3)


# ---------------------------------------------------------------- going back


@settings(max_examples=25)
@given(
    edits=st.lists(st.tuples(st.sampled_from(WRITERS), EDITS, st.integers(0, 40)), max_size=20),
    limits=st.sampled_from([Limits(), Limits(8, 400_000, 3), Limits(9, 900, 0)]),
)
def test_a_rollback_makes_the_row_read_as_it_did(edits: list[tuple[Any, Any, int]], limits: Limits) -> None:
    """After every third edit to some version, also to those that lie in archives alone; all but version 0."""
    policy = replace(SMALL, limits=limits)
    with blocks_store() as tx:
        kept = Kept(tx, made(tx, new(schema=BOOK, char_limit=10**6)).id)
        for number, (writer, (edit, *arguments), back) in enumerate(edits):
            who = author(writer=writer, policy=policy)
            try:
                if number % 3:
                    edit(tx, who, "notes", *arguments)
                else:
                    version = list(kept.texts)[back % len(kept.texts)]
                    done = roll_back(by_agent(tx, who, "notes"), version)
                    assert done.block.content == kept.texts[version]
            except Refused as error:
                may_be = bool(number % 3) or version == 0 or "already reads" in str(error)
                if not may_be:
                    raise
            kept.take(writer)
        kept.agrees()


def test_where_the_beginning_is_lost_parts_go_back_as_far_as_the_document_knows(tx: Tx) -> None:
    kept = Kept(tx, made(tx, new(schema=BOOK)).id)
    for number in range(40):
        set_field(tx, author(policy=SMALL), "notes", "state.mood", f"mood {number}")
        kept.take(WRITERS[0])
    newest = max(kept.texts)
    edit = by_agent(tx, author(policy=SMALL), "notes")
    assert roll_back(edit, 5).block.content == kept.texts[5], "out of an archive"
    tx.run("DELETE FROM memory_block_archives")
    assert roll_back(edit, newest).block.content == kept.texts[newest]
    with pytest.raises(Refused, match="there is no version 5: there are versions"):
        roll_back(edit, 5)
    assert verify_block(tx, kept.block) == []


def test_going_back_keeps_what_is_read_only_the_limit_and_the_rights() -> None:
    schema = MapSchema(fields=(Field(name="mood"), Field(name="source", read_only=True)))
    with blocks_store() as tx:
        block = made(tx, new(schema=schema, values={"mood": "x" * 90}, char_limit=200))
        set_field(tx, author(), "notes", "mood", "low")
        set_field(tx, author(writer=SYSTEM), "notes", "source", "diary")
        edit = by_agent(tx, author(), "notes")
        with pytest.raises(BlockRefused, match="source was changed in the meantime and is read-only"):
            roll_back(edit, 2)
        with pytest.raises(BlockRefused, match="source was changed in the meantime and is read-only"):
            revert(edit, past(tx, block.id), SYSTEM, 1)
        set_field(tx, author(writer=SYSTEM), "notes", "source", None)
        tx.run("UPDATE memory_blocks SET char_limit = 50")
        with pytest.raises(BlockTooLong):
            roll_back(edit, 1)
        tx.run("UPDATE memory_blocks SET char_limit = 200, permission = 'append'")
        with pytest.raises(BlockRefused, match="no overwrite"):
            roll_back(edit, 1)
        tx.run("UPDATE memory_blocks SET permission = 'read_write'")
        done = roll_back(edit, 1)
        assert done.block.content == block.content
        assert (done.plan.removed, done.plan.restored) == (3, 90)
        with pytest.raises(Refused, match="version 0"):
            roll_back(edit, 0)
        with pytest.raises(Refused, match="cannot be written as one text"):
            write(edit, block, "mood: high")
        assert row(tx).content == block.content


def test_entries_of_a_log_do_not_come_back(tx: Tx) -> None:
    block = made(tx, new(schema=LOG))
    add_item(tx, author(), "notes", "", "one")
    with pytest.raises(BlockRefused, match="entries of a log cannot be changed"):
        undo(by_agent(tx, author(), "notes"), WRITERS[0])
    with pytest.raises(BlockRefused, match="nothing can be undone: the entries of a log cannot be changed"):
        revert(by_agent(tx, author(writer=SYSTEM), "notes"), past(tx, block.id), WRITERS[0], 0)
    assert "one" in row(tx).content
    assert past(tx, block.id).version == 2
