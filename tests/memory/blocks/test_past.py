"""The past of a block through checkpoints, archives, restarts and changes of its type: what is kept reads as it was."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.blocks import (
    Block,
    NewSettings,
    Operation,
    add_item,
    append_block,
    containers,
    edit_block,
    edit_lines,
    remove_item,
    set_field,
    set_item,
    write_block,
)
from memory.blocks.changes import SYSTEM, ChangeKind, Note
from memory.blocks.document import BlobKind
from memory.blocks.form_edits import write
from memory.blocks.history import blame
from memory.blocks.lifecycle import set_block_settings
from memory.blocks.repair import damage_since, repair_block, verify_block
from memory.blocks.revert import by_agent, revert, roll_back, undo
from memory.blocks.schema_paths import target_of
from memory.blocks.schemas import (
    TEXT,
    CompositeSchema,
    Field,
    FieldType,
    ListSchema,
    LogSchema,
    MapSchema,
    Schema,
    Section,
    dump_schema,
)
from memory.blocks.store import CheckpointPolicy, HistoryLimits, OpenBlock, blobs, block_history, load_block
from memory.erasure.blocks import forget_past
from memory.store.database import Tx
from memory.store.errors import BlockChanged, BlockRefused, BlockTooLong, Refused
from memory.store.ids import BlockId
from memory.store.records import replace
from tests.memory.blocks.block_parts import AGENT, JOB, NOW, PERSON, SHORT, author, blocks_store, made, new, row
from texts import _, speaking

WRITERS = (AGENT, PERSON, JOB, SYSTEM)
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


LIMITS = st.sampled_from(
    [HistoryLimits(), HistoryLimits(8, 400_000, 3), HistoryLimits(6, 60, 5), HistoryLimits(9, 900, 0)]
)


class Kept:
    """What the row said at each version, and who made it."""

    def __init__(self, tx: Tx, block: BlockId) -> None:
        self.tx, self.block = tx, block
        self.texts: dict[int, str] = {0: ""}
        self.writers: dict[int, str] = {}
        self.take(SYSTEM)

    def take(self, writer: str) -> None:
        found = row(self.tx)
        if found.version not in self.texts:
            self.texts[found.version], self.writers[found.version] = found.content, writer

    def agrees(self, most: int = 10**6) -> None:
        """The history says the same; the document itself holds at most so many changes."""
        found = block_history(self.tx, self.block)
        assert (found.start, found.why) == (0, "")
        assert {version: found.text_at(version) for version in self.texts} == self.texts
        assert {change.seq: change.writer for change in found.changes} == self.writers
        pieces = blame(found)
        assert "".join(piece.text for piece in pieces) == self.texts[found.version]
        assert {piece.change.writer for piece in pieces if piece.change} <= {SYSTEM, *self.writers.values()}
        assert verify_block(self.tx, self.block) == []
        live = load_block(self.tx, self.block, None).document
        assert live.version - live.base <= most


SPLICES = st.tuples(st.sampled_from(WRITERS), st.integers(0, 99), st.integers(0, 99), TEXTS)


@given(edits=st.lists(SPLICES, max_size=40), limits=LIMITS)
def test_every_version_of_a_text_reads_as_the_row_did(
    edits: list[tuple[Any, int, int, str]], limits: HistoryLimits
) -> None:
    policy = replace(SHORT, limits=limits)
    with blocks_store() as tx:
        kept = Kept(tx, made(tx, new(content="a")).id)
        for writer, one, other, part in edits:
            text = row(tx).content
            start, end = sorted((one % (len(text) + 1), other % (len(text) + 1)))
            write_block(tx, author(writer=writer, policy=policy), "notes", text[:start] + part + text[end:])
            kept.take(writer)
        kept.agrees(limits.changes + policy.updates)


@given(edits=st.lists(st.tuples(st.sampled_from(WRITERS), EDITS), max_size=30), limits=LIMITS)
def test_every_version_of_parts_reads_as_the_row_did(edits: list[tuple[Any, Any]], limits: HistoryLimits) -> None:
    policy = replace(SHORT, limits=limits)
    with blocks_store() as tx:
        kept = Kept(tx, made(tx, new(schema=BOOK, char_limit=10**6)).id)
        for writer, (edit, *arguments) in edits:
            with suppress(Refused):  # an item that is not there
                edit(tx, author(writer=writer, policy=policy), "notes", *arguments)
            kept.take(writer)
        kept.agrees(limits.changes + policy.updates)


@settings(max_examples=30)
@given(entries=st.lists(st.tuples(st.sampled_from(WRITERS), TEXTS), max_size=30))
def test_every_version_of_a_log_reads_as_the_row_did(entries: list[tuple[Any, str]]) -> None:
    with blocks_store() as tx:
        kept = Kept(tx, made(tx, new(schema=LOG)).id)
        for writer, text in entries:
            add_item(tx, author(writer=writer, policy=SHORT), "notes", "", f"x{text}")
            kept.take(writer)
        kept.agrees()


def filled(tx: Tx, count: int, policy: CheckpointPolicy = SHORT, *, hours: float = 0) -> BlockId:
    block = made(tx)
    for number in range(1, count + 1):
        who = author(policy=policy, now=NOW + timedelta(hours=hours * number))
        append_block(tx, who, "notes", f"{number}\n")
    return block.id


def lines(count: int) -> str:
    return "".join(f"{number}\n" for number in range(1, count + 1))


def test_a_long_document_keeps_its_newest_changes_and_archives_the_others(tx: Tx) -> None:
    block = filled(tx, 26)
    assert [(each.base, each.seq) for each in blobs(tx, BlobKind.ARCHIVE, block)] == [(0, 12), (12, 20)]
    document = load_block(tx, block, None).document
    assert (document.base, document.look_at(17, containers.text_of)) == (17, lines(17))
    assert [change.seq for change in document.changes()] == list(range(18, 27))
    assert block_history(tx, block).text_at(5) == lines(5)


def test_what_is_older_than_it_may_be_goes_for_good_and_that_is_said() -> None:
    policy = replace(SHORT, limits=replace(SHORT.limits, keep=timedelta(hours=15)))
    with blocks_store() as tx:
        block = filled(tx, 40, policy, hours=1)
        found = block_history(tx, block)
        assert found.why == "earlier ones are not kept"
        with speaking("de"):
            assert _(found.range).endswith(" bis 40 (frühere sind nicht mehr vorhanden)")
        assert (NOW + timedelta(hours=40)) - found.changes[0].at <= timedelta(hours=15 + 4)
        assert found.text_at(found.start) == lines(found.start)
        with pytest.raises(
            Refused, match=rf"there is no version 3: the history has versions {found.start} to 40 \(earlier ones"
        ):
            found.text_at(3)
        with pytest.raises(Refused, match="there is no version 41"):
            found.text_at(41)
        with pytest.raises(Refused, match="are no longer known"):
            found.change(found.start)
        assert found.change(40).seq == 40
        kept = tx.all("SELECT newest_at FROM memory_block_archives")
        assert all(row["newest_at"] >= "2026-11-23T12" for row in kept)


def test_a_bad_archive_ends_the_way_back_is_told_and_set_aside(tx: Tx) -> None:
    block = filled(tx, 26)
    tx.run("UPDATE memory_block_archives SET blob = x'00' WHERE up_to_seq = 12")
    assert verify_block(tx, block) == ["archive 12 does not match its checksum"]
    found = block_history(tx, block)
    assert (found.start, found.why) == (12, "archive 12 does not match its checksum")
    assert found.text_at(12) == lines(12)
    (finding,) = repair_block(tx, block, NOW)
    assert finding == (
        "archive 12 does not match its checksum: the history before change 13 is lost, the text is whole"
    )
    assert verify_block(tx, block) == []
    assert [tuple(row) for row in tx.all("SELECT kind, seq FROM memory_block_quarantine")] == [("archive", 12)]
    (damage,) = damage_since(tx, NOW)
    assert (damage.outcome, damage.findings) == ("repaired", (finding,))
    assert damage.words == f"block “notes” was damaged and rebuilt on 2026-11-22 12:00 UTC: {finding}"
    assert damage_since(tx, NOW + timedelta(seconds=1)) == []
    tx.run("UPDATE memory_block_repairs SET audience = 'person:discord:7'")
    assert damage_since(tx, NOW)[0].words.startswith("a block from somebody's direct messages was damaged and rebuilt")


def test_an_archive_that_goes_further_than_a_rebuilt_document_is_used_as_far_as_it_fits(tx: Tx) -> None:
    block = filled(tx, 20)
    assert tx.run("UPDATE memory_block_checkpoints SET snapshot = x'00' WHERE up_to_seq > 16") == 1
    assert tx.run("UPDATE memory_block_updates SET update_blob = x'00' WHERE seq = 18") == 1
    assert "changes 18 to 20 are lost" in repair_block(tx, block, NOW)
    found = block_history(tx, block)
    assert found.text_at(17) == lines(17)
    assert found.text_at(21) == lines(20)
    assert found.change(21).writer == SYSTEM
    with pytest.raises(Refused, match="version 19 is no longer stored"):
        found.text_at(19)
    for _number in range(9):
        append_block(tx, author(policy=SHORT), "notes", "x")
    assert block_history(tx, block).text_at(3) == lines(3)
    assert verify_block(tx, block) == []


def test_damage_to_where_a_document_begins_is_repaired_from_the_checkpoint_before(tx: Tx) -> None:
    block = filled(tx, 26)
    (newest,) = tx.all("SELECT max(up_to_seq) AS seq FROM memory_block_checkpoints")
    tx.run("UPDATE memory_block_checkpoints SET base_text = 'x' WHERE up_to_seq = ?", (newest["seq"],))
    assert repair_block(tx, block, NOW) == (f"checkpoint {newest['seq']} does not match its checksum",)
    found = block_history(tx, block)
    assert (found.text_at(26), found.text_at(9)) == (lines(26), lines(9))
    assert verify_block(tx, block) == []


# ---------------------------------------------------------------- going back


@settings(max_examples=25)
@given(
    edits=st.lists(st.tuples(st.sampled_from(WRITERS), EDITS, st.integers(0, 40)), max_size=20),
    limits=st.sampled_from([HistoryLimits(), HistoryLimits(8, 400_000, 3), HistoryLimits(9, 900, 0)]),
)
def test_a_rollback_makes_the_row_read_as_it_did(edits: list[tuple[Any, Any, int]], limits: HistoryLimits) -> None:
    """After every third edit to some version, also to those that lie in archives alone; all but version 0."""
    policy = replace(SHORT, limits=limits)
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
        set_field(tx, author(policy=SHORT), "notes", "state.mood", f"mood {number}")
        kept.take(AGENT)
    newest = max(kept.texts)
    edit = by_agent(tx, author(policy=SHORT), "notes")
    assert roll_back(edit, 5).block.content == kept.texts[5], "out of an archive"
    tx.run("DELETE FROM memory_block_archives")
    assert roll_back(edit, newest).block.content == kept.texts[newest]
    with pytest.raises(Refused, match="there is no version 5: the history has versions"):
        roll_back(edit, 5)
    assert verify_block(tx, kept.block) == []


def test_going_back_keeps_what_is_read_only_and_the_limit() -> None:
    schema = MapSchema(fields=(Field(name="mood"), Field(name="source", read_only=True)))
    with blocks_store() as tx:
        block = made(tx, new(schema=schema, values={"mood": "x" * 90}, char_limit=200))
        set_field(tx, author(), "notes", "mood", "low")
        set_field(tx, author(writer=SYSTEM), "notes", "source", "diary")
        edit = by_agent(tx, author(), "notes")
        with pytest.raises(BlockRefused, match="source was changed in the meantime and is read-only"):
            roll_back(edit, 2)
        with pytest.raises(BlockRefused, match="source was changed in the meantime and is read-only"):
            revert(edit, block_history(tx, block.id), SYSTEM, 1)
        set_field(tx, author(writer=SYSTEM), "notes", "source", None)
        tx.run("UPDATE memory_blocks SET char_limit = 50")
        with pytest.raises(BlockTooLong):
            roll_back(edit, 1)
        tx.run("UPDATE memory_blocks SET char_limit = 200")
        done = roll_back(edit, 1)
        assert done.block.content == block.content
        assert (done.plan.removed, done.plan.restored) == (3, 90)
        with pytest.raises(Refused, match="version 0"):
            roll_back(edit, 0)
        with pytest.raises(Refused, match="cannot be edited as plain text"):
            write(edit, block, "mood: high")
        assert row(tx).content == block.content


def test_entries_of_a_log_do_not_come_back(tx: Tx) -> None:
    block = made(tx, new(schema=LOG))
    add_item(tx, author(), "notes", "", "one")
    with pytest.raises(BlockRefused, match="log entries cannot be changed"):
        undo(by_agent(tx, author(), "notes"), AGENT)
    with pytest.raises(BlockRefused, match="nothing can be undone: log entries cannot be changed"):
        revert(by_agent(tx, author(writer=SYSTEM), "notes"), block_history(tx, block.id), AGENT, 0)
    assert "one" in row(tx).content
    assert block_history(tx, block.id).version == 2


# ---------------------------------------------------------------- changes of the type


STATE = MapSchema(fields=(Field(name="mood", default="calm"), Field(name="plan")))


def retype(tx: Tx, schema: Schema) -> Block:
    block = row(tx)
    return set_block_settings(tx, block, NewSettings(schema=schema), PERSON, NOW)


def sound(tx: Tx, block: Block) -> None:
    now, past = row(tx), block_history(tx, block.id)
    assert past.text_at(past.version) == now.content == "".join(each.text for each in blame(past))
    assert past.held.schema == now.schema
    assert not verify_block(tx, block.id)


@pytest.mark.parametrize(("schema", "shown"), [(ListSchema(), ""), (LogSchema(), ""), (STATE, "mood: calm\nplan:\n")])
def test_an_empty_block_changes_its_type(tx: Tx, schema: Schema, shown: str) -> None:
    block = made(tx, new(content="milk\n"))
    with pytest.raises(Refused, match="block “notes” is not empty"):
        retype(tx, schema)
    edit_lines(tx, author(), "notes", 1, 1, "")
    assert retype(tx, schema).content == shown
    sound(tx, block)
    with pytest.raises(Refused, match="already has this type of content"):
        retype(tx, schema)
    if shown:
        with pytest.raises(Refused, match="block “notes” is not empty"):
            retype(tx, TEXT)
        set_field(tx, author(), "notes", "mood", "")
    assert retype(tx, TEXT).content == ""
    append_block(tx, author(), "notes", "bread\n")
    sound(tx, block)


def test_its_changes_since_are_taken_back_and_those_before_are_only_read(tx: Tx) -> None:
    block = made(tx, new(content="milk\n"))
    edit_lines(tx, author(), "notes", 1, 1, "")
    retype(tx, ListSchema())
    with pytest.raises(BlockChanged, match="the block's type has changed"):
        set_field(tx, author(shown={block.id: 1}), "notes", "", ["bread"])
    add_item(tx, author(), "notes", "", "eggs")
    assert block_history(tx, block.id).text_at(1) == "milk\n"
    edit = by_agent(tx, author(), "notes")
    with pytest.raises(Refused, match="what the block held at version 1 is not stored"):
        roll_back(edit, 1)
    with pytest.raises(Refused, match="change its type back"):
        undo(edit, PERSON)
    assert undo(edit, AGENT).block.content == ""
    assert roll_back(edit, 4).block.content == "1. eggs\n"
    sound(tx, block)


def retyped_with_content(tx: Tx, schema: Schema, policy: CheckpointPolicy) -> None:
    """As an earlier version did: every line becomes an item, or every item a line."""

    def change(block: Block, opened: OpenBlock) -> None:
        document = opened.document
        lines = [line.removeprefix("1. ") for line in block.content.splitlines()]
        old, after = (target_of(each, "") for each in (block.schema, schema))
        document.change(lambda loro: containers.set_value(loro, old, "" if block.is_text else []))
        document.change(lambda loro: containers.declare(loro, schema))
        value = lines if isinstance(schema, ListSchema) else "\n".join([*lines, ""])
        document.change(lambda loro: containers.set_value(loro, after, value))
        document.note(Note(ChangeKind.RETYPE))

    block = edit_block(tx, author(writer=PERSON, policy=policy), "notes", Operation.OVERWRITE, change)
    tx.run("UPDATE memory_blocks SET schema = ? WHERE id = ?", (dump_schema(schema), block.id))


def test_one_that_was_retyped_with_its_content_still_reads_as_it_did(tx: Tx) -> None:
    block = made(tx, new(content="0\n"))
    for number in range(1, 40):
        if number % 12 in (0, 6):
            retyped_with_content(tx, ListSchema() if number % 12 else TEXT, SHORT)
        elif number % 12 > 6:
            add_item(tx, author(policy=SHORT), "notes", "", str(number))
        else:
            append_block(tx, author(policy=SHORT), "notes", f"{number}\n")
        sound(tx, block)
    assert undo(by_agent(tx, author(), "notes"), AGENT).plan.removed > 0
    forget_past(tx, block.id, NOW)
    sound(tx, block)
