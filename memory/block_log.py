"""How a block's document lies in the database: numbered updates, checkpoints, and what could not be read.

An edit adds one update row, and leaves its document in memory for the next (`memory.warm_blocks`). Now and then a
checkpoint, the whole document, makes loading quick again; the newest few are kept, with the updates since the
oldest of them, so that one bad checkpoint costs nothing. Blobs that cannot be read are moved to quarantine and the
document is built from what is sound. What of the text is then still missing comes back from the block's rendered
text as one change by "system": the words stay, only the record of who wrote them is lost.
"""

import base64
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog

from memory.audience import person_audience
from memory.clock import from_text, to_text
from memory.database import Row, Rows, Tx, Value
from memory.document import (
    SYSTEM,
    Blob,
    BlobKind,
    BlockDocument,
    Stamp,
    UnsoundBlob,
    Writer,
    blob_digest,
    salvage,
    seal,
)
from memory.errors import BlockCorrupt, BlockNotFound
from memory.fulltext import index_text
from memory.ids import BlockId, PersonId
from memory.warm_blocks import OpenBlock, WarmBlocks

_log = structlog.get_logger(__name__)
_PEER_BITS = 63  # SQLite's integers are signed


@dataclass(frozen=True)
class CheckpointPolicy:
    """When a checkpoint is written: at `updates` changes, `size` bytes or `age` since the last, whichever is first."""

    updates: int = 50  # twice what was planned: every pending update makes an edit about 15 microseconds slower
    size: int = 50_000
    age: timedelta = timedelta(hours=1)
    keep: int = 5
    """How many checkpoints are kept; at least 2, or a bad one could not be rebuilt."""

    def __post_init__(self) -> None:
        if self.keep < 2 or self.updates < 1 or self.size < 1:
            raise ValueError(f"checkpoints need updates >= 1, size >= 1 and keep >= 2, not {self}")


DEFAULT_POLICY = CheckpointPolicy()


def search_text(label: str, description: str, content: str) -> str:
    """What the full-text index holds of a block."""
    return index_text(f"{label} {description} {content}")


def open_block(tx: Tx, block: BlockId, writer: Writer, now: datetime) -> OpenBlock:
    """Load for editing as `writer`, repairing what cannot be read. Raises BlockCorrupt when nothing is sound.

    A document that is still in memory from the last edit is taken as it is: the stored blobs are not looked at.
    """
    warm = tx.kept(WarmBlocks).take(block)
    if warm is not None and _is_current(tx, warm):
        warm.document.act_as(_peer(tx, block, writer))
        return warm
    try:
        return _load(tx, block, _peer(tx, block, writer))
    except BlockCorrupt:
        repair_block(tx, block, now)
    # Read anew: a repair may have changed peers and numbers, and this shows that it worked.
    return _load(tx, block, _peer(tx, block, writer))


def save_change(tx: Tx, opened: OpenBlock, stamp: Stamp, policy: CheckpointPolicy = DEFAULT_POLICY) -> bool:
    """Commit the edits of an opened block and render its text into the row; False when nothing had changed."""
    data, text = opened.document.commit(stamp), opened.document.text()
    if data:
        _insert_update(tx, opened.id, opened.audience, stamp, data)
        changed = tx.run(
            "UPDATE memory_blocks SET content = ?, search_text = ?, next_seq = ?, updated_at = ?"
            " WHERE id = ? AND next_seq = ?",
            (text, search_text(*opened.heading, text), stamp.seq + 1, to_text(stamp.at), opened.id, stamp.seq),
        )
        if changed != 1:
            raise BlockCorrupt(f"block {opened.id} was written by another connection at the same time")
        opened.saved(len(data))
        if _is_due(opened, stamp.at, policy):
            # The document is let go: the next edit shows that the checkpoint can be read, and what Loro keeps in
            # memory of each edit does not add up.
            _insert_checkpoint(tx, opened.id, opened.audience, opened.document, stamp)
            _prune(tx, opened.id, policy.keep)
            return True
    tx.kept(WarmBlocks).put(opened, len(text))
    return bool(data)


def _is_current(rows: Rows, warm: OpenBlock) -> bool:
    """Whether the block's row is still the one that the document was saved with."""
    row = rows.one("SELECT label, description, audience, next_seq FROM memory_blocks WHERE id = ?", (warm.id,))
    return row is not None and tuple(row) == (*warm.heading, warm.audience, warm.next_seq)


def _is_due(opened: OpenBlock, now: datetime, policy: CheckpointPolicy) -> bool:
    return (
        opened.pending >= policy.updates
        or opened.pending_bytes >= policy.size
        or now - opened.checkpointed_at >= policy.age
    )


