"""The document over bytes: edits, commits, loading, and what is refused."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.blocks import containers
from memory.blocks.changes import Change
from memory.blocks.document import SYSTEM, Blob, BlobKind, BlockDocument, UnsoundBlob, seal
from memory.blocks.targets import PLAIN
from memory.store.errors import BlockCorrupt, Refused

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


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


@given(data=st.binary(max_size=200))
def test_noise_with_a_right_checksum_is_block_corrupt(data: bytes) -> None:
    with pytest.raises(BlockCorrupt):
        BlockDocument.load(None, [seal(BlobKind.UPDATE, 1, data)])
