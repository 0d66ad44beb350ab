"""What happens to a block as a whole: in and out of context, pinned, taken away. Its text stays as it is."""

from memory.amounts import many
from memory.blocks.editing import standing_block
from memory.blocks.guard import require_yes
from memory.blocks.records import Author, Block, BlockType
from memory.blocks.rights import Operation
from memory.blocks.telling import tell_changed
from memory.blocks.warm import WarmBlocks
from memory.clock import from_text, to_text
from memory.database import Tx
from memory.documents.schemas import TextSchema, Viewport, dump_schema, outline
from memory.errors import BlockRefused, Refused


def archive_block(tx: Tx, author: Author, label: str) -> Block:
    """Take a working block out of context into archival. Raises BlockNotFound, BlockRefused, ApprovalNeeded."""
    block = _of_type(tx, author, label, Operation.ARCHIVE, BlockType.WORKING)
    return _moved(tx, author, block._replace(type=BlockType.ARCHIVAL, pinned=False), Operation.ARCHIVE)


def load_block(tx: Tx, author: Author, label: str) -> Block:
    """Bring a block back from archival as a working one, pinned so that it is in context. Raises as `archive_block`."""
    block = _of_type(tx, author, label, Operation.LOAD, BlockType.ARCHIVAL)
    return _moved(tx, author, block._replace(type=BlockType.WORKING, pinned=True), Operation.LOAD)


def swap_blocks(tx: Tx, author: Author, out: str, into: str) -> tuple[Block, Block]:
    """Archive one block and load another, both or neither. Raises as `archive_block`."""
    going = _of_type(tx, author, out, Operation.SWAP, BlockType.WORKING)
    coming = _of_type(tx, author, into, Operation.SWAP, BlockType.ARCHIVAL)
    archived = _moved(tx, author, going._replace(type=BlockType.ARCHIVAL, pinned=False), Operation.SWAP)
    return archived, _moved(tx, author, coming._replace(type=BlockType.WORKING, pinned=True), Operation.SWAP)


def pin_block(tx: Tx, author: Author, label: str, *, pinned: bool) -> Block:
    """Keep a working block in context, or no longer. Raises as `archive_block`."""
    block = _of_type(tx, author, label, Operation.PIN if pinned else Operation.UNPIN, BlockType.WORKING)
    return _moved(tx, author, block._replace(pinned=pinned), Operation.PIN if pinned else Operation.UNPIN)


def set_viewport(tx: Tx, author: Author, label: str, first: int, lines: int) -> Block:
    """Let only some lines of a long text be in context, counted from 1; 0 lines for all. Raises as `archive_block`."""
    block, decision = standing_block(tx, author, label, Operation.PIN)
    if not isinstance(block.schema, TextSchema):
        raise BlockRefused(f"block {block.address} has {outline(block.schema)}: only a text has a viewport")
    require_yes(tx, author, block, Operation.PIN, decision)
    most = len(block.content.splitlines())
    if lines and not (1 <= first <= max(most, 1) and lines > 0):
        raise Refused(f"there is no line {first} to begin with: the block has {many(most, 'line')}, counted from 1")
    schema = TextSchema(viewport=Viewport(first=first, lines=min(lines, most)) if lines and most else None)
    tx.run("UPDATE memory_blocks SET schema = ? WHERE id = ?", (dump_schema(schema), block.id))
    return block._replace(schema=schema)


def delete_block(tx: Tx, author: Author, label: str) -> Block:
    """Take a block away and free its label; the row stays until it is erased. Raises as `archive_block`."""
    block, decision = standing_block(tx, author, label, Operation.DELETE)
    require_yes(tx, author, block, Operation.DELETE, decision)
    tx.run("UPDATE memory_blocks SET deleted_at = ?, search_text = '' WHERE id = ?", (to_text(author.now), block.id))
    tx.kept(WarmBlocks).take(block.id)
    tell_changed(tx, author, block, Operation.DELETE)
    return block


_INSTEAD = {
    BlockType.CORE: "a core block is always in context",
    BlockType.LOG: "a log is the system's",
    BlockType.WORKING: "it is a working block already",
    BlockType.ARCHIVAL: "it is in archival already: load it first",
}


def _of_type(tx: Tx, author: Author, label: str, operation: Operation, wanted: BlockType) -> Block:
    block, decision = standing_block(tx, author, label, operation)
    if block.type is not wanted:
        raise BlockRefused(f"block {block.address} is no {wanted} block, so no {operation}: {_INSTEAD[block.type]}")
    require_yes(tx, author, block, operation, decision)
    return block


def _moved(tx: Tx, author: Author, block: Block, operation: Operation) -> Block:
    tell_changed(tx, author, block, operation)
    sql = "UPDATE memory_blocks SET block_type = ?, pinned = ?, updated_at = ? WHERE id = ?"
    tx.run(sql, (block.type, int(block.pinned), to_text(author.now), block.id))
    return block._replace(updated_at=from_text(to_text(author.now)))
