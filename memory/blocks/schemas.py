"""Block schemas (a text, fields, a list, a log, or sections of these) and the values that fit them.

Everything here is pure. `memory.blocks.containers` keeps the values in a Loro document, each in a container of its own
kind; `rendered` turns them into the text that prompts and search see. A value that does not fit is refused by the name
of its field.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic import Field as Limits

from memory.store.clock import from_text, to_text
from memory.store.errors import Refused
from memory.store.fulltext import require_storable
from texts import _, gettext_lazy, gettext_noop, join_lazy, ngettext_lazy

MOST_ITEMS = 10_000
MOST_NUMBER = 2**53
"""Whole numbers beyond it are no longer exact: Loro keeps numbers of that size as floats."""
MOST_FIELDS = 50
_AS_SHOWN = re.compile(r"\s+UTC\Z", re.IGNORECASE)

Name: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]


class FieldType(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    LIST = "list"
    TIMESTAMP = "timestamp"
    COUNTER = "counter"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)


class Field(_Part):
    """One field. A required one always has a value; only the system sets `read_only` ones."""

    name: Name
    type: FieldType = FieldType.TEXT
    description: str = ""
    required: bool = False
    default: Any = None
    read_only: bool = False

    @field_validator("default")
    @classmethod
    def _frozen(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value  # schemas are keys of caches

    @model_validator(mode="after")
    def _default_fits(self) -> "Field":
        if self.default is not None:
            try:
                checked(self, self.default)
            except Refused as error:
                raise ValueError(_("a default that fits: {error}", error=error)) from error
        return self


def _different(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    names = [each.name for each in parts]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(_("different names, not {names} twice", names=", ".join(twice)))
    return parts


Fields: TypeAlias = Annotated[tuple[Field, ...], Limits(max_length=MOST_FIELDS), AfterValidator(_different)]


class Viewport(_Part):
    """The lines of a long text that are shown in context, counted from 1."""

    first: int = Limits(ge=1)
    lines: int = Limits(ge=1)


class TextSchema(_Part):
    type: Literal["text"] = "text"
    viewport: Viewport | None = None


class MapSchema(_Part):
    type: Literal["map"] = "map"
    fields: Annotated[Fields, Limits(min_length=1)]


class ListSchema(_Part):
    """Ordered items; each is a text or, with `fields`, a record."""

    type: Literal["list"] = "list"
    fields: Fields = ()
    max_items: int = Limits(default=MOST_ITEMS, ge=1, le=MOST_ITEMS)


class LogSchema(_Part):
    """Append-only entries: the newest `display_limit` are in context; beyond `max_entries`, the oldest are dropped."""

    type: Literal["log"] = "log"
    fields: Fields = ()
    display_limit: int = Limits(default=10, ge=1, le=200)
    max_entries: int = Limits(default=200, ge=1, le=MOST_ITEMS)


SectionSchema: TypeAlias = Annotated[TextSchema | MapSchema | ListSchema, Limits(discriminator="type")]


class Section(_Part):
    name: Name
    description: str = ""
    content: SectionSchema = Limits(default=TextSchema(), alias="schema")
    read_only: bool = False

    model_config = ConfigDict(populate_by_name=True)


class CompositeSchema(_Part):
    type: Literal["composite"] = "composite"
    sections: Annotated[tuple[Section, ...], Limits(min_length=1, max_length=MOST_FIELDS), AfterValidator(_different)]


Schema: TypeAlias = Annotated[
    TextSchema | MapSchema | ListSchema | LogSchema | CompositeSchema, Limits(discriminator="type")
]
PlainContent: TypeAlias = Literal["text", "list", "log", "fields"]
TEXT = TextSchema()
_SCHEMA: TypeAdapter[Schema] = TypeAdapter(Schema)


@lru_cache(maxsize=256)
def parse_schema(text: str) -> Schema:
    """Parse a schema as the database and documents store it. Raises Refused if it is invalid."""
    try:
        return _SCHEMA.validate_json(text)
    except ValidationError as error:
        raise Refused(
            "this is not a block schema ({problems}): {msg}",
            msg=error.errors()[0]["msg"],
            problems=ngettext_lazy("{count} problem", "{count} problems", error.error_count()),
        ) from None


def plain_schema(content: PlainContent, fields: str) -> Schema:
    """Build a schema without options; `fields` are comma-separated names. Raises Refused."""
    names = [{"name": name.strip()} for name in fields.split(",") if name.strip()]
    if (content == "fields") != bool(names):
        raise Refused("Give field names if the content is “fields”, and only then.")
    match content:
        case "fields":
            return parse_schema(json.dumps({"type": "map", "fields": names}))
        case "list":
            return ListSchema()
        case "log":
            return LogSchema()
        case "text":
            return TEXT


def dump_schema(schema: Schema) -> str:
    return _SCHEMA.dump_json(schema, exclude_none=True, exclude_defaults=False, by_alias=True).decode()


# ---------------------------------------------------------------------------------------------------------- values


def checked(field: Field, value: Any) -> Any:
    """A value in stored form; raises Refused by the field's name. None means no value."""
    if value is None or (value == "" and field.type is not FieldType.TEXT):
        if field.required:
            raise Refused("field {name} is required: it needs a {type}", name=field.name, type=field.type)
        return None
    match field.type:
        case FieldType.TEXT if isinstance(value, str):
            if field.required and not value.strip():
                raise Refused("field {name} is required: it needs text", name=field.name)
            return require_storable(value, gettext_lazy("field {name}", name=field.name))
        case FieldType.NUMBER | FieldType.COUNTER:
            return _number(field, value)
        case FieldType.BOOLEAN if isinstance(value, bool):
            return value
        case FieldType.TIMESTAMP if isinstance(value, str):
            return _moment(field, value)
        case FieldType.LIST if isinstance(value, list | tuple):
            return checked_items((), value, MOST_ITEMS, field.name)
        case _:
            raise _is_not(field, value)


