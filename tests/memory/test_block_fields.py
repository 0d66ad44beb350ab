"""Fields, sections and lists of blocks written by hand: what people see is what they may write."""

from collections.abc import Iterator

import pytest

from memory.audience import Trust
from memory.block_fields import field_text, fields_by_hand, write_field
from memory.block_history import Hand, by_hand
from memory.blocks import Block, add_item, find_block
from memory.database import Tx
from memory.errors import Refused
from memory.schemas import CompositeSchema, Field, FieldType, ListSchema, LogSchema, MapSchema, Schema, Section
from tests.memory.block_parts import ADA, IN_GUILD, MIA, NOW, author, blocks_store, made, new

RESTED = MapSchema(fields=(Field(name="rested", type=FieldType.BOOLEAN),))


@pytest.fixture
def tx() -> Iterator[Tx]:
    with blocks_store() as opened:
        yield opened


def write(tx: Tx, path: str, text: str, seen: int | None = None) -> Block:
    block = find_block(tx, ADA, "notes", IN_GUILD)
    hand = Hand(MIA, (MIA,), is_owner=True, scope=IN_GUILD, trust=Trust.OWNER, now=NOW)
    return write_field(by_hand(tx, hand, block), block, path, text, seen=seen)


def of_schema(tx: Tx, schema: Schema) -> Block:
    return made(tx, new(schema=schema))


@pytest.mark.parametrize(
    ("text", "shown"), [("yes", "yes"), ("No", "no"), ("TRUE", "yes"), (" false ", "no"), ("", "")]
)
def test_yes_or_no_is_written_as_it_is_shown_or_as_json_has_it(tx: Tx, text: str, shown: str) -> None:
    block = of_schema(tx, RESTED)
    assert write(tx, "rested", text).content.strip() == f"rested: {shown}".strip()
    assert field_text(tx, block, "rested") == shown


def test_what_is_neither_is_refused_with_what_is_taken(tx: Tx) -> None:
    of_schema(tx, RESTED)
    with pytest.raises(Refused, match=r"rested is yes or no \(true and false are taken as well.*not 'maybe'"):
        write(tx, "rested", "maybe")
