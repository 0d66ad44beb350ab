"""Changing the fields, items and sections of structured blocks, each by its name.

Adding (an item, to a counter, to the end of a text) takes the right to append; setting, replacing and removing the
right to overwrite. What the schema calls read-only the system alone changes. A path is a field, a section,
"section.field", or nothing for the one list that a block is.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from memory.blocks.editing import archives, edit_block, sight
from memory.blocks.records import Author, Block
from memory.blocks.rights import Operation
from memory.database import Tx
from memory.documents import containers
from memory.documents.document import SYSTEM, BlockDocument
from memory.documents.merging import place_of_item, set_seen
from memory.documents.schemas import LogSchema
from memory.documents.targets import Target
from memory.errors import BlockRefused, Refused


def set_field(tx: Tx, author: Author, label: str, path: str, value: Any) -> Block:
    """Give a field, or a section that is a text or a list, a value; None takes it away.

    Raises as `append_block`, and BlockChanged.
    Of a text or a list what others changed since the author was shown the block stays.
    """
    if path == containers.RECOVERED and value in (None, ""):
        return edit_block(tx, author, label, Operation.OVERWRITE, _drop_recovered)

    def change(block: Block, document: BlockDocument, target: Target) -> None:
        if isinstance(target.shape, LogSchema):
            raise Refused("this is a log: its entries stay as they are; add_item adds one")
        set_seen(document, path, target, value, sight(author, block, document), archives(tx, block))

    return _change(tx, author, label, path, Operation.OVERWRITE, change)


def append_to_field(tx: Tx, author: Author, label: str, path: str, text: str, own_line: bool = False) -> Block:
    """Add to the end of a text that is a field or a section, or below its last line. Raises as `append_block`."""
    add = containers.add_line if own_line else containers.add_text
    return _change(tx, author, label, path, Operation.APPEND, _now(add, text=text))


def replace_in_field(tx: Tx, author: Author, label: str, path: str, old: str, new: str) -> Block:
    """Put `new` in place of every `old` in a text that is a field or a section. Raises as `append_block`."""
    return _change(tx, author, label, path, Operation.OVERWRITE, _now(containers.replace_text, old=old, new=new))


def add_item(tx: Tx, author: Author, label: str, path: str, value: Any) -> Block:
    """Add an item to a list, an entry to a log, or a number to a counter. Raises as `append_block`."""
    add = _now(containers.add, value=value, at=author.now, by=author.writer)
    return _change(tx, author, label, path, Operation.APPEND, add)


def set_item(tx: Tx, author: Author, label: str, path: str, number: int, value: Any) -> Block:
    """Put another item in place of the one of that number, counted from 1. Raises as `remove_item`."""
    return _change_item(tx, author, label, path, number, partial(containers.set_item, value=value))


def remove_item(tx: Tx, author: Author, label: str, path: str, number: int) -> Block:
    """Take the item of that number away, counted from 1 in the version that the author was shown.

    Raises as `append_block`, and BlockChanged where somebody took it away since, or made something else of it.
    """
    return _change_item(tx, author, label, path, number, containers.remove_item)


_Change: TypeAlias = Callable[[Block, BlockDocument, Target], None]


def _change_item(tx: Tx, author: Author, label: str, path: str, number: int, function: Callable[..., None]) -> Block:
    def change(block: Block, document: BlockDocument, target: Target) -> None:
        known = sight(author, block, document)
        place = place_of_item(document, path, target, number, known, archives(tx, block))
        document.change(partial(function, target=target, number=place))

    return _change(tx, author, label, path, Operation.OVERWRITE, change)


def _now(function: Callable[..., None], **arguments: Any) -> _Change:
    """A function of `memory/documents/containers.py` on the part as it is, whatever was shown of it."""
    return lambda _block, document, target: document.change(partial(function, target=target, **arguments))


def _change(tx: Tx, author: Author, label: str, path: str, operation: Operation, change: _Change) -> Block:
    def work(block: Block, document: BlockDocument) -> None:
        if block.is_text:
            raise Refused(f"block {block.address} is one text, without fields: use append or replace")
        target = containers.target_of(block.schema, path)
        if target.read_only and author.writer != SYSTEM:
            raise BlockRefused(f"{path} of block {block.address} is read only: the system keeps it")
        change(block, document, target)

    return edit_block(tx, author, label, operation, work)


def _drop_recovered(_block: Block, document: BlockDocument) -> None:
    document.change(containers.drop_recovered)
