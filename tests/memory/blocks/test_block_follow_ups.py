"""What agents wrote into blocks follows the words that it came from."""

from datetime import timedelta
from typing import Any

import pytest

from memory import activity, blocks
from memory.blocks import Author, Block, BlockType, NewBlock, form_edits, revert
from memory.blocks.changes import SYSTEM, ChangeKind, Writer, agent_writer, person_writer
from memory.blocks.document import unpack
from memory.blocks.history import ChangeLog, blame
from memory.blocks.lifecycle import tell_changed
from memory.blocks.repair import verify_block
from memory.blocks.schemas import Field, FieldType, LogSchema, MapSchema
from memory.blocks.store import CheckpointPolicy, HistoryLimits, block_history, share_peer
from memory.erasure.blocks import NO_DESCRIPTION, forget_past, remove_derived, remove_of_person
from memory.erasure.edited_or_deleted_messages import narrow_message
from memory.people.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.queue import inbox, messages, turns
from memory.queue.inbox import InRow
from memory.queue.messages import Message
from memory.queue.notifications import Place
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from memory.store.errors import BlockRefused, Refused
from memory.store.ids import BlockId, PersonId, PlaceId, TurnId
from memory.store.records import replace
from memory.wider_audience import widen_block
from tests.captured_logs import capture_logs
from tests.memory.parts import ANN, BOB, GUILD, NOON, STAR, a_turn, begun, followed, notification, spoken, store, taken

OWNER_ID = PersonId("terminal:owner")
OWNERS = revert.Editor(OWNER_ID, (OWNER_ID,), True, Scope(OWNER), Trust.OWNER, NOON)
ANNS = revert.Editor(ANN, (ANN,), False, Scope(GUILD), Trust.OWNER, NOON)
LATER = NOON + timedelta(minutes=1)
COUNTER = FieldType.COUNTER


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


def say(tx: Tx, turn: Turn, text: str, **more: Any) -> None:
    messages.add(tx, spoken(turn, text, **{"audience": GUILD, **more}))


def row(tx: Tx, label: str, audience: Audience = GUILD) -> Block:
    return blocks.find_block(tx, STAR, label, Scope(audience))


def stands(tx: Tx, label: str, audience: Audience = GUILD) -> str:
    return row(tx, label, audience).content


def by_hand(tx: Tx, label: str, hand: revert.Editor = OWNERS) -> revert.Edit:
    return revert.by_hand(tx, hand, row(tx, label))


def write_by_hand(tx: Tx, label: str, text: str, hand: revert.Editor = OWNERS) -> None:
    form_edits.write(by_hand(tx, label, hand), row(tx, label), text)


def delete(tx: Tx, number: int) -> None:
    gone = notification(number, "", external_id=f"{number}!", kind="delete", at=LATER)
    assert inbox.accept(tx, gone, None, NOON) is not None
    followed(tx)


def edit(tx: Tx, number: int, text: str) -> None:
    other = notification(number, text, external_id=f"{number}@{text}", kind="edit", at=LATER)
    assert inbox.accept(tx, other, None, NOON) is not None
    followed(tx)


def message_of(tx: Tx, row: InRow) -> Message:
    assert row.message is not None
    return messages.by_ids(tx, [row.message], Scope(row.audience))[0]


def test_what_was_written_from_a_deleted_message_is_taken_back(tx: Tx) -> None:
    """In words of its own: nobody can tell whose they are, and no other words were there."""
    turn = begun(tx, taken(tx, 1, "they fired me yesterday"))
    blocks.append_block(tx, author(turn.id), "notes", "Ann lost her job.\n")
    blocks.replace_in_block(tx, author(turn.id), "plans", "Kept", "Look for work")
    new = NewBlock(STAR, "jobs", "About her job.", GUILD, Trust.AGENT, content="Ann needs a job.\n")
    made = blocks.create_block(tx, new, agent_writer(STAR), NOON, turn.id)
    tell_changed(tx, author(turn.id), made, "create")
    tx.run("UPDATE memory_blocks SET described_by = '' WHERE label = 'notes'")
    delete(tx, 1)
    assert (stands(tx, "notes"), stands(tx, "plans"), stands(tx, "jobs")) == ("Kept.\n", "Kept.\n", "")
    assert (row(tx, "notes").description, row(tx, "jobs").description) == ("Notes.", NO_DESCRIPTION)


