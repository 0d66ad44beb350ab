"""Telling the activity that a block was changed: its label and what was done, never what it says."""

from memory import activity
from memory.activity import Kind, NewEvent
from memory.blocks.records import Author, Block, BlockType
from memory.database import Tx
from memory.documents.changes import SYSTEM


def tell_changed(tx: Tx, author: Author, block: Block, change: str) -> None:
    """Note a change that an agent made; what the system keeps up by itself is no event."""
    if author.writer == SYSTEM or block.type is BlockType.LOG:
        return
    event = NewEvent(
        Kind.BLOCK,
        f"changed the block {block.label} ({change})",
        block.audience,
        author.trust,
        author.agent,
        block.about,
        turn=author.turn,
        details={"label": block.label, "change": change, "block": block.id},
    )
    activity.note(tx, event, author.now)
