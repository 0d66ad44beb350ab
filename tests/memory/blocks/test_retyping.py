"""A block that is given another schema: the same words, by whom they were, and nothing lost without a word."""

from datetime import timedelta
from typing import Any

import pytest

from memory.blocks import (
    Block,
    NewSettings,
    add_item,
    append_block,
    find_block,
    replace_in_block,
    set_field,
    write_block,
)
from memory.blocks.changes import agent_writer, person_writer
from memory.blocks.history import blame
from memory.blocks.lifecycle import set_block_settings
from memory.blocks.lookup import block_by_id
from memory.blocks.repair import verify_block
from memory.blocks.retraction import forget_past
from memory.blocks.revert import by_agent, past_of_block, roll_back, take_back, undo
from memory.blocks.schemas import TEXT, Field, FieldType, ListSchema, LogSchema, MapSchema, Schema
from memory.blocks.store import CheckpointPolicy, Limits
from memory.store.database import Tx
from memory.store.errors import BlockChanged, Refused
from tests.memory.blocks.block_parts import ADA, IN_GUILD, MIA, NOW, author, made, new

LIST, LOG = ListSchema(), LogSchema()
STATE = MapSchema(fields=(Field(name="mood"), Field(name="plan")))
OLGA = person_writer(MIA)


def retype(tx: Tx, schema: Schema) -> Block:
    block = find_block(tx, ADA, "notes", IN_GUILD)
    return set_block_settings(tx, block, NewSettings(schema=schema), OLGA, NOW)


def written(tx: Tx) -> list[tuple[str, str]]:
    pieces = blame(past_of_block(tx, find_block(tx, ADA, "notes", IN_GUILD).id))
    return [(each.text, each.change.writer if each.change else "") for each in pieces]


def sound(tx: Tx, block: Block) -> None:
    now = find_block(tx, ADA, "notes", IN_GUILD)
    past = past_of_block(tx, block.id)
    assert past.text_at(past.version) == now.content
    assert past.replay.held.schema == now.schema
    assert not verify_block(tx, block.id)


TEXTS = [
    (LIST, "milk\nbread\n", "1. milk\n2. bread\n"),
    (STATE, "mood: calm\nplan: walk: far\n", "mood: calm\nplan: walk: far\n"),
    (STATE, "mood:\nplan: walk\n", "mood:\nplan: walk\n"),
]


@pytest.mark.parametrize(("schema", "text", "shown"), TEXTS)
def test_a_text_becomes_something_else_and_the_same_text_again(tx: Tx, schema: Schema, text: str, shown: str) -> None:
    block = made(tx, new(content=text))
    assert retype(tx, schema).content == shown
    sound(tx, block)
    assert retype(tx, TEXT).content == text
    sound(tx, block)
    assert [past_of_block(tx, block.id).text_at(version) for version in (1, 2, 3)] == [text, shown, text]
    assert retype(tx, schema).content == shown
    sound(tx, block)


def test_every_line_stays_its_writers(tx: Tx) -> None:
    made(tx, new(content="milk\n"))
    append_block(tx, author(), "notes", "bread\n")
    retype(tx, LIST)
    assert {writer for text, writer in written(tx) if "bread" in text} == {agent_writer(ADA)}
    add_item(tx, author(), "notes", "", "eggs")
    retype(tx, TEXT)
    assert written(tx) == [("milk\n", "system"), ("bread\n", agent_writer(ADA)), ("eggs\n", agent_writer(ADA))]


@pytest.mark.parametrize("schema", [LIST, STATE])
def test_what_a_turn_wrote_before_can_still_be_taken_back(tx: Tx, schema: Schema) -> None:
    block = made(tx, new(content="mood: calm\n"))
    append_block(tx, author(), "notes", "plan: rob the bank\n")
    retype(tx, schema)
    past = past_of_block(tx, block.id)
    mine = past.by(agent_writer(ADA), 0)
    take_back(by_agent(tx, author(), "notes"), past, mine)
    assert "bank" not in find_block(tx, ADA, "notes", IN_GUILD).content
    assert "calm" in find_block(tx, ADA, "notes", IN_GUILD).content
    sound(tx, block)


def test_lines_become_entries_of_a_log_by_whom_and_when_they_were_written(tx: Tx) -> None:
    block = made(tx, new(content="It rained.\n"))
    later = NOW + timedelta(hours=1)
    append_block(tx, author(now=later), "notes", "It snowed.\n")
    assert retype(tx, LOG).content == "- [2026-11-22 12:00] It rained.\n- [2026-11-22 13:00] It snowed.\n"
    sound(tx, block)
    lost = r"cannot become a text without loss: when and by whom this was added: It rained\.; .*It snowed"
    with pytest.raises(Refused, match=lost):
        retype(tx, TEXT)


