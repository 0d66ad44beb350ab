"""Who may let more people know a block: only whose words it holds, all of them, and its past stays where it was."""

import dataclasses
import json
from typing import Any

import pytest

from memory.agenda import tasks
from memory.agenda.tasks import Task
from memory.blocks import (
    Author,
    Block,
    BlockType,
    Permission,
    add_item,
    append_block,
    find_block,
    replace_in_block,
    set_field,
    visible_blocks,
)
from memory.blocks.changes import Writer
from memory.blocks.form_edits import write
from memory.blocks.revert import Editor, by_hand
from memory.blocks.schemas import CompositeSchema, Field, FieldType, ListSchema, MapSchema, Section
from memory.blocks.shares import share_block, shares_of
from memory.blocks.store import block_history
from memory.knowledge import entry_changes
from memory.knowledge.entries import NewEntry, Origin
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust
from memory.store.database import Tx
from memory.store.errors import BlockExists, BlockRefused
from memory.store.ids import PersonId, TurnId
from memory.store.records import replace
from memory.wider_audience import widen_block
from tests.memory.blocks.block_parts import ADA, BEA, DM, GUILD, IN_DM, MIA, NOW, author, blocks_store, made, new

OTHER, OLGA = PersonId("discord:8"), PersonId("terminal:owner")
HERS = Editor(MIA, (MIA,), is_owner=False, scope=IN_DM, trust=Trust.APPROVED, now=NOW)
OWNERS = Editor(OLGA, (OLGA,), is_owner=True, scope=Scope(OWNER), trust=Trust.OWNER, now=NOW)
ELSEWHERE = Audience("guild:discord:2")
MORE = "may contain more than your own words"


def place(tx: Tx, audience: Audience) -> None:
    values = {"id": f"place of {audience}", "source": "discord", "kind": "guild", "audience": audience}
    tx.insert("places", {**values, "heard_at": "2026-11-22T12:00:00.000Z"})


def turn(tx: Tx, number: int, person: PersonId, audience: Audience = DM) -> Author:
    tx.insert(
        "turns",
        {"id": number, "agent_id": ADA, "place_id": "p", "person_id": person, "audience": audience, "trust": 2,
         "status": "done", "started_at": "2026-11-22T12:00:00.000Z"},
    )  # fmt: skip
    scope = IN_DM if audience == DM else Scope(audience)
    return author(scope, turn=TurnId(number), trust=Trust.APPROVED)


def shown(tx: Tx, number: int) -> None:
    """In that turn, in her direct messages, the agent was shown what somebody else said on the server."""
    said = NewEntry("They all like tea.", Origin(Scope(GUILD), Trust.APPROVED, OTHER))
    entry = entry_changes.insert(tx, ADA, said, NOW).id
    tx.insert("turn_uses", {"turn_id": number, "kind": "entry", "row_id": entry, "audience": DM})


def widened(tx: Tx, block: Block, to: Audience = PUBLIC, hand: Editor = HERS) -> Block:
    return widen_block(tx, hand, block, block_history(tx, block.id), to)


def of_hers(tx: Tx, **more: Any) -> Block:
    return made(tx, new(audience=DM, about=MIA, **more))


def test_a_person_lets_more_people_know_what_they_said_alone_but_not_what_stood_there_before(tx: Tx) -> None:
    place(tx, GUILD)
    block = of_hers(tx, pinned=True)
    append_block(tx, turn(tx, 1, MIA), "notes", "She likes tea. Her pin is 4711.\n")
    replace_in_block(tx, turn(tx, 2, MIA), "notes", " Her pin is 4711.", "")
    share_block(tx, block, BEA, Permission.APPEND, NOW)
    found = widened(tx, find_block(tx, ADA, "notes", IN_DM), GUILD)
    for scope in (IN_DM, Scope(GUILD)):
        (seen,) = visible_blocks(tx, ADA, scope)
        assert (seen.id, seen.content, seen.audience) == (found.id, "She likes tea.\n", GUILD)
    assert (found.about, found.pinned, found.trust) == (MIA, True, Trust.APPROVED)
    assert [(each.agent, each.given) for each in shares_of(tx, found)] == [("Bea", Permission.APPEND)]
    past = block_history(tx, found.id)
    assert (past.version, past.text_at(0), past.change(1).writer) == (1, "", f"person:{MIA}")
    assert not visible_blocks(tx, ADA, Scope(ELSEWHERE))
    assert tx.all("SELECT 1 FROM block_fts WHERE block_fts MATCH '4711'") == []
    (event,) = tx.all("SELECT audience, words ->> 0 FROM activity_events WHERE words LIKE '%more people%'")
    assert tuple(event) == (DM, "let more people see the block “notes”")


