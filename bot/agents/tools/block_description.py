"""A block in words for the model that asks about it."""

from bot.agents.context.prompt import readers
from memory.blocks import Block
from memory.blocks.lifecycle import shares_of
from memory.blocks.schemas import outline
from memory.store.clock import to_text
from memory.store.database import Rows
from memory.store.plurals import many


def size_of(block: Block) -> str:
    """How full it is."""
    return f"{len(block.content):,} of {block.char_limit:,} characters"


def description_of(rows: Rows, block: Block) -> str:
    """All about a block but what stands in it."""
    pinned = ", pinned" if block.pinned else ""
    lines = [
        f"block {block.address}: {block.type}{pinned}; you may: {block.access}; "
        f"read by {readers(block.audience)} ({block.audience}); least trusted author: {block.trust.name.lower()}",
        f"what belongs in it: {block.description}",
        f"{size_of(block)} in {many(len(block.content.splitlines()), 'line')}; "
        f"changed {to_text(block.updated_at)[:16].replace('T', ' ')} UTC",
    ]
    if made_of := outline(block.schema):
        lines.append(f"made of {made_of}")
    shared = ", ".join(map(str, shares_of(rows, block)))
    if shared and block.shared_from is None:
        lines.append(f"shared with: {shared}")
    return "\n".join(lines)