def test_what_the_owner_took_away_and_brought_back_goes_with_the_message_all_the_same(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "they fired me yesterday"))
    blocks.append_block(tx, author(turn.id), "notes", "Ann lost her job.\n")
    write_by_hand(tx, "notes", "Another matter.\n")
    revert.undo(by_hand(tx, "notes"), person_writer(OWNER_ID))
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


def test_what_a_turn_wrote_goes_whole_with_any_of_the_messages_that_it_answered(tx: Tx) -> None:
    """Nobody can tell which of them led to what; what another turn wrote stays, also in the same words."""
    turn = begun(tx, taken(tx, 1, "my dentist is on Elm Street"), taken(tx, 2, "my cat is called Bolt"))
    other = begun(tx, taken(tx, 3, "his dentist is there too", person=BOB))
    blocks.append_block(tx, author(turn.id), "notes", "The dentist: Elm Street.\n")
    blocks.append_block(tx, author(turn.id), "plans", "Feed Bolt.\n")
    blocks.append_block(tx, author(other.id), "notes", "Bob's dentist: Elm Street.\n")
    blocks.append_block(tx, replace(author(turn.id), writer=SYSTEM), "plans", "Two turns.\n")
    delete(tx, 1)
    left = "Kept.\nTwo turns.\n"
    assert (stands(tx, "notes"), stands(tx, "plans")) == ("Kept.\nBob's dentist: Elm Street.\n", left)
    delete(tx, 3)
    assert (stands(tx, "notes"), stands(tx, "plans")) == ("Kept.\n", left), "also after something was withdrawn"


def test_an_edit_takes_what_holds_the_words_that_went(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "my sister Greta likes tea"))
    blocks.append_block(tx, author(turn.id), "notes", "The sister is Greta.\n")
    blocks.append_block(tx, author(turn.id), "plans", "Buy tea.\n")
    say(tx, turn, "Noted.", thought=messages.THOUGHT.dump(messages.Reasoning(NOON, "She is called\nGreta.", {})))
    edit(tx, 1, "my sister likes tea")
    assert not tx.number("SELECT count(*) FROM messages WHERE source_metadata LIKE '%Greta%'"), "nor what was thought"
    assert (stands(tx, "notes"), stands(tx, "plans")) == ("Kept.\n", "Kept.\nBuy tea.\n")
    delete(tx, 1)
    assert (stands(tx, "notes"), stands(tx, "plans")) == ("Kept.\n", "Kept.\n")


def test_a_word_of_which_only_a_part_was_written_counts(tx: Tx) -> None:
    block(tx, "names", content="Marie\n")
    turn = begun(tx, taken(tx, 1, "she is Marianne now"))
    blocks.replace_in_block(tx, author(turn.id), "names", "ie", "ianne")
    edit(tx, 1, "she is here now")
    assert stands(tx, "names") == "Marie\n"


@pytest.mark.parametrize("erased", [False, True])
def test_what_members_wrote_for_a_turn_goes_too(tx: Tx, erased: bool) -> None:
    root = begun(tx, taken(tx, 1, "they fired me"))
    part = a_turn(group=None, parent=root.id)
    turns.begin(tx, part)
    messages.join_batch(tx, [row["message_id"] for row in tx.all("SELECT message_id FROM inbox")], root.id)
    tx.run("DELETE FROM inbox")
    blocks.append_block(tx, author(part.id), "notes", "Ann lost her job.\n")
    remove_of_person(tx, ANN, LATER) if erased else delete(tx, 1)
    assert stands(tx, "notes") == "Kept.\n"


def test_what_stood_there_comes_back_even_beyond_the_limit(tx: Tx) -> None:
    block(tx, "full", content=f"A {'x' * 90} Z")
    turn = begun(tx, taken(tx, 1, "shorten it to Bolt"))
    blocks.replace_in_block(tx, author(turn.id), "full", "x" * 90, "Bolt")
    blocks.append_block(tx, author(begun(tx, taken(tx, 2)).id), "full", "and more")
    delete(tx, 1)
    assert stands(tx, "full") == f"A {'x' * 90} Z\nand more"


