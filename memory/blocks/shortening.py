"""Keeping documents short: what is old leaves them for archives, and goes for good when its time is over."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.blocks.rows import archived_up_to, insert_archive, share_peer
from memory.blocks.warm import OpenBlock
from memory.clock import to_text
from memory.database import Tx
from memory.documents.changes import played
from memory.documents.document import Base, blob_digest
from memory.documents.past import Archive, Past, archived, own_past

_RECENT_SHARE = 4  # of the bytes a document may have, for those of its changes that stay


@dataclass(frozen=True)
class Limits:
    """How much of the past a document carries with it.

    Beyond `changes` changes, or a snapshot of `size` bytes, all is archived and only the newest `recent` stay, fewer
    when they are large. Measured: a document of 1,000 usual changes has 100 to 150 kB and loads in 0.4 ms, and its
    changes are replayed in 40 ms; with 400 kB of rewrites Loro needs 15 to 20 ms for the cut.
    `keep` is how long changes are kept anywhere, None for ever.
    """

    changes: int = 1_000
    size: int = 400_000
    recent: int = 200
    keep: timedelta | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.recent < self.changes or self.size < 1:
            raise ValueError(f"a document may have more changes than stay in it, and size >= 1, not {self}")


USUAL = Limits()


def shortened(tx: Tx, opened: OpenBlock, now: datetime, limits: Limits) -> tuple[bytes, Base]:
    """A snapshot of the document for a checkpoint, without what is old, and where its history begins."""
    document = opened.document
    base, whole = document.base, document.snapshot()
    oldest = None if limits.keep is None else now - limits.keep
    if oldest is not None:
        sql = "DELETE FROM memory_block_archives WHERE block_id = ? AND newest_at < ?"
        tx.run(sql, (opened.id, to_text(oldest)))
    # Long before it has to be cut, so that what stays then was written by one peer.
    if oldest is not None or document.version - base.version > limits.changes // 2 or len(whole) > limits.size // 2:
        share_peer(tx, opened.id)
    too_long = document.version - base.version > limits.changes or len(whole) > limits.size
    if not too_long and oldest is None:
        return whole, base
    past = own_past(document)
    cut = base.version if oldest is None else _aged(past, oldest)
    if too_long:
        _archive(tx, opened, past, max(cut, archived_up_to(tx, opened.id)), now)
        cut = max(cut, _recent(past, limits))
    if cut <= base.version:
        return whole, base
    return document.shallow(cut), _base(past, cut)


def _archive(tx: Tx, opened: OpenBlock, past: Past, after: int, now: datetime) -> None:
    """Write down all changes after that one, or after the last one before it that the document still has."""
    document = opened.document
    base = _base(past, after)
    newer = [step for step in past.steps if step.change.seq > base.version]
    if not newer:
        return
    data = archived(Past(base.version, base.text, tuple(newer)), document.exported(base.version))
    archive = Archive(base.version, document.version, data, blob_digest(data))
    insert_archive(tx, opened, archive, newer[-1].change.at, now)


def _base(past: Past, version: int) -> Base:
    older = [step for step in past.steps if step.change.seq <= version]
    return Base(older[-1].change.seq if older else past.start, played(past.text, older))


def _aged(past: Past, oldest: datetime) -> int:
    """The newest version all of whose changes are too old."""
    return max((step.change.seq for step in past.steps if step.change.at < oldest), default=past.start)


def _recent(past: Past, limits: Limits) -> int:
    """The version after which the changes are those that stay."""
    left = limits.size // _RECENT_SHARE
    for kept, step in enumerate(reversed(past.steps)):
        left -= sum(len(splice.insert) + 50 for splice in step.splices)  # 50: about what an operation takes by itself
        if left < 0 or kept == limits.recent:
            return step.change.seq
    return past.steps[0].change.seq if past.steps else past.start