@pytest.mark.parametrize("schema", [LIST, LOG])
def test_a_line_of_several_is_not_made_the_newest_ones(tx: Tx, schema: Schema) -> None:
    made(tx, new(content="Mia owes Bob\nIt rained.\n"))
    replace_in_block(tx, author(), "notes", "owes Bob", "owes Bob ten dollars")
    with pytest.raises(Refused, match=r"parts of these lines were written at different times: 1$"):
        retype(tx, schema)
    write_block(tx, author(), "notes", "It rained.\n")
    append_block(tx, author(), "notes", "Mia owes Bob ten dollars\n")
    assert "ten dollars" in retype(tx, schema).content


def test_the_name_of_a_field_goes_with_its_value(tx: Tx) -> None:
    made(tx, new(content="mood: calm\n"))
    retype(tx, STATE)
    set_field(tx, author(), "notes", "plan", "walk")
    retype(tx, LIST)
    assert {writer for text, writer in written(tx) if "plan: walk" in text} == {agent_writer(ADA)}
    assert {writer for text, writer in written(tx) if "mood: calm" in text} == {"system"}


LOSSES = [
    (TEXT, "a\n\nb", LIST, {}, "line 2, which is empty"),
    (TEXT, "a\n  b", LIST, {}, "the spaces around line 2"),
    (TEXT, "a\nb", ListSchema(max_items=1), {}, "all but 1 of 2 lines"),
    (TEXT, "mood: calm\nwalk\nrun", STATE, {}, 'line 2 is not "plan: …"; line 3 has no field'),
    (LIST, "", TEXT, {"items": ["a\nb"]}, "the lines of item 1"),
    (ListSchema(fields=(Field(name="title"),)), "", TEXT, {"items": [{"title": "a"}]}, "fields of its items: title"),
    (
        MapSchema(fields=(Field(name="energy", type=FieldType.NUMBER), Field(name="mood"))), "", TEXT,
        {"energy": 3, "mood": "a\nb"}, r"field energy \(number\); the lines or spaces of field mood",
    ),
    (MapSchema(fields=(Field(name="days", type=FieldType.COUNTER),)), "", LIST, {"days": 3}, r"days \(counter\)"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "text", "after", "values", "lost"), LOSSES)
def test_what_would_be_lost_is_listed_and_nothing_is_done(
    tx: Tx, before: Schema, text: str, after: Schema, values: dict[str, Any], lost: str
) -> None:
    block = made(tx, new(content=text, schema=before, values=values))
    with pytest.raises(Refused, match=lost):
        retype(tx, after)
    assert block_by_id(tx, ADA, block.id) == block


def test_going_back_is_refused_in_words(tx: Tx) -> None:
    made(tx, new(content="milk\n"))
    retype(tx, LIST)
    add_item(tx, author(), "notes", "", "eggs")
    edit = by_agent(tx, author(), "notes")
    with pytest.raises(Refused, match="changed to a list at version 2"):
        roll_back(edit, 1)
    assert roll_back(edit, 2).block.content == "1. milk\n"
    with pytest.raises(Refused, match="change its type back"):
        undo(edit, OLGA)
    with pytest.raises(Refused, match="a list already"):
        retype(tx, LIST)


def test_whoever_saw_it_before_is_told(tx: Tx) -> None:
    block = made(tx, new(content="milk\n"))
    retype(tx, LIST)
    with pytest.raises(BlockChanged, match=r"its type changed.*\n1\. milk"):
        set_field(tx, author(shown={block.id: 1}), "notes", "", ["bread"])


def test_a_past_that_is_forgotten_leaves_the_new_type(tx: Tx) -> None:
    block = made(tx, new(content="milk\n"))
    append_block(tx, author(), "notes", "bread\n")
    retype(tx, LIST)
    forget_past(tx, block.id, NOW)
    assert find_block(tx, ADA, "notes", IN_GUILD).content == "1. milk\n2. bread\n"
    assert any("bread" in text and writer == agent_writer(ADA) for text, writer in written(tx))


def test_a_long_past_is_cut_across_types(tx: Tx) -> None:
    short = CheckpointPolicy(updates=4, keep=2, limits=Limits(changes=8, recent=3))
    block = made(tx, new(content="0\n"))
    for number in range(1, 40):
        if number % 12 == 6:
            retype(tx, LIST)
        elif number % 12 == 0:
            retype(tx, TEXT)
        elif number % 12 > 6:
            add_item(tx, author(policy=short), "notes", "", str(number))
        else:
            append_block(tx, author(policy=short), "notes", f"{number}\n")
        sound(tx, block)
    assert find_block(tx, ADA, "notes", IN_GUILD).content.startswith("0\n1\n2\n")
