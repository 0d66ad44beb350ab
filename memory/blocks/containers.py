"""The parts of a block in its Loro document, each in a container of its own kind.

Texts are Loro texts, lists are movable lists, counters are counters, logs are lists; numbers, times and booleans are
keys of a map, where the last writer wins. All are root containers with fixed names, so that two writers who create one
at the same time mean the same container. The document carries its own schema, so it can be rendered even if its row is
lost. A plain text is the only part of its block and needs no schema. Only this module and `memory.blocks.document`,
which guards every call made here, import loro.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from memory.blocks.changes import Content, Splice, by_words, differing
from memory.blocks.replay import BlockValues, Plan
from memory.blocks.schema_paths import PLAIN, Target, every_part, every_target
from memory.blocks.schemas import (
    MOST_ITEMS,
    TEXT,
    CompositeSchema,
    Field,
    FieldType,
    ListSchema,
    LogSchema,
    MapSchema,
    Schema,
    TextSchema,
    checked,
    checked_item,
    checked_items,
    dump_schema,
    parse_schema,
    path_of,
    rendered,
)
from memory.blocks.sequence_history import same
from memory.store.clock import to_text
from memory.store.errors import BlockRefused, Refused
from memory.store.fulltext import require_storable

if TYPE_CHECKING:
    from loro import LoroDoc, LoroMap, LoroText

_HEAD = "schema"
RECOVERED = "recovered"
"""The name of the text that was saved from a damaged document, until somebody removes it."""


Edit: TypeAlias = "Callable[[LoroDoc], None]"
"""One change of a document."""


# ---------------------------------------------------------------------------------------------------- the document


def begin(loro: LoroDoc, schema: Schema, given: Mapping[str, Any]) -> None:
    """Set up an empty document with that schema. `given` are values by field or section; defaults fill the rest.

    Raises Refused for a value that does not fit, an unknown name, or a required field without a value.
    """
    declare(loro, schema)
    parts = every_target(schema)
    if not isinstance(schema, CompositeSchema):
        _begin(loro, parts, schema, given if isinstance(schema, MapSchema) else given.get("items", ()), "")
        return
    if unknown := given.keys() - {section.name for section in schema.sections}:
        known = ", ".join(section.name for section in schema.sections)
        raise Refused("there is no section “{name}”; available: {known}", name=min(unknown)[:60], known=known)
    for section in schema.sections:
        _begin(loro, parts, section.content, given.get(section.name), section.name)


def declare(loro: LoroDoc, schema: Schema) -> None:
    """Set up an empty document with that schema and no values."""
    head = loro.get_map(_HEAD)
    if not (isinstance(schema, TextSchema) and head.is_empty()):
        head.insert("json", dump_schema(schema))


def _begin(loro: LoroDoc, parts: Mapping[str, Target], part: Schema, given: Any, prefix: str) -> None:
    match part:
        case MapSchema(fields=fields):
            held = checked_item(fields, given or {}, "the block")
            for name, value in held.items():
                set_value(loro, parts[path_of(prefix, name)], value)
        case ListSchema():
            for item in given or ():
                add_item(loro, parts[prefix], item)
        case TextSchema() if given:
            set_value(loro, parts[prefix], given)
        case _ if given:
            raise Refused("a {type} must start without values", type=part.type)


def schema_of(loro: LoroDoc) -> Schema:
    """The schema that the document carries; a document without one is a plain text."""
    head = loro.get_map(_HEAD)
    if head.is_empty():
        return TEXT
    held: Any = head.get_value()
    return parse_schema(held["json"])


def text_of(loro: LoroDoc) -> str:
    saved, schema = loro.get_text(PLAIN.name).to_string(), schema_of(loro)
    if isinstance(schema, TextSchema):
        return saved
    kept = f"{RECOVERED}, as it stood before a damage: set the fields again\n{saved}\n" if saved else ""
    return rendered(schema, parts_of(loro).values) + kept


def recover(loro: LoroDoc, text: str) -> None:
    """Set a plain document to this text; if a structured one renders to another text, keep it beside the fields."""
    if text_of(loro) != text:
        write_text(loro.get_text(PLAIN.name), text)


def value_of(loro: LoroDoc, target: Target) -> Any:
    """The value of one part; None for a number, time or boolean that is not set."""
    match target.kind:
        case "text":
            return loro.get_text(target.name).to_string()
        case "list":
            return loro.get_movable_list(target.name).get_deep_value()
        case "log":
            return loro.get_list(target.name).get_deep_value()
        case "counter":
            return loro.get_counter(target.name).value
        case _:
            kept: Any = loro.get_map(target.within).get_value()
            return kept.get(_field(target).name)


# ------------------------------------------------------------------------------------------------------- changing


def set_value(loro: LoroDoc, target: Target, value: Any) -> None:
    """Set a field, a text or a list. Raises Refused for a value that does not fit, by the field's name."""
    kept = fitting(target, value)
    match target.kind:
        case "list":  # items that stay keep their writers
            before: Any = loro.get_movable_list(target.name).get_deep_value()
            make(loro, target.name, by_items(before, kept))
        case "text":
            write_text(loro.get_text(target.name), kept)
        case "counter":
            counter = loro.get_counter(target.name)
            counter.increment((kept or 0) - counter.value)
        case _:
            _set(loro.get_map(target.within), _field(target).name, kept)


