"""Edits of somebody who was shown an older version: line and item numbers, and whole values, are about that version."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.blocks import (
    Author,
    Block,
    Permission,
    add_item,
    append_block,
    edit_lines,
    remove_item,
    replace_in_block,
    set_field,
    set_item,
    write_block,
)
from memory.blocks.form_edits import write
from memory.blocks.merge import lines_now
from memory.blocks.revert import by_agent
from memory.blocks.schemas import CompositeSchema, Field, FieldType, ListSchema, MapSchema, Section
from memory.blocks.store import load_block
from memory.people.audience import Trust
from memory.store.database import Tx
from memory.store.errors import BlockChanged, BlockRefused, Refused
from memory.store.records import replace
from tests.memory.blocks.block_parts import PERSON, SHORT, author, made, new, row

STATE = MapSchema(
    fields=(Field(name="note"), Field(name="goals", type=FieldType.LIST), Field(name="energy", type=FieldType.NUMBER))
)
BOOK = CompositeSchema(
    sections=(Section(name="diary"), Section(name="state", schema=STATE), Section(name="todo", schema=ListSchema()))
)
OWNER = author(writer=PERSON, trust=Trust.OWNER, turn=None)


def shown(tx: Tx, label: str = "notes") -> Author:
    """The agent that was shown the block as it is now, and thinks."""
    block = row(tx, label)
    return author(shown={block.id: block.version})


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_what_others_add_to_a_line_stays_with_it_when_the_whole_is_written_anew(tx: Tx, between: str, end: str) -> None:
    made(tx, new(content=f"{between.join(['- milk', '- eggs', '- rent'])}{end}"))
    agent = shown(tx)
    replace_in_block(tx, OWNER, "notes", "rent", "rent on Friday")
    write_block(tx, agent, "notes", f"{between.join(['- milk', '- rent', '- train'])}{end}")
    assert content(tx) == f"{between.join(['- milk', '- rent on Friday', '- train'])}{end}"


def content(tx: Tx) -> str:
    return row(tx).content


def write_seen(tx: Tx, text: str, seen: int) -> Block:
    return write(by_agent(tx, OWNER, "notes"), row(tx), text, seen=seen)


@pytest.mark.parametrize(
    ("meanwhile", "line", "after"),
    [
        ("- ham\n- milk\n- eggs\n- salt\n", 2, "- ham\n- milk\nX\n- salt\n"),
        ("- milk\n- ham\n- eggs\n- salt\n", 2, "- milk\n- ham\nX\n- salt\n"),
        ("- milk\n- eggs\n- salt\n- ham\n", 3, "- milk\n- eggs\nX\n- ham\n"),
        ("- eggs\n- salt\n", 2, "X\n- salt\n"),
        ("- oat milk\n- eggs\n- pepper\n", 2, "- oat milk\nX\n- pepper\n"),
    ],
)
def test_a_line_that_moved_since_it_was_shown_is_changed_where_it_is(
    tx: Tx, meanwhile: str, line: int, after: str
) -> None:
    made(tx, new(content=LINES))
    agent = shown(tx)
    write_block(tx, OWNER, "notes", meanwhile)
    edit_lines(tx, agent, "notes", line, line, "X")
    assert content(tx) == after


# ------------------------------------------------------------------------------------------------------------ lines


LINES = "- milk\n- eggs\n- salt\n"


@pytest.mark.parametrize(
    ("meanwhile", "first"),
    [("- milk\n- 12 eggs\n- salt\n", 2), ("- milk\n- salt\n", 2), ("", 2), ("- milk\n- ham\n- eggs\n- salt\n", 1)],
)
def test_lines_that_were_changed_or_parted_since_are_not_touched_and_all_are_told(
    tx: Tx, meanwhile: str, first: int
) -> None:
    made(tx, new(content=LINES))
    agent = shown(tx)
    write_block(tx, OWNER, "notes", meanwhile)
    numbered = "\n".join(f"{number}: {line}" for number, line in enumerate(meanwhile.splitlines(), 1))
    with pytest.raises(BlockChanged, match="changed since you read them") as refused:
        edit_lines(tx, agent, "notes", first, 2, "X")
    assert str(refused.value).endswith(f"They are now:\n{numbered or '(empty)'}")
    assert content(tx) == meanwhile


def test_several_edits_of_one_answer_go_by_the_numbers_that_were_shown(tx: Tx) -> None:
    made(tx, new(content=LINES))
    agent = shown(tx)
    edit_lines(tx, agent, "notes", 1, 1, "- oat milk\n- cream")
    write_block(tx, OWNER, "notes", f"# list\n{content(tx)}")
    edit_lines(tx, agent, "notes", 2, 2, "")
    edit_lines(tx, agent, "notes", 3, 3, "- pepper")
    assert content(tx) == "# list\n- oat milk\n- cream\n- pepper\n"
    with pytest.raises(Refused, match="the block has 3 lines"):
        edit_lines(tx, agent, "notes", 4, 4, "X")


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=7),
    st.lists(st.sampled_from("abcd"), max_size=7),
    st.integers(1, 7),
    st.integers(0, 2),
)
def test_what_is_found_again_is_what_was_shown(before: list[str], now: list[str], first: int, more: int) -> None:
    last = min(first + more, len(before))
    if first > last:
        return
    found = lines_now(before, now, first, last)
    if found is not None:
        assert now[found : found + last - first + 1] == before[first - 1 : last]
    if before == now:
        assert found == first - 1


# ---------------------------------------------------------------------------------------------- fields and their values


def book(tx: Tx) -> Author:
    made(tx, new(schema=BOOK, values={"diary": "Rain.\n", "todo": ["a", "b", "c"], "state": {"note": "Calm."}}))
    return shown(tx)


def test_a_text_that_is_set_keeps_what_others_added_since(tx: Tx) -> None:
    agent = book(tx)
    set_field(tx, OWNER, "notes", "state.note", "Calm. Ask about the dentist.")
    set_field(tx, OWNER, "notes", "diary", "Snow at night.\nRain.\n")
    set_field(tx, agent, "notes", "state.note", "Very calm.")
    set_field(tx, agent, "notes", "diary", "Rain.\nSun.\n")
    assert "Ask about the dentist." in content(tx)
    assert "Very calm" in content(tx)
    assert "Snow at night.\nRain.\nSun.\n" in content(tx)


def test_what_both_changed_since_is_not_guessed_at_but_shown(tx: Tx) -> None:
    agent = book(tx)
    set_field(tx, OWNER, "notes", "state.note", "Calm.\nAsk about the dentist.")
    set_field(tx, agent, "notes", "state.note", "First thought.")
    before = content(tx)
    with pytest.raises(BlockChanged, match="note has changed since you read it, so nothing was done") as refused:
        set_field(tx, agent, "notes", "state.note", "Second thought.")
    assert "First thought.\nAsk about the dentist." in str(refused.value)
    assert content(tx) == before
    made(tx, new("page", content="one\n"))
    agent = shown(tx, "page")
    append_block(tx, OWNER, "page", "theirs\n")
    write_block(tx, agent, "page", "one\nmine\n")
    with pytest.raises(BlockChanged, match="the block has changed since you read it, so nothing was done"):
        write_block(tx, agent, "page", "one\nmine, too\n")
    assert row(tx, "page").content == "one\ntheirs\nmine\n"


def test_a_list_section_that_is_set_keeps_what_others_added_and_leaves_out_what_they_took(tx: Tx) -> None:
    agent = book(tx)
    remove_item(tx, OWNER, "notes", "todo", 1)
    add_item(tx, OWNER, "notes", "todo", "d")
    set_field(tx, agent, "notes", "todo", ["a", "c", "x"])
    assert "## todo\n1. c\n2. d\n3. x\n" in content(tx)
    with pytest.raises(Refused, match="an item in the list must be text, and 3 is not"):
        set_field(tx, agent, "notes", "todo", [3])
    made(tx, new("added", schema=BOOK, permission=Permission.APPEND))
    with pytest.raises(BlockRefused, match="overwrite is not possible"):
        set_field(tx, agent, "added", "todo", ["a"])


@pytest.mark.parametrize(
    ("wanted", "after"),
    [
        (["a", "c"], "1. a\n2. b of Bea\n3. c\n"),
        (["a", "b of mine", "c"], "1. a\n2. b of mine\n3. b of Bea\n4. c\n"),
        (["a", "b of Bea", "c"], "1. a\n2. b of Bea\n3. c\n"),
    ],
)
def test_an_item_that_others_have_replaced_is_not_removed_with_the_old_one(
    tx: Tx, wanted: list[str], after: str
) -> None:
    agent = book(tx)
    set_item(tx, OWNER, "notes", "todo", 2, "b of Bea")
    set_field(tx, agent, "notes", "todo", wanted)
    assert f"## todo\n{after}" in content(tx)


def test_the_same_that_two_write_or_one_writes_twice_stands_once(tx: Tx) -> None:
    made(tx, new(content="Buy milk.\nBuy oats.\n"))
    before, wanted = shown(tx), "Buy milk.\nBuy oat milk.\n"
    seen = row(tx).version
    for _ in range(2):
        write_seen(tx, wanted, seen)
    write_block(tx, before, "notes", wanted)
    assert content(tx) == wanted
    for _ in range(3):
        write_seen(tx, "Buy milk.\nBuy oat milk and eggs.\nAnd tea.\n", seen)
    assert content(tx) == "Buy milk.\nBuy oat milk and eggs.\nAnd tea.\n"


@pytest.mark.parametrize(("theirs", "mine"), [("ham", "hamster"), ("hamster", "ham")])
def test_a_word_with_which_another_begins_is_not_the_same(tx: Tx, theirs: str, mine: str) -> None:
    made(tx, new(content="Buy"))
    agent = shown(tx)
    write_block(tx, OWNER, "notes", f"Buy {theirs}")
    write_block(tx, agent, "notes", f"Buy {mine}")
    assert content(tx) == f"Buy {theirs} {mine}"


def test_an_item_beyond_those_that_were_shown_is_one_that_the_writer_added(tx: Tx) -> None:
    made(tx, new(content="", schema=BOOK))
    add_item(tx, OWNER, "notes", "todo", "a")
    agent = shown(tx)
    add_item(tx, agent, "notes", "todo", "mine")
    set_item(tx, agent, "notes", "todo", 2, "mine, done")
    assert "1. a\n2. mine, done\n" in content(tx)
    with pytest.raises(Refused, match="there is no item 3"):
        remove_item(tx, agent, "notes", "todo", 3)
    add_item(tx, OWNER, "notes", "todo", "theirs")
    with pytest.raises(BlockChanged, match=r"It is now:\n1. a\n2. mine, done\n3. theirs\n"):
        remove_item(tx, agent, "notes", "todo", 2)
    remove_item(tx, agent, "notes", "todo", 1)
    assert "1. mine, done\n2. theirs\n" in content(tx)


def test_a_line_beyond_those_that_were_shown_is_one_that_the_writer_added(tx: Tx) -> None:
    made(tx, new(content=LINES))
    agent = shown(tx)
    append_block(tx, agent, "notes", "- ham\n")
    edit_lines(tx, agent, "notes", 4, 4, "- bread")
    assert content(tx) == f"{LINES}- bread\n"
    write_block(tx, OWNER, "notes", f"- oats\n{LINES}- bread\n")
    with pytest.raises(Refused, match="there are no lines 4 to 4"):
        edit_lines(tx, agent, "notes", 4, 4, "- rice")


@pytest.mark.parametrize("change", [remove_item, set_item])
def test_an_item_that_others_took_away_or_changed_is_not_touched(tx: Tx, change: Any) -> None:
    agent, more = book(tx), ("X",) if change is set_item else ()
    remove_item(tx, OWNER, "notes", "todo", 1)
    set_item(tx, OWNER, "notes", "todo", 1, "b, but two of them")
    for number in (1, 2):
        with pytest.raises(BlockChanged, match=r"It is now:\n1. b, but two of them\n2. c\n$"):
            change(tx, agent, "notes", "todo", number, *more)
    with pytest.raises(Refused, match="the list had 3 when you saw it"):
        change(tx, agent, "notes", "todo", 4, *more)


def test_it_holds_for_a_block_of_which_the_document_lost_its_beginning(tx: Tx) -> None:
    """A short document, as after a thousand changes; its archives tell the rest."""
    book(tx)
    owner = replace(OWNER, policy=SHORT)
    for number in range(30):
        set_field(tx, owner, "notes", "state.note", f"Day {number}, nothing new.")
    assert load_block(tx, row(tx).id, None).document.base > 10
    agent = shown(tx)
    set_field(tx, owner, "notes", "state.note", "Day 29, nothing new. Ask about the dentist.")
    remove_item(tx, owner, "notes", "todo", 1)
    set_field(tx, agent, "notes", "state.note", "Day 30, nothing new.")
    remove_item(tx, agent, "notes", "todo", 2)
    assert "Day 30, nothing new. Ask about the dentist." in content(tx)
    assert "## todo\n1. c\n" in content(tx)


# ------------------------------------------------------------------------------------------------ the same, twice


def test_items_that_others_added_just_so_meanwhile_are_not_added_twice(tx: Tx) -> None:
    made(tx, new(schema=ListSchema()))
    for item in ("a", "b"):
        add_item(tx, OWNER, "notes", "", item)
    agent = shown(tx)
    set_field(tx, OWNER, "notes", "", ["x", "a", "b", "c"])
    set_field(tx, agent, "notes", "", ["a", "b", "c", "d"])
    assert content(tx) == "1. x\n2. a\n3. b\n4. c\n5. d\n"
    agent = shown(tx)
    set_field(tx, OWNER, "notes", "", ["x", "y"])
    set_field(tx, agent, "notes", "", ["x", "y"])
    assert content(tx) == "1. x\n2. y\n"
