"""Who wrote which part of a structured block: by its items and fields, not by what of its text changed."""

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.blocks import Block, add_item, find_block, set_field, set_item
from memory.blocks.changes import agent_writer, person_writer
from memory.blocks.history import blame
from memory.blocks.revert import by_agent, past_of_block, undo
from memory.blocks.schemas import CompositeSchema, Field, FieldType, ListSchema, LogSchema, MapSchema, Section
from memory.store.database import Tx
from tests.memory.block_parts import ADA, IN_GUILD, MIA, author, blocks_store, made, new

AGENT, PERSON = agent_writer(ADA), person_writer(MIA)
STATE = MapSchema(fields=(Field(name="mood"), Field(name="level", type=FieldType.NUMBER)))
BOOK = CompositeSchema(
    sections=(Section(name="diary"), Section(name="state", schema=STATE), Section(name="todo", schema=ListSchema()))
)


def row(tx: Tx) -> Block:
    return find_block(tx, ADA, "notes", IN_GUILD)


def blamed(tx: Tx) -> list[tuple[str, str]]:
    pieces = blame(past_of_block(tx, row(tx).id))
    assert "".join(piece.text for piece in pieces) == row(tx).content
    return [(piece.text, piece.change.writer if piece.change else "") for piece in pieces]


def test_items_of_lists_are_their_writers_wherever_they_stand(tx: Tx) -> None:
    made(tx, new(schema=ListSchema()))
    set_field(tx, author(), "notes", "", ["one", "two", "three"])
    set_field(tx, author(writer=PERSON), "notes", "", ["zero", "one", "two", "three"])
    assert blamed(tx) == [("1. zero\n", PERSON), ("2. one\n3. two\n4. three\n", AGENT)]
    set_item(tx, author(writer=PERSON), "notes", "", 3, "zwei")
    assert blamed(tx)[1:] == [("2. one\n", AGENT), ("3. zwei\n", PERSON), ("4. three\n", AGENT)]


def test_what_comes_back_is_blamed_on_who_wrote_it(tx: Tx) -> None:
    made(tx, new(schema=ListSchema()))
    set_field(tx, author(), "notes", "", ["rose", "lily"])
    set_field(tx, author(writer=PERSON), "notes", "", ["rose", "lily", "fern"])
    set_field(tx, author(), "notes", "", ["rose", "tulip"])
    undo(by_agent(tx, author(), "notes"), AGENT)
    assert blamed(tx) == [("1. rose\n2. lily\n", AGENT), ("3. fern\n", PERSON)]


def test_each_field_is_its_writers_and_a_text_has_several(tx: Tx) -> None:
    fields = (Field(name="mood"), Field(name="diary"), Field(name="level", type=FieldType.NUMBER))
    made(tx, new(schema=MapSchema(fields=(*fields, Field(name="talks", type=FieldType.COUNTER)))))
    set_field(tx, author(), "notes", "mood", "calm and  bright")
    set_field(tx, author(writer=PERSON), "notes", "mood", "calm and  very bright")
    set_field(tx, author(writer=PERSON), "notes", "diary", "\nMonday: rain\nTuesday: sun\n")
    set_field(tx, author(), "notes", "diary", "\nMonday: rain\nTuesday: snow\n")
    set_field(tx, author(), "notes", "level", 3)
    add_item(tx, author(writer=PERSON), "notes", "talks", 2)
    told = blamed(tx)
    assert told[1:4] == [(" calm and ", AGENT), ("very ", PERSON), ("bright\n", AGENT)]
    assert told[5:7] == [("  Monday: rain\n  Tuesday: ", PERSON), ("snow\n", AGENT)]
    assert told[8] == (" 3\n", AGENT), "the space came with the number"
    assert told[-1] == ("2\n", PERSON)


def test_entries_of_a_log_are_of_who_added_them(tx: Tx) -> None:
    made(tx, new(schema=LogSchema()))
    add_item(tx, author(), "notes", "", "sowed")
    add_item(tx, author(writer=PERSON), "notes", "", "mown")
    assert [writer for _, writer in blamed(tx)] == [AGENT, PERSON]


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
