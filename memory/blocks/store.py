"""How a block's document is stored: numbered updates, checkpoints, and a quarantine for unreadable blobs.

An edit loads the document and adds one update row. From time to time a checkpoint of the whole document keeps loading
quick; the newest few are kept, with the updates since the oldest of them, so that one bad checkpoint loses nothing.
Unreadable blobs are moved to quarantine and the document is rebuilt from sound ones. Text that is still missing is
restored from the block's rendered text as one change by "system": only the record of who wrote it is lost.
"""

import dataclasses
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from memory.blocks.changes import SYSTEM, Change
from memory.blocks.document import Blob, BlobKind, BlockDocument, UnsoundBlob, Writer, pack, seal
from memory.blocks.history import ChangeLog, history_of
from memory.blocks.schema_paths import empty_text
from memory.blocks.schemas import parse_schema
from memory.store.clock import from_text
from memory.store.database import Row, Rows, Tx, Value
from memory.store.errors import BlockCorrupt, BlockNotFound
from memory.store.fulltext import index_text
from memory.store.ids import BlockId, TurnId
from texts import gettext_lazy

EVERYBODY = Writer("*")
"""Stands for all writers of a block after `share_peer`; it sorts before each of them."""
_PEER_BITS = 63  # SQLite's integers are signed


class HistoryLimits(Struct, frozen=True):
    """How much of its past a document carries.

    Beyond `changes` changes, or a snapshot of `size` bytes, the document is archived and only the newest `recent`
    changes stay in it, fewer if they are large. Measured: a document of 1,000 usual changes has 100 to 150 kB, loads in
    0.4 ms, and is replayed in 100 ms; with 400 kB of rewrites Loro needs 15 to 20 ms for the cut. `keep` is how long
    changes are kept at all, None for ever.
    """

    changes: int = 1_000
    size: int = 400_000
    recent: int = 200
    keep: timedelta | None = None


USUAL = HistoryLimits()
_RECENT_SHARE = 4  # the share of the size limit that the kept changes may use


class CheckpointPolicy(Struct, frozen=True):
    """A checkpoint is written after `updates` changes, `size` bytes or `age` since the last, whichever comes first."""

    updates: int = 10  # for a usual block, a checkpoint takes as long as loading 20 updates
    size: int = 50_000
    age: timedelta = timedelta(hours=1)
    keep: int = 5
    """How many checkpoints are kept; at least 2, so that a bad one can be rebuilt."""
    limits: HistoryLimits = USUAL


DEFAULT_POLICY = CheckpointPolicy()


# ---------------------------------------------------------------------------------------------------------------- rows


class OpenBlock(Struct):
    """A document loaded for one edit inside a unit of work."""

    rows: Rows
    id: BlockId
    head: Row
    next_seq: int
    document: BlockDocument
    pending: int
    """Updates since the newest checkpoint; `pending_bytes` is their size."""
    pending_bytes: int
    checkpointed_at: datetime
    sealed: int = 0
    """The newest version to which an edit may not go back, since words were erased from the block; 0 for none."""

    def history(self) -> ChangeLog:
        """All that is kept of the block's past. Raises BlockCorrupt."""
        kept = history_of(self.document, blobs(self.rows, BlobKind.ARCHIVE, self.id))
        return dataclasses.replace(kept, sealed=self.sealed)

    def saved(self, size: int) -> None:
        """Note that the edit was stored as an update of that many bytes."""
        self.next_seq += 1
        self.pending += 1
        self.pending_bytes += size


def head_of(rows: Rows, block: BlockId) -> Row:
    """The columns of the block's row that its document needs. Raises BlockNotFound."""
    columns = "id, audience, next_seq, sealed_seq, created_at"
    found = rows.one(f"SELECT {columns}, {_INDEXED} FROM memory_blocks WHERE id = ?", (block,))
    if found is None:
        raise BlockNotFound("there is no block “{block}”", block=block)
    return found


_INDEXED = "label, description, profile, schema, content"


def _search_text(head: Row, text: str) -> str:
    """What search finds a block with that text by: nothing if it is empty, since the names of fields tell nobody
    anything."""
    if not head["profile"] and text == empty_text(parse_schema(head["schema"])):
        return ""
    return index_text(f"{head['label']} {head['description']} {text}")


