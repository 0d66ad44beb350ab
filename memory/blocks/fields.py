"""Changing the fields, items and sections of structured blocks, each by its name.

Adding (an item, to a counter, to the end of a text) takes the right to append; setting, replacing and removing the
right to overwrite. What the schema calls read-only the system alone changes. A path is a field, a section,
"section.field", or nothing for the one list that a block is.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from memory import containers
from memory.blocks.editing import edit_block
from memory.blocks.records import Author, Block
from memory.blocks.rights import Operation
from memory.database import Tx
from memory.document import SYSTEM, BlockDocument
from memory.errors import BlockRefused, Refused


def set_field(tx: Tx, author: Author, label: str, path: str, value: Any) -> Block:
    """Give a field or a text section a value; None takes it away. Raises as `append_block`."""
    if path == containers.RECOVERED and value in (None, ""):
        return edit_block(tx, author, label, Operation.OVERWRITE, _drop_recovered)
    return _change(tx, author, label, path, _Edit(Operation.OVERWRITE, containers.set_value, value=value))


def append_to_field(tx: Tx, author: Author, label: str, path: str, text: str, own_line: bool = False) -> Block:
    """Add to the end of a text that is a field or a section, or below its last line. Raises as `append_block`."""
    add = containers.add_line if own_line else containers.add_text
    return _change(tx, author, label, path, _Edit(Operation.APPEND, add, text=text))


def replace_in_field(tx: Tx, author: Author, label: str, path: str, old: str, new: str) -> Block:
    """Put `new` in place of every `old` in a text that is a field or a section. Raises as `append_block`."""
    return _change(tx, author, label, path, _Edit(Operation.OVERWRITE, containers.replace_text, old=old, new=new))


def add_item(tx: Tx, author: Author, label: str, path: str, value: Any) -> Block:
    """Add an item to a list, an entry to a log, or a number to a counter. Raises as `append_block`."""
    return _change(
        tx, author, label, path, _Edit(Operation.APPEND, containers.add, value=value, at=author.now, by=author.writer)
    )


def set_item(tx: Tx, author: Author, label: str, path: str, number: int, value: Any) -> Block:
    """Put another item in place of the one of that number, counted from 1. Raises as `append_block`."""
    edit = _Edit(Operation.OVERWRITE, containers.set_item, number=number, value=value)
    return _change(tx, author, label, path, edit)


def remove_item(tx: Tx, author: Author, label: str, path: str, number: int) -> Block:
    """Take the item of that number away, counted from 1. Raises as `append_block`."""
    return _change(tx, author, label, path, _Edit(Operation.OVERWRITE, containers.remove_item, number=number))


class _Edit:
    """What it takes the right to do, and a function of `memory/containers.py` with all but document and target."""

    def __init__(self, operation: Operation, function: Callable[..., None], **arguments: Any) -> None:
        self.operation = operation
        self.function = partial(function, **arguments)


def _change(tx: Tx, author: Author, label: str, path: str, edit: _Edit) -> Block:
    def work(block: Block, document: BlockDocument) -> None:
        if block.is_text:
            raise Refused(f"block {block.address} is one text, without fields: use append or replace")
        target = containers.target_of(block.schema, path)
        if target.read_only and author.writer != SYSTEM:
            raise BlockRefused(f"{path} of block {block.address} is read only: the system keeps it")
        document.change(partial(edit.function, target=target))

    return edit_block(tx, author, label, edit.operation, work)


def _drop_recovered(_block: Block, document: BlockDocument) -> None:
    document.change(containers.drop_recovered)
