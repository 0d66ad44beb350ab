"""Which old changes of a block leave its document for an archive, and which are too old to be kept at all.

Pure: with each checkpoint, `store.py` asks this and stores the answer. `history.py` reads the document and its archives
as one past. Archived blocks, which no prompt shows, are a matter of `lifecycle.py`.
"""

from datetime import datetime, timedelta

from msgspec import Struct

from memory.blocks.changes import played
from memory.blocks.document import Base, Blob, BlobKind, BlockDocument, blob_digest
from memory.blocks.history import ChangeLog, archived, own_history
from memory.store.records import replace

_RECENT_SHARE = 4  # the share of the size limit that the kept changes may use


class HistoryLimits(Struct, frozen=True):
    """How much of its past a document carries.

    Beyond `changes` changes, or a snapshot of `size` bytes, all changes are archived and only the newest `recent` stay
    in the document, fewer if they are large. Measured: a document of 1,000 usual changes has 100 to 150 kB, loads in
    0.4 ms, and is replayed in 40 ms; with 400 kB of rewrites Loro needs 15 to 20 ms for the cut. `keep` is how long
    changes are kept at all, None for ever.
    """

    changes: int = 1_000
    size: int = 400_000
    recent: int = 200
    keep: timedelta | None = None


USUAL = HistoryLimits()


def _base_at(past: ChangeLog, version: int) -> Base:
    older = [step for step in past.steps if step.change.seq <= version]
    return Base(older[-1].change.seq if older else past.start, played(past.text, older))


def _recent_from(past: ChangeLog, limits: HistoryLimits) -> int:
    """The version whose later changes stay in the document."""
    left = limits.size // _RECENT_SHARE
    for kept, step in enumerate(reversed(past.steps)):
        left -= sum(len(splice.insert) + 50 for splice in step.splices)  # 50: about the size of an operation itself
        if left < 0 or kept == limits.recent:
            return step.change.seq
    return past.steps[0].change.seq if past.steps else past.start


class Shortened(Struct, frozen=True):
    """A snapshot for a checkpoint, and where its history begins; and the archive that holds what it no longer has."""

    snapshot: bytes
    base: Base
    one_peer: bool = False
    """Whether all share a peer id from now on: well before a cut, so that one peer wrote everything that stays."""
    archive: Blob | None = None
    newest_at: datetime | None = None
    """When the newest change in the archive was made."""


def shortened(document: BlockDocument, archived_up_to: int, now: datetime, limits: HistoryLimits) -> Shortened:
    """The document without its old changes, once it is too long or some of them are too old to be kept."""
    base, whole = document.base, document.snapshot()
    oldest = None if limits.keep is None else now - limits.keep
    count, size = document.version - base.version, len(whole)
    one_peer = oldest is not None or count > limits.changes // 2 or size > limits.size // 2
    too_long = count > limits.changes or size > limits.size
    kept = Shortened(whole, base, one_peer)
    if not too_long and oldest is None:
        return kept
    past = own_history(document)
    cut = base.version
    if oldest is not None:  # the newest version up to which all changes are too old to keep
        cut = max((step.change.seq for step in past.steps if step.change.at < oldest), default=past.start)
    if too_long:
        kept = _with_archive(kept, document, past, max(cut, archived_up_to))
        cut = max(cut, _recent_from(past, limits))
    return kept if cut <= base.version else replace(kept, snapshot=document.shallow(cut), base=_base_at(past, cut))


def _with_archive(kept: Shortened, document: BlockDocument, past: ChangeLog, after: int) -> Shortened:
    """Archive all changes after that one, or after the oldest one that the document still has."""
    base = _base_at(past, after)
    newer = [step for step in past.steps if step.change.seq > base.version]
    if not newer:
        return kept
    data = archived(ChangeLog(base.version, base.text, tuple(newer)), document.exported(base.version))
    # Its checksum is of the bytes alone: where it begins is written in them.
    blob = Blob(BlobKind.ARCHIVE, document.version, data, blob_digest(data), Base(base.version))
    return replace(kept, archive=blob, newest_at=newer[-1].change.at)
