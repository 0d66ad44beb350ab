"""The document over bytes: edits, commits, loading, and what is refused."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.blocks import containers
from memory.blocks.document import (
    SYSTEM,
    Blob,
    BlobKind,
    BlockDocument,
    Stamp,
    UnsoundBlob,
    agent_writer,
    job_writer,
    person_writer,
    salvage,
    seal,
)
from memory.blocks.targets import PLAIN
from memory.store.errors import BlockCorrupt, Refused
from memory.store.ids import AgentId, PersonId, TurnId

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def stamp(seq: int) -> Stamp:
    return Stamp(SYSTEM, None, seq, NOW)


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


def test_updates_and_a_checkpoint_give_the_same_text_and_version() -> None:
    document, updates = built(
        lambda d: append(d, "tea, tea 😀"), lambda d: replace(d, "tea", "Käse"), lambda d: write(d, "nur Käse 😀!")
    )
    assert document.text() == "nur Käse 😀!"
    loaded = BlockDocument.load(None, updates)
    checkpoint = seal(BlobKind.CHECKPOINT, 3, document.snapshot())
    again = BlockDocument.load(checkpoint, [])
    assert loaded.text() == again.text() == document.text()
    assert loaded.frontier() == again.frontier() == document.frontier()


def test_every_commit_says_who_made_it_in_which_turn_and_when() -> None:
    document = BlockDocument(7)
    append(document, "abc")
    first = document.commit(Stamp(agent_writer(AgentId("a1")), TurnId(5), 1, NOW))
    other = BlockDocument.load(None, [seal(BlobKind.UPDATE, 1, first)], peer=8)
    append(other, "de")
    other.commit(Stamp(person_writer(PersonId("discord:1")), None, 2, NOW + timedelta(minutes=1)))
    other.act_as(9)
    append(other, "f")
    other.commit(Stamp(job_writer("sleep"), None, 3, NOW + timedelta(minutes=1)))
    assert [(change.writer, change.turn, change.seq) for change in other.changes()] == [
        ("agent:a1", 5, 1),
        ("person:discord:1", None, 2),
        ("job:sleep", None, 3),
    ]
    assert [change.at for change in other.changes()] == [NOW, *[NOW + timedelta(minutes=1)] * 2]


def test_a_commit_without_an_edit_gives_nothing() -> None:
    document, _ = built(lambda d: append(d, "text"))
    write(document, "text")
    append(document, "")
    assert document.commit(stamp(2)) == b""


def test_an_update_is_only_the_change_itself() -> None:
    document, _ = built(lambda d: append(d, "x" * 5_000))
    append(document, "more")
    assert len(document.commit(stamp(2))) < 300


def test_replace_wants_the_text_exactly_as_it_stands() -> None:
    document, _ = built(lambda d: append(d, "likes tea"))
    with pytest.raises(Refused, match="'Tea' does not occur"):
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


def test_a_rewrite_that_the_diff_cannot_finish_in_time_is_written_all_the_same() -> None:
    before = "".join(chr(97 + (place * place * 7 + place) % 26) for place in range(40_000))
    after = "same" + "".join(chr(97 + (place * place * 11 + 3 * place) % 26) for place in range(40_000))
    document, _ = built(lambda d: append(d, "same" + before))
    write(document, after)
    assert document.text() == after


def test_a_missing_update_is_noticed() -> None:
    _, updates = built(*lines(3))
    with pytest.raises(UnsoundBlob, match="update 3 builds on a change that is missing"):
        BlockDocument.load(None, [updates[0], updates[2]])


def test_bytes_that_do_not_match_their_checksum_never_reach_the_library() -> None:
    _, updates = built(*lines(1))
    bad = Blob(BlobKind.UPDATE, 1, updates[0].data[:-1] + b"!", updates[0].digest)
    with pytest.raises(UnsoundBlob, match="checksum"):
        BlockDocument.load(None, [bad])


@given(data=st.binary(max_size=200))
def test_noise_with_a_right_checksum_is_block_corrupt(data: bytes) -> None:
    with pytest.raises(BlockCorrupt):
        BlockDocument.load(None, [seal(BlobKind.UPDATE, 1, data)])


def test_salvage_falls_back_to_an_older_checkpoint_and_loses_nothing() -> None:
    document, updates = built(*lines(4))
    older = seal(BlobKind.CHECKPOINT, 2, BlockDocument.load(None, updates[:2]).snapshot())
    newest = Blob(BlobKind.CHECKPOINT, 4, document.snapshot()[:-5], b"not this")
    found = salvage([newest, older], updates)
    assert found is not None
    assert (found.document.text(), found.reached) == (document.text(), 4)
    assert [(blob.kind, blob.seq) for blob, _ in found.bad] == [(BlobKind.CHECKPOINT, 4)]


def test_salvage_stops_at_the_first_update_that_cannot_be_used() -> None:
    _, updates = built(*lines(4))
    updates[2] = Blob(BlobKind.UPDATE, 3, b"noise", updates[2].digest)
    found = salvage([], updates)
    assert found is not None
    assert (found.document.text(), found.reached) == ("line\nline\n", 2)
    assert [blob.seq for blob, _ in found.bad] == [3, 4]


def test_salvage_of_nothing_sound_is_none_rather_than_an_empty_document() -> None:
    _, updates = built(*lines(2))
    assert salvage([], [Blob(BlobKind.UPDATE, 1, b"noise", b""), updates[1]]) is None
    assert salvage([], []) is None
