"""Converting a block's content to another schema word for word: a text, its lines as a list or a log, or fields.

Every conversion goes through one text with an item or a field on each line. If that text could not be turned back
without loss, the conversion is refused and names what would be lost. The final line break is not content.
"""

from collections.abc import Iterator
from typing import Any

from memory.blocks.schemas import Field, ListSchema, LogSchema, MapSchema, Schema, Segment, TextSchema, named
from memory.store.errors import Refused
from texts import gettext_lazy

_MOST_NAMED = 5


def converted(old: Schema, values: Any, new: Schema) -> Any:
    """The content under the new schema. Raises Refused, naming what would be lost."""
    lost = list(_lost_as_text(old, values))
    if not lost:
        text = "".join(segment.text for segment in as_text(old, values))
        lost = list(_lost_from_text(text, new))
    if not lost:
        return _from_text(text, new)
    more = f"; +{len(lost) - _MOST_NAMED}" if len(lost) > _MOST_NAMED else ""
    raise Refused(
        "the content cannot become a {type} without loss: {lost}", type=new.type,
        lost="; ".join(map(str, lost[:_MOST_NAMED])) + more,
    )  # fmt: skip


def as_text(schema: Schema, values: Any) -> Iterator[Segment]:
    """The text in pieces: pieces with a path are values, the others are the text between them."""
    match schema:
        case MapSchema(fields=fields):
            for field in fields:
                value = values[field.name]
                yield Segment(f"{field.name}: " if value else f"{field.name}:")
                yield Segment(value or "", field.name)
                yield Segment("\n")
        case ListSchema():
            for place, item in enumerate(values):
                yield Segment(item, "", place)
                yield Segment("\n")
        case TextSchema():
            yield Segment(values, "")


def _lost_as_text(schema: Schema, values: Any) -> Iterator[str]:
    match schema:
        case MapSchema(fields=fields):
            for field in fields:
                if field != Field(name=field.name, description=field.description):
                    yield gettext_lazy("what is set for field {field}", field=named((field,)))
                elif "\n" in (text := values[field.name] or "") or text.strip() != text:
                    yield gettext_lazy("the lines or spaces of field {field}", field=field.name)
        case ListSchema(fields=()):
            for number, item in enumerate(values, 1):
                if "\n" in item:
                    yield gettext_lazy("the lines of item {number}", number=number)
        case ListSchema(fields=fields):
            yield gettext_lazy("the fields of its items: {fields}", fields=named(fields))
        case LogSchema():
            for entry in values:
                yield gettext_lazy("when and by whom this was added: {entry}", entry=_short(entry.get("text", entry)))
        case TextSchema():
            return
        case _:
            yield gettext_lazy("its sections")


def _lost_from_text(text: str, new: Schema) -> Iterator[str]:
    lines = _lines(text)
    match new:
        case MapSchema(fields=fields):
            for number, (field, line) in enumerate(zip(fields, lines, strict=False), 1):
                if line != f"{field.name}:" and (not (said := _said(field, line)) or said.strip() != said):
                    yield gettext_lazy('line {number} is not "{field}: …"', number=number, field=field.name)
            for number in range(len(fields) + 1, len(lines) + 1):
                yield gettext_lazy("line {number} has no field", number=number)
        case ListSchema() | LogSchema():
            most = new.max_items if isinstance(new, ListSchema) else new.max_entries
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    yield gettext_lazy("line {number}, which is empty", number=number)
                elif line.strip() != line:
                    yield gettext_lazy("the spaces around line {number}", number=number)
            if len(lines) > most:
                yield gettext_lazy("all but {most:,} of {lines:,} lines", most=most, lines=len(lines))


def _from_text(text: str, new: Schema) -> Any:
    lines = _lines(text)
    if isinstance(new, MapSchema):
        said = [_said(field, line) or None for field, line in zip(new.fields, lines, strict=False)]
        return {field.name: said[at] if at < len(said) else None for at, field in enumerate(new.fields)}
    return text if isinstance(new, TextSchema) else lines


def _said(field: Field, line: str) -> str:
    head = f"{field.name}: "
    return line.removeprefix(head) if line.startswith(head) else ""


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
