"""The past of a block goes, and what it says stays: for words that are to be found nowhere."""

from datetime import datetime

from memory.blocks.rows import insert_checkpoint
from memory.blocks.storage import open_block
from memory.blocks.warm import WarmBlocks
from memory.clock import to_text
from memory.database import Tx
from memory.documents.changes import SYSTEM, Stamp
from memory.documents.document import Base
from memory.ids import BlockId

_PAST = (
    "memory_block_archives",
    "memory_block_quarantine",
    "memory_block_checkpoints",
    "memory_block_updates",
)


def forget_past(tx: Tx, block: BlockId, at: datetime) -> None:
    """Let a block begin with what it says now: no earlier version, no words that it said once.

    Versions go on from where they are. Raises BlockCorrupt where the block cannot be read.
    """
    opened = open_block(tx, block, SYSTEM, at)
    document = opened.document
    base = Base(document.version, document.text())
    data = document.shallow(document.version)
    _drop(tx, block)
    insert_checkpoint(tx, opened, Stamp(SYSTEM, None, document.version, at), data, base)
    tx.kept(WarmBlocks).take(block)


def wipe(tx: Tx, block: BlockId, at: datetime) -> None:
    """Empty a block that was deleted: nobody sees it any more, but its words still lie there."""
    _drop(tx, block)
    tx.run(
        "UPDATE memory_blocks SET content = '', profile = '', search_text = '', updated_at = ? WHERE id = ?",
        (to_text(at), block),
    )
    tx.kept(WarmBlocks).take(block)


def _drop(tx: Tx, block: BlockId) -> None:
    for table in _PAST:
        tx.run(f"DELETE FROM {table} WHERE block_id = ?", (block,))