def _is_not(field: Field, value: Any) -> Refused:
    return Refused(
        "field {name} is a {type}, and {short} is not", name=field.name, type=field.type, short=_short(value)
    )


def _number(field: Field, value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _is_not(field, value)
    if not math.isfinite(value) or abs(value) > MOST_NUMBER:
        raise Refused(
            "field {name} holds numbers up to {most_number:,}, not {short}",
            name=field.name,
            most_number=MOST_NUMBER,
            short=_short(value),
        )
    return value


def _moment(field: Field, value: str) -> str:
    try:
        moment = datetime.fromisoformat(_AS_SHOWN.sub("Z", value.strip()))
        if moment.tzinfo is None:
            raise ValueError(value)
        return to_text(moment)
    except (ValueError, OverflowError):
        raise Refused(
            "field {name} is a time with its zone, such as 2026-11-22T12:00:00Z or 2026-11-22 12:00 UTC, and "
            "{short} is not",
            name=field.name,
            short=_short(value),
        ) from None


def checked_items(fields: tuple[Field, ...], items: Any, most: int, name: str) -> list[Any]:
    """The items of a whole list in stored form; raises Refused."""
    if not isinstance(items, list | tuple):
        raise Refused("{name} takes a list of items, and {short} is not one", name=name, short=_short(items))
    if len(items) > most:
        raise Refused("{name} holds at most {most:,} items, not {items:,}", name=name, most=most, items=len(items))
    return [checked_item(fields, item, name) for item in items]


def checked_item(fields: tuple[Field, ...], value: Any, name: str) -> Any:
    """An item of a list or an entry of a log in stored form; raises Refused."""
    if not fields:
        if not isinstance(value, str) or not value.strip():
            raise Refused("an item in {name} must be text, and {short} is not", name=name, short=_short(value))
        return require_storable(value.strip(), gettext_lazy("an item in {name}", name=name))
    known = {field.name for field in fields}
    if unknown := [each for each in value if each not in known] if isinstance(value, dict) else [value]:
        short = _short(unknown[0])
        raise Refused(
            "an item in {name} has the fields {named}, not {short}", name=name, named=named(fields), short=short
        )
    found = {field.name: checked(field, value.get(field.name, field.default)) for field in fields}
    return {key: kept for key, kept in found.items() if kept is not None}


def named(fields: tuple[Field, ...]) -> str:
    """Fields as a phrase: "mood (text), energy (number, required)"."""
    shown = gettext_noop("{name} ({traits})")
    return join_lazy(", ", (gettext_lazy(shown, name=field.name, traits=_traits(field)) for field in fields))


def _traits(field: Field) -> str:
    required = [gettext_lazy("required")] if field.required else []
    return join_lazy(", ", [field.type.value, *required, *_about(field)])


def _about(part: "Field | Section") -> list[str]:
    read_only = [gettext_lazy("read-only")] if part.read_only else []
    return [*read_only, *([part.description] if part.description else [])]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


# ------------------------------------------------------------------------------------------------------- rendering


def path_of(prefix: str, name: str) -> str:
    """The path of a field in a section, or in a block without sections."""
    return f"{prefix}.{name}" if prefix else name


def rendered(schema: Schema, values: Mapping[str, Any]) -> str:
    """The text of a block with these values by path, which is searched, and shown in prompts through `view`."""
    return "".join(segment.text for segment in segments(schema, values))


class Segment(NamedTuple):
    """A piece of a block's text. `path` is the part whose value it shows, `item` the index in its list."""

    text: str
    path: str | None = None
    item: int | None = None


def segments(schema: Schema, values: Mapping[str, Any], prefix: str = "") -> Iterator[Segment]:
    """The text of a block with these values by path, in pieces of one part each."""
    match schema:
        case MapSchema(fields=fields):
            for field in fields:
                path = path_of(prefix, field.name)
                yield from _field_segments(field, values[path], path)
        case ListSchema(fields=fields):
            for place, item in enumerate(values[prefix]):
                yield Segment(f"{place + 1}. {_line(fields, item)}\n", prefix, place)
        case LogSchema(fields=fields):
            for place, item in enumerate(values[prefix]):
                yield Segment(f"- {_line(fields, item)}\n", prefix, place)
        case CompositeSchema(sections=sections):
            for section in sections:
                yield Segment(f"## {section.name}{' (read-only)' if section.read_only else ''}\n")
                last = ""
                for segment in segments(section.content, values, section.name):
                    last = segment.text or last
                    yield segment
                if last and not last.endswith("\n"):
                    yield Segment("\n")
        case _:
            yield Segment(values[prefix], prefix)


def _field_segments(field: Field, value: Any, path: str) -> Iterator[Segment]:
    if isinstance(value, list):
        yield Segment(f"{field.name}:\n")
        yield from (Segment(f"{place + 1}. {_flat(item)}\n", path, place) for place, item in enumerate(value))
    elif isinstance(value, str) and "\n" in value.strip():
        yield Segment(f"{field.name}:\n")
        yield from (Segment(f"  {line}\n", path) for line in value.strip().splitlines())
    else:
        word = _word(field, value)
        yield Segment(f"{field.name}: " if word else f"{field.name}:")
        yield Segment(f"{word}\n", path)


def _line(fields: tuple[Field, ...], item: Any) -> str:
    if not isinstance(item, dict):
        return _flat(item)
    at = f"[{item['at'][:16].replace('T', ' ')}] " if "at" in item else ""
    if "text" in item and not fields:
        return at + _flat(item["text"])
    parts = [f"{field.name}: {_word(field, item[field.name])}" for field in fields if field.name in item]
    return at + "; ".join(parts)


def _word(field: Field, value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(_flat(each) for each in value)
        case float() if value.is_integer():
            return str(int(value))
        case str() if field.type is FieldType.TIMESTAMP:
            return f"{from_text(value):%Y-%m-%d %H:%M} UTC"
        case _:
            return _flat(value)


def _flat(value: Any) -> str:
    return " ".join(str(value).split())


def view(schema: Schema, content: str) -> str:
    """The part of a block's text that is in context: the newest entries of a log, the viewport's lines of a text."""
    if isinstance(schema, LogSchema):
        lines = content.splitlines(keepends=True)
        older = len(lines) - schema.display_limit
        return content if older <= 0 else f"({older} older entries: search finds them)\n" + "".join(lines[older:])
    if isinstance(schema, TextSchema) and schema.viewport is not None:
        return lines_of(content, schema.viewport.first, schema.viewport.lines)
    return content


def lines_of(content: str, first: int, count: int) -> str:
    """Some lines of a text, with their line numbers; the last ones if it is shorter than that."""
    lines = content.splitlines(keepends=True)
    if len(lines) <= count:
        return content
    start = min(first, len(lines) - count + 1)
    shown = lines[start - 1 : start - 1 + count]
    return f"(lines {start} to {start + len(shown) - 1} of {len(lines)})\n{''.join(shown)}"


def outline(schema: Schema) -> str:
    """The schema as a phrase for the model; empty for a text."""
    match schema:
        case MapSchema():
            return gettext_lazy("fields: {fields}", fields=named(schema.fields))
        case ListSchema():
            made_of = named(schema.fields) or gettext_lazy("text")
            return gettext_lazy("a list of at most {most:,} items of {made_of}", most=schema.max_items, made_of=made_of)
        case LogSchema():
            return gettext_lazy(
                "a log of entries of {made_of}; the last {shown} are shown, {kept} kept",
                made_of=named(schema.fields) or gettext_lazy("text"),
                shown=schema.display_limit,
                kept=schema.max_entries,
            )
        case CompositeSchema():
            return gettext_lazy(
                "sections: {sections}", sections=join_lazy("; ", map(_section_outline, schema.sections))
            )
        case _:
            return ""


def _section_outline(section: Section) -> str:
    traits = join_lazy(", ", [outline(section.content) or gettext_lazy("text"), *_about(section)])
    return gettext_lazy("{name} ({traits})", name=section.name, traits=traits)