def test_twice_takes_back_once(tx: Tx) -> None:
    row = taken(tx, 1, "call it Bolt")
    turn = begun(tx, row)
    blocks.replace_in_block(tx, author(turn.id), "notes", "Kept", "Bolt")
    old = message_of(tx, row)
    assert remove_derived(tx, old, LATER) == 1
    assert remove_derived(tx, old, LATER) == 0
    assert stands(tx, "notes") == "Kept.\n"


@pytest.mark.parametrize("erased", [False, True])
def test_it_goes_as_well_when_the_activity_is_forgotten(tx: Tx, erased: bool) -> None:
    turn = begun(tx, taken(tx, 1, "they fired me"))
    blocks.append_block(tx, author(turn.id), "notes", "Ann lost her job.\n")
    activity.forget_before(tx, NOON + timedelta(days=1))
    with capture_logs() as logged:
        remove_of_person(tx, ANN, LATER) if erased else delete(tx, 1)
    assert stands(tx, "notes") == "Kept.\n"
    assert (block_history(tx, row(tx, "plans").id).start, logged) == (0, []), "another block keeps its history"


def test_words_kept_to_fewer_leave_the_blocks_of_others(tx: Tx) -> None:
    alone = person_audience(ANN)
    heard = taken(tx, 1, "they fired me")
    turn = begun(tx, heard)
    for label, audience in (("alone", alone), ("hers", GUILD)):
        new = NewBlock(STAR, label, "About her job", audience, Trust.AGENT, content="Kept.\n")
        blocks.create_block(tx, new, agent_writer(STAR), NOON, turn.id)
    blocks.append_block(tx, author(turn.id), "notes", "Ann lost her job.\n")
    blocks.append_block(tx, author(turn.id, alone), "alone", "Ann lost her job.\n")
    narrow_message(tx, message_of(tx, heard), alone, LATER)
    assert stands(tx, "notes") == "Kept.\n"
    assert stands(tx, "alone", alone) == "Kept.\nAnn lost her job.\n"
    assert [row(tx, *which).description for which in (("alone", alone), ("hers", GUILD))] == [
        "About her job", NO_DESCRIPTION,
    ]  # fmt: skip


def test_what_an_agent_added_to_a_log_goes_with_the_message(tx: Tx) -> None:
    log = NewBlock(STAR, "seen", "What happened.", GUILD, Trust.AGENT, BlockType.LOG, schema=LogSchema())
    blocks.create_block(tx, log, SYSTEM, NOON)
    for number, (said, kept) in enumerate((("it rains", "rain"), ("my code is oryx", "code oryx")), 1):
        blocks.append_block(tx, author(begun(tx, taken(tx, number, said)).id), "seen", kept)
    delete(tx, 2)
    assert [word in stands(tx, "seen") for word in ("rain", "oryx")] == [True, False]


def test_entries_of_a_log_go_as_well_and_those_of_other_turns_stay(tx: Tx) -> None:
    block(
        tx,
        "seen",
        content="",
        schema=LogSchema(fields=(Field(name="what", required=True),), display_limit=2),
        char_limit=500,
    )
    said_and_kept = [("it rains", "rain"), ("my locker code is oryx", "Locker code: oryx"), ("the ferry", "harbour")]
    for number, (said, kept) in enumerate(said_and_kept, 1):
        turn = begun(tx, taken(tx, number, said))
        blocks.add_item(
            tx, replace(author(turn.id), now=NOON + timedelta(milliseconds=720 * number)), "seen", "", {"what": kept}
        )
    delete(tx, 2)
    assert "oryx" not in stands(tx, "seen")
    assert [word in stands(tx, "seen") for word in ("rain", "harbour")] == [True, True]
    newest = block_history(tx, row(tx, "seen").id).changes[-1]
    assert (newest.writer, newest.note.kind) == (SYSTEM, ChangeKind.REVERT)


_DAMAGE = (
    "UPDATE memory_block_updates SET update_blob = x'00'",
    "UPDATE memory_block_checkpoints SET snapshot = x'00'",
)


