"""Memory blocks: labeled texts of an agent or of the whole constellation, for its prompts.

A prompt needs only the rows of `memory_blocks`, whose `content` is the rendered text; edits go through the block's
document (`memory.blocks.store`). Every function takes the unit of work or the reader that it runs in, so that a caller
can combine several stores in one commit. A block is shown only to a scope that may know it. A turn may write to a block
only if everyone who reads the block may know what the turn knows.
"""

from memory.blocks.edits import add_item as add_item
from memory.blocks.edits import append_block as append_block
from memory.blocks.edits import edit_block as edit_block
from memory.blocks.edits import edit_lines as edit_lines
from memory.blocks.edits import remove_item as remove_item
from memory.blocks.edits import replace_in_block as replace_in_block
from memory.blocks.edits import set_field as set_field
from memory.blocks.edits import set_item as set_item
from memory.blocks.edits import write_block as write_block
from memory.blocks.lifecycle import NewSettings as NewSettings
from memory.blocks.lifecycle import change_block as change_block
from memory.blocks.lifecycle import create_block as create_block
from memory.blocks.lifecycle import delete_block as delete_block
from memory.blocks.lifecycle import ensure_block as ensure_block
from memory.blocks.lifecycle import ensure_blocks as ensure_blocks
from memory.blocks.lifecycle import move_block as move_block
from memory.blocks.lifecycle import set_viewport as set_viewport
from memory.blocks.lifecycle import swap_blocks as swap_blocks
from memory.blocks.lifecycle import undelete_block as undelete_block
from memory.blocks.records import CONSTELLATION_OWNER as CONSTELLATION_OWNER
from memory.blocks.records import IN_CONTEXT as IN_CONTEXT
from memory.blocks.records import Author as Author
from memory.blocks.records import Block as Block
from memory.blocks.records import BlockType as BlockType
from memory.blocks.records import Decision as Decision
from memory.blocks.records import NewBlock as NewBlock
from memory.blocks.records import Operation as Operation
from memory.blocks.records import Permission as Permission
from memory.blocks.rights import decide as decide
from memory.blocks.visibility import away_blocks as away_blocks
from memory.blocks.visibility import changed_at as changed_at
from memory.blocks.visibility import find_block as find_block
from memory.blocks.visibility import visible_blocks as visible_blocks