def repair_block(tx: Tx, block: BlockId, now: datetime) -> tuple[str, ...]:
    """Quarantine what cannot be read and rebuild the document; gives what was wrong, one line each.

    Raises BlockCorrupt, and changes nothing, when no checkpoint and no first update is sound.
    """
    tx.kept(WarmBlocks).take(block)  # it may hold changes that are lost
    try:
        _load(tx, block, None)
    except BlockCorrupt:
        head, found = _head(tx, block), salvage(_checkpoints(tx, block), _updates(tx, block, after=0))
    else:
        return ()
    if found is None:
        raise BlockCorrupt(
            f"no stored change of block {block} can be read; its last text still stands, as it was shown"
        )
    for blob, reason in found.bad:
        _quarantine(tx, head, blob, reason, now)
    repairs = [reason for _, reason in found.bad]
    expected = head["next_seq"] - 1
    if found.reached < expected:
        repairs.append(f"changes {found.reached + 1} to {expected} are lost")
        # Their operations' numbers are given again, so the same peers must not give them.
        tx.run("DELETE FROM memory_block_writers WHERE block_id = ?", (block,))
    _restore(tx, head, found.document, now)
    _log.warning("block repaired", block=block, repairs=repairs)
    return tuple(repairs)


def verify_block(rows: Rows, block: BlockId) -> list[str]:
    """What is wrong with a block's stored document, one line each; empty when all is well. Changes nothing."""
    problems: list[str] = []
    try:
        head = _head(rows, block)
        bad = [blob.seq for blob in _updates(rows, block, after=0) if blob_digest(blob.data) != blob.digest]
        problems += [f"update {seq} does not match its checksum" for seq in bad]
        for row in rows.all("SELECT * FROM memory_block_checkpoints WHERE block_id = ? ORDER BY up_to_seq", (block,)):
            problems += _checkpoint_problems(row)
        text = _load(rows, block, None).document.text()
    except (BlockCorrupt, BlockNotFound) as error:
        return list(dict.fromkeys([*problems, str(error)]))  # an unsound blob shows up twice
    if text != head["content"]:
        problems.append(f"the text in the row ({len(head['content'])} characters) is not the document's ({len(text)})")
    return problems


def _checkpoint_problems(row: Row) -> list[str]:
    try:
        document = BlockDocument.load(_checkpoint(row), [])
    except BlockCorrupt as error:
        return [str(error)]
    return [] if document.frontier() == row["frontier"] else [f"checkpoint {row['up_to_seq']} is of another version"]


def _head(rows: Rows, block: BlockId) -> Row:
    columns = "id, label, description, audience, next_seq, content, created_at"
    head = rows.one(f"SELECT {columns} FROM memory_blocks WHERE id = ?", (block,))
    if head is None:
        raise BlockNotFound(f"there is no block {block}")
    return head


def _checkpoint(row: Row) -> Blob:
    return Blob(BlobKind.CHECKPOINT, row["up_to_seq"], row["snapshot"], row["digest"])


def _checkpoints(rows: Rows, block: BlockId) -> list[Blob]:
    """The newest first."""
    found = rows.all("SELECT * FROM memory_block_checkpoints WHERE block_id = ? ORDER BY up_to_seq DESC", (block,))
    return [_checkpoint(row) for row in found]


def _updates(rows: Rows, block: BlockId, after: int) -> list[Blob]:
    found = rows.all(
        "SELECT seq, update_blob, digest FROM memory_block_updates WHERE block_id = ? AND seq > ? ORDER BY seq",
        (block, after),
    )
    return [Blob(BlobKind.UPDATE, row["seq"], row["update_blob"], row["digest"]) for row in found]


def _load(rows: Rows, block: BlockId, peer: int | None) -> OpenBlock:
    """The newest checkpoint and every update after it; raises UnsoundBlob for any that is bad or missing."""
    head = _head(rows, block)
    row = rows.one(
        "SELECT up_to_seq, snapshot, digest, created_at FROM memory_block_checkpoints"
        " WHERE block_id = ? ORDER BY up_to_seq DESC LIMIT 1",
        (block,),
    )
    base = None if row is None else _checkpoint(row)
    start = 0 if base is None else base.seq
    updates = _updates(rows, block, start)
    missing = set(range(start + 1, head["next_seq"])) - {blob.seq for blob in updates}
    if missing:
        raise UnsoundBlob(BlobKind.UPDATE, min(missing), "is missing")
    return OpenBlock(
        id=block,
        heading=(head["label"], head["description"]),
        audience=head["audience"],
        next_seq=head["next_seq"],
        document=BlockDocument.load(base, updates, peer),
        pending=len(updates),
        pending_bytes=sum(len(blob.data) for blob in updates),
        checkpointed_at=from_text(head["created_at"] if row is None else row["created_at"]),
        checkpoint_bytes=0 if base is None else len(base.data),
    )


def _peer(tx: Tx, block: BlockId, writer: Writer) -> int:
    """The writer's own Loro peer in this block, given once."""
    row = tx.one("SELECT peer FROM memory_block_writers WHERE block_id = ? AND writer = ?", (block, writer))
    if row is not None:
        return int(row["peer"])
    while True:  # until the number is one that no other writer of the block has
        peer = secrets.randbits(_PEER_BITS)
        values: dict[str, Value] = {"block_id": block, "writer": writer, "peer": peer}
        if tx.insert("memory_block_writers", values, ignore=True):
            return peer