@pytest.mark.parametrize("damages", [_DAMAGE[:1], _DAMAGE])
def test_what_a_damaged_block_knows_no_writer_of_stays_and_is_logged(tx: Tx, damages: tuple[str, ...]) -> None:
    turn = begun(tx, taken(tx, 1, "my locker code is oryx"))
    blocks.append_block(tx, author(turn.id), "notes", "Ann's locker code is oryx.\nShe likes tea.\n")
    damaged = row(tx, "notes").id
    for damage in damages:
        tx.run(f"{damage} WHERE block_id = ?", (damaged,))
    with capture_logs() as logged:
        delete(tx, 1)
    assert stands(tx, "notes") == "Kept.\nAnn's locker code is oryx.\nShe likes tea.\n"
    assert tx.one("SELECT outcome FROM memory_block_repairs WHERE block_id = ?", (damaged,)) is not None
    assert ("block_words_older_than_history", damaged) in [(each["event"], each.get("block")) for each in logged]


def late(tx: Tx, day: int, old: str, new: str, person: PersonId = BOB) -> None:
    """A change in a turn of somebody's, after which no older ones are kept."""
    short = CheckpointPolicy(updates=1, limits=HistoryLimits(changes=3, recent=1, keep=timedelta(0)))
    turn = begun(tx, taken(tx, 2 + day, "hello", person=person), person=person)
    at = NOON + timedelta(days=day)
    blocks.replace_in_block(tx, replace(author(turn.id), policy=short, now=at), "notes", old, new)


def older_than_history(tx: Tx, first: PersonId = ANN, later: PersonId = BOB) -> BlockId:
    turn = begun(tx, taken(tx, 1, "my locker code is oryx", person=first))
    blocks.append_block(tx, author(turn.id), "notes", "Ann's locker code is oryx.\n")
    for day, (old, new) in enumerate([("Kept.", "Held."), ("Held.", "Kept.")] * 4):
        late(tx, day, old, new, later)
    assert block_history(tx, row(tx, "notes").id).start > 2, "the history was cut"
    return row(tx, "notes").id


def test_what_was_written_before_the_history_that_is_kept_stays_and_is_logged(tx: Tx) -> None:
    kept = older_than_history(tx)
    with capture_logs() as logged:
        delete(tx, 1)
    assert stands(tx, "notes") == "Kept.\nAnn's locker code is oryx.\n"
    assert [(each["log_level"], each["block"]) for each in logged] == [("warning", kept)]


def test_erasing_takes_the_past_of_a_block_whose_history_does_not_tell_who_wrote_it(tx: Tx) -> None:
    kept = older_than_history(tx)
    late(tx, 9, "Ann's locker code is oryx.\n", "")
    past = block_history(tx, kept)
    assert "oryx" in past.text_at(past.start)
    with capture_logs() as logged:
        remove_of_person(tx, ANN, LATER)
    past = block_history(tx, kept)
    assert [past.text_at(version) for version in (past.start, past.version)] == ["", "Kept.\n"]
    assert [each["event"] for each in logged] == ["block_words_older_than_history"]


@pytest.mark.parametrize("later", [BOB, ANN])
def test_erasing_leaves_what_others_wrote_before_the_history_that_is_kept(tx: Tx, later: PersonId) -> None:
    kept, writer = older_than_history(tx, BOB, later), person_writer(ANN)
    tx.run("UPDATE memory_blocks SET named_by = ?, described_by = ? WHERE id = ?", (writer, writer, kept))
    before = block_history(tx, kept).changes
    with capture_logs() as logged:
        remove_of_person(tx, ANN, LATER)
    assert stands(tx, "notes").endswith("Ann's locker code is oryx.\n")
    assert (block_history(tx, kept).changes == before, logged == []) == (later is BOB, later is BOB)


def test_words_that_cannot_be_taken_out_are_logged(tx: Tx, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = begun(tx, taken(tx, 1, "my locker code is oryx"))
    blocks.append_block(tx, author(turn.id), "notes", "Ann's locker code is oryx.\n")
    blocks.append_block(tx, author(turn.id), "plans", "Ann's locker code is oryx.\n")
    broken = row(tx, "notes").id
    whole = block_history

    def past(rows: Rows, block: BlockId) -> ChangeLog:
        if block == broken:
            raise BlockRefused("no")
        return whole(rows, block)

    monkeypatch.setattr("memory.erasure.blocks.block_history", past)
    with capture_logs() as logged:
        delete(tx, 1)
    assert [(each["log_level"], each["block"]) for each in logged] == [("warning", broken)]
    assert stands(tx, "plans") == "Kept.\n", "the other one went all the same"
    assert tx.number("SELECT sealed_seq FROM memory_blocks WHERE id = ?", (broken,)) == 2, "it may hold them"


def test_an_empty_block_of_which_only_damage_was_left_is_whole_after_an_erasure(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1))
    made = blocks.append_block(tx, author(turn.id), "notes", "Tea.\n")
    tx.run("DELETE FROM memory_block_checkpoints WHERE block_id = ?", (made.id,))
    tx.run("UPDATE memory_block_updates SET update_blob = x'00' WHERE block_id = ?", (made.id,))
    tx.run("UPDATE memory_blocks SET content = '' WHERE id = ?", (made.id,))
    remove_of_person(tx, ANN, LATER)
    assert verify_block(tx, made.id) == []
    blocks.append_block(tx, author(begun(tx, taken(tx, 2, person=BOB)).id), "notes", "Milk.\n")
    assert (stands(tx, "notes"), verify_block(tx, made.id)) == ("Milk.\n", [])


