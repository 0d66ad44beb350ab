"""Block templates, and the constellation's shared blocks, which an agent sees at the block's or its own permission."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from memory.agents import InitialBlock
from memory.blocks import CONSTELLATION_OWNER, Block, BlockType, Permission
from memory.blocks.containers import begin
from memory.blocks.document import BlockDocument
from memory.blocks.lifecycle import share_block
from memory.blocks.lookup import own_block
from memory.blocks.schemas import TEXT, Field, FieldType, ListSchema, LogSchema, MapSchema, Schema, TextSchema, outline
from memory.people.audience import Audience
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId
from memory.store.row_mapper import RowMapper


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


_CONFIGURED = "agent_id = ? AND label = ? AND deleted_at IS NULL"


class Common(Struct, frozen=True):
    """A shared block; `permissions` holds those that differ from the block's own."""

    seed: InitialBlock
    permissions: Mapping[AgentId, str]


_common = RowMapper(Common)


def configured(rows: Rows) -> list[Common]:
    sql = "SELECT seed, permissions FROM constellation_blocks ORDER BY label"
    return rows.cached(("constellation_blocks",), "configured blocks", lambda: _common.all(rows, sql))


def configure(tx: Tx, wanted: Sequence[Common], now: datetime) -> None:
    """Take over the wanted shared blocks. Existing ones stay; changed permissions apply to them at once."""
    before = {each.seed.label: each for each in configured(tx)}
    tx.run("DELETE FROM constellation_blocks")
    for each in wanted:
        label = each.seed.label
        tx.insert("constellation_blocks", {"label": label, **_common.values(each)})
        if label in before and _rights(before[label]) != _rights(each):
            _renew_rights(tx, each, now)


def _rights(common: Common) -> tuple[str, dict[AgentId, str]]:
    return common.seed.permission, dict(common.permissions)


def _renew_rights(tx: Tx, common: Common, now: datetime) -> None:
    named = (CONSTELLATION_OWNER, common.seed.label)
    tx.run(f"UPDATE memory_blocks SET permission = ? WHERE {_CONFIGURED}", (common.seed.permission, *named))
    configured = f"SELECT id FROM memory_blocks WHERE {_CONFIGURED}"
    tx.run(f"DELETE FROM shared_block_agents WHERE block_id IN ({configured})", named)
    for row in tx.all(f"SELECT audience FROM memory_blocks WHERE {_CONFIGURED}", named):
        block = own_block(tx, CONSTELLATION_OWNER, common.seed.label, Audience(row["audience"]))
        if block is not None:
            give_rights(tx, common, block, now)


def give_rights(tx: Tx, common: Common, block: Block, now: datetime) -> None:
    """Share a new block with the agents that it is for."""
    for agent, permission in common.permissions.items():
        share_block(tx, block, agent, Permission(permission), now)
