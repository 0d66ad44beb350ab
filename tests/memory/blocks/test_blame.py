"""Who wrote which part of a structured block: by its items and fields, not by what of its text changed."""

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.blocks import Block, find_block, set_field
from memory.blocks.changes import agent_writer, person_writer
from memory.blocks.history import blame
from memory.blocks.rows import block_history
from memory.blocks.schemas import CompositeSchema, Field, FieldType, ListSchema, MapSchema, Section
from memory.store.database import Tx
from tests.memory.blocks.block_parts import ADA, IN_GUILD, MIA, author, blocks_store, made, new

AGENT, PERSON = agent_writer(ADA), person_writer(MIA)
STATE = MapSchema(fields=(Field(name="mood"), Field(name="level", type=FieldType.NUMBER)))
BOOK = CompositeSchema(
    sections=(Section(name="diary"), Section(name="state", schema=STATE), Section(name="todo", schema=ListSchema()))
)


def row(tx: Tx) -> Block:
    return find_block(tx, ADA, "notes", IN_GUILD)


def blamed(tx: Tx) -> list[tuple[str, str]]:
    pieces = blame(block_history(tx, row(tx).id))
    assert "".join(piece.text for piece in pieces) == row(tx).content
    return [(piece.text, piece.change.writer if piece.change else "") for piece in pieces]


@settings(max_examples=30)
@given(data=st.data())
def test_blame_is_of_the_whole_text_and_of_those_who_wrote(data: st.DataObject) -> None:
    with blocks_store() as tx:
        made(tx, new(schema=BOOK, char_limit=50_000))
        for _ in range(data.draw(st.integers(1, 6))):
            who = data.draw(st.sampled_from([author(), author(writer=PERSON)]))
            level = data.draw(st.integers(0, 3))
            if level:
                set_field(tx, who, "notes", "state.level", level)
            elif data.draw(st.booleans()):
                items = data.draw(st.lists(st.sampled_from(["a", "b", "c d"]), max_size=4))
                set_field(tx, who, "notes", "todo", items)
            else:
                set_field(tx, who, "notes", "diary", data.draw(st.text("ab \n", max_size=12)))
        assert {writer for _, writer in blamed(tx)} <= {"", "system", AGENT, PERSON}