@pytest.mark.parametrize("more", [False, True])
def test_what_a_required_field_must_hold_stays_and_is_logged(tx: Tx, more: bool) -> None:
    """What stood there before was erased with somebody else's words."""
    schema = MapSchema(fields=(Field(name="pet", required=True), Field(name="mood"), Field(name="n", type=COUNTER)))
    block(tx, "facts", content="", schema=schema, values={"pet": "Tom", "n": 2})
    hers, his = begun(tx, taken(tx, 1)), begun(tx, taken(tx, 2, person=BOB))
    blocks.set_field(tx, author(hers.id), "facts", "pet", "Minka")
    made = blocks.set_field(tx, author(his.id), "facts", "pet", "Rex")
    if more:
        blocks.set_field(tx, author(his.id), "facts", "mood", "content")
    remove_of_person(tx, ANN, LATER)
    with capture_logs() as logged:
        remove_of_person(tx, BOB, LATER)
    assert [(each["event"], each["block"]) for each in logged] == [("block_words_not_removed", made.id)]
    assert stands(tx, "facts") == "pet: Rex\nmood:\nn: 2\n"
    known = {each.change.turn for each in blame(block_history(tx, made.id)) if each.change}
    assert known == {None} if more else known == {None, his.id}


_PAST = (
    "SELECT * FROM memory_blocks",
    "SELECT * FROM memory_block_updates",
    "SELECT * FROM memory_block_checkpoints",
    "SELECT * FROM memory_block_archives",
)


def words_of_file(tx: Tx) -> str:
    """All that stands in blocks and in what is kept of their past, as stored."""
    values = [value for sql in _PAST for each in tx.all(sql) for value in each]
    return " ".join(
        unpack(value).decode("utf-8", "replace") if isinstance(value, bytes) else str(value) for value in values
    )


@pytest.mark.parametrize("undone", [False, True])
def test_an_agent_does_not_bring_back_what_was_taken_back(tx: Tx, undone: bool) -> None:
    first = begun(tx, taken(tx, 1, "my code is oryx"))
    blocks.append_block(tx, author(first.id), "notes", "Code oryx.\n")
    second = author(begun(tx, taken(tx, 2, "other words")).id)
    if undone:
        revert.undo(revert.by_agent(tx, second, "notes"), agent_writer(STAR))
    delete(tx, 1)
    assert stands(tx, "notes") == "Kept.\n"
    for go in (revert.redo, revert.undo):
        with pytest.raises(Refused, match="words that were withdrawn"):
            go(revert.by_agent(tx, second, "notes"), agent_writer(STAR))
    blocks.append_block(tx, second, "notes", "More.\n")
    revert.undo(revert.by_agent(tx, second, "notes"), agent_writer(STAR))
    assert stands(tx, "notes") == "Kept.\n"
    revert.redo(revert.by_agent(tx, second, "notes"), agent_writer(STAR))
    assert stands(tx, "notes") == "Kept.\nMore.\n"


def test_where_nothing_was_taken_back_it_is_undone_as_before(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "my dentist is on Elm Street"), taken(tx, 2, "my cat is called Bolt", person=BOB))
    blocks.append_block(tx, author(turn.id), "notes", "The dentist: Elm Street.\n")
    blocks.append_block(tx, author(turn.id), "plans", "Feed Bolt.\n")
    edit(tx, 1, "my dentist is on a street")
    second = author(begun(tx, taken(tx, 3, "other words")).id)
    revert.undo(revert.by_agent(tx, second, "plans"), agent_writer(STAR))
    assert (stands(tx, "notes"), stands(tx, "plans")) == ("Kept.\n", "Kept.\n")
    with pytest.raises(Refused, match="words that were withdrawn"):
        revert.undo(revert.by_agent(tx, second, "notes"), agent_writer(STAR))