def index_blocks(tx: Tx, block: BlockId | None = None) -> None:
    """Rebuild the search index of a block, or of all blocks after an import."""
    which, values = ("id = ?", (block,)) if block else ("TRUE", ())
    for row in tx.all(f"SELECT n, {_INDEXED} FROM memory_blocks WHERE deleted_at IS NULL AND {which}", values):
        words = _search_text(row, row["content"])
        tx.run("UPDATE memory_blocks SET search_text = ? WHERE n = ?", (words, row["n"]))


BLOBS = {  # the table of each kind, the columns of its number and bytes, and those of where its history begins
    BlobKind.UPDATE: ("memory_block_updates", "seq", "update_blob", "0", "''"),
    BlobKind.CHECKPOINT: ("memory_block_checkpoints", "up_to_seq", "snapshot", "base_seq", "base_text"),
    BlobKind.ARCHIVE: ("memory_block_archives", "up_to_seq", "blob", "after_seq", "''"),
}


def blobs(rows: Rows, kind: BlobKind, block: BlockId, after: int = 0) -> list[Blob]:
    """The stored blobs of a kind that end after a change, oldest first."""
    return [blob for blob, _ in _read(rows, kind, "seq > ? ORDER BY seq", (block, after))]


def _read(rows: Rows, kind: BlobKind, which: str, parameters: tuple[Value, ...]) -> list[tuple[Blob, Row]]:
    table, number, data, base, text = BLOBS[kind]
    columns = f"{number} AS seq, {data} AS data, digest, {base} AS base, {text} AS text, created_at"
    found = rows.all(f"SELECT {columns} FROM {table} WHERE block_id = ? AND {which}", parameters)
    return [(Blob(kind, row["seq"], row["data"], row["digest"], row["base"], row["text"]), row) for row in found]


def load_block(rows: Rows, block: BlockId, peer: int | None) -> OpenBlock:
    """The newest checkpoint and every update after it; raises UnsoundBlob for a bad or missing one."""
    head = head_of(rows, block)
    newest = _read(rows, BlobKind.CHECKPOINT, "TRUE ORDER BY seq DESC LIMIT 1", (block,))
    base, since = newest[0] if newest else (None, head)
    start = 0 if base is None else base.seq
    updates = blobs(rows, BlobKind.UPDATE, block, start)
    known = {blob.seq for blob in updates}
    missing = next((each for each in range(start + 1, head["next_seq"]) if each not in known), None)
    if missing is not None:
        raise UnsoundBlob(BlobKind.UPDATE, missing, gettext_lazy("is missing"))
    return OpenBlock(
        rows=rows,
        id=block,
        head=head,
        next_seq=head["next_seq"],
        document=BlockDocument.load(base, updates, peer),
        pending=len(updates),
        pending_bytes=sum(len(blob.data) for blob in updates),
        checkpointed_at=from_text(since["created_at"]),
        sealed=head["sealed_seq"],
    )


def peer_of(tx: Tx, block: BlockId, writer: Writer) -> int:
    """The writer's Loro peer id in this block, assigned once; or the one that all share after `share_peer`."""
    row = tx.one(
        "SELECT peer FROM memory_block_writers WHERE block_id = ? AND writer IN (?, ?) ORDER BY writer LIMIT 1",
        (block, writer, EVERYBODY),
    )
    return _new_peer(tx, block, writer) if row is None else int(row["peer"])


def share_peer(tx: Tx, block: BlockId) -> None:
    """Give all writers of a block one peer id from now on, since its history will have to be cut.

    Loro 1.17 cannot cut between two changes of one peer if two peers have changes on both sides: it moves the cut back
    to where the second peer began. The commit messages still name the writers.
    """
    if tx.one("SELECT 1 FROM memory_block_writers WHERE block_id = ? AND writer = ?", (block, EVERYBODY)) is None:
        _new_peer(tx, block, EVERYBODY)


def _new_peer(tx: Tx, block: BlockId, writer: Writer) -> int:
    while True:  # until no other writer of the block has this number
        peer = secrets.randbits(_PEER_BITS)
        values: dict[str, Value] = {"block_id": block, "writer": writer, "peer": peer}
        if tx.insert("memory_block_writers", values, ignore=True):
            return peer


def insert_update(tx: Tx, block: BlockId, audience: str, change: Change, data: bytes) -> None:
    more: dict[str, Value] = {"byte_size": len(data), "source": change.writer, "created_at": change.at}
    _insert(tx, block, audience, seal(BlobKind.UPDATE, change.seq, data), more)


def insert_checkpoint(tx: Tx, opened: OpenBlock, change: Change, data: bytes, base: int) -> None:
    """Store a snapshot whose history begins at `base`."""
    more: dict[str, Value] = {"frontier": opened.document.frontier(), "created_at": change.at}
    _insert(tx, opened.id, opened.head["audience"], seal(BlobKind.CHECKPOINT, change.seq, pack(data), base), more)


