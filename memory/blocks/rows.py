"""The rows that store a block's document: updates, checkpoints, archives, and its writers' Loro ids."""

import secrets
from datetime import datetime

from msgspec import Struct

from memory.blocks.changes import Change
from memory.blocks.document import Base, Blob, BlobKind, BlockDocument, UnsoundBlob, Writer, pack, seal
from memory.blocks.history import ChangeLog, history_of
from memory.store.clock import from_text
from memory.store.database import Row, Rows, Tx, Value
from memory.store.errors import BlockNotFound
from memory.store.fulltext import index_text
from memory.store.ids import BlockId
from texts import gettext_lazy

EVERYBODY = Writer("*")
"""Stands for all writers of a block after `share_peer`."""
_PEER_BITS = 63  # SQLite's integers are signed


class OpenBlock(Struct):
    """A document loaded for one edit inside a unit of work."""

    id: BlockId
    heading: str
    """Label and description, which are indexed with the text."""
    audience: str
    next_seq: int
    document: BlockDocument
    pending: int
    """Updates since the newest checkpoint; `pending_bytes` is their size."""
    pending_bytes: int
    checkpointed_at: datetime

    def saved(self, size: int) -> None:
        """Note that the edit was stored as an update of that many bytes."""
        self.next_seq += 1
        self.pending += 1
        self.pending_bytes += size


def head_of(rows: Rows, block: BlockId) -> Row:
    """The columns of the block's row that its document needs. Raises BlockNotFound."""
    columns = "id, label, description, audience, next_seq, content, created_at"
    found = rows.one(f"SELECT {columns} FROM memory_blocks WHERE id = ?", (block,))
    if found is None:
        raise BlockNotFound("there is no block {block}", block=block)
    return found


def heading_of(head: Row) -> str:
    """What is indexed of a block besides its text."""
    return f"{head['label']} {head['description']}"


def index_blocks(tx: Tx) -> None:
    """Rebuild the search index of all blocks, after an import."""
    for row in tx.all("SELECT n, label, description, content FROM memory_blocks WHERE deleted_at IS NULL"):
        words = index_text(f"{heading_of(row)} {row['content']}")
        tx.run("UPDATE memory_blocks SET search_text = ? WHERE n = ?", (words, row["n"]))


def checkpoint_of(row: Row) -> Blob:
    base = Base(row["base_seq"], row["base_text"])
    return Blob(BlobKind.CHECKPOINT, row["up_to_seq"], row["snapshot"], row["digest"], base)


def checkpoints(rows: Rows, block: BlockId) -> list[Blob]:
    """The checkpoints, newest first."""
    found = rows.all("SELECT * FROM memory_block_checkpoints WHERE block_id = ? ORDER BY up_to_seq DESC", (block,))
    return [checkpoint_of(row) for row in found]


def updates_after(rows: Rows, block: BlockId, after: int) -> list[Blob]:
    """The updates after that one, oldest first."""
    found = rows.all(
        "SELECT seq, update_blob, digest FROM memory_block_updates WHERE block_id = ? AND seq > ? ORDER BY seq",
        (block, after),
    )
    return [Blob(BlobKind.UPDATE, row["seq"], row["update_blob"], row["digest"]) for row in found]


def load_block(rows: Rows, block: BlockId, peer: int | None) -> OpenBlock:
    """The newest checkpoint and every update after it; raises UnsoundBlob for a bad or missing one."""
    head = head_of(rows, block)
    row = rows.one(
        "SELECT up_to_seq, snapshot, digest, base_seq, base_text, created_at FROM memory_block_checkpoints"
        " WHERE block_id = ? ORDER BY up_to_seq DESC LIMIT 1",
        (block,),
    )
    base = None if row is None else checkpoint_of(row)
    start = 0 if base is None else base.seq
    updates = updates_after(rows, block, start)
    missing = set(range(start + 1, head["next_seq"])) - {blob.seq for blob in updates}
    if missing:
        raise UnsoundBlob(BlobKind.UPDATE, min(missing), gettext_lazy("is missing"))
    return OpenBlock(
        id=block,
        heading=heading_of(head),
        audience=head["audience"],
        next_seq=head["next_seq"],
        document=BlockDocument.load(base, updates, peer),
        pending=len(updates),
        pending_bytes=sum(len(blob.data) for blob in updates),
        checkpointed_at=from_text(head["created_at"] if row is None else row["created_at"]),
    )


def peer_of(tx: Tx, block: BlockId, writer: Writer) -> int:
    """The writer's Loro peer id in this block, assigned once; or the one that all share after `share_peer`."""
    row = tx.one(
        "SELECT peer FROM memory_block_writers WHERE block_id = ? AND writer IN (?, ?) "
        "ORDER BY writer = ? DESC LIMIT 1",
        (block, writer, EVERYBODY, EVERYBODY),
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
    blob = seal(BlobKind.UPDATE, change.seq, data)
    tx.run(
        "INSERT INTO memory_block_updates (block_id, seq, update_blob, digest, byte_size, source, audience, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (block, blob.seq, blob.data, blob.digest, len(data), change.writer, audience, change.at),
    )


def insert_checkpoint(tx: Tx, opened: OpenBlock, change: Change, data: bytes, base: Base) -> None:
    """Store a snapshot whose history begins at `base`."""
    blob = seal(BlobKind.CHECKPOINT, change.seq, pack(data), base)
    values: dict[str, Value] = {
        "block_id": opened.id,
        "up_to_seq": blob.seq,
        "snapshot": blob.data,
        "digest": blob.digest,
        "frontier": opened.document.frontier(),
        "base_seq": base.version,
        "base_text": base.text,
        "audience": opened.audience,
        "created_at": change.at,
    }
    tx.insert("memory_block_checkpoints", values)


def archives_of(rows: Rows, block: BlockId) -> list[Blob]:
    """The archives, oldest first."""
    sql = "SELECT after_seq, up_to_seq, blob, digest FROM memory_block_archives WHERE block_id = ? ORDER BY up_to_seq"
    found = rows.all(sql, (block,))
    return [
        Blob(BlobKind.ARCHIVE, row["up_to_seq"], row["blob"], row["digest"], Base(row["after_seq"])) for row in found
    ]


def block_history(rows: Rows, block: BlockId) -> ChangeLog:
    """All that is kept of a block's past. Raises BlockCorrupt."""
    return history_of(load_block(rows, block, None).document, archives_of(rows, block))


def archived_up_to(rows: Rows, block: BlockId) -> int:
    """The newest archived change; 0 without archives."""
    return rows.number("SELECT coalesce(max(up_to_seq), 0) FROM memory_block_archives WHERE block_id = ?", (block,))


def insert_archive(tx: Tx, opened: OpenBlock, archive: Blob, newest_at: datetime, now: datetime) -> None:
    """Store an archive; `newest_at` is the time of its last change."""
    values: dict[str, Value] = {
        "block_id": opened.id,
        "up_to_seq": archive.seq,
        "after_seq": archive.base.version,
        "blob": archive.data,
        "digest": archive.digest,
        "newest_at": newest_at,
        "audience": opened.audience,
        "created_at": now,
    }
    tx.insert("memory_block_archives", values)


def sealed_of(rows: Rows, block: BlockId) -> int:
    """The version up to which only the owner can undo, since words were erased from the block; 0 for none."""
    return rows.number("SELECT sealed_seq FROM memory_blocks WHERE id = ?", (block,))
