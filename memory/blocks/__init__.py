"""Blocks of memory: labelled texts of an agent or of the whole constellation, read with every prompt.

A prompt needs only the rows of this table, whose `content` is the rendered text; edits go through the block's
document (`memory.blocks.store`). Every function takes the unit of work or the reader that it runs in, so that a
caller composes several stores in one commit. A block is shown only to a scope that may know it, and takes text
only from a turn that everyone who reads the block may know.
"""

from memory.blocks.edits import (
    add_item,
    append_block,
    edit_block,
    edit_lines,
    remove_item,
    replace_in_block,
    set_field,
    set_item,
    writable,
    write_block,
)
from memory.blocks.lifecycle import (
    archive_block,
    create_block,
    delete_block,
    ensure_block,
    load_block,
    pin_block,
    set_viewport,
    swap_blocks,
)
from memory.blocks.lookup import away_blocks, find_block, visible_blocks
from memory.blocks.records import CONSTELLATION_OWNER, IN_CONTEXT, Author, Block, BlockType, NewBlock
from memory.blocks.rights import Decision, Operation, Permission, decide

__all__ = [
    "CONSTELLATION_OWNER",
    "IN_CONTEXT",
    "Author",
    "Block",
    "BlockType",
    "Decision",
    "NewBlock",
    "Operation",
    "Permission",
    "add_item",
    "append_block",
    "archive_block",
    "away_blocks",
    "create_block",
    "decide",
    "delete_block",
    "edit_block",
    "edit_lines",
    "ensure_block",
    "find_block",
    "load_block",
    "pin_block",
    "remove_item",
    "replace_in_block",
    "set_field",
    "set_item",
    "set_viewport",
    "swap_blocks",
    "visible_blocks",
    "writable",
    "write_block",
]