def test_where_the_past_was_erased_it_stays_known_what_a_turn_wrote(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "my code is oryx"))
    made = blocks.append_block(tx, author(turn.id), "notes", "In other words.\n")
    forget_past(tx, made.id, NOON)
    assert [each.change and each.change.turn for each in blame(block_history(tx, made.id))] == [None, turn.id]
    with pytest.raises(Refused, match="version 1 is no longer stored"):
        revert.roll_back(by_hand(tx, "notes"), 1)
    delete(tx, 1)
    assert stands(tx, "notes") == "Kept.\n"
    assert verify_block(tx, made.id) == []


@pytest.mark.parametrize("owner", [False, True])
@pytest.mark.parametrize("way", ["undo", "rollback", "revert"])
def test_of_people_the_owner_alone_brings_it_back(tx: Tx, way: str, owner: bool) -> None:
    block(tx, "human", about=ANN)
    turn, hand = begun(tx, taken(tx, 1, "her code is oryx", person=BOB)), OWNERS if owner else ANNS
    made = blocks.append_block(tx, author(turn.id), "human", "Code oryx.\n")
    if way == "undo":
        write_by_hand(tx, "human", "Kept.\n", hand)
    delete(tx, 1)

    def go(version: int, whose: Writer = SYSTEM) -> None:
        back = by_hand(tx, "human", hand)
        if way == "undo":
            revert.undo(back, person_writer(hand.person))
        elif way == "rollback":
            revert.roll_back(back, version)
        else:
            revert.revert(back, block_history(tx, made.id), whose, version)

    if owner:
        go(made.version)
        assert stands(tx, "human") == "Kept.\nCode oryx.\n"
        return
    with pytest.raises(Refused, match="words that were withdrawn"):
        go(made.version)
    assert stands(tx, "human") == "Kept.\n"
    if way != "undo":
        later = blocks.append_block(tx, author(turn.id), "human", "More.\n")
        go(later.version - 1, agent_writer(STAR))
        assert stands(tx, "human") == "Kept.\n"


@pytest.mark.parametrize("empty", [False, True])
def test_a_stale_edit_is_merged_with_what_came_after_an_erasure(tx: Tx, empty: bool) -> None:
    theirs, others = begun(tx, taken(tx, 1, "they fired me")), begun(tx, taken(tx, 2, "and then?", person=BOB))
    if empty:
        block(tx, "page", content="")
    label = "page" if empty else "notes"
    blocks.append_block(tx, author(theirs.id), label, "jobless\n")
    remove_of_person(tx, ANN, LATER)
    seen = row(tx, label)
    blocks.append_block(tx, author(others.id), label, "theirs\n")
    stale = replace(author(begun(tx, taken(tx, 3)).id), shown={seen.id: seen.version})
    blocks.write_block(tx, stale, label, f"{seen.content}mine\n")
    assert stands(tx, label) == f"{seen.content}theirs\nmine\n"
    assert [change.seq for change in block_history(tx, seen.id).changes][-3:] == [
        seen.version, seen.version + 1, seen.version + 2,
    ]  # fmt: skip
    assert verify_block(tx, seen.id) == []


def test_what_is_left_after_an_erasure_is_undone_and_reverted_as_before(tx: Tx) -> None:
    hers, his, last = (
        begun(tx, taken(tx, at, f"words {at}", person=who)) for at, who in ((1, ANN), (2, BOB), (3, BOB))
    )
    for turn, word in ((hers, "one"), (his, "two"), (last, "three")):
        made = blocks.append_block(tx, author(turn.id), "notes", f"{word}\n")
    remove_of_person(tx, ANN, LATER)
    edit = revert.by_agent(tx, author(last.id), "notes")
    revert.undo(edit, agent_writer(STAR))
    assert stands(tx, "notes") == "Kept.\ntwo\n"
    revert.redo(edit, agent_writer(STAR))
    assert stands(tx, "notes") == "Kept.\ntwo\nthree\n"
    revert.revert(by_hand(tx, "notes"), block_history(tx, made.id), agent_writer(STAR), 2)
    assert stands(tx, "notes") == "Kept.\n"