def fitting(target: Target, value: Any) -> Any:
    """A value in the form that the part stores: None becomes an empty text or list. Raises as `set_value`."""
    if isinstance(target.shape, ListSchema):
        return checked_items(target.shape.fields, value or (), target.shape.max_items, "the list")
    if isinstance(target.shape, TextSchema) and isinstance(value, str):
        return require_storable(value)
    field = _field(target)
    kept = checked(field, value)
    return kept if kept is not None else {FieldType.TEXT: "", FieldType.LIST: []}.get(field.type)


def _field(target: Target) -> Field:
    if isinstance(target.shape, LogSchema):
        raise Refused("this is a log: add entries to it")
    return target.shape if isinstance(target.shape, Field) else Field(name="text")


def _set(kept: LoroMap, name: str, value: Any) -> None:
    held: Any = kept.get_value()
    if held.get(name) == value and type(held.get(name)) is type(value):
        return
    if value is None:
        kept.delete(name)
    else:
        kept.insert(name, value)


def by_items(before: Sequence[Any], after: Sequence[Any]) -> list[Splice[Content]]:
    """How to turn one list into another, from end to beginning."""
    old, new = [[json.dumps(item, sort_keys=True) for item in items] for items in (before, after)]
    return [Splice(first, last - first, tuple(after[begin:end])) for first, last, begin, end in differing(old, new)]


def add_text(loro: LoroDoc, target: Target, text: str) -> None:
    """Add to the end of a text, on a line of its own: forms and seeds may leave the last one without a line break."""
    held, added = _text(loro, target), require_storable(text)
    standing = held.to_string()
    held.push_str(f"\n{added}" if added and standing and not standing.endswith("\n") else added)


def replace_text(loro: LoroDoc, target: Target, old: str, new: str) -> None:
    """Replace every `old` in a text with `new`; raises Refused when there is none.

    Whole words that both contain keep their writers.
    """
    held = _text(loro, target)
    require_storable(new)
    if not old:
        raise Refused("the text to be replaced is empty")
    text, places = held.to_string(), list[int]()
    while (place := text.find(old, places[-1] + len(old) if places else 0)) >= 0:
        places.append(place)
    if not places:
        excerpt = old if len(old) <= 80 else old[:80] + "…"
        raise Refused("“{excerpt}” does not occur there; give it exactly as it is written", excerpt=excerpt)
    ways = by_words(old, new)
    for place in reversed(places):
        for way in ways:
            held.splice(place + way.place, way.delete, way.insert)


def _text(loro: LoroDoc, target: Target) -> LoroText:
    shape = target.shape
    if isinstance(shape, TextSchema) or (isinstance(shape, Field) and shape.type is FieldType.TEXT):
        return loro.get_text(target.name)
    raise Refused("this is a {type}, not text: set it, or add and remove items", type=shape.type)


def add(loro: LoroDoc, target: Target, value: Any, at: datetime, by: str) -> None:
    """Add an item to a list, a number to a counter, or an entry with this time and writer to a log."""
    if target.is_log:
        add_entry(loro, target, value, at, by)
    else:
        add_item(loro, target, value)


def add_item(loro: LoroDoc, target: Target, value: Any) -> None:
    """Add an item to the end of a list, or a number to a counter."""
    if isinstance(target.shape, Field) and target.shape.type is FieldType.COUNTER:
        counter = loro.get_counter(target.name)
        amount = checked(target.shape, value) or 0
        before = counter.value
        # As integers where possible: a float sum would be rounded to its allowed digits.
        checked(target.shape, (int(before) if before.is_integer() else before) + amount)
        counter.increment(amount)
        return
    fields, most = items_of(target)
    held = loro.get_movable_list(target.name)
    if len(held) >= most:
        raise Refused("the list is full ({held:,} of {most:,} items): remove one first", held=len(held), most=most)
    held.push(checked_item(fields, value, "the list"))


def set_item(loro: LoroDoc, target: Target, number: int, value: Any) -> None:
    """Replace the item of that number, counted from 1."""
    fields, _ = items_of(target)
    loro.get_movable_list(target.name).set(_place(loro, target, number), checked_item(fields, value, "the list"))


def remove_item(loro: LoroDoc, target: Target, number: int) -> None:
    """Remove the item of that number, counted from 1."""
    items_of(target)
    loro.get_movable_list(target.name).delete(_place(loro, target, number), 1)


