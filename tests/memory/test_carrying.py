"""What another turn carried over of words that go: it took them away, and said them again in its own."""

import json
from dataclasses import replace

import pytest

from memory import blocks, messages
from memory.audience import Trust
from memory.blocks.following import unwrite_person
from memory.database import Tx
from memory.documents.schemas import Field, FieldType, ListSchema, MapSchema
from memory.messages import Said
from tests.memory.parts import ANN, BOB, GUILD, NOON, STAR, begun, store, taken
from tests.memory.test_block_following import LATER, author, block, delete, stands


@pytest.fixture
def tx() -> Tx:
    found = store()
    block(found, "notes")
    return found


HERS = "Annie has a quxalotl"
RECORDS = ListSchema(fields=(Field(name="who"), Field(name="n", type=FieldType.NUMBER)))


@pytest.mark.parametrize("erased", [False, True])
@pytest.mark.parametrize(
    ("items", "left"),
    [
        ([HERS, "one", "two"], "1. one\n2. two\n"),
        (["one", f"{HERS} indeed", "two", "new"], "1. one\n2. two\n3. new\n"),
        (["all anew", "quxalotl of Annie, they say"], "1. all anew\n"),
        (["uno", "two", HERS], "1. uno\n2. two\n"),
    ],
)
def test_items_that_another_turn_carried_over_go_as_well(tx: Tx, items: list[str], left: str, erased: bool) -> None:
    block(tx, "list", content="", schema=ListSchema())
    others = author(begun(tx, taken(tx, 1, "one and two", person=BOB)).id)
    blocks.set_field(tx, others, "list", "", ["one", "two"])
    theirs = author(begun(tx, taken(tx, 2, "I have a quxalotl")).id)
    blocks.add_item(tx, theirs, "list", "", HERS)
    later = begun(tx, taken(tx, 3, "put it in order", person=BOB))
    blocks.set_field(tx, author(later.id), "list", "", items)
    said = Said(later.id, 1, later.place, STAR, BOB, "Star", "assistant", "", "discord", GUILD, Trust.AGENT, NOON)
    call = json.dumps({"label": "list", "operation": "set_field", "value": items})
    messages.add_said(tx, replace(said, tool_call_id="c1", tool_name="context", tool_args=call))
    if erased:
        unwrite_person(tx, ANN, LATER)
    else:
        delete(tx, 2)
    assert stands(tx, "list") == left
    told = tx.all("SELECT tool_args FROM messages WHERE batch_id = ? AND agent_id IS NOT NULL", (later.id,))
    assert [row["tool_args"] for row in told] == ["{}"]


def test_a_call_that_says_one_item_again_is_emptied_whatever_its_number(tx: Tx) -> None:
    block(tx, "list", content="", schema=ListSchema())
    theirs = author(begun(tx, taken(tx, 1, "my doctor is called quxalotl")).id)
    blocks.set_field(tx, theirs, "list", "", ["p"])
    blocks.set_field(tx, theirs, "list", "", ["quxalotl", "p"])
    later = begun(tx, taken(tx, 2, "put it in order", person=BOB))
    blocks.set_field(tx, author(later.id), "list", "", ["r", "quxalotl (kept)"])
    said = Said(later.id, 1, later.place, STAR, BOB, "Star", "assistant", "", "discord", GUILD, Trust.AGENT, NOON)
    messages.add_said(tx, replace(said, tool_call_id="c1", tool_name="context", tool_args='["r", "quxalotl (kept)"]'))
    delete(tx, 1)
    assert stands(tx, "list") == "1. r\n"
    told = tx.all("SELECT tool_args FROM messages WHERE batch_id = ? AND agent_id IS NOT NULL", (later.id,))
    assert [row["tool_args"] for row in told] == ["{}"]


def test_an_item_that_another_turn_mended_goes_and_one_that_was_there_before_goes_back(tx: Tx) -> None:
    block(tx, "list", content="", schema=ListSchema())
    block(tx, "rows", content="", schema=RECORDS)
    others = author(begun(tx, taken(tx, 1, "one and two", person=BOB)).id)
    blocks.set_field(tx, others, "list", "", ["one", "two"])
    theirs = author(begun(tx, taken(tx, 2, "I have a quxalotl")).id)
    blocks.set_item(tx, theirs, "list", "", 2, HERS)
    blocks.add_item(tx, theirs, "rows", "", {"who": HERS, "n": 2})
    later = author(begun(tx, taken(tx, 3, "mend it", person=BOB)).id)
    blocks.set_item(tx, later, "list", "", 2, f"{HERS} indeed")
    blocks.set_item(tx, later, "rows", "", 1, {"who": HERS, "n": 3})
    again = author(begun(tx, taken(tx, 4, "once more", person=BOB)).id)
    blocks.set_item(tx, again, "list", "", 2, f"{HERS}, yes indeed")
    delete(tx, 2)
    assert (stands(tx, "list"), stands(tx, "rows")) == ("1. one\n2. two\n", "")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"{HERS}.\nAlpha.\nBeta!\nOmega\n", "Alpha.\nBeta!\nOmega\n"),
        ("Alpha.\nBeta! quxalotl: Annie\nOmega\n", "Alpha.\nBeta!\nOmega\n"),
        ("Beta!\nAlpha. Says Annie: she got a quxalotl!\nGamma\nOmega\n", "Beta!\nAlpha. \nGamma\nOmega\n"),
    ],
)
def test_sentences_that_another_turn_carried_over_go_as_well(tx: Tx, text: str, left: str) -> None:
    block(tx, "state", content="", schema=MapSchema(fields=(Field(name="text"),)))
    theirs = author(begun(tx, taken(tx, 1, "I have a quxalotl")).id)
    blocks.set_field(tx, theirs, "state", "text", f"{HERS}.")
    others = author(begun(tx, taken(tx, 2, "alpha", person=BOB)).id)
    blocks.write_block(tx, others, "notes", "Alpha.\nBeta!\nOmega\n")
    blocks.write_block(tx, theirs, "notes", f"Alpha.\nBeta!\n{HERS}.\nOmega\n")
    later = author(begun(tx, taken(tx, 3, "put it in order", person=BOB)).id)
    blocks.write_block(tx, later, "notes", text)
    blocks.set_field(tx, later, "state", "text", "quxalotl: Annie")
    delete(tx, 1)
    assert (stands(tx, "notes"), stands(tx, "state")) == (left, "text:\n")


def test_what_another_turn_wrote_of_its_own_stays(tx: Tx) -> None:
    """That it shares words is no carrying over: nothing went in its place."""
    block(tx, "list", content="", schema=ListSchema())
    theirs = author(begun(tx, taken(tx, 1, "I have a quxalotl")).id)
    blocks.add_item(tx, theirs, "list", "", HERS)
    blocks.append_block(tx, theirs, "notes", f"{HERS} ")
    later = author(begun(tx, taken(tx, 2, "my quxalotl is green, and there are parrots", person=BOB)).id)
    blocks.append_block(tx, later, "notes", "Bob's quxalotl is green.\n")
    blocks.add_item(tx, later, "list", "", "Bob's quxalotl is green")
    blocks.replace_in_block(tx, later, "notes", HERS, "There are parrots.")
    delete(tx, 1)
    assert stands(tx, "notes") == "Kept.\nThere are parrots.Bob's quxalotl is green.\n"
    assert stands(tx, "list") == "1. Bob's quxalotl is green\n"
