"""Documents over bytes, and blocks over a real database: what is stored, and what survives damage."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.blocks import (
    Block,
    NewBlock,
    append_block,
    containers,
    create_block,
    document,
    replace_in_block,
    write_block,
)
from memory.blocks.changes import SYSTEM, Change
from memory.blocks.document import Blob, BlobKind, BlockDocument, UnsoundBlob, seal
from memory.blocks.edits import TOOLS, append_log, log_author
from memory.blocks.repair import damage_since, open_block, repair_block, verify_block
from memory.blocks.schema_paths import PLAIN
from memory.blocks.store import CheckpointPolicy
from memory.people.audience import Trust
from memory.store.database import Tx
from memory.store.errors import BlockCorrupt, Refused
from memory.store.ids import TurnId
from memory.store.lazy import LazyLibrary
from tests.memory.blocks.block_parts import ADA, AGENT, GUILD, JOB, NOW, PERSON, author, below, blocks_store, made, row

# ---------------------------------------------------------------- the document over bytes


def stamp(seq: int) -> Change:
    return Change(SYSTEM, None, seq, NOW)


def append(document: BlockDocument, text: str) -> None:
    document.change(lambda loro: containers.add_text(loro, PLAIN, text))


def replace(document: BlockDocument, old: str, new: str) -> None:
    document.change(lambda loro: containers.replace_text(loro, PLAIN, old, new))


def write(document: BlockDocument, text: str) -> None:
    document.change(lambda loro: containers.set_value(loro, PLAIN, text))


def built(*edits: Callable[[BlockDocument], None], peer: int = 1) -> tuple[BlockDocument, list[Blob]]:
    """A document after these edits, with one update each."""
    document, updates = BlockDocument(peer), list[Blob]()
    for seq, edit in enumerate(edits, 1):
        edit(document)
        updates.append(seal(BlobKind.UPDATE, seq, document.commit(stamp(seq))))
    return document, updates


def lines(count: int) -> list[Callable[[BlockDocument], None]]:
    return [lambda document: append(document, "line\n") for _ in range(count)]


def test_an_update_is_only_the_change_itself() -> None:
    document, _ = built(lambda d: append(d, "x" * 5_000))
    append(document, "more")
    assert len(document.commit(stamp(2))) < 300


def test_replace_wants_the_text_exactly_as_it_stands() -> None:
    document, _ = built(lambda d: append(d, "likes tea"))
    with pytest.raises(Refused, match="“Tea” does not occur"):
        replace(document, "Tea", "coffee")
    with pytest.raises(Refused, match="is empty"):
        replace(document, "", "coffee")
    replace(document, "tea", "coffee")
    assert document.text() == "likes coffee"


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_text_that_cannot_be_stored_is_refused(text: str) -> None:
    document = BlockDocument()
    for edit in (append, write):
        with pytest.raises(Refused):
            edit(document, text)
    append(document, "x")
    with pytest.raises(Refused):
        replace(document, "x", text)
    assert document.text() == "x"


def test_a_missing_update_is_noticed() -> None:
    _, updates = built(*lines(3))
    with pytest.raises(UnsoundBlob, match="update 3 builds on a change that is missing"):
        BlockDocument.load(None, [updates[0], updates[2]])


@given(data=st.binary(max_size=200))
def test_noise_with_a_right_checksum_is_block_corrupt(data: bytes) -> None:
    with pytest.raises(BlockCorrupt):
        BlockDocument.load(None, [seal(BlobKind.UPDATE, 1, data)])


def test_a_missing_library_is_not_taken_for_a_damaged_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "loro", LazyLibrary("loro_which_nobody_installed"))
    with pytest.raises(ModuleNotFoundError):
        BlockDocument()


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_an_error_that_says_nothing_of_the_document_is_not_damage(error: type[BaseException]) -> None:
    def failing(_loro: object) -> None:
        raise error

    with pytest.raises(error):
        BlockDocument().change(failing)


# ---------------------------------------------------------------- storage and damage


def counts(tx: Tx) -> tuple[list[int], list[int]]:
    """The checkpoints' and the updates' numbers."""
    checkpoints = tx.all("SELECT up_to_seq FROM memory_block_checkpoints ORDER BY 1")
    updates = tx.all("SELECT seq FROM memory_block_updates ORDER BY 1")
    return [each[0] for each in checkpoints], [each[0] for each in updates]


def test_checkpoints_come_by_count_and_only_what_the_oldest_covers_is_dropped(tx: Tx) -> None:
    block = made(tx)
    for _ in range(3):
        append_block(tx, author(), "notes", "a")
    assert counts(tx) == ([3], [1, 2, 3])
    for _ in range(8):
        append_block(tx, author(), "notes", "b")
    assert counts(tx) == ([6, 9], [7, 8, 9, 10, 11])
    assert verify_block(tx, block.id) == []


def test_checkpoints_come_by_size_and_by_age(tx: Tx) -> None:
    made(tx)
    append_block(tx, author(policy=CheckpointPolicy(size=500)), "notes", "x" * 600)
    assert counts(tx)[0] == [1]
    append_block(tx, author(policy=CheckpointPolicy()), "notes", "y")
    append_block(tx, author(policy=CheckpointPolicy(), now=NOW + timedelta(hours=1)), "notes", "z")
    assert counts(tx)[0] == [1, 3]


def filled(tx: Tx, edits: int) -> Block:
    block = made(tx)
    for number in range(edits):
        block = append_block(tx, author(), "notes", f"{number}\n")
    return block


SET_UPDATE = "UPDATE memory_block_updates SET update_blob = ? WHERE seq = ?"
SET_CHECKPOINT = "UPDATE memory_block_checkpoints SET snapshot = ? WHERE up_to_seq = ?"


def test_a_bad_checkpoint_is_quarantined_and_rebuilt_without_loss(tx: Tx) -> None:
    block = filled(tx, 7)
    assert tx.run(SET_CHECKPOINT, (b"noise", 6))
    assert verify_block(tx, block.id) == ["checkpoint 6 does not match its checksum"]
    assert append_block(tx, author(), "notes", "on").content == "0\n1\n2\n3\n4\n5\n6\non"
    (found,) = tx.all("SELECT kind, seq, reason, audience FROM memory_block_quarantine")
    assert tuple(found) == ("checkpoint", 6, "checkpoint 6 does not match its checksum", GUILD)
    assert verify_block(tx, block.id) == []
    writers = [change.writer for change in open_block(tx, block.id, SYSTEM, NOW).document.changes()]
    assert writers == ["agent:agt_ada"] * 8


def test_an_update_row_that_vanished_is_noticed(tx: Tx) -> None:
    block = filled(tx, 5)
    tx.run("DELETE FROM memory_block_updates WHERE seq = 5")
    assert verify_block(tx, block.id) == ["update 5 is missing"]
    assert append_block(tx, author(), "notes", "on").content == "0\n1\n2\n3\n4\non"


def test_after_a_lossy_repair_no_number_of_an_operation_is_given_twice(tx: Tx) -> None:
    block = filled(tx, 2)
    before = {row["peer"] for row in tx.all("SELECT peer FROM memory_block_writers")}
    assert tx.run(SET_UPDATE, (b"noise", 2))
    append_block(tx, author(), "notes", "on")
    after = {row["peer"]: row["writer"] for row in tx.all("SELECT peer, writer FROM memory_block_writers")}
    assert not before & after.keys()
    assert sorted(after.values()) == ["agent:agt_ada", SYSTEM]
    assert verify_block(tx, block.id) == []


def test_when_nothing_is_sound_the_block_is_begun_anew_from_its_last_text(tx: Tx) -> None:
    block = filled(tx, 2)
    assert tx.run(SET_UPDATE, (b"noise", 1))
    assert verify_block(tx, block.id) == ["update 1 does not match its checksum"]
    assert append_block(tx, author(), "notes", "on").content == "0\n1\non"
    assert verify_block(tx, block.id) == []
    (damage,) = damage_since(tx, NOW)
    assert damage.findings == (
        "no stored change could be read: it was begun anew from its last text, and its history is lost",
    )
    assert len(tx.all("SELECT 1 FROM memory_block_quarantine")) == 2
    assert append_block(tx, author(), "notes", "!").content == "0\n1\non\n!"


def test_a_log_of_which_nothing_is_sound_goes_on_with_what_it_said(tx: Tx) -> None:
    """The end of a turn writes to it: no damage there may keep an agent from answering."""
    logged = log_author(ADA, GUILD, NOW, TurnId(3))
    append_log(tx, TOOLS, logged, [{"tool": "search", "operation": None, "worked": True}])
    tx.run("UPDATE memory_block_updates SET update_blob = zeroblob(20)")
    append_log(tx, TOOLS, logged, [{"tool": "recall", "operation": "read", "worked": True}])
    (found,) = tx.all("SELECT id, content FROM memory_blocks")
    assert "search" in found["content"]
    assert "recall" in found["content"]
    assert verify_block(tx, found["id"]) == []


def test_a_block_of_another_kind_with_the_name_of_a_log_ends_no_turn(tx: Tx) -> None:
    create_block(tx, NewBlock(ADA, TOOLS, "Tools", GUILD, Trust.OWNER, content="hammer"), SYSTEM, NOW)
    logged = log_author(ADA, GUILD, NOW, TurnId(3))
    assert append_log(tx, TOOLS, logged, [{"tool": "search", "operation": None, "worked": True}]) is None
    (found,) = tx.all("SELECT content FROM memory_blocks")
    assert found["content"] == "hammer"


def test_verifying_compares_the_row_with_the_document(tx: Tx) -> None:
    block = filled(tx, 3)
    tx.run("UPDATE memory_blocks SET content = 'else'")
    tx.run("UPDATE memory_block_checkpoints SET frontier = x'00'")
    assert verify_block(tx, block.id) == [
        "checkpoint 3 is of another version",
        "the text in the row (4 characters) is not the document's (6)",
    ]
    assert verify_block(tx, type(block.id)("blk_none")) == ["there is no block “blk_none”"]


Edit = tuple[int, str, int, int, str]
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
EDITS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["append", "replace", "write"]), st.integers(), st.integers(), TEXTS),
    max_size=14,
)
WRITERS = (AGENT, PERSON, JOB)


def apply(tx: Tx, model: str, edit: Edit) -> str:
    """One edit on the block and on a plain string."""
    writer, kind, one, other, text = edit
    who = author(writer=WRITERS[writer])
    if kind == "append":
        append_block(tx, who, "notes", text)
        return below(model, text)
    start, end = sorted((one % (len(model) + 1), other % (len(model) + 1)))
    if kind == "write":
        whole = model[:start] + text + model[end:]
        write_block(tx, who, "notes", whole)
        return whole
    part = model[start:end]
    if part:
        replace_in_block(tx, who, "notes", part, text)
        return model.replace(part, text)
    return model


@given(edits=EDITS)
def test_any_edits_by_several_writers_equal_a_plain_string(edits: list[Edit]) -> None:
    with blocks_store() as tx:
        block, model = made(tx), ""
        for edit in edits:
            model = apply(tx, model, edit)
            assert row(tx).content == model
            assert open_block(tx, block.id, SYSTEM, NOW).document.text() == model
        assert verify_block(tx, block.id) == []
        numbers = [change.seq for change in open_block(tx, block.id, SYSTEM, NOW).document.changes()]
        assert numbers == list(range(1, len(numbers) + 1))


@given(data=st.data())
def test_damage_to_any_blob_never_empties_a_block_silently(data: st.DataObject) -> None:
    with blocks_store() as tx:
        block = filled(tx, data.draw(st.integers(1, 12)))
        updates = tx.all("SELECT seq FROM memory_block_updates")
        checkpoints = tx.all("SELECT up_to_seq AS seq FROM memory_block_checkpoints")
        for statement, rows in ((SET_UPDATE, updates), (SET_CHECKPOINT, checkpoints)):
            for each in rows:
                if data.draw(st.booleans()):
                    tx.run(statement, (data.draw(st.binary(max_size=400)), each["seq"]))
        try:
            assert append_block(tx, author(), "notes", "on").content == block.content + "on"
        except BlockCorrupt:
            assert row(tx).content == block.content
            assert verify_block(tx, block.id)
        else:
            assert open_block(tx, block.id, SYSTEM, NOW).document.text() == block.content + "on"
            assert repair_block(tx, block.id, NOW) == ()


def test_what_was_packed_comes_out_again_and_nothing_becomes_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = document.pack(bytes(20_000))
    assert len(packed) < 100
    assert document.unpack(packed) == bytes(20_000)
    for damaged in (packed[:-4], packed[:-1] + b"x"):
        with pytest.raises(ValueError, match="cannot be decompressed"):
            document.unpack(damaged)
    monkeypatch.setattr(document, "_MOST_UNPACKED", 19_999)
    with pytest.raises(ValueError, match="too large"):
        document.unpack(packed)
