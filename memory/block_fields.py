"""A person's door to the fields of a block: what they wrote is read as the field's type wants it."""

import json
from functools import partial
from typing import Any

from memory import containers
from memory.block_history import NOT_ONE_TEXT, Edit
from memory.blocks import Block
from memory.errors import BlockRefused, Refused
from memory.schemas import Field, FieldType


def require_text(block: Block) -> None:
    """Raise Refused for a block that nobody writes as one text."""
    if not block.is_text:
        raise Refused(f"this block has fields, items or sections; {NOT_ONE_TEXT}")


def write_field(edit: Edit, block: Block, path: str, text: str) -> Block:
    """Give a field or a text section ("field", "section.field") a value; an empty text takes it away.

    A list takes an item from each line. Raises Refused for a path or a value that does not fit, by the field's name.
    """
    if block.is_text:
        raise Refused(f"block {block.label} is one text, without fields")
    target = containers.target_of(block.schema, path)
    if target.read_only:
        raise BlockRefused(f"{path} of block {block.label} is read only: the system keeps it")
    value = _meant(target.shape.type if isinstance(target.shape, Field) else FieldType.TEXT, text)
    return edit(lambda document: document.change(partial(containers.set_value, target=target, value=value)))


def _meant(kind: FieldType, text: str) -> Any:
    match kind:
        case FieldType.TEXT:
            return text
        case FieldType.LIST:
            return [line.strip() for line in text.splitlines() if line.strip()]
        case FieldType.NUMBER | FieldType.COUNTER | FieldType.BOOLEAN:
            return _plain(text.strip())
        case _:
            return text.strip() or None


def _plain(text: str) -> Any:
    """A number, true or false as JSON writes them; anything else as it stands, to be refused by the field."""
    try:
        return json.loads(text.casefold()) if text else None
    except ValueError:
        return text