def items_of(target: Target) -> tuple[tuple[Field, ...], int]:
    """The fields of a list's items, and how many items it holds; raises Refused for anything but a list."""
    match target.shape:
        case ListSchema(fields=fields, max_items=most):
            return fields, most
        case Field(type=FieldType.LIST):
            return (), MOST_ITEMS
        case LogSchema():
            raise BlockRefused("log entries cannot be changed")
        case shape:
            raise Refused("this is a {type}, which has no items: set it", type=shape.type)


def _place(loro: LoroDoc, target: Target, number: int) -> int:
    length = len(loro.get_movable_list(target.name))
    if not 1 <= number <= length:
        raise Refused("there is no item {number}: the list has {length}, counted from 1", number=number, length=length)
    return number - 1


def put_back(loro: LoroDoc, before: Mapping[str, Any]) -> bool:
    """Restore every part to `before`, which maps paths to values; returns whether anything changed.

    Raises BlockRefused if a read-only part or a log differs, Refused if a required field would become empty.
    """
    now, changed = parts_of(loro), False
    for path, target in every_part(now.schema).items():
        if not same(now.values[path], before[path]):
            if target.is_log:
                raise BlockRefused("log entries cannot be changed")
            if target.read_only:
                raise BlockRefused(
                    "{path} was changed in the meantime and is read-only: Carina maintains it", path=path
                )
            set_value(loro, target, before[path])
            changed = True
    return changed


def parts_of(loro: LoroDoc) -> BlockValues:
    schema = schema_of(loro)
    return BlockValues(schema, values_of(loro, every_part(schema)))


def values_of(loro: LoroDoc, parts: Mapping[str, Target]) -> dict[str, Any]:
    """The values of these parts, by path, whatever schema the document had then."""
    return {path: value_of(loro, part) for path, part in parts.items()}


def amend(loro: LoroDoc, plan: Plan) -> None:
    """Apply a `Plan` that was made for the document as it is now."""
    parts = every_part(schema_of(loro))
    for path, cuts in plan.sequences.items():
        if parts[path].kind == "value":
            item = next((item for cut in cuts for item in cut.insert), None)
            _set(loro.get_map(parts[path].within), _field(parts[path]).name, item)
        else:
            make(loro, parts[path].name, cuts, is_log=parts[path].is_log)
    for path, amount in plan.counters.items():
        loro.get_counter(parts[path].name).increment(amount)


def make(loro: LoroDoc, name: str, cuts: Sequence[Splice[Content]], *, is_log: bool = False) -> None:
    """Apply splices to a text, a list or a log; they go from its end to its beginning."""
    for cut in cuts:
        if isinstance(cut.insert, str):
            loro.get_text(name).splice(cut.place, cut.delete, cut.insert)
            continue
        items = loro.get_list(name) if is_log else loro.get_movable_list(name)
        items.delete(cut.place, cut.delete)
        for place, item in enumerate(cut.insert, cut.place):
            items.insert(place, item)


# -------------------------------------------------------------------------------------------------------- merging


def once(mine: Sequence[Splice[Content]], others: Sequence[Splice[Content]]) -> list[Splice[Content]]:
    """The splices of `mine` without text that `others`, made at the same version, insert at the same place.

    Of a list they also remove no item that `others` replaced: for Loro that is still the same item.
    """
    there = {cut.place: cut.insert for cut in others if cut.insert}
    gone = {at for cut in others for at in range(cut.place, cut.place + cut.delete)}
    found = list[Splice[Content]]()
    for cut in mine:
        come = cut.insert[_both_begin(there.get(cut.place, ""), cut.insert) :]
        if isinstance(come, str):
            found.append(Splice(cut.place, cut.delete, come))
        else:
            removed = (at for at in range(cut.place, cut.place + cut.delete) if at not in gone)
            found += [Splice(cut.place, 0, come), *(Splice(at, 1, ()) for at in removed)]
    return found


def _both_begin(one: Any, other: Any) -> int:
    """The length of `one` if `other` begins with all of it and no word continues there; else 0."""
    size = min(len(one), len(other))
    longer = max(one, other, key=len)
    in_word = isinstance(longer, str) and 0 < size < len(longer) and longer[size - 1 : size + 1].isalnum()
    return 0 if in_word or one[:size] != other[:size] else size


def write_text(held: LoroText, text: str) -> None:
    """Set a text to `text`, by whole words."""
    for each in by_words(held.to_string(), text):
        held.splice(each.place, each.delete, each.insert)


def add_entry(loro: LoroDoc, target: Target, value: Any, at: datetime, by: str) -> None:
    """Add an entry to a log and drop the oldest beyond its limit."""
    shape = target.shape
    if not isinstance(shape, LogSchema):
        raise Refused("this is a {type}, not a log", type=shape.type)
    kept = checked_item(shape.fields, value, "the log")
    entry = {"at": to_text(at), "by": by} | (kept if isinstance(kept, dict) else {"text": kept})
    log = loro.get_list(target.name)
    log.push(entry)
    if len(log) > shape.max_entries:
        log.delete(0, len(log) - shape.max_entries)
