"""Fields, sections and lists of blocks written by hand: what people see is what they may write."""

import pytest

from memory.blocks import Block, add_item, find_block
from memory.blocks.manual_edits import fields_by_hand, text_of
from memory.blocks.manual_edits import write as write_by_hand
from memory.blocks.revert import Hand, by_hand
from memory.blocks.schemas import CompositeSchema, Field, FieldType, ListSchema, LogSchema, MapSchema, Schema, Section
from memory.people.audience import Trust
from memory.store.database import Tx
from memory.store.errors import BlockRefused, Refused
from tests.memory.blocks.block_parts import ADA, IN_GUILD, MIA, NOW, author, made, new

RESTED = MapSchema(fields=(Field(name="rested", type=FieldType.BOOLEAN),))


def write(tx: Tx, path: str, text: str, seen: int | None = None) -> Block:
    block = find_block(tx, ADA, "notes", IN_GUILD)
    hand = Hand(MIA, (MIA,), is_owner=True, scope=IN_GUILD, trust=Trust.OWNER, now=NOW)
    return write_by_hand(by_hand(tx, hand, block), block, text, path, seen=seen)


def of_schema(tx: Tx, schema: Schema) -> Block:
    return made(tx, new(schema=schema))


@pytest.mark.parametrize(
    ("text", "shown"), [("yes", "yes"), ("No", "no"), ("TRUE", "yes"), (" false ", "no"), ("", "")]
)
def test_yes_or_no_is_written_as_it_is_shown_or_as_json_has_it(tx: Tx, text: str, shown: str) -> None:
    block = of_schema(tx, RESTED)
    assert write(tx, "rested", text).content.strip() == f"rested: {shown}".strip()
    assert text_of(tx, block, "rested") == shown


def test_what_is_neither_is_refused_with_what_is_taken(tx: Tx) -> None:
    of_schema(tx, RESTED)
    with pytest.raises(Refused, match=r"rested is yes or no \(or true or false.*not 'maybe'"):
        write(tx, "rested", "maybe")


RECORDS = ListSchema(fields=(Field(name="title", required=True), Field(name="done", type=FieldType.BOOLEAN)))
BOOK = CompositeSchema(
    sections=(
        Section(name="todo", schema=ListSchema(max_items=3)),
        Section(name="tasks", schema=RECORDS),
        Section(name="kept", schema=ListSchema(), read_only=True),
    )
)


def test_a_list_section_is_written_with_an_item_on_each_line(tx: Tx) -> None:
    block = of_schema(tx, BOOK)
    assert fields_by_hand(block) == ["todo", "tasks"]
    seen = write(tx, "todo", "milk\n\n  eggs \n").version
    assert text_of(tx, block, "todo") == "milk\neggs"
    add_item(tx, author(), "notes", "todo", "salt")
    assert "## todo\n1. eggs\n2. salt\n" in write(tx, "todo", "eggs", seen).content, "what came since stays"
    with pytest.raises(Refused, match="at most 3 items, not 4"):
        write(tx, "todo", "a\nb\nc\nd")
    assert "## todo\n## tasks" in write(tx, "todo", "").content


def test_items_that_are_records_are_written_as_json(tx: Tx) -> None:
    block = of_schema(tx, BOOK)
    write(tx, "tasks", '{"title": "Buy milk", "done": true}\n{"title": "Rest"}')
    assert text_of(tx, block, "tasks") == '{"title": "Buy milk", "done": true}\n{"title": "Rest"}'
    for line, words in (
        ("Buy milk", "is an item as JSON with the fields title"),
        ('{"name": "x"}', "not 'name'"),
        ("3", "not 3"),
    ):
        with pytest.raises(Refused, match=words):
            write(tx, "tasks", line)


def test_a_block_that_is_one_list_is_written_whole_and_a_log_never(tx: Tx) -> None:
    block = of_schema(tx, ListSchema())
    assert fields_by_hand(block) == []
    assert write(tx, "", "a\nb").content == "1. a\n2. b\n"
    made(tx, new("log", schema=LogSchema()))
    log = find_block(tx, ADA, "log", IN_GUILD)
    with pytest.raises(BlockRefused, match="entries cannot be changed"):
        text_of(tx, log, "")
