"""How a block's document lies in the database: numbered updates, checkpoints, and what could not be read.

An edit adds one update row, and leaves its document in memory for the next (`memory.blocks.warm`). Now and then a
checkpoint, the whole document, makes loading quick again; the newest few are kept, with the updates since the
oldest of them, so that one bad checkpoint costs nothing. Blobs that cannot be read are moved to quarantine and the
document is built from what is sound. What of the text is then still missing comes back from the block's rendered
text as one change by "system": the words stay, only the record of who wrote them is lost.
"""

import base64
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from memory.audience import person_audience
from memory.blocks.repair import repair_block
from memory.blocks.rows import insert_checkpoint, insert_update, load_block, peer_of
from memory.blocks.shortening import USUAL, Limits, shortened
from memory.blocks.warm import OpenBlock, WarmBlocks
from memory.clock import to_text
from memory.database import Rows, Tx, Value
from memory.documents.document import Stamp, Writer
from memory.errors import BlockCorrupt
from memory.ids import BlockId, PersonId
from memory.late_indexes import index_waiting


@dataclass(frozen=True)
class CheckpointPolicy:
    """When a checkpoint is written: at `updates` changes, `size` bytes or `age` since the last, whichever is first."""

    updates: int = 50  # twice what was planned: every pending update makes an edit about 15 microseconds slower
    size: int = 50_000
    age: timedelta = timedelta(hours=1)
    keep: int = 5
    """How many checkpoints are kept; at least 2, or a bad one could not be rebuilt."""
    limits: Limits = USUAL

    def __post_init__(self) -> None:
        if self.keep < 2 or self.updates < 1 or self.size < 1:
            raise ValueError(f"checkpoints need updates >= 1, size >= 1 and keep >= 2, not {self}")


DEFAULT_POLICY = CheckpointPolicy()


def open_block(tx: Tx, block: BlockId, writer: Writer, now: datetime) -> OpenBlock:
    """Load for editing as `writer`, repairing what cannot be read. Raises BlockCorrupt when nothing is sound.

    A document that is still in memory from the last edit is taken as it is: the stored blobs are not looked at.
    """
    warm = tx.kept(WarmBlocks).take(block)
    if warm is not None and _is_current(tx, warm):
        if warm.writer != writer:
            warm.document.act_as(peer_of(tx, block, writer))
            warm.writer = writer
        return warm
    try:
        return _loaded(tx, block, writer)
    except BlockCorrupt:
        repair_block(tx, block, now)
    # Read anew: a repair may have changed peers and numbers, and this shows that it worked.
    return _loaded(tx, block, writer)


def _loaded(tx: Tx, block: BlockId, writer: Writer) -> OpenBlock:
    opened = load_block(tx, block, peer_of(tx, block, writer))
    opened.writer = writer
    return opened


def save_change(tx: Tx, opened: OpenBlock, stamp: Stamp, policy: CheckpointPolicy = DEFAULT_POLICY) -> bool:
    """Commit the edits of an opened block and render its text into the row; False when nothing had changed."""
    data, text = opened.document.commit(stamp), opened.document.text()
    if data:
        insert_update(tx, opened.id, opened.audience, stamp, data)
        changed = tx.run(
            "UPDATE memory_blocks SET content = ?, next_seq = ?, updated_at = ? WHERE id = ? AND next_seq = ?",
            (text, stamp.seq + 1, to_text(stamp.at), opened.id, stamp.seq),
        )
        if changed != 1:
            raise BlockCorrupt(f"block {opened.id} was written by another connection at the same time")
        tx.later(index_waiting)
        opened.saved(len(data))
        if _is_due(opened, stamp.at, policy):
            # The document is let go: the next edit shows that the checkpoint can be read, and what Loro keeps in
            # memory of each edit does not add up.
            data, base = shortened(tx, opened, stamp.at, policy.limits)
            insert_checkpoint(tx, opened, stamp, data, base)
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


# ---------------------------------------------------------------- what is held about a person

_HELD = (
    "SELECT {columns} FROM {table} WHERE {key} IN (SELECT id FROM memory_blocks WHERE person_id = :person"
    " OR audience = :audience)"
)
_TABLES = (  # the blocks last: the others are found through them
    ("memory_block_repairs", "block_id"),
    ("memory_block_archives", "block_id"),
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
