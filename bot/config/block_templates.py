"""Block templates: blocks that the configuration and agents name instead of describing them."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from memory.blocks import BlockType
from memory.blocks.containers import begin
from memory.blocks.document import BlockDocument
from memory.blocks.schemas import TEXT, Field, FieldType, ListSchema, LogSchema, MapSchema, Schema, TextSchema, outline


class Template(Struct, frozen=True):
    """A block's initial settings; everything but the schema can be overridden."""

    description: str
    schema: Schema
    type: BlockType = BlockType.CORE
    pinned: bool = False
    permission: str = "read_write"


def _texts(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name=name) for name in names)


def _list(name: str) -> Field:
    return Field(name=name, type=FieldType.LIST)


_NAME = Field(name="name", required=True)

TEMPLATES: Mapping[str, Template] = {
    "persona": Template(
        "Stores details about your current persona, guiding how you behave and respond",
        MapSchema(fields=(_NAME, _list("traits"), *_texts("style", "guidelines"))),
    ),
    "human": Template(
        "Stores key details about the person you are conversing with",
        MapSchema(fields=(*_texts("name"), _list("preferences"), *_texts("context"))),
    ),
    "scratchpad": Template(
        "Notes on what you are doing at the moment: the task, what is open, what to come back to",
        MapSchema(fields=_texts("current_task", "notes")),
        BlockType.WORKING,
        pinned=True,
    ),
    "organization": Template(
        "What holds for everybody of the organization you work for",
        MapSchema(fields=(_NAME, *_texts("policies"))),
        permission="read_only",
    ),
    "current_state": Template(
        "How the person is at the moment, as far as you can tell: energy, attention, mood",
        MapSchema(
            fields=(
                Field(name="energy", type=FieldType.NUMBER, description="0 to 10"),
                Field(name="attention"),
                Field(name="mood"),
                Field(name="as_of", type=FieldType.TIMESTAMP),
            )
        ),
    ),
    "active_context": Template(
        "What is going on: the present task and important events of late",
        MapSchema(fields=(*_texts("current_task"), _list("recent_events"))),
    ),
    "bond_evolution": Template(
        "How the relationship with the person has grown: its dynamics, what built trust, what strained it",
        MapSchema(fields=(*_texts("dynamics", "trust"), _list("milestones"))),
    ),
    "partner_profile": Template(
        "Who the partner is, for every agent: what they prefer, need and want to be reminded of",
        MapSchema(fields=(*_texts("name", "communication"), _list("preferences"), _list("routines"), *_texts("notes"))),
    ),
    "task_list": Template(
        "What there is to do, in order; take out what is done with",
        ListSchema(
            fields=(
                Field(name="title", required=True),
                Field(name="done", type=FieldType.BOOLEAN),
                Field(name="due", type=FieldType.TIMESTAMP),
            ),
            max_items=100,
        ),
        BlockType.WORKING,
        pinned=True,
    ),
    "observation_log": Template(
        "What you noticed, one observation an entry, as it happened",
        LogSchema(fields=(Field(name="observation", required=True), Field(name="domain")), display_limit=20),
        BlockType.WORKING,
        pinned=True,
        permission="append",
    ),
    "custom": Template("", TEXT, BlockType.WORKING),
}


def full_description(description: str, schema: Schema) -> str:
    """A block's description, with its fields."""
    made_of = outline(schema)
    return f"{description}; {made_of}" if description and made_of else description or made_of


def initial_text(schema: Schema, values: Mapping[str, Any]) -> str:
    """The text of a new block with these values. Raises Refused, naming a value that does not fit."""
    if isinstance(schema, TextSchema):
        return ""
    document = BlockDocument()
    document.change(lambda loro: begin(loro, schema, values))
    return document.text()
