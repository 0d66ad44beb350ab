"""What a path in a schema refers to: a field, a section, or the one list, log or text of a block. Pure."""

from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct

from memory.blocks.schemas import TEXT as TEXT_SCHEMA
from memory.blocks.schemas import (
    CompositeSchema,
    Field,
    FieldType,
    ListSchema,
    LogSchema,
    MapSchema,
    Schema,
    TextSchema,
    named,
    path_of,
    rendered,
)
from memory.store.errors import Refused
from memory.store.records import replace

Kind: TypeAlias = Literal["text", "list", "counter", "value", "log"]


class Target(Struct, frozen=True):
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
def empty_text(schema: Schema) -> str:
    """The text of a block in which nothing was written yet: the names of its parts."""
    values = {"text": "", "list": [], "log": [], "counter": 0.0, "value": None}
    return rendered(schema, {path: values[part.kind] for path, part in every_part(schema).items()})


@lru_cache(maxsize=64)
def every_target(schema: Schema) -> dict[str, Target]:
    """Every part that a path can name; the one list, log or text of a schema has the empty path."""
    if not isinstance(schema, CompositeSchema):
        return _targets(schema, "")
    return {
        path: replace(target, read_only=target.read_only or section.read_only)
        for section in schema.sections
        for path, target in _targets(section.content, section.name).items()
    }


def _targets(part: Schema, prefix: str) -> dict[str, Target]:
    match part:
        case MapSchema():
            return {path_of(prefix, field.name): _of_field(field, prefix) for field in part.fields}
        case ListSchema():
            return {prefix: Target(f"list:{prefix}", part)}
        case LogSchema():
            return {prefix: Target(f"log:{prefix}", part)}
        case TextSchema() if prefix:
            return {prefix: Target(f"text:{prefix}", part)}
        case _:
            return {"": PLAIN}


def _of_field(field: Field, prefix: str) -> Target:
    kinds = {FieldType.TEXT: "text", FieldType.LIST: "list", FieldType.COUNTER: "counter"}
    name = f"{kinds.get(field.type, 'value')}:{prefix}.{field.name}"
    return Target(name, field, field.read_only, f"map:{prefix}")


def target_of(schema: Schema, path: str) -> Target:
    """The part that `path` names: a field, a section, "section.field", or empty for the one list or log.

    Raises Refused, listing the valid names.
    """
    parts = every_target(schema)
    if path in parts:
        return parts[path]
    if "" in parts:
        raise Refused("there is no field “{path}”: this is one {type}", path=path[:60], type=schema.type)
    names = named(schema.fields) if isinstance(schema, MapSchema) else ", ".join(parts)
    raise Refused("there is no field “{path}”; available: {names}", path=path[:60], names=names)
