"""What agents wrote into blocks follows the words that it came from."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import structlog

from memory import activity, blocks, inbox, messages, turns
from memory.activity import Kind, NewEvent
from memory.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.blocks import Author, BlockType, NewBlock, history
from memory.blocks.erasing import forget_past
from memory.blocks.following import unwrite, unwrite_person
from memory.blocks.repair import verify_block
from memory.blocks.rows import share_peer
from memory.blocks.shortening import Limits
from memory.blocks.storage import CheckpointPolicy
from memory.blocks.warm import WarmBlocks
from memory.database import Rows, Tx
from memory.documents.changes import SYSTEM, Deed, agent_writer, person_writer
from memory.documents.packing import unpack
from memory.documents.past import Past
from memory.documents.schemas import Field, FieldType, ListSchema, LogSchema, MapSchema
from memory.errors import BlockRefused, Refused
from memory.following import narrow_message
from memory.ids import BlockId, PersonId, PlaceId, TurnId
from memory.inbox import Heard, InRow
from memory.messages import Message, Said
from memory.turns import Turn
from memory.widening import widen_block
from tests.memory.parts import ANN, BOB, GUILD, NOON, STAR, arrival, begun, store, taken

OWNER_ID = PersonId("terminal:owner")
LATER = NOON + timedelta(minutes=1)


@pytest.fixture
def tx() -> Tx:
    found = store()
    for label in ("notes", "plans"):
        block(found, label)
    return found


def block(tx: Tx, label: str, audience: Audience = GUILD, content: str = "Kept.\n", **change: Any) -> None:
    kind = BlockType.WORKING
    change = {"char_limit": 100} | change
    new = NewBlock(STAR, label, "Notes.", audience, Trust.AGENT, type=kind, content=content, **change)
    blocks.create_block(tx, new, SYSTEM, NOON)


def author(turn: TurnId, audience: Audience = GUILD) -> Author:
    return Author(STAR, Scope(audience), agent_writer(STAR), Trust.AGENT, NOON, turn)


def stands(tx: Tx, label: str, audience: Audience = GUILD) -> str:
    return blocks.find_block(tx, STAR, label, Scope(audience)).content


def delete(tx: Tx, number: int) -> None:
    gone = arrival(number, "", external_id=f"{number}!", kind="delete", at=LATER)
    assert inbox.accept(tx, gone, NOON) is not None


def edit(tx: Tx, number: int, text: str) -> None:
    other = arrival(number, text, external_id=f"{number}@{text}", kind="edit", at=LATER)
    assert inbox.accept(tx, other, NOON) is not None


def message_of(tx: Tx, row: InRow) -> Message:
    assert row.message is not None
    return messages.by_ids(tx, [row.message], Scope(row.audience))[0]


def test_what_was_written_from_a_deleted_message_is_taken_back(tx: Tx) -> None:
    """In words of its own: nobody can tell whose they are, and no other words were there."""
    turn = begun(tx, taken(tx, 1, "they fired me yesterday"))
    blocks.append_block(tx, author(turn.id), "notes", "Ann lost her job.\n")
    blocks.replace_in_block(tx, author(turn.id), "plans", "Kept", "Look for work")
    delete(tx, 1)
    assert (stands(tx, "notes"), stands(tx, "plans")) == ("Kept.\n", "Kept.\n")


def test_what_the_owner_took_away_and_brought_back_goes_with_the_message_all_the_same(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "they fired me yesterday"))
    made = blocks.append_block(tx, author(turn.id), "notes", "Ann lost her job.\n")
    hand = history.Hand(OWNER_ID, (OWNER_ID,), True, Scope(OWNER), Trust.OWNER, NOON)
    history.write(history.by_hand(tx, hand, made), "Another matter.\n")
    now = blocks.find_block(tx, STAR, "notes", Scope(GUILD))
    history.undo(history.by_hand(tx, hand, now), person_writer(OWNER_ID))
    assert stands(tx, "notes") == "Kept.\nAnn lost her job.\n"
    delete(tx, 1)
    assert stands(tx, "notes") == "Kept.\n"


@pytest.mark.parametrize("text", ["yes", "yes please", "ja", "👍"])
def test_a_bare_yes_takes_back_what_it_led_to(tx: Tx, text: str) -> None:
    turn = begun(tx, taken(tx, 1, text))
    blocks.append_block(tx, author(turn.id), "notes", "The PIN is 0042.\n")
    edit(tx, 1, "yes, please do")
    assert stands(tx, "notes") == "Kept.\nThe PIN is 0042.\n", "nothing was taken out"
    delete(tx, 1)
    assert stands(tx, "notes") == "Kept.\n"


def test_what_came_before_and_after_stays(tx: Tx) -> None:
    first, second, third = (begun(tx, taken(tx, number, f"words {number}")) for number in (1, 2, 3))
    blocks.append_block(tx, author(first.id), "notes", "one\n")
    blocks.append_block(tx, author(second.id), "notes", "two\n")
    blocks.append_block(tx, author(third.id), "notes", "three\n")
    delete(tx, 2)
    assert stands(tx, "notes") == "Kept.\none\nthree\n"


def test_the_history_shows_that_the_system_took_it_back(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "my cat is Bolt"))
    made = blocks.append_block(tx, author(turn.id), "notes", "Ann's cat is Bolt.\n")
    delete(tx, 1)
    last = history.past_of_block(tx, made.id).steps[-1].change
    assert (last.writer, last.note.deed, last.note.whose) == (SYSTEM, "revert", agent_writer(STAR))


def test_of_several_messages_only_what_shares_their_words_goes(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "my dentist is on Elm Street"), taken(tx, 2, "my cat is called Bolt"))
    blocks.append_block(tx, author(turn.id), "notes", "The dentist: Elm Street.\n")
    blocks.append_block(tx, author(turn.id), "plans", "Feed Bolt.\n")
    delete(tx, 1)
    assert (stands(tx, "notes"), stands(tx, "plans")) == ("Kept.\n", "Kept.\nFeed Bolt.\n")
    delete(tx, 2)
    assert stands(tx, "plans") == "Kept.\n"


def test_an_edit_takes_what_holds_the_words_that_went(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "my sister Greta likes tea"))
    blocks.append_block(tx, author(turn.id), "notes", "The sister is Greta.\n")
    blocks.append_block(tx, author(turn.id), "plans", "Buy tea.\n")
    edit(tx, 1, "my sister likes tea")
    assert (stands(tx, "notes"), stands(tx, "plans")) == ("Kept.\n", "Kept.\nBuy tea.\n")
    delete(tx, 1)
    assert (stands(tx, "notes"), stands(tx, "plans")) == ("Kept.\n", "Kept.\n")


def test_a_word_of_which_only_a_part_was_written_counts(tx: Tx) -> None:
    block(tx, "names", content="Marie\n")
    turn = begun(tx, taken(tx, 1, "she is Marianne now"))
    blocks.replace_in_block(tx, author(turn.id), "names", "ie", "ianne")
    edit(tx, 1, "she is here now")
    assert stands(tx, "names") == "Marie\n"


def test_what_members_wrote_for_a_turn_goes_too(tx: Tx) -> None:
    root = begun(tx, taken(tx, 1, "they fired me"))
    part = Turn(
        turns.new_turn_id(), STAR, None, root.place, ANN, Scope(GUILD), Trust.SYSTEM, (), 0, NOON, parent=root.id
    )
    turns.begin(tx, part)
    blocks.append_block(tx, author(part.id), "notes", "Ann lost her job.\n")
    delete(tx, 1)
    assert stands(tx, "notes") == "Kept.\n"


def test_what_stood_there_comes_back_even_beyond_the_limit(tx: Tx) -> None:
    block(tx, "full", content=f"A {'x' * 90} Z")
    turn = begun(tx, taken(tx, 1, "shorten it to Bolt"))
    blocks.replace_in_block(tx, author(turn.id), "full", "x" * 90, "Bolt")
    blocks.append_block(tx, author(begun(tx, taken(tx, 2)).id), "full", " and more")
    delete(tx, 1)
    assert stands(tx, "full") == f"A {'x' * 90} Z and more"


def test_fields_go_back_as_texts_do(tx: Tx) -> None:
    fields = (Field(name="mood"), Field(name="pets", type=FieldType.LIST))
    schema = MapSchema(fields=fields)
    block(tx, "about", content="", schema=schema)
    first, second = begun(tx, taken(tx, 1, "I am glad")), begun(tx, taken(tx, 2, "I am sad, and Bolt is my cat"))
    blocks.set_field(tx, author(first.id), "about", "mood", "glad")
    blocks.set_field(tx, author(second.id), "about", "mood", "sad")
    blocks.add_item(tx, author(second.id), "about", "pets", "Bolt")
    delete(tx, 2)
    assert "glad" in stands(tx, "about")
    assert "Bolt" not in stands(tx, "about")


def test_twice_takes_back_once(tx: Tx) -> None:
    row = taken(tx, 1, "call it Bolt")
    turn = begun(tx, row)
    blocks.replace_in_block(tx, author(turn.id), "notes", "Kept", "Bolt")
    old = message_of(tx, row)
    assert unwrite(tx, old, LATER) == 1
    assert unwrite(tx, old, LATER) == 0
    assert stands(tx, "notes") == "Kept.\n"


@pytest.mark.parametrize("used", [False, True])
def test_where_the_activity_is_forgotten_blocks_are_looked_at(tx: Tx, used: bool) -> None:
    turn = begun(tx, taken(tx, 1, "they fired me"))
    blocks.append_block(tx, author(turn.id), "notes", "Ann lost her job.\n")
    if used:
        said = Said(turn.id, 2, turn.place, STAR, ANN, "Star", "tool", "done", "discord", GUILD, Trust.AGENT, NOON, "c")
        messages.add_said(tx, said)
    activity.forget_before(tx, NOON + timedelta(days=1))
    delete(tx, 1)
    assert stands(tx, "notes") == ("Kept.\n" if used else "Kept.\nAnn lost her job.\n")


def test_what_an_old_turn_wrote_goes_also_when_newer_ones_are_remembered(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "they fired me yesterday"))
    blocks.append_block(tx, author(turn.id), "notes", "Ann lost her job.\n")
    said = Said(turn.id, 2, turn.place, STAR, ANN, "Star", "tool", "done", "discord", GUILD, Trust.AGENT, NOON, "c")
    messages.add_said(tx, said)
    activity.forget_before(tx, NOON + timedelta(days=1))
    row = taken(tx, 2, "(edited)")
    tx.run("UPDATE messages SET role = 'system' WHERE id = ?", (row.message,))
    tx.run("UPDATE inbox SET about_id = (SELECT min(id) FROM messages) WHERE id = ?", (row.id,))
    newer = begun(tx, row)
    event = NewEvent(Kind.TOOL, "used something", GUILD, Trust.AGENT, STAR, turn=newer.id)
    activity.note(tx, event, LATER)
    delete(tx, 1)
    assert stands(tx, "notes") == "Kept.\n"


def test_words_kept_to_fewer_leave_the_blocks_of_others(tx: Tx) -> None:
    alone = person_audience(ANN)
    block(tx, "alone", alone)
    row = taken(tx, 1, "they fired me")
    turn = begun(tx, row)
    blocks.append_block(tx, author(turn.id), "notes", "Ann lost her job.\n")
    blocks.append_block(tx, author(turn.id, alone), "alone", "Ann lost her job.\n")
    narrow_message(tx, message_of(tx, row), alone, LATER)
    assert stands(tx, "notes") == "Kept.\n"
    assert stands(tx, "alone", alone) == "Kept.\nAnn lost her job.\n"


def test_a_list_with_a_default_goes_back_too(tx: Tx) -> None:
    fields = (Field(name="plans", type=FieldType.LIST, default=["rest"]), Field(name="mood"))
    block(tx, "state", content="", schema=MapSchema(fields=fields))
    turn = begun(tx, taken(tx, 1, "my locker code is 4711"))
    blocks.add_item(tx, author(turn.id), "state", "plans", "Ann's locker code is 4711")
    assert "4711" in stands(tx, "state")
    delete(tx, 1)
    assert "4711" not in stands(tx, "state")
    assert "rest" in stands(tx, "state")


def test_entries_of_a_log_go_as_well_and_those_of_other_turns_stay(tx: Tx) -> None:
    block(
        tx,
        "seen",
        content="",
        schema=LogSchema(fields=(Field(name="what", required=True),), display_limit=2),
        char_limit=500,
    )
    said_and_kept = [("it rains", "rain"), ("my locker code is 4711", "Locker code: 4711"), ("the ferry", "harbour")]
    for number, (said, kept) in enumerate(said_and_kept, 1):
        turn = begun(tx, taken(tx, number, said))
        blocks.add_item(
            tx, replace(author(turn.id), now=NOON + timedelta(milliseconds=720 * number)), "seen", "", {"what": kept}
        )
    delete(tx, 2)
    assert "4711" not in stands(tx, "seen")
    assert [word in stands(tx, "seen") for word in ("rain", "harbour")] == [True, True]
    newest = history.past_of_block(tx, blocks.find_block(tx, STAR, "seen", Scope(GUILD)).id).steps[-1].change
    assert (newest.writer, newest.note.deed) == (SYSTEM, Deed.REVERT)


_DAMAGE = (
    "UPDATE memory_block_updates SET update_blob = x'00'",
    "UPDATE memory_block_checkpoints SET snapshot = x'00'",
)


@pytest.mark.parametrize("damages", [_DAMAGE[:1], _DAMAGE])
def test_a_damaged_block_is_repaired_and_loses_the_words(tx: Tx, damages: tuple[str, ...]) -> None:
    turn = begun(tx, taken(tx, 1, "my locker code is 4711"))
    blocks.append_block(tx, author(turn.id), "notes", "Ann's locker code is 4711.\nShe likes tea.\n")
    damaged = blocks.find_block(tx, STAR, "notes", Scope(GUILD)).id
    for damage in damages:
        tx.run(f"{damage} WHERE block_id = ?", (damaged,))
    tx.kept(WarmBlocks).clear()
    delete(tx, 1)
    assert "4711" not in stands(tx, "notes")
    assert "Kept." in stands(tx, "notes")
    assert tx.one("SELECT outcome FROM memory_block_repairs WHERE block_id = ?", (damaged,)) is not None


def test_what_was_written_before_the_history_that_is_kept_goes_by_its_lines(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "my locker code is 4711"))
    text = "Ann's locker code is 4711.\nAnn keeps a code of honour, and tea in her locker at work.\n"
    blocks.append_block(tx, author(turn.id), "notes", text)
    kept = blocks.find_block(tx, STAR, "notes", Scope(GUILD)).id
    short = CheckpointPolicy(updates=1, limits=Limits(changes=3, recent=1, keep=timedelta(0)))
    late = replace(author(begun(tx, taken(tx, 2, "hello")).id), policy=short)
    for day, (old, new) in enumerate([("Kept.", "Held."), ("Held.", "Kept.")] * 4):
        blocks.replace_in_block(tx, replace(late, now=NOON + timedelta(days=day)), "notes", old, new)
    assert history.past_of_block(tx, kept).start > 2, "the history was cut"
    delete(tx, 1)
    assert stands(tx, "notes") == "Kept.\nAnn keeps a code of honour, and tea in her locker at work.\n"


def test_words_that_cannot_be_taken_out_are_logged(tx: Tx, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = begun(tx, taken(tx, 1, "my locker code is 4711"))
    blocks.append_block(tx, author(turn.id), "notes", "Ann's locker code is 4711.\n")
    blocks.append_block(tx, author(turn.id), "plans", "Ann's locker code is 4711.\n")
    broken = blocks.find_block(tx, STAR, "notes", Scope(GUILD)).id
    whole = history.past_of_block

    def past(rows: Rows, block: BlockId) -> Past:
        if block == broken:
            raise BlockRefused("no")
        return whole(rows, block)

    monkeypatch.setattr("memory.blocks.following.past_of_block", past)
    with structlog.testing.capture_logs() as logged:
        delete(tx, 1)
    assert [(each["log_level"], each["block"]) for each in logged] == [("warning", broken)]
    assert stands(tx, "plans") == "Kept.\n", "the other one went all the same"


def test_entries_of_a_log_whose_history_was_cut_go_by_their_words(tx: Tx) -> None:
    block(tx, "seen", content="", schema=LogSchema(), char_limit=500)
    turn = begun(tx, taken(tx, 1, "my locker code is 4711"))
    blocks.add_item(tx, author(turn.id), "seen", "", "Locker code: 4711")
    short = CheckpointPolicy(updates=1, limits=Limits(changes=3, recent=1, keep=timedelta(0)))
    late = replace(author(begun(tx, taken(tx, 2, "hello")).id), policy=short)
    for day in range(6):
        blocks.add_item(tx, replace(late, now=NOON + timedelta(days=day)), "seen", "", f"Day {day} was dry.")
    delete(tx, 1)
    assert "4711" not in stands(tx, "seen")
    assert stands(tx, "seen").count("was dry") == 6


def words_of_file(tx: Tx) -> str:
    """All that stands in blocks and in what is kept of their past, as stored."""
    found = [
        value
        for row in (
            *tx.all("SELECT * FROM memory_blocks"),
            *tx.all("SELECT * FROM memory_block_updates"),
            *tx.all("SELECT * FROM memory_block_checkpoints"),
            *tx.all("SELECT * FROM memory_block_archives"),
        )
        for value in row
    ]
    return " ".join(
        unpack(value).decode("utf-8", "replace") if isinstance(value, bytes) else str(value) for value in found
    )


@pytest.mark.parametrize("undone", [False, True])
def test_an_agent_does_not_bring_back_what_was_taken_back(tx: Tx, undone: bool) -> None:
    first = begun(tx, taken(tx, 1, "my code is 4711"))
    blocks.append_block(tx, author(first.id), "notes", "Code 4711.\n")
    second = author(begun(tx, taken(tx, 2, "other words")).id)
    if undone:
        history.undo(history.by_agent(tx, second, "notes"), agent_writer(STAR))
    delete(tx, 1)
    assert stands(tx, "notes") == "Kept.\n"
    for go in (history.redo, history.undo):
        with pytest.raises(Refused, match="came words that were taken back"):
            go(history.by_agent(tx, second, "notes"), agent_writer(STAR))
    blocks.append_block(tx, second, "notes", "More.\n")
    history.undo(history.by_agent(tx, second, "notes"), agent_writer(STAR))
    assert stands(tx, "notes") == "Kept.\n"
    history.redo(history.by_agent(tx, second, "notes"), agent_writer(STAR))
    assert stands(tx, "notes") == "Kept.\nMore.\n"


@pytest.mark.parametrize("changed", [None, "my dentist is on a street"])
def test_where_nothing_was_taken_back_it_is_undone_as_before(tx: Tx, changed: str | None) -> None:
    turn = begun(tx, taken(tx, 1, "my dentist is on Elm Street"), taken(tx, 2, "my cat is called Bolt", person=BOB))
    blocks.append_block(tx, author(turn.id), "notes", "The dentist: Elm Street.\n")
    blocks.append_block(tx, author(turn.id), "plans", "Feed Bolt.\n")
    delete(tx, 1) if changed is None else edit(tx, 1, changed)
    second = author(begun(tx, taken(tx, 3, "other words")).id)
    history.undo(history.by_agent(tx, second, "plans"), agent_writer(STAR))
    assert (stands(tx, "notes"), stands(tx, "plans")) == ("Kept.\n", "Kept.\n")
    with pytest.raises(Refused, match="came words that were taken back"):
        history.undo(history.by_agent(tx, second, "notes"), agent_writer(STAR))


@pytest.mark.parametrize("said", [False, True])
def test_where_the_past_is_lost_only_what_ever_said_the_words_is_not_undone(tx: Tx, said: bool) -> None:
    turn = begun(tx, taken(tx, 1, "my code is 4711"))
    made = blocks.append_block(tx, author(turn.id), "notes", "My code: 4711.\n" if said else "Other words.\n")
    forget_past(tx, made.id, NOON)
    second = author(begun(tx, taken(tx, 2, "shorter")).id)
    blocks.replace_in_block(tx, second, "notes", made.content, "Short.\n")
    delete(tx, 1)
    back = history.by_agent(tx, second, "notes")
    if said:
        with pytest.raises(Refused, match="came words that were taken back"):
            history.undo(back, agent_writer(STAR))
    else:
        history.undo(back, agent_writer(STAR))
    assert stands(tx, "notes") == ("Short.\n" if said else made.content)


@pytest.mark.parametrize("owner", [False, True])
def test_of_people_the_owner_alone_brings_it_back(tx: Tx, owner: bool) -> None:
    block(tx, "human", about=ANN)
    turn = begun(tx, taken(tx, 1, "my code is 4711"))
    made = blocks.append_block(tx, author(turn.id), "human", "Code 4711.\n")
    person = OWNER_ID if owner else ANN
    hand = history.Hand(person, (person,), owner, Scope(GUILD), Trust.OWNER, NOON)
    history.write(history.by_hand(tx, hand, made), "Kept.\n")
    delete(tx, 1)
    again = history.by_hand(tx, hand, blocks.find_block(tx, STAR, "human", Scope(GUILD)))
    if owner:
        history.undo(again, person_writer(person))
        assert stands(tx, "human") == "Kept.\nCode 4711.\n"
        return
    with pytest.raises(Refused, match="came words that were taken back"):
        history.undo(again, person_writer(person))
    assert stands(tx, "human") == "Kept.\n"


@pytest.mark.parametrize("owner", [False, True])
@pytest.mark.parametrize("way", ["rollback", "revert"])
def test_of_people_the_owner_alone_goes_back_behind_it(tx: Tx, way: str, owner: bool) -> None:
    block(tx, "human", about=ANN)
    turn = begun(tx, taken(tx, 1, "her code is 4711", person=BOB))
    made = blocks.append_block(tx, author(turn.id), "human", "Code 4711.\n")
    delete(tx, 1)
    person = OWNER_ID if owner else ANN
    hand = history.Hand(person, (person,), owner, Scope(GUILD), Trust.OWNER, NOON)

    def go(version: int) -> None:
        back = history.by_hand(tx, hand, blocks.find_block(tx, STAR, "human", Scope(GUILD)))
        if way == "rollback":
            history.roll_back(back, version)
        else:
            history.revert(back, history.past_of_block(tx, made.id), SYSTEM, version)

    if owner:
        go(made.version)
        assert stands(tx, "human") == "Kept.\nCode 4711.\n"
        return
    with pytest.raises(Refused, match="words that were taken back"):
        go(made.version)
    assert stands(tx, "human") == "Kept.\n"
    later = blocks.append_block(tx, author(turn.id), "human", "More.\n")
    after = history.by_hand(tx, hand, later)
    if way == "rollback":
        history.roll_back(after, later.version - 1)
    else:
        past = history.past_of_block(tx, made.id)
        history.revert(after, past, agent_writer(STAR), later.version - 1)
    assert stands(tx, "human") == "Kept.\n"


def test_a_block_that_was_deleted_is_emptied(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "my code is 4711"))
    blocks.append_block(tx, author(turn.id), "notes", "Code 4711.\n")
    tx.run("UPDATE memory_blocks SET deleted_at = updated_at WHERE label = 'notes'")
    delete(tx, 1)
    assert "4711" not in words_of_file(tx)
    assert stands(tx, "plans") == "Kept.\n"


# ---------------------------------------------------------------- erasing a person


def test_erasing_takes_what_agents_wrote_from_the_person_and_the_past_of_it(tx: Tx) -> None:
    theirs, others = begun(tx, taken(tx, 1, "they fired me")), begun(tx, taken(tx, 2, "nice weather", person=BOB))
    blocks.append_block(tx, author(theirs.id), "notes", "Ann is jobless.\n")
    blocks.append_block(tx, author(others.id), "notes", "Sun at Bob's.\n")
    blocks.append_block(tx, author(others.id), "plans", "Swim.\n")
    hand = history.Hand(OWNER_ID, (OWNER_ID,), True, Scope(OWNER), Trust.OWNER, NOON)
    history.write(history.by_hand(tx, hand, blocks.find_block(tx, STAR, "notes", Scope(GUILD))), "Gone.\n")
    history.undo(history.by_hand(tx, hand, blocks.find_block(tx, STAR, "notes", Scope(GUILD))), person_writer(OWNER_ID))
    unwrite_person(tx, ANN, LATER)
    assert (stands(tx, "notes"), stands(tx, "plans")) == ("Kept.\nSun at Bob's.\n", "Kept.\nSwim.\n")
    assert "jobless" not in words_of_file(tx)
    after = blocks.append_block(tx, author(others.id), "notes", "More.\n")
    assert history.past_of_block(tx, after.id).version == after.version
    assert verify_block(tx, after.id) == []
    with pytest.raises(Refused):
        history.roll_back(history.by_hand(tx, hand, after), 2)


def test_erasing_leaves_of_a_shared_turn_what_holds_none_of_the_words(tx: Tx) -> None:
    both = begun(tx, taken(tx, 1, "my dog Fido"), taken(tx, 2, "my cat Minka", person=BOB))
    blocks.append_block(tx, author(both.id), "notes", "Ann: Fido.\n")
    blocks.append_block(tx, author(both.id), "notes", "Bob: Minka.\n")
    unwrite_person(tx, ANN, LATER)
    assert stands(tx, "notes") == "Kept.\nBob: Minka.\n"
    assert "Fido" not in words_of_file(tx)


def test_erasing_empties_fields_and_their_past(tx: Tx) -> None:
    schema = MapSchema(fields=(Field(name="pet", type=FieldType.TEXT), Field(name="seen", type=FieldType.LIST)))
    block(tx, "facts", content="", schema=schema)
    theirs, others = begun(tx, taken(tx, 1, "my dog Fido")), begun(tx, taken(tx, 2, "hello", person=BOB))
    blocks.set_field(tx, author(theirs.id), "facts", "pet", "Fido")
    blocks.add_item(tx, author(others.id), "facts", "seen", "Bob")
    unwrite_person(tx, ANN, LATER)
    found = blocks.find_block(tx, STAR, "facts", Scope(GUILD))
    assert "Bob" in found.content
    assert "Fido" not in words_of_file(tx)
    blocks.set_field(tx, author(others.id), "facts", "pet", "Rex")
    assert "pet: Rex" in stands(tx, "facts")
    assert verify_block(tx, found.id) == []


def test_erasing_empties_what_was_deleted(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "my code is 4711"))
    blocks.append_block(tx, author(turn.id), "notes", "Code 4711.\n")
    tx.run("UPDATE memory_blocks SET deleted_at = updated_at WHERE label = 'notes'")
    unwrite_person(tx, ANN, LATER)
    assert "4711" not in words_of_file(tx)


def test_erasing_takes_the_lines_of_a_block_whose_past_is_lost(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "my code is 4711"))
    made = blocks.append_block(tx, author(turn.id), "notes", "My code: 4711.\n")
    forget_past(tx, made.id, LATER)
    unwrite_person(tx, ANN, LATER)
    assert stands(tx, "notes") == "Kept.\n"
    assert "4711" not in words_of_file(tx)


def test_lines_between_those_that_go_stay_their_writers(tx: Tx) -> None:
    first = author(begun(tx, taken(tx, 1, "my parrot is called Rex")).id)
    made = blocks.append_block(tx, first, "notes", "My parrot is Rex.\n")
    forget_past(tx, made.id, NOON)
    second = author(begun(tx, taken(tx, 2, "other words", person=BOB)).id)
    blocks.append_block(tx, second, "notes", "It is sunny.\nThe parrot Rex again.\n")
    delete(tx, 1)
    blamed = history.past_of_block(tx, made.id).weave.blame()
    assert [(each.text, each.change and each.change.turn) for each in blamed][1:] == [("It is sunny.\n", second.turn)]


@pytest.mark.parametrize("erased", [False, True])
def test_fields_and_items_whose_history_is_lost_go_by_their_words(tx: Tx, erased: bool) -> None:
    fields = Field(name="pet", type=FieldType.TEXT), Field(name="seen", type=FieldType.LIST)
    rows = ListSchema(fields=(Field(name="title", type=FieldType.TEXT), Field(name="done", type=FieldType.BOOLEAN)))
    block(tx, "facts", content="", schema=MapSchema(fields=fields))
    block(tx, "list", content="", schema=rows)
    both = author(begun(tx, taken(tx, 1, "my parrot is called Rex", person=BOB)).id)
    blocks.set_field(tx, both, "facts", "pet", "The parrot Rex.\nIt likes nuts and water.")
    blocks.set_field(tx, both, "facts", "seen", ["Rex the parrot", "Minka"])
    blocks.add_item(tx, both, "list", "", {"title": "Feed Rex"})
    blocks.add_item(tx, both, "list", "", {"title": "Buy hay"})
    for label in ("facts", "list"):
        forget_past(tx, blocks.find_block(tx, STAR, label, Scope(GUILD)).id, NOON)
    if erased:
        unwrite_person(tx, BOB, LATER)
        assert "Rex" not in words_of_file(tx)
    else:
        delete(tx, 1)
    assert stands(tx, "facts") == "pet: It likes nuts and water.\nseen:\n1. Minka\n"
    assert ("Rex" in stands(tx, "list"), "Buy hay" in stands(tx, "list")) == (False, True)


@pytest.mark.parametrize("long", [False, True])
def test_erasing_takes_what_the_person_wrote_by_hand(tx: Tx, long: bool) -> None:
    """Which the owner may in every block."""
    others = begun(tx, taken(tx, 1, "nice weather", person=BOB))
    blocks.append_block(tx, author(others.id), "notes", "Sun at Bob's.\n")
    made = blocks.find_block(tx, STAR, "notes", Scope(GUILD))
    if long:
        share_peer(tx, made.id)
    policy = CheckpointPolicy(updates=1)
    hand = history.Hand(OWNER_ID, (OWNER_ID,), True, Scope(OWNER), Trust.OWNER, NOON, policy)
    history.write(history.by_hand(tx, hand, made), f"{made.content}My code: 4711.\n")
    kept = blocks.find_block(tx, STAR, "plans", Scope(GUILD))
    unwrite_person(tx, OWNER_ID, LATER)
    assert (stands(tx, "notes"), stands(tx, "plans")) == ("Kept.\nSun at Bob's.\n", "Kept.\n")
    assert not {word for word in ("4711", OWNER_ID) if word in words_of_file(tx)}
    assert not [row for row in tx.all("SELECT writer FROM memory_block_writers") if OWNER_ID in row["writer"]]
    assert history.past_of_block(tx, kept.id).start == 0, "others keep their history"
    assert verify_block(tx, made.id) == []
    assert blocks.append_block(tx, author(others.id), "notes", "More.\n").content.endswith("Bob's.\nMore.\n")


def test_erasing_takes_what_the_person_let_more_people_know(tx: Tx) -> None:
    dm = person_audience(ANN)
    talk = Heard(PlaceId("discord:11"), "dm", "dm", dm, ())
    block(tx, "codes", dm, content="")
    turn = begun(tx, taken(tx, 1, "my code is 4711", place=talk), scope=Scope(dm))
    taken(tx, 2, "hello", person=BOB)  # so that the hall is known
    made = blocks.append_block(tx, author(turn.id, dm), "codes", "Code 4711.\n")
    hand = history.Hand(ANN, (ANN,), False, Scope(dm, frozenset({GUILD})), Trust.APPROVED, NOON)
    widen_block(tx, hand, made, history.past_of_block(tx, made.id), GUILD)
    assert stands(tx, "codes", GUILD) == "Code 4711.\n"
    unwrite_person(tx, ANN, LATER)
    assert stands(tx, "codes", GUILD) == ""
    assert "4711" not in words_of_file(tx)


def test_words_that_another_turn_carried_over_go_as_well(tx: Tx) -> None:
    first, second = begun(tx, taken(tx, 1, "my code is 4711")), begun(tx, taken(tx, 2, "shorter", person=BOB))
    blocks.append_block(tx, author(first.id), "notes", "Ann's locker code is 4711")
    blocks.replace_in_block(tx, author(second.id), "notes", "Ann's locker code is 4711", "Number: 4711.")
    delete(tx, 1)
    assert "4711" not in stands(tx, "notes")
    assert "Number" in stands(tx, "notes")


def test_what_later_turns_repeated_while_they_changed_the_block_goes_as_well(tx: Tx) -> None:
    first, second = begun(tx, taken(tx, 1, "my code is 4711")), begun(tx, taken(tx, 2, "shorter", person=BOB))
    blocks.append_block(tx, author(first.id), "notes", "Ann's locker code is 4711")
    blocks.replace_in_block(tx, author(second.id), "notes", "Ann's locker code is 4711", "Number: 4711.")
    said = Said(second.id, 1, second.place, STAR, BOB, "Star", "assistant", "", "discord", GUILD, Trust.AGENT, NOON)
    args = json.dumps({"old_content": "Ann's locker code is 4711"})
    messages.add_said(tx, replace(said, tool_call_id="c1", tool_name="context", tool_args=args))
    messages.add_said(tx, replace(said, sequence=2, text="Now it has the code, 4711, alone."))
    messages.add_said(tx, replace(said, sequence=3, text="The code of conduct is there."))
    delete(tx, 1)
    rows = tx.all("SELECT content, tool_args FROM messages WHERE batch_id = ? AND agent_id IS NOT NULL", (second.id,))
    assert [tuple(row) for row in rows] == [("", "{}"), ("", None), ("The code of conduct is there.", None)]
