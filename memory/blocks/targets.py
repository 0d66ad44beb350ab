"""What a path in a schema refers to: a field, a section, or the one list, log or text of a block. Pure."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from memory.blocks.schemas import TEXT as TEXT_SCHEMA
from memory.blocks.schemas import (
    CompositeSchema,
    Field,
    FieldType,
    ListSchema,
    LogSchema,
    MapSchema,
    Schema,
    Section,
    TextSchema,
    named,
)
from memory.store.errors import Refused

Kind: TypeAlias = Literal["text", "list", "counter", "value", "log"]


@dataclass(frozen=True)
class Target:
    """What a path refers to: a field, or a whole text, list or log; `name` is its container."""

    name: str
    shape: Field | TextSchema | ListSchema | LogSchema
    read_only: bool = False
    within: str = ""
    """The map that contains it."""

    @property
    def is_log(self) -> bool:
        return isinstance(self.shape, LogSchema)

    @property
    def kind(self) -> Kind:
        """The kind of its container; single values share a map."""
        match self.shape:
            case TextSchema() | Field(type=FieldType.TEXT):
                return "text"
            case ListSchema() | Field(type=FieldType.LIST):
                return "list"
            case Field(type=FieldType.COUNTER):
                return "counter"
            case LogSchema():
                return "log"
            case _:
                return "value"

    @property
    def required(self) -> bool:
        return isinstance(self.shape, Field) and self.shape.required


PLAIN = Target("content", TEXT_SCHEMA)
"""The text of a plain block."""
SAVED = "."
"""The path of text that was saved from a damaged structured block; a plain block has its text there."""


@lru_cache(maxsize=64)
def every_part(schema: Schema) -> dict[str, Target]:
    """Every part in a document of that schema, by path, including saved text."""
    return every_target(schema) | ({} if isinstance(schema, TextSchema) else {SAVED: PLAIN})


@lru_cache(maxsize=64)
def every_target(schema: Schema) -> dict[str, Target]:
    """Every part that a path can name; the one list, log or text of a schema has the empty path."""
    if isinstance(schema, CompositeSchema):
        return {path: target_of(schema, path) for section in schema.sections for path in _paths(section)}
    names = [field.name for field in schema.fields] if isinstance(schema, MapSchema) else [""]
    return {name: target_of(schema, name) for name in names}


def _paths(section: Section) -> list[str]:
    inner = section.content
    return [f"{section.name}.{each.name}" for each in inner.fields] if isinstance(inner, MapSchema) else [section.name]


def target_of(schema: Schema, path: str) -> Target:
    """The part that `path` names: a field, a section, "section.field", or empty for the one list or log.

    Raises Refused, listing the valid names.
    """
    if isinstance(schema, CompositeSchema):
        name, _, rest = path.partition(".")
        section = section_of(schema, name)
        found = part_target(section.content, rest, section.name)
        return Target(found.name, found.shape, found.read_only or section.read_only, found.within)
    return part_target(schema, path, "")


def part_target(part: Schema, path: str, prefix: str) -> Target:
    match part:
        case MapSchema():
            field = next((each for each in part.fields if each.name == path), None)
            if field is None:
                raise Refused(
                    "there is no field {path!r}; the fields are: {named}", path=path[:60], named=named(part.fields)
                )
            return field_target(field, prefix)
        case ListSchema() | LogSchema() | TextSchema() if path:
            raise Refused("there is no field {path!r}: this is one {type}", path=path[:60], type=part.type)
        case ListSchema():
            return Target(f"list:{prefix}", part)
        case LogSchema():
            return Target(f"log:{prefix}", part)
        case TextSchema():
            return Target(f"text:{prefix}" if prefix else PLAIN.name, part)
    raise AssertionError(part)


def field_target(field: Field, prefix: str) -> Target:
    kinds = {FieldType.TEXT: "text", FieldType.LIST: "list", FieldType.COUNTER: "counter"}
    name = f"{kinds.get(field.type, 'value')}:{prefix}.{field.name}"
    return Target(name, field, field.read_only, f"map:{prefix}")


def section_of(schema: CompositeSchema, name: str) -> Section:
    for section in schema.sections:
        if section.name == name:
            return section
    known = ", ".join(section.name for section in schema.sections)
    raise Refused("there is no section {name!r}; there are: {known}", name=name[:60], known=known)
