"""The inbox as a store: what is taken in once, what edits and deletions do, and how rows pass from state to state."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.knowledge import entries, entry_changes
from memory.knowledge.entries import NewEntry, Origin
from memory.people import identities
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust
from memory.queue import inbox, message_files, messages, turns
from memory.queue.inbox import InRow, Status
from memory.queue.notifications import Place
from memory.queue.payloads import (
    PAYLOAD,
    Attachment,
    BlockNote,
    DecisionEvent,
    EditEvent,
    Extras,
    LetterEvent,
    PatrolEvent,
    Payload,
    Quotation,
    TaskEvent,
    TriggerEvent,
)
from memory.store.database import Tx
from memory.store.ids import GroupId, InboxId, MessageId, PlaceId, RequestId
from memory.store.records import replace
from memory.store.row_mapper import UnreadableRow
from sources import api
from tests.memory.parts import (
    ANN,
    BOB,
    GUILD,
    HALL,
    MAIN,
    NOON,
    STAR,
    begun,
    followed,
    name_types,
    notification,
    row_of,
    store,
    taken,
)

LATER = NOON + timedelta(minutes=1)


def text_of(tx: Tx, row: InRow) -> str:
    assert row.message is not None
    return messages.by_ids(tx, [row.message], Scope(row.audience))[0].text


def status(tx: Tx, row: InRow) -> Status:
    return row_of(tx, row.id).status


# ------------------------------------------------------------------------------------------------------ taking in


def test_a_happening_of_a_source_is_taken_in_once(tx: Tx) -> None:
    first = taken(tx, 1)
    assert inbox.accept(tx, notification(1, "again"), MAIN, NOON) is None
    assert text_of(tx, first) == "hello"
    assert inbox.accept(tx, notification(1, source="bluesky"), MAIN, NOON) is not None
    assert len(inbox.listing(tx, None, 10)) == 2


@pytest.mark.parametrize(
    ("external_id", "kind"), [("1@2026", "edit"), ("1@2027", "edit"), ("1!", "delete"), ("1/ann/x/1", "reaction")]
)
def test_each_kind_of_happening_to_a_message_is_taken_in_once(tx: Tx, external_id: str, kind: str) -> None:
    taken(tx, 1)
    later = notification(1, "new", external_id=external_id, kind=kind, at=LATER)
    assert inbox.accept(tx, later, None, NOON) is not None
    assert inbox.accept(tx, later, None, NOON) is None


def test_nothing_is_kept_of_edits_and_deletions_of_words_that_were_never_heard(tx: Tx) -> None:
    for external_id, kind in (("1@2026", "edit"), ("1!", "delete")):
        assert inbox.accept(tx, notification(1, "unheard", external_id=external_id, kind=kind), None, NOON) is None
    assert inbox.listing(tx, None, 10) == []


def test_what_nobody_is_to_answer_is_done_at_once_and_kept(tx: Tx) -> None:
    row = taken(tx, 1, group=None)
    assert row.status is Status.DONE
    assert inbox.open_conversations(tx) == []
    assert text_of(tx, row) == "hello"


def test_what_waits_has_a_conversation_of_its_place_and_group(tx: Tx) -> None:
    row = taken(tx, 1)
    taken(tx, 2)
    assert inbox.open_conversations(tx) == [(HALL.id, MAIN)]
    assert inbox.oldest(tx, HALL.id, MAIN, NOON)[0] == row
    assert inbox.oldest(tx, HALL.id, GroupId("grp_other"), NOON) == []
    assert inbox.counts(tx) == {"waiting": 2, "dead": 0}


@given(st.lists(st.integers(0, 2**70), max_size=12))
def test_a_places_cursor_only_moves_forward(positions: list[int]) -> None:
    tx = store()
    for number, position in enumerate(positions):
        taken(tx, number, position=str(position))
        assert inbox.cursors(tx, "discord") == {HALL.id: str(max(positions[: number + 1]))}
    assert inbox.cursors(tx, "bluesky") == {}


def test_a_happening_without_a_position_leaves_the_cursor(tx: Tx) -> None:
    taken(tx, 1, position="")
    assert inbox.cursors(tx, "discord") == {}
    taken(tx, 2, position="2")
    taken(tx, 3, position="")
    assert inbox.cursors(tx, "discord") == {HALL.id: "2"}


def test_a_place_is_known_as_it_was_last_heard_of(tx: Tx) -> None:
    taken(tx, 1)
    private = Place(HALL.id, "guild", Audience("channel:discord:10"), "", (GUILD,))
    taken(tx, 2, place=private)
    assert inbox.place(tx, HALL.id) == replace(private, name="hall")
    assert inbox.place(tx, PlaceId("discord:404")) is None


def test_a_place_is_known_only_where_it_may_be_spoken_of(tx: Tx) -> None:
    attic = Place(PlaceId("discord:11"), "guild", Audience("channel:discord:11"), "attic", (GUILD,))
    taken(tx, 1, place=attic)
    assert inbox.known_places(tx, Scope(GUILD)) == []
    assert inbox.known_places(tx, Scope(attic.audience, frozenset({GUILD}))) == [attic]
    assert inbox.known_places(tx, Scope(OWNER)) == [attic]
    taken(tx, 2)
    assert inbox.known_places(tx, Scope(GUILD)) == [HALL]
    assert inbox.known_places(tx, Scope(PUBLIC)) == []


# -------------------------------------------------------------------------------------- edits and deletions


def test_an_edit_changes_the_words_and_names_the_turn_that_reads_them(tx: Tx) -> None:
    row = taken(tx, 1)
    change = notification(1, "better", external_id="1@a", kind="edit", at=LATER)
    accepted = inbox.accept(tx, change, None, NOON)
    assert accepted is not None
    assert accepted.turn is None
    turn = begun(tx, row)
    accepted = inbox.accept(tx, replace(change, external_id="1@b", text="best", at=LATER + timedelta(1)), None, NOON)
    assert accepted is not None
    assert (accepted.turn, accepted.group) == (turn.id, None)
    assert text_of(tx, row) == "best"


def test_a_deleted_message_is_not_answered_and_leaves_no_words(tx: Tx) -> None:
    row = taken(tx, 1, "my secret")
    accepted = inbox.accept(tx, notification(1, "", external_id="1!", kind="delete", at=LATER), None, NOON)
    assert accepted is not None
    gone = row_of(tx, row.id)
    assert (gone.status, gone.payload, text_of(tx, row)) == (Status.DONE, Extras(), "")
    assert inbox.open_conversations(tx) == []


def test_a_deletion_names_the_turn_that_reads_the_words(tx: Tx) -> None:
    row = taken(tx, 1)
    turn = begun(tx, row)
    accepted = inbox.accept(tx, notification(1, "", external_id="1!", kind="delete", at=LATER), None, NOON)
    assert accepted is not None
    assert accepted.turn == turn.id
    assert status(tx, row) is Status.CLAIMED


def test_what_was_learned_from_a_deleted_message_goes_with_it(tx: Tx) -> None:
    row, other = taken(tx, 1, "my dentist is on Elm Street"), taken(tx, 2, "my cat is called Bolt")
    for each in (row, other):
        origin = Origin(Scope(GUILD), Trust.APPROVED, ANN, each.message)
        entry_changes.insert(tx, STAR, NewEntry(text_of(tx, each), origin), NOON)
    inbox.accept(tx, notification(1, "", external_id="1!", kind="delete", at=LATER), None, NOON)
    assert len(entries.latest(tx, STAR, Scope(GUILD))) == 2, "the message goes first, by itself"
    followed(tx)
    assert [entry.content for entry in entries.latest(tx, STAR, Scope(GUILD))] == ["my cat is called Bolt"]


def test_a_deletion_knows_less_of_the_place_and_changes_nothing_about_it(tx: Tx) -> None:
    taken(tx, 1)
    bare = Place(HALL.id, "direct", PUBLIC)
    inbox.accept(tx, notification(1, "", external_id="1!", kind="delete", place=bare, at=LATER), None, NOON)
    assert inbox.place(tx, HALL.id) == HALL


# ----------------------------------------------------------------------------------------- conversations and joining


def test_what_the_same_person_said_since_joins_and_nobody_elses(tx: Tx) -> None:
    first, _other, second = taken(tx, 1), taken(tx, 2, person=BOB), taken(tx, 3)
    taken(tx, 4, group=GroupId("grp_other"))
    taken(tx, 5, place=Place(PlaceId("discord:11"), "guild", GUILD, "attic"))
    assert inbox.joinable(tx, first) == [second]
    assert inbox.joinable(tx, second) == []


def test_words_for_other_ears_do_not_join(tx: Tx) -> None:
    """A channel that was made private in between: a turn sees only what its own audience may hear."""
    first = taken(tx, 1)
    private = Place(HALL.id, "guild", Audience("channel:discord:10"), "hall", (GUILD,))
    later = taken(tx, 2, place=private)
    assert inbox.joinable(tx, first) == []
    assert inbox.oldest(tx, HALL.id, MAIN, NOON)[0] == first
    inbox.finish(tx, begun(tx, first).id, NOON)
    assert inbox.oldest(tx, HALL.id, MAIN, NOON)[0] == later


def test_what_is_tried_alone_joins_nothing(tx: Tx) -> None:
    first, second = taken(tx, 1), taken(tx, 2)
    turns.separate(tx, begun(tx, first, second).id)
    found = [row_of(tx, row.id) for row in (first, second)]
    assert [(row.alone, row.status, row.turn) for row in found] == [(True, Status.RECEIVED, None)] * 2
    assert inbox.joinable(tx, found[0]) == []


def test_a_dead_row_can_be_brought_back_once(tx: Tx) -> None:
    row = taken(tx, 1)
    assert inbox.revive(tx, row.id) is None
    turn = begun(tx, row)
    turns.give_up(tx, turn.id, "no use", NOON)
    assert (status(tx, row), inbox.counts(tx)) == (Status.DEAD, {"waiting": 0, "dead": 1})
    revived = inbox.revive(tx, row.id)
    assert revived is not None
    assert (revived.status, revived.attempts, revived.turn, revived.alone) == (Status.RECEIVED, 0, None, True)
    assert revived.next_attempt_at is None
    assert inbox.revive(tx, row.id) is None
    assert inbox.revive(tx, InboxId(404)) is None


def test_a_row_of_which_no_turn_could_be_made_waits_and_is_given_up_in_the_end(tx: Tx) -> None:
    row = taken(tx, 1)
    turns.not_begun(tx, row.id, "no group", LATER, dead=False, now=NOON)
    found = row_of(tx, row.id)
    assert (found.status, found.attempts, found.next_attempt_at) == (Status.RECEIVED, 1, LATER)
    assert [tuple(each) for each in tx.all("SELECT alone, done_at FROM inbox")] == [(1, None)]
    turns.not_begun(tx, row.id, "no group", LATER, dead=True, now=NOON)
    assert (status(tx, row), row_of(tx, row.id).last_error) == (Status.DEAD, "no group")


def test_messages_that_wait_are_known_by_place(tx: Tx) -> None:
    waits, claimed, done = taken(tx, 1), taken(tx, 2), taken(tx, 3)
    begun(tx, claimed)
    inbox.finish(tx, begun(tx, done).id, NOON)
    assert inbox.waiting_messages(tx, HALL.id) == {waits.message, claimed.message}


# ------------------------------------------------------------------------------------------------------ persons


def test_what_came_with_a_message_is_not_kept_once_it_is_answered(tx: Tx) -> None:
    """Quotations and background hold words of others, who could not have them erased here."""
    row = taken(tx, 1)
    inbox.finish(tx, begun(tx, row).id, NOON)
    assert row_of(tx, row.id).payload == Extras()
    assert taken(tx, 2, group=None).payload == Extras()


AS_BEFORE: list[tuple[dict[str, Any], Payload]] = [
    ({}, Extras()),
    (
        {
            "blocks": [{"label": "ann", "description": "About Ann", "profile": "Ann", "about": None}],
            "background": ["Bob: earlier"],
            "quoted": {"speaker": "Bob", "text": "before", "by_us": True},
            "attachments": [{"name": "a", "content_type": "b", "size": 5, "text": "", "skipped": "too large"}],
            "images": ["https://files.example/b.png"],
            "mentioned": {"discord:bob": "Bob"},
        },
        Extras(
            (BlockNote("ann", "About Ann", "Ann"),),
            ("Bob: earlier",),
            Quotation("Bob", "before", by_us=True),
            (Attachment("a", "b", 5, skipped="too large"),),
            ("https://files.example/b.png",),
            {BOB: "Bob"},
        ),
    ),
    ({"edited": 7, "about": 7, "status": "edited", "reply_to": "70"}, EditEvent(MessageId(7), MessageId(7), "70")),
    (
        {"request": 3, "status": "denied", "reply_to": "70", "about": None},
        DecisionEvent(RequestId(3), "denied", "70", None),
    ),
    ({"agent": STAR, "status": "patrol", "task": "Look.", "asked": False}, PatrolEvent(STAR, "Look.", asked=False)),
    ({"agent": STAR, "status": "task", "hops": 2}, TaskEvent(STAR, 2)),
    ({"agent": STAR, "status": "sleeptime", "priority": "high"}, TriggerEvent(STAR, "high")),
    ({"status": "agent", "to": "Team"}, LetterEvent("Team")),
    ({"status": "agent", "to": "Bee", "agent": STAR, "about": 7}, LetterEvent("Bee", STAR, MessageId(7))),
]


@pytest.mark.parametrize(("stored", "payload"), AS_BEFORE)
def test_payloads_of_this_and_of_earlier_versions_are_read(tx: Tx, stored: dict[str, Any], payload: Payload) -> None:
    row = taken(tx, 1)
    tx.run("UPDATE inbox SET payload = ?", (json.dumps(stored),))
    name_types(tx)
    assert row_of(tx, row.id).payload == payload == PAYLOAD.load(PAYLOAD.dump(payload))


def test_what_maps_a_direct_message_to_its_constellation_is_not_stored(tx: Tx) -> None:
    for number, kind, stored in ((1, "guild", ("discord:1",)), (2, "direct", ())):
        place = replace(HALL, id=PlaceId(f"discord:{number}"), kind=kind, bindings=("discord:1",))
        found = inbox.place(tx, taken(tx, number, place=place).place)
        assert found is not None
        assert found.bindings == stored


def test_a_payload_has_neither_the_address_nor_the_content_of_a_file() -> None:
    file = Attachment("b.png", "image/png", 9, url="https://files.example/b.png", content=b"hi")
    stored = '{"attachments":[{"name":"b.png","content_type":"image/png","size":9}]}'
    assert PAYLOAD.dump(Extras(attachments=(file,))) == stored


@pytest.mark.parametrize("stored", ['{"status": "sung"}', '{"agent": STAR}', '{"background": 7}', "[", "7"])
def test_a_payload_that_cannot_be_read_is_known_as_such(tx: Tx, stored: str) -> None:
    row = taken(tx, 1)
    tx.run("UPDATE inbox SET payload = ?", (stored,))
    found = row_of(tx, row.id)
    assert isinstance(found.payload, UnreadableRow)
    assert replace(found, payload=row.payload) == row


def test_counts_and_costs_are_read_from_indexes(tx: Tx) -> None:
    plans = {
        "inbox_dead": "SELECT count(*) FROM inbox WHERE status = 'dead'",
        "inbox_open": "SELECT count(*) FROM inbox WHERE status IN ('received', 'claimed')",
        "COVERING INDEX model_usage_at": "SELECT substr(at, 1, 10), sum(cost_usd) FROM model_usage WHERE at >= '2026'",
    }
    for index, sql in plans.items():
        assert index in tx.all(f"EXPLAIN QUERY PLAN {sql}")[0]["detail"]


def test_places_and_people_go_by_the_names_that_whoever_asks_may_know(tx: Tx) -> None:
    taken(tx, 1)
    taken(tx, 2, person=BOB, speaker="Bob")
    assert identities.person_named(tx, BOB, Scope(GUILD)) == f"Bob ({BOB})"
    assert identities.person_named(tx, BOB, Scope(PUBLIC)) == BOB
    for scope, place, person in ((Scope(GUILD), "hall", "Ann"), (Scope(PUBLIC), "", "")):
        assert identities.place_called(tx, HALL.id, scope) == identities.audience_called(tx, GUILD, scope) == place
        assert identities.person_called(tx, ANN, scope) == person
        direct = f"the direct messages with {person}" if person else "discord:user:ann"  # she never wrote there
        assert identities.place_named(tx, PlaceId("discord:user:ann"), scope) == direct
    theirs = api.place_of("shop", "grp_1", "Anchor", "zoe")
    inbox.note_place(tx, notification(3, place=theirs), NOON)
    assert identities.place_named(tx, theirs.id, Scope(OWNER)) == "the direct messages with zoe (shop)"
    assert identities.place_named(tx, theirs.id, Scope(GUILD)) == theirs.id


def test_a_file_is_shown_with_its_message_to_those_who_may_see_it(tx: Tx) -> None:
    kept = (
        Attachment("cat.png", "image/png", 2, content=b"hi"),
        Attachment("big.png", "image/png", 9, skipped="too large"),
        Attachment("a.txt", "text/plain", 2, content=b"hi"),
    )
    message = taken(tx, 1, extras=Extras(attachments=kept), keeps_files=True).message
    other = taken(tx, 2, extras=Extras(attachments=kept[2:]), keeps_files=True).message
    assert message is not None
    assert other is not None
    for scope, names, seen in ((Scope(GUILD), ["cat.png", "big.png", "a.txt"], 1), (Scope(PUBLIC), [], 0)):
        assert [each.name for each in message_files.names(tx, message, scope)] == names
        assert message_files.pictures(tx, message, scope) == ("data:image/png;base64,aGk=",) * seen
        assert message_files.one(tx, HALL.id, message, 2, scope) == (kept[2] if seen else None)
    assert message_files.pictures(tx, other, Scope(GUILD)) == ()
    assert message_files.one(tx, HALL.id, message, 1, Scope(GUILD)) is None
    assert message_files.one(tx, HALL.id, other, 1, Scope(GUILD)) is None
    assert message_files.one(tx, PlaceId("discord:11"), message, 0, Scope(GUILD)) is None
