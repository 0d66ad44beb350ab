"""An empty block can be given another schema; one that was changed with its content still reads as it did."""

import pytest

from memory.blocks import (
    Block,
    NewSettings,
    Operation,
    add_item,
    append_block,
    containers,
    edit_block,
    edit_lines,
    find_block,
    set_field,
)
from memory.blocks.changes import ChangeKind, Note, agent_writer, person_writer
from memory.blocks.document import BlockDocument
from memory.blocks.history import blame
from memory.blocks.lifecycle import set_block_settings
from memory.blocks.repair import verify_block
from memory.blocks.retraction import forget_past
from memory.blocks.revert import by_agent, roll_back, undo
from memory.blocks.rows import block_history
from memory.blocks.schemas import TEXT, Field, ListSchema, LogSchema, MapSchema, Schema, dump_schema
from memory.blocks.store import CheckpointPolicy, Limits
from memory.blocks.targets import target_of
from memory.store.database import Tx
from memory.store.errors import BlockChanged, Refused
from tests.memory.blocks.block_parts import ADA, IN_GUILD, MIA, NOW, author, made, new

LIST, LOG = ListSchema(), LogSchema()
STATE = MapSchema(fields=(Field(name="mood", default="calm"), Field(name="plan")))
OLGA = person_writer(MIA)


def retype(tx: Tx, schema: Schema) -> Block:
    block = find_block(tx, ADA, "notes", IN_GUILD)
    return set_block_settings(tx, block, NewSettings(schema=schema), OLGA, NOW)


def sound(tx: Tx, block: Block) -> None:
    now, past = find_block(tx, ADA, "notes", IN_GUILD), block_history(tx, block.id)
    assert past.text_at(past.version) == now.content == "".join(each.text for each in blame(past))
    assert past.held.schema == now.schema
    assert not verify_block(tx, block.id)


@pytest.mark.parametrize(("schema", "shown"), [(LIST, ""), (LOG, ""), (STATE, "mood: calm\nplan:\n")])
def test_an_empty_block_changes_its_type(tx: Tx, schema: Schema, shown: str) -> None:
    block = made(tx, new(content="milk\n"))
    with pytest.raises(Refused, match="block notes is not empty"):
        retype(tx, schema)
    edit_lines(tx, author(), "notes", 1, 1, "")
    assert retype(tx, schema).content == shown
    sound(tx, block)
    with pytest.raises(Refused, match=f"is a {schema.type} already"):
        retype(tx, schema)
    if shown:
        with pytest.raises(Refused, match="block notes is not empty"):
            retype(tx, TEXT)
        set_field(tx, author(), "notes", "mood", "")
    assert retype(tx, TEXT).content == ""
    append_block(tx, author(), "notes", "bread\n")
    sound(tx, block)


def test_its_changes_since_are_taken_back_and_those_before_are_only_read(tx: Tx) -> None:
    block = made(tx, new(content="milk\n"))
    edit_lines(tx, author(), "notes", 1, 1, "")
    retype(tx, LIST)
    with pytest.raises(BlockChanged, match="its type changed"):
        set_field(tx, author(shown={block.id: 1}), "notes", "", ["bread"])
    add_item(tx, author(), "notes", "", "eggs")
    assert block_history(tx, block.id).text_at(1) == "milk\n"
    edit = by_agent(tx, author(), "notes")
    with pytest.raises(Refused, match="what the block held at version 1 is not stored"):
        roll_back(edit, 1)
    with pytest.raises(Refused, match="change its type back"):
        undo(edit, OLGA)
    assert undo(edit, agent_writer(ADA)).block.content == ""
    assert roll_back(edit, 4).block.content == "1. eggs\n"
    sound(tx, block)


def retyped_with_content(tx: Tx, schema: Schema, policy: CheckpointPolicy) -> None:
    """As an earlier version did: every line becomes an item, or every item a line."""

    def change(block: Block, document: BlockDocument) -> None:
        lines = [line.removeprefix("1. ") for line in block.content.splitlines()]
        old, after = (target_of(each, "") for each in (block.schema, schema))
        document.change(lambda loro: containers.set_value(loro, old, "" if block.is_text else []))
        document.change(lambda loro: containers.declare(loro, schema))
        value = lines if isinstance(schema, ListSchema) else "\n".join([*lines, ""])
        document.change(lambda loro: containers.set_value(loro, after, value))
        document.note(Note(ChangeKind.RETYPE))

    block = edit_block(tx, author(writer=OLGA, policy=policy), "notes", Operation.OVERWRITE, change)
    tx.run("UPDATE memory_blocks SET schema = ? WHERE id = ?", (dump_schema(schema), block.id))


def test_one_that_was_retyped_with_its_content_still_reads_as_it_did(tx: Tx) -> None:
    short = CheckpointPolicy(updates=4, keep=2, limits=Limits(changes=8, recent=3))
    block = made(tx, new(content="0\n"))
    for number in range(1, 40):
        if number % 12 in (0, 6):
            retyped_with_content(tx, LIST if number % 12 else TEXT, short)
        elif number % 12 > 6:
            add_item(tx, author(policy=short), "notes", "", str(number))
        else:
            append_block(tx, author(policy=short), "notes", f"{number}\n")
        sound(tx, block)
    assert undo(by_agent(tx, author(), "notes"), agent_writer(ADA)).plan.removed > 0
    forget_past(tx, block.id, NOW)
    sound(tx, block)
