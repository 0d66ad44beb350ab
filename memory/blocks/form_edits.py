"""Edits by a person in a form: the text of a form field is parsed by the type of the block's field."""

import json
import re
from functools import partial
from typing import Any

from memory.blocks import Block, containers
from memory.blocks.document import BlockDocument
from memory.blocks.edits import changeable
from memory.blocks.merge import KnownVersion, set_seen
from memory.blocks.revert import Edit
from memory.blocks.schema_paths import Target, every_target, target_of
from memory.blocks.schemas import Field, FieldType, ListSchema, LogSchema, TextSchema, named
from memory.blocks.store import load_block
from memory.store.database import Rows
from memory.store.errors import BlockRefused, Refused
from memory.store.ids import text_mark
from texts import gettext_lazy


def fields_by_hand(block: Block) -> list[str]:
    """Paths of the fields and text sections that a person may set; none if the block is one text."""
    parts = {} if block.is_text else every_target(block.schema)
    return [path for path, target in parts.items() if path and not (target.read_only or target.is_log)]


def text_of(rows: Rows, block: Block, path: str = "") -> str:
    """The value of a text, field or list as a form shows it, a list with one item per line. Raises as `write`."""
    target = _writable(block, path)
    return block.content if block.is_text else _written(load_block(rows, block.id, None).document, target)


def field_mark(path: str) -> str:
    """A digest of a field's path, since a form's id has no room for the path."""
    return text_mark(path, 4)


def field_marked(block: Block, mark: str) -> str:
    """The path of the field with this mark; empty for what is no mark. Raises Refused if that field is gone."""
    there = {field_mark(path): path for path in fields_by_hand(block)}
    if mark in there or mark in there.values() or not re.fullmatch("[0-9a-f]{8}", mark):
        return there.get(mark, "")
    raise Refused(
        "your text was not saved: the fields of block “{label}” have changed since you opened the form, and "
        "the one you edited is gone",
        label=block.label,
    )


def write(edit: Edit, block: Block, text: str, path: str = "", seen: int | None = None) -> Block:
    """Set a block that is one text or list, or a field or section of another block; empty text never clears it.

    A list takes one item per line, records as JSON. `seen` is the block's version that the person saw: in a text or a
    list, later changes stay. Raises Refused, by the field's name, for a bad path, value or version.
    """
    target = _writable(block, path)
    value = _meant(target, path, text)
    return edit(lambda opened: set_seen(opened.document, target, value, _known_at(opened.document, seen)))


def _known_at(document: BlockDocument, seen: int | None) -> KnownVersion | None:
    """What a person knows who saw version `seen`; None: the current content. Raises Refused for a future version."""
    if seen is None or seen == document.version:
        return None
    if seen > document.version:
        raise Refused(
            "there is no version {seen}: the block is at version {version}", seen=seen, version=document.version
        )
    return KnownVersion(seen)


def _writable(block: Block, path: str) -> Target:
    if not path and not isinstance(block.schema, TextSchema | ListSchema | LogSchema):
        raise Refused(
            "this block has fields or sections and cannot be edited as plain text: name a field "
            "(`--field NAME`, on Discord `field`), or ask the agent"
        )
    if path and block.is_text:
        raise Refused("block “{label}” is plain text, without fields", label=block.label)
    target = changeable(block, path)
    if target.is_log:
        raise BlockRefused("{path} is a log: its entries cannot be changed", path=path or block.label)
    return target


def _written(document: BlockDocument, target: Target) -> str:
    match document.read(partial(containers.value_of, target=target)):
        case None:
            return ""
        case str(text):
            return text
        case bool(held):
            return "yes" if held else "no"
        case list(items):
            return "\n".join(_line(target, item) for item in items)
        case other:
            return json.dumps(other)


def _line(target: Target, item: Any) -> str:
    """An item on one line; a record as JSON, with its fields in the schema's order."""
    if isinstance(item, str) or not isinstance(target.shape, ListSchema):
        return " ".join(str(item).split())
    known = {field.name: item[field.name] for field in target.shape.fields if field.name in item}
    return json.dumps(known, ensure_ascii=False)


def was_merged(rows: Rows, block: Block, path: str, text: str) -> bool:
    """Whether the saved text or list differs from what was just written because others' changes stayed."""
    target = target_of(block.schema, path)
    if target.kind not in ("text", "list"):
        return False
    now = load_block(rows, block.id, None).document.read(partial(containers.value_of, target=target))
    return bool((now or None) != (containers.fitting(target, _meant(target, path, text)) or None))


def _meant(target: Target, path: str, text: str) -> Any:
    if target.kind == "list":
        fields = target.shape.fields if isinstance(target.shape, ListSchema) else ()
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return [_record(path, fields, line) for line in lines] if fields else lines
    match target.shape.type if isinstance(target.shape, Field) else FieldType.TEXT:
        case FieldType.TEXT:
            return text
        case FieldType.BOOLEAN if text.strip():
            return _yes_or_no(path, text.strip())
        case FieldType.NUMBER | FieldType.COUNTER:
            return _plain(text.strip())
        case _:
            return text.strip() or None


def _record(path: str, fields: tuple[Field, ...], line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise Refused(
            "each line of {path} is an item as JSON with the fields {fields}, not {line!r}",
            path=path or gettext_lazy("this list"),
            fields=named(fields),
            line=line[:60],
        ) from None


_WORDS = {"yes": True, "true": True, "no": False, "false": False}


def _yes_or_no(path: str, text: str) -> bool:
    """Parse a boolean as prompts show it, or as JSON writes it."""
    if (word := text.casefold()) not in _WORDS:
        raise Refused(
            "{path} must be yes or no (or true or false; leave it empty to clear it), not “{text}”",
            path=path,
            text=text[:60],
        )
    return _WORDS[word]


def _plain(text: str) -> Any:
    """Parse a number as JSON; return anything else unchanged, for the field to refuse."""
    try:
        return json.loads(text.casefold()) if text else None
    except ValueError:
        return text