@pytest.mark.parametrize(
    ("who", "words"),
    [
        (replace(HERS, person=OTHER, known=(OTHER,), scope=Scope(DM)), "may contain several people's words"),
        (OWNERS, "may contain several people's words"),
    ],
)
def test_nobody_widens_anothers_words(tx: Tx, who: Editor, words: str) -> None:
    with pytest.raises(BlockRefused, match=words):
        widened(tx, of_hers(tx), PUBLIC, who)
    with pytest.raises(BlockRefused, match=words):
        widened(tx, made(tx, new("hall", audience=GUILD)), PUBLIC, who)


@pytest.mark.parametrize("whose", ["a job's", "somebody else's", "of a turn where others spoke"])
def test_a_block_that_somebody_else_had_a_hand_in_stays(tx: Tx, whose: str) -> None:
    block = of_hers(tx)
    who = turn(tx, 1, OTHER) if whose == "somebody else's" else turn(tx, 1, MIA, GUILD)
    job = author(IN_DM, writer=Writer("job:sleep"), turn=None)
    append_block(tx, job if whose == "a job's" else replace(who, scope=IN_DM), "notes", "She seemed sad.\n")
    with pytest.raises(BlockRefused, match=MORE):
        widened(tx, block)


def test_what_the_agent_had_before_it_is_not_carried_further(tx: Tx) -> None:
    place(tx, GUILD)
    block = of_hers(tx)
    append_block(tx, turn(tx, 1, MIA), "notes", "They all like tea.\n")
    shown(tx, 1)
    empty = made(tx, new("plans", audience=ELSEWHERE)).id  # is shown, but tells nothing
    tx.insert("turn_uses", {"turn_id": 1, "kind": "blocks", "row_id": json.dumps([empty]), "audience": DM})
    with pytest.raises(BlockRefused, match=MORE):
        widened(tx, block, PUBLIC)
    assert widened(tx, block, GUILD).audience == GUILD


@pytest.mark.parametrize("deleted", [False, True])
def test_what_a_search_found_of_others_is_not_carried_further_either(tx: Tx, *, deleted: bool) -> None:
    place(tx, GUILD)
    block = of_hers(tx)
    append_block(tx, turn(tx, 1, MIA), "notes", "Feed the llama.\n")
    task = tasks.add(tx, Task("feed the llama", OTHER, GUILD, Trust.APPROVED, NOW, ADA))
    tx.insert("turn_uses", {"turn_id": 1, "kind": "task", "row_id": str(task.id), "audience": DM})
    if deleted:  # nobody knows any more who might know of it
        tx.run("DELETE FROM tasks")
    for to in (PUBLIC, GUILD)[: 1 + deleted]:
        with pytest.raises(BlockRefused, match=MORE):
            widened(tx, block, to)
    assert deleted or widened(tx, block, GUILD).audience == GUILD


def test_the_owner_widens_what_only_the_owner_wrote(tx: Tx) -> None:
    place(tx, GUILD)
    block = made(tx, new(audience=OWNER))
    write(by_hand(tx, OWNERS, block), block, "House rules: shoes off.\n")
    assert widened(tx, block, GUILD, OWNERS).content == "House rules: shoes off.\n"


def test_parts_are_taken_along() -> None:
    state = MapSchema(fields=(Field(name="mood"), Field(name="talks", type=FieldType.COUNTER)))
    both = CompositeSchema(sections=(Section(name="state", schema=state), Section(name="tasks", schema=ListSchema())))
    for schema in (both, state, ListSchema()):
        with blocks_store() as tx:
            block, who = of_hers(tx, schema=schema), turn(tx, 1, MIA)
            if isinstance(schema, ListSchema):
                add_item(tx, who, "notes", "", "walk")
            else:
                path = "state." if schema is both else ""
                set_field(tx, who, "notes", f"{path}mood", "low")
                add_item(tx, who, "notes", f"{path}talks", 3)
            before = find_block(tx, ADA, "notes", IN_DM)
            found = widened(tx, block)
            assert (found.content, found.schema) == (before.content, schema)
            assert block_history(tx, found.id).version == 1


def test_a_log_a_label_that_is_taken_and_a_lost_past_are_refused_and_nothing_changes(tx: Tx) -> None:
    block = of_hers(tx)
    append_block(tx, turn(tx, 1, MIA), "notes", "tea\n")
    with pytest.raises(BlockRefused, match="is a log"):
        widened(tx, block._replace(type=BlockType.LOG))
    past = block_history(tx, block.id)
    with pytest.raises(BlockRefused, match=MORE):
        widen_block(tx, HERS, block, dataclasses.replace(past, start=1, changes=()), PUBLIC)
    assert find_block(tx, ADA, "notes", IN_DM).content == "tea\n"
    made(tx, new(audience=PUBLIC))
    with pytest.raises(BlockExists):
        widened(tx, block)
