"""The past of a block through checkpoints, archives and restarts: what is kept reads as it was, the rest says so."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.blocks import Author, NewBlock, append_block, create_block, write_block
from memory.blocks.document import SYSTEM, Writer, agent_writer, person_writer
from memory.blocks.history import ChangeLog, blame, history_of
from memory.blocks.repair import damage_since, repair_block, verify_block
from memory.blocks.rows import archives_of, load_block
from memory.blocks.store import CheckpointPolicy, Limits
from memory.people.audience import Scope, Trust
from memory.store.database import Tx
from memory.store.errors import BlockCorrupt, Refused
from memory.store.ids import BlockId
from memory.store.records import replace
from tests.memory.blocks.block_parts import ADA, GUILD, MIA, NOW, blocks_store

WRITERS = (agent_writer(ADA), person_writer(MIA), Writer("job:sleep"))
SMALL = CheckpointPolicy(updates=4, keep=2, limits=Limits(changes=8, recent=3))
BLOCK_SPEC = NewBlock(ADA, "notes", "About all.", GUILD, Trust.OWNER)


def author(writer: Writer = WRITERS[0], policy: CheckpointPolicy = SMALL, at: datetime = NOW) -> Author:
    return Author(ADA, Scope(GUILD), writer, Trust.AGENT, at, policy=policy)


def past(tx: Tx, block: BlockId) -> ChangeLog:
    return history_of(load_block(tx, block, None).document, archives_of(tx, block))


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
EDITS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 99), st.integers(0, 99), TEXTS), max_size=40)


@given(edits=EDITS, limits=st.sampled_from([Limits(), Limits(8, 400_000, 3), Limits(6, 60, 5), Limits(9, 900, 0)]))
def test_every_version_reads_as_it_was_whatever_was_archived(
    edits: list[tuple[int, int, int, str]], limits: Limits
) -> None:
    policy = replace(SMALL, limits=limits)
    with blocks_store() as tx:
        block = create_block(tx, replace(BLOCK_SPEC, content="a"), SYSTEM, NOW)
        versions, writers, text = {0: "", 1: "a"}, {1: SYSTEM}, "a"
        for number, one, other, part in edits:
            start, end = sorted((one % (len(text) + 1), other % (len(text) + 1)))
            wanted = text[:start] + part + text[end:]
            write_block(tx, author(WRITERS[number], policy), "notes", wanted)
            if wanted != text:
                versions[len(versions)], writers[len(versions) - 1], text = wanted, WRITERS[number], wanted
        found = past(tx, block.id)
        assert (found.start, found.version, found.why) == (0, len(versions) - 1, "")
        assert {version: found.text_at(version) for version in versions} == versions
        assert {step.change.seq: step.change.writer for step in found.steps} == writers
        assert "".join(piece.text for piece in blame(found)) == text
        assert verify_block(tx, block.id) == []
        live = load_block(tx, block.id, None)
        assert live.document.version - live.document.base.version <= limits.changes + policy.updates


def filled(tx: Tx, count: int, policy: CheckpointPolicy = SMALL, *, hours: float = 0) -> BlockId:
    block = create_block(tx, BLOCK_SPEC, SYSTEM, NOW)
    for number in range(1, count + 1):
        append_block(tx, author(policy=policy, at=NOW + timedelta(hours=hours * number)), "notes", f"{number}\n")
    return block.id


def lines(count: int) -> str:
    return "".join(f"{number}\n" for number in range(1, count + 1))


def test_a_long_document_keeps_its_newest_changes_and_archives_the_others(tx: Tx) -> None:
    block = filled(tx, 26)
    ranges = [(each.after, each.up_to) for each in archives_of(tx, block)]
    assert ranges == [(0, 12), (12, 20)]
    document = load_block(tx, block, None).document
    assert (document.base.version, document.base.text) == (17, lines(17))
    assert [change.seq for change in document.changes()] == list(range(18, 27))
    assert past(tx, block).text_at(5) == lines(5)


def test_what_is_older_than_it_may_be_goes_for_good_and_that_is_said() -> None:
    policy = replace(SMALL, limits=replace(SMALL.limits, keep=timedelta(hours=15)))
    with blocks_store() as tx:
        block = filled(tx, 40, policy, hours=1)
        found = past(tx, block)
        assert found.why == "what was before is not kept"
        assert (NOW + timedelta(hours=40)) - found.steps[0].change.at <= timedelta(hours=15 + 4)
        assert found.text_at(found.start) == lines(found.start)
        with pytest.raises(Refused, match=rf"there is no version 3: there are versions {found.start} to 40 \(what was"):
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
    assert verify_block(tx, block) == ["the archive of changes 1 to 12 does not match its checksum"]
    found = past(tx, block)
    assert (found.start, found.why) == (12, "the archive of changes 1 to 12 does not match its checksum")
    assert found.text_at(12) == lines(12)
    (finding,) = repair_block(tx, block, NOW)
    assert finding == (
        "the archive of changes 1 to 12 does not match its checksum: "
        "the history before change 13 is lost, the text is whole"
    )
    assert verify_block(tx, block) == []
    assert [tuple(row) for row in tx.all("SELECT kind, seq FROM memory_block_quarantine")] == [("archive", 12)]
    row = tx.one("SELECT block_id, findings, outcome FROM memory_block_repairs")
    assert row is not None
    assert (row["block_id"], row["outcome"]) == (block, "repaired")
    assert finding in row["findings"]
    (damage,) = damage_since(tx, NOW)
    assert damage.words == f"block notes was damaged and rebuilt at 2026-11-22 12:00 UTC: {finding}"
    assert damage_since(tx, NOW + timedelta(seconds=1)) == []
    tx.run("UPDATE memory_block_repairs SET audience = 'person:discord:7'")
    assert damage_since(tx, NOW)[0].words.startswith("a block of somebody's direct messages was damaged and rebuilt")


def test_an_archive_that_goes_further_than_a_rebuilt_document_is_used_as_far_as_it_fits(tx: Tx) -> None:
    block = filled(tx, 20)
    assert tx.run("UPDATE memory_block_checkpoints SET snapshot = x'00' WHERE up_to_seq > 16") == 1
    assert tx.run("UPDATE memory_block_updates SET update_blob = x'00' WHERE seq = 18") == 1
    assert "changes 18 to 20 are lost" in repair_block(tx, block, NOW)
    found = past(tx, block)
    assert found.text_at(17) == lines(17)
    assert found.text_at(21) == lines(20)
    assert found.change(21).writer == SYSTEM
    with pytest.raises(Refused, match="version 19 is no longer stored"):
        found.text_at(19)
    for _ in range(9):
        append_block(tx, author(), "notes", "x")
    assert past(tx, block).text_at(3) == lines(3)
    assert verify_block(tx, block) == []


def test_damage_to_where_a_document_begins_is_repaired_from_the_checkpoint_before(tx: Tx) -> None:
    block = filled(tx, 26)
    (newest,) = tx.all("SELECT max(up_to_seq) AS seq FROM memory_block_checkpoints")
    tx.run("UPDATE memory_block_checkpoints SET base_text = 'x' WHERE up_to_seq = ?", (newest["seq"],))
    assert repair_block(tx, block, NOW) == (f"checkpoint {newest['seq']} does not match its checksum",)
    found = past(tx, block)
    assert (found.text_at(26), found.text_at(9)) == (lines(26), lines(9))
    assert verify_block(tx, block) == []


def test_a_document_whose_changes_do_not_give_its_text_is_corrupt_and_not_misread(tx: Tx) -> None:
    document = load_block(tx, filled(tx, 26), None).document
    document.base = replace(document.base, text="x")
    with pytest.raises(BlockCorrupt, match="do not add up to its text"):
        history_of(document)