@pytest.mark.parametrize("way", ["deleted", "erased", "by hand"])
def test_a_block_that_was_deleted_is_emptied(tx: Tx, way: str) -> None:
    turn = begun(tx, taken(tx, 1, "my code is oryx"))
    if way == "by hand":
        write_by_hand(tx, "notes", "Code oryx.\n", replace(OWNERS, person=ANN))
    else:
        blocks.append_block(tx, author(turn.id), "notes", "Code oryx.\n")
    blocks.append_block(tx, author(begun(tx, taken(tx, 2, person=BOB)).id), "plans", "Swim.\n")
    tx.run("UPDATE memory_blocks SET deleted_at = updated_at, profile = content")
    delete(tx, 1) if way == "deleted" else remove_of_person(tx, ANN, LATER)
    assert "oryx" not in words_of_file(tx)
    assert tx.value("SELECT content FROM memory_blocks WHERE label = 'plans'", (), str) == "Kept.\nSwim.\n"


# ---------------------------------------------------------------- erasing a person


def test_erasing_takes_what_agents_wrote_from_the_person_and_the_past_of_it(tx: Tx) -> None:
    both = taken(tx, 1, "they fired me"), taken(tx, 3, "feed my cat Minka", person=BOB)
    theirs, others = begun(tx, *both), begun(tx, taken(tx, 2, "nice weather", person=BOB))
    decided = taken(tx, 4, "allowed", person=BOB)
    tx.run("UPDATE inbox SET about_id = ? WHERE id = ?", (both[0].message, decided.id))
    blocks.append_block(tx, author(begun(tx, decided).id), "plans", "Tell a jobless friend.\n")
    blocks.append_block(tx, author(theirs.id), "notes", "Ann is jobless.\n")
    blocks.append_block(tx, author(theirs.id), "plans", "Feed Minka.\n")
    blocks.append_block(tx, author(others.id), "notes", "Sun at Bob's.\n")
    blocks.append_block(tx, author(others.id), "plans", "Swim.\n")
    write_by_hand(tx, "notes", "Gone.\n")
    revert.undo(by_hand(tx, "notes"), person_writer(OWNER_ID))
    remove_of_person(tx, ANN, LATER)
    assert (stands(tx, "notes"), stands(tx, "plans")) == ("Kept.\nSun at Bob's.\n", "Kept.\nSwim.\n")
    assert "jobless" not in words_of_file(tx)
    after = blocks.append_block(tx, author(others.id), "notes", "More.\n")
    assert block_history(tx, after.id).version == after.version
    assert verify_block(tx, after.id) == []
    with pytest.raises(Refused):
        revert.roll_back(by_hand(tx, "notes"), 2)


@pytest.mark.parametrize("structured", [False, True])
def test_of_one_block_several_persons_are_erased_one_after_the_other(tx: Tx, structured: bool) -> None:
    schema = MapSchema(fields=(Field(name="pet"), Field(name="seen", type=FieldType.LIST), Field(name="mood")))
    block(tx, "facts", content="", schema=schema)
    turns = [
        begun(tx, taken(tx, number, f"words {number}", person=who)) for number, who in ((1, ANN), (2, BOB), (3, ANN))
    ]
    for number, turn in enumerate(turns, 1):
        if structured:
            blocks.add_item(tx, author(turn.id), "facts", "seen", f"word{number}")
            blocks.append_block(tx, author(turn.id), "facts", f"secret{number} ", "pet")
            blocks.set_field(tx, author(turn.id), "facts", "mood", f"mood{number}")
        else:
            blocks.append_block(tx, author(turn.id), "notes", f"word{number} secret{number} mood{number}\n")
    label = "facts" if structured else "notes"
    remove_of_person(tx, ANN, LATER)
    made = row(tx, label)
    words = [word for word in ("word1", "secret2", "mood2", "word3", "mood3") if word in made.content]
    assert words == ["secret2", "mood2"]
    assert not {word for word in ("word1", "secret1", "mood1", "word3", "secret3") if word in words_of_file(tx)}
    assert {each.change.turn for each in blame(block_history(tx, made.id)) if each.change} <= {None, turns[1].id}
    assert verify_block(tx, made.id) == []
    if structured:
        blocks.append_block(tx, author(turns[1].id), "facts", "more", "pet")
    remove_of_person(tx, BOB, LATER)
    assert not {word for word in ("word2", "secret2", "mood2", "more") if word in stands(tx, label)}
    assert "secret2" not in words_of_file(tx)
    assert verify_block(tx, made.id) == []