def _insert(tx: Tx, block: BlockId, audience: str, blob: Blob, more: Mapping[str, Value]) -> None:
    table, number, data, base, _ = BLOBS[blob.kind]
    values: dict[str, Value] = {"block_id": block, "audience": audience, number: blob.seq, data: blob.data}
    values |= {} if blob.kind is BlobKind.UPDATE else {base: blob.base}
    tx.insert(table, {**values, "digest": blob.digest, **more})


def block_history(rows: Rows, block: BlockId) -> ChangeLog:
    """All that is kept of a block's past. Raises BlockCorrupt."""
    return load_block(rows, block, None).history()


def written_in(rows: Rows, turns: Iterable[TurnId]) -> list[BlockId]:
    """The existing blocks, except logs, that agents changed in these turns."""
    sql = """SELECT id FROM memory_blocks WHERE deleted_at IS NULL AND block_type <> 'log' AND id IN (
               SELECT block_id FROM memory_block_turns WHERE turn_id IN (SELECT value FROM json_each(?))) ORDER BY n"""
    return [BlockId(row["id"]) for row in rows.all(sql, (list(turns),))]


# -------------------------------------------------------------------------------------------------------------- saving


def save_change(tx: Tx, opened: OpenBlock, change: Change, policy: CheckpointPolicy = DEFAULT_POLICY) -> bool:
    """Commit the edits and render the block's text into its row; False if nothing has changed."""
    if not (data := opened.document.commit(change)):
        return False
    text = opened.document.text()
    insert_update(tx, opened.id, opened.head["audience"], change, data)
    if change.turn is not None and change.writer != SYSTEM:
        tx.insert("memory_block_turns", {"turn_id": change.turn, "block_id": opened.id}, ignore=True)
    changed = tx.run(
        "UPDATE memory_blocks SET content = ?, next_seq = ?, updated_at = ?,"
        " search_text = CASE WHEN deleted_at IS NULL THEN ? ELSE '' END WHERE id = ? AND next_seq = ?",
        (text, change.seq + 1, change.at, _search_text(opened.head, text), opened.id, change.seq),
    )
    if changed != 1:
        raise BlockCorrupt("block {id} was written by another connection at the same time", id=opened.id)
    opened.saved(len(data))
    if _is_due(opened, change.at, policy):
        data, base = _shortened(tx, opened, change.at, policy.limits)
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


def _shortened(tx: Tx, opened: OpenBlock, now: datetime, limits: HistoryLimits) -> tuple[bytes, int]:
    """A snapshot for a checkpoint, and where its history begins: without the old changes, once the document is too long
    or some of them are too old to be kept."""
    document, whole = opened.document, opened.document.snapshot()
    count, size = document.version - document.base, len(whole)
    if limits.keep is not None or count > limits.changes // 2 or size > limits.size // 2:
        share_peer(tx, opened.id)  # well before a cut, so that one peer wrote everything that stays
    too_long, cut = count > limits.changes or size > limits.size, document.base
    if not too_long and limits.keep is None:
        return whole, cut
    changes = document.changes()
    if limits.keep is not None:
        sql = "DELETE FROM memory_block_archives WHERE block_id = ? AND newest_at < ?"
        tx.run(sql, (opened.id, now - limits.keep))
        cut = max((change.seq for change in changes if change.at < now - limits.keep), default=cut)
    if too_long:
        _archive(tx, opened, cut, now)
        recent = min(limits.recent, len(changes) * limits.size // (_RECENT_SHARE * size))
        cut = max([cut, *(change.seq for change in changes[: len(changes) - recent])])
    return (document.shallow(cut) if cut > document.base else whole), cut


def _archive(tx: Tx, opened: OpenBlock, after: int, now: datetime) -> None:
    """Keep the document with its changes after that one, as far as no archive has them."""
    document, sql = opened.document, "SELECT max(up_to_seq) FROM memory_block_archives WHERE block_id = ?"
    done = tx.value(sql, (opened.id,), int) or 0
    start = max([after, *(change.seq for change in document.changes() if change.seq <= done)])
    if start < document.version:
        data = document.shallow(start) if start > document.base else document.snapshot()
        archive = seal(BlobKind.ARCHIVE, document.version, pack(data), start)
        _insert(tx, opened.id, opened.head["audience"], archive, {"newest_at": now, "created_at": now})