def _insert_update(tx: Tx, block: BlockId, audience: str, stamp: Stamp, data: bytes) -> None:
    blob = seal(BlobKind.UPDATE, stamp.seq, data)
    tx.run(
        "INSERT INTO memory_block_updates (block_id, seq, update_blob, digest, byte_size, source, audience, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (block, blob.seq, blob.data, blob.digest, len(data), stamp.writer, audience, to_text(stamp.at)),
    )


def _insert_checkpoint(tx: Tx, block: BlockId, audience: str, document: BlockDocument, stamp: Stamp) -> None:
    blob = seal(BlobKind.CHECKPOINT, stamp.seq, document.snapshot())
    values: dict[str, Value] = {
        "block_id": block,
        "up_to_seq": blob.seq,
        "snapshot": blob.data,
        "digest": blob.digest,
        "frontier": document.frontier(),
        "audience": audience,
        "created_at": to_text(stamp.at),
    }
    tx.insert("memory_block_checkpoints", values)


def _prune(tx: Tx, block: BlockId, keep: int) -> None:
    kept = tx.all(
        "SELECT up_to_seq FROM memory_block_checkpoints WHERE block_id = ? ORDER BY up_to_seq DESC LIMIT ?",
        (block, keep),
    )
    if len(kept) < 2:  # the only checkpoint must stay replaceable by the updates under it
        return
    oldest = kept[-1]["up_to_seq"]
    tx.run("DELETE FROM memory_block_checkpoints WHERE block_id = ? AND up_to_seq < ?", (block, oldest))
    tx.run("DELETE FROM memory_block_updates WHERE block_id = ? AND seq <= ?", (block, oldest))


def _quarantine(tx: Tx, head: Row, blob: Blob, reason: str, now: datetime) -> None:
    values: dict[str, Value] = {
        "block_id": head["id"],
        "seq": blob.seq,
        "kind": blob.kind,
        "blob": blob.data,
        "reason": reason,
        "audience": head["audience"],
        "at": to_text(now),
    }
    tx.insert("memory_block_quarantine", values, ignore=True)
    if blob.kind is BlobKind.UPDATE:
        tx.run("DELETE FROM memory_block_updates WHERE block_id = ? AND seq = ?", (head["id"], blob.seq))
    else:
        tx.run("DELETE FROM memory_block_checkpoints WHERE block_id = ? AND up_to_seq = ?", (head["id"], blob.seq))


def _restore(tx: Tx, head: Row, document: BlockDocument, now: datetime) -> None:
    """Bring back what the rendered text still has, and start afresh from a checkpoint."""
    block, stamp = head["id"], Stamp(SYSTEM, None, head["next_seq"], now)
    document.act_as(_peer(tx, block, SYSTEM))
    document.write(head["content"])
    data = document.commit(stamp)
    if data:
        _insert_update(tx, block, head["audience"], stamp, data)
        text = document.text()
        tx.run("UPDATE memory_blocks SET next_seq = next_seq + 1, content = ? WHERE id = ?", (text, block))
    else:
        stamp = Stamp(SYSTEM, None, head["next_seq"] - 1, now)
    _insert_checkpoint(tx, block, head["audience"], document, stamp)


# ---------------------------------------------------------------- what is held about a person

_HELD = (
    "SELECT {columns} FROM {table} WHERE {key} IN (SELECT id FROM memory_blocks WHERE person_id = :person"
    " OR audience = :audience)"
)
_TABLES = (  # the blocks last: the others are found through them
    ("memory_block_quarantine", "block_id"),
    ("memory_block_checkpoints", "block_id"),
    ("memory_block_updates", "block_id"),
    ("memory_blocks", "id"),
)


def export_person(rows: Rows, person: PersonId) -> list[dict[str, Any]]:
    """Every row of blocks about a person or written in their direct messages, deleted ones too.

    "table" names the row's table; bytes are given as base64.
    """
    return [
        {"table": table} | {name: _plain(row[name]) for name in dict.fromkeys(row.keys())}
        for table, key in reversed(_TABLES)
        for row in rows.all(_HELD.format(columns="*", table=table, key=key), _whose(person))
    ]


def count_person(rows: Rows, person: PersonId) -> int:
    """How many rows `export_person` gives and `erase_person` removes."""
    found = [rows.one(_HELD.format(columns="count(*)", table=table, key=key), _whose(person)) for table, key in _TABLES]
    return sum(int(row[0]) for row in found if row is not None)


def erase_person(tx: Tx, person: PersonId) -> int:
    """Remove those rows, and with them the blocks' shares and writers; gives how many rows."""
    tx.kept(WarmBlocks).clear()  # their words are in memory too
    statement = _HELD.replace("SELECT {columns}", "DELETE", 1)
    gone = sum(tx.run(statement.format(table=table, key=key), _whose(person)) for table, key in _TABLES)
    if gone:  # this index keeps the words of deleted rows (see the migration)
        tx.run("INSERT INTO block_fts (block_fts) VALUES ('rebuild')")
    return gone


def _whose(person: PersonId) -> dict[str, Value]:
    return {"person": person, "audience": person_audience(person)}


def _plain(value: Value) -> str | int | float | None:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