@pytest.mark.parametrize("erased", [False, True])
def test_fields_items_and_entries_are_their_turns_also_after_their_past_was_erased(tx: Tx, erased: bool) -> None:
    fields = Field(name="pet", type=FieldType.TEXT), Field(name="seen", type=FieldType.LIST)
    block(tx, "facts", content="", schema=MapSchema(fields=fields))
    block(tx, "log", content="", schema=LogSchema())
    his = author(begun(tx, taken(tx, 1, "my parrot is called Rex", person=BOB)).id)
    hers = replace(author(begun(tx, taken(tx, 2, "mine is Minka")).id), now=NOON + timedelta(seconds=5))
    for each, name in ((his, "Rex"), (hers, "Minka")):
        blocks.append_block(tx, each, "facts", f"The parrot {name}.\n", "pet")
        blocks.add_item(tx, each, "facts", "seen", name)
        blocks.add_item(tx, each, "log", "", f"saw {name}")
    for label in ("facts", "log"):
        made = row(tx, label)
        forget_past(tx, made.id, NOON)
        assert stands(tx, label) == made.content
        assert verify_block(tx, made.id) == []
    if erased:
        remove_of_person(tx, BOB, LATER)
        assert "Rex" not in words_of_file(tx)
    else:
        delete(tx, 1)
    assert stands(tx, "facts") == "pet: The parrot Minka.\nseen:\n1. Minka\n"
    assert ("Rex" in stands(tx, "log"), "Minka" in stands(tx, "log")) == (False, True)


@pytest.mark.parametrize("long", [False, True])
def test_erasing_takes_what_the_person_wrote_by_hand(tx: Tx, long: bool) -> None:
    """Which the owner may in every block."""
    others = begun(tx, taken(tx, 1, "nice weather", person=BOB))
    blocks.append_block(tx, author(others.id), "notes", "Sun at Bob's.\n")
    made = row(tx, "notes")
    if long:
        share_peer(tx, made.id)
    write_by_hand(tx, "notes", f"{made.content}My code: oryx.\n", replace(OWNERS, policy=CheckpointPolicy(updates=1)))
    kept = row(tx, "plans")
    if long:
        share_peer(tx, kept.id)
    writers = {each["writer"] for each in tx.all("SELECT writer FROM memory_block_writers")}
    remove_of_person(tx, OWNER_ID, LATER)
    assert (stands(tx, "notes"), stands(tx, "plans")) == ("Kept.\nSun at Bob's.\n", "Kept.\n")
    assert not {word for word in ("oryx", OWNER_ID) if word in words_of_file(tx)}
    left = {each["writer"] for each in tx.all("SELECT writer FROM memory_block_writers")}
    assert left == writers - {person_writer(OWNER_ID)}
    assert block_history(tx, kept.id).start == 0, "others keep their history"
    assert verify_block(tx, made.id) == []
    assert blocks.append_block(tx, author(others.id), "notes", "More.\n").content.endswith("Bob's.\nMore.\n")


def test_erasing_takes_what_the_person_let_more_people_know(tx: Tx) -> None:
    dm = person_audience(ANN)
    talk = Place(PlaceId("discord:11"), "dm", dm, "dm")
    block(tx, "codes", dm, content="")
    turn = begun(tx, taken(tx, 1, "my code is oryx", place=talk), scope=Scope(dm))
    taken(tx, 2, "hello", person=BOB)  # so that the hall is known
    made = blocks.append_block(tx, author(turn.id, dm), "codes", "Code oryx.\n")
    hand = revert.Editor(ANN, (ANN,), False, Scope(dm, frozenset({GUILD})), Trust.APPROVED, NOON)
    widen_block(tx, hand, made, block_history(tx, made.id), GUILD)
    assert stands(tx, "codes", GUILD) == "Code oryx.\n"
    remove_of_person(tx, ANN, LATER)
    assert stands(tx, "codes", GUILD) == ""
    assert "oryx" not in words_of_file(tx)
