"""How a block's document is stored: numbered updates, checkpoints, and a quarantine for unreadable blobs.

An edit loads the document and adds one update row. From time to time a checkpoint of the whole document keeps loading
quick; the newest few are kept, with the updates since the oldest of them, so that one bad checkpoint loses nothing.
Unreadable blobs are moved to quarantine and the document is rebuilt from sound ones. Text that is still missing is
restored from the block's rendered text as one change by "system": only the record of who wrote it is lost.
"""

from datetime import datetime, timedelta

from msgspec import Struct

from memory.blocks.changes import Change, played
from memory.blocks.document import Base, Blob, BlobKind, Writer, blob_digest
from memory.blocks.history import ChangeLog, archived, own_history
from memory.blocks.repair import repair_block
from memory.blocks.rows import (
    OpenBlock,
    archived_up_to,
    insert_archive,
    insert_checkpoint,
    insert_update,
    load_block,
    peer_of,
    share_peer,
)
from memory.store.database import Tx
from memory.store.errors import BlockCorrupt
from memory.store.fulltext import index_text
from memory.store.ids import BlockId

_RECENT_SHARE = 4  # the share of the size limit that the kept changes may use


class Limits(Struct, frozen=True):
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


USUAL = Limits()


class CheckpointPolicy(Struct, frozen=True):
    """A checkpoint is written after `updates` changes, `size` bytes or `age` since the last, whichever comes first."""

    updates: int = 50  # every pending update makes an edit about 15 microseconds slower
    size: int = 50_000
    age: timedelta = timedelta(hours=1)
    keep: int = 5
    """How many checkpoints are kept; at least 2, so that a bad one can be rebuilt."""
    limits: Limits = USUAL


DEFAULT_POLICY = CheckpointPolicy()


def open_block(tx: Tx, block: BlockId, writer: Writer, now: datetime) -> OpenBlock:
    """Load a block for editing as `writer`, repairing damage. Raises BlockCorrupt when nothing is sound."""
    try:
        return load_block(tx, block, peer_of(tx, block, writer))
    except BlockCorrupt:
        repair_block(tx, block, now)
    # Load again: a repair may have changed peers and numbers, and this shows that it worked.
    return load_block(tx, block, peer_of(tx, block, writer))


def save_change(tx: Tx, opened: OpenBlock, change: Change, policy: CheckpointPolicy = DEFAULT_POLICY) -> bool:
    """Commit the edits and render the block's text into its row; False if nothing has changed."""
    if not (data := opened.document.commit(change)):
        return False
    text = opened.document.text()
    insert_update(tx, opened.id, opened.audience, change, data)
    changed = tx.run(
        "UPDATE memory_blocks SET content = ?, next_seq = ?, updated_at = ?,"
        " search_text = CASE WHEN deleted_at IS NULL THEN ? ELSE '' END WHERE id = ? AND next_seq = ?",
        (text, change.seq + 1, change.at, index_text(f"{opened.heading} {text}"), opened.id, change.seq),
    )
    if changed != 1:
        raise BlockCorrupt("block {id} was written by another connection at the same time", id=opened.id)
    opened.saved(len(data))
    if _is_due(opened, change.at, policy):
        data, base = shortened(tx, opened, change.at, policy.limits)
        insert_checkpoint(tx, opened, change, data, base)
        _prune(tx, opened.id, policy.keep)
    return True


def _is_due(opened: OpenBlock, now: datetime, policy: CheckpointPolicy) -> bool:
    return (
        opened.pending >= policy.updates
        or opened.pending_bytes >= policy.size
        or now - opened.checkpointed_at >= policy.age
    )


def _prune(tx: Tx, block: BlockId, keep: int) -> None:
    kept = tx.all(
        "SELECT up_to_seq FROM memory_block_checkpoints WHERE block_id = ? ORDER BY up_to_seq DESC LIMIT +?",
        (block, keep),
    )
    if len(kept) < 2:  # the only checkpoint must be replaceable by the updates under it
        return
    oldest = kept[-1]["up_to_seq"]
    tx.run("DELETE FROM memory_block_checkpoints WHERE block_id = ? AND up_to_seq < ?", (block, oldest))
    tx.run("DELETE FROM memory_block_updates WHERE block_id = ? AND seq <= ?", (block, oldest))


def shortened(tx: Tx, opened: OpenBlock, now: datetime, limits: Limits) -> tuple[bytes, Base]:
    """A snapshot for a checkpoint, without old changes, and where its history begins."""
    document = opened.document
    base, whole = document.base, document.snapshot()
    oldest = None if limits.keep is None else now - limits.keep
    if oldest is not None:
        sql = "DELETE FROM memory_block_archives WHERE block_id = ? AND newest_at < ?"
        tx.run(sql, (opened.id, oldest))
    # Well before the cut, so that one peer wrote everything that stays.
    if oldest is not None or document.version - base.version > limits.changes // 2 or len(whole) > limits.size // 2:
        share_peer(tx, opened.id)
    too_long = document.version - base.version > limits.changes or len(whole) > limits.size
    if not too_long and oldest is None:
        return whole, base
    past = own_history(document)
    cut = base.version if oldest is None else _aged(past, oldest)
    if too_long:
        _archive(tx, opened, past, max(cut, archived_up_to(tx, opened.id)), now)
        cut = max(cut, _recent(past, limits))
    if cut <= base.version:
        return whole, base
    return document.shallow(cut), _base(past, cut)


def _archive(tx: Tx, opened: OpenBlock, past: ChangeLog, after: int, now: datetime) -> None:
    """Archive all changes after that one, or after the oldest one that the document still has."""
    document = opened.document
    base = _base(past, after)
    newer = [step for step in past.steps if step.change.seq > base.version]
    if not newer:
        return
    data = archived(ChangeLog(base.version, base.text, tuple(newer)), document.exported(base.version))
    archive = Blob(BlobKind.ARCHIVE, document.version, data, blob_digest(data), base)
    insert_archive(tx, opened, archive, newer[-1].change.at, now)


def _base(past: ChangeLog, version: int) -> Base:
    older = [step for step in past.steps if step.change.seq <= version]
    return Base(older[-1].change.seq if older else past.start, played(past.text, older))


def _aged(past: ChangeLog, oldest: datetime) -> int:
    """The newest version up to which all changes are too old to keep."""
    return max((step.change.seq for step in past.steps if step.change.at < oldest), default=past.start)


def _recent(past: ChangeLog, limits: Limits) -> int:
    """The version whose later changes stay in the document."""
    left = limits.size // _RECENT_SHARE
    for kept, step in enumerate(reversed(past.steps)):
        left -= sum(len(splice.insert) + 50 for splice in step.splices)  # 50: about the size of an operation itself
        if left < 0 or kept == limits.recent:
            return step.change.seq
    return past.steps[0].change.seq if past.steps else past.start
