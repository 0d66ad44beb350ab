from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust
from memory.queue import messages
from memory.queue.messages import Message, NewMessage
from memory.store.database import Rows, Tx
from memory.store.fulltext import match_query
from memory.store.ids import MessageId, PlaceId, TurnId
from memory.store.records import replace
from tests.memory.parts import (
    ANN,
    AUDIENCES,
    BOB,
    GUILD,
    HALL,
    NOON,
    SCOPES,
    STAR,
    a_turn,
    begun,
    delete_message,
    edit_message,
    kept_of,
    spoken,
    taken,
)

PLACE = HALL.id
TURN = TurnId(77)

HEARD = NewMessage(PLACE, ANN, "Ann", "My hamster is called Bolt", "discord", "900", GUILD, Trust.APPROVED, NOON)
_BOLT = "What a fine name, Bolt"
SAID = spoken(a_turn(id=TURN), _BOLT)


def add_turn(tx: Tx) -> None:
    turn = {"id": str(TURN), "agent_id": STAR, "place_id": PLACE, "audience": GUILD, "status": "done", "started_at": ""}
    tx.insert("turns", {**turn, "trust": "2"})


def found(rows: Rows, query: str) -> list[int]:
    match = match_query(query, mode="all")
    return [row[0] for row in rows.all("SELECT rowid FROM message_fts WHERE message_fts MATCH ? ORDER BY 1", (match,))]


def check_index(tx: Tx) -> None:
    """The index holds what one made anew from the table would hold, and is sound in itself."""
    tx.run("INSERT INTO message_fts (message_fts) VALUES ('integrity-check')")
    tokenizer = "tokenize='porter unicode61 remove_diacritics 2'"
    tx.run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.anew USING fts5(search_text, " + tokenizer + ")")
    tx.run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.new_words USING fts5vocab(temp, anew, instance)")
    tx.run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.old_words USING fts5vocab(main, message_fts, instance)")
    tx.run("DELETE FROM anew")
    tx.run("INSERT INTO anew (rowid, search_text) SELECT id, search_text FROM messages")
    words = "SELECT term || ' ' || doc || ' ' || offset FROM "
    assert [row[0] for row in tx.all(words + "old_words")] == [row[0] for row in tx.all(words + "new_words")]


def by_id(rows: Rows, message: MessageId) -> Message:
    return messages.by_ids(rows, [message], Scope(GUILD))[0]


def test_a_heard_message_is_read_back_as_it_was(tx: Tx) -> None:
    message = by_id(tx, messages.add(tx, HEARD))
    assert (message.place, message.person, message.agent, message.speaker) == (PLACE, ANN, None, "Ann")
    assert (message.text, message.role, message.delivery) == (HEARD.text, "user", "")
    assert (message.source, message.external_id, message.audience) == ("discord", "900", GUILD)
    assert (message.trust, message.created_at, message.revision) == (Trust.APPROVED, NOON, 0)
    assert (message.edited_at, message.deleted_at, message.batch) == (None, None, None)
    assert not message.archived


def test_a_message_that_arrives_twice_is_stored_once(tx: Tx) -> None:
    first = messages.add(tx, HEARD)
    assert messages.add(tx, replace(HEARD, text="again")) == first
    second = messages.add(tx, replace(HEARD, source="bluesky"))
    assert messages.add(tx, replace(HEARD, source="bluesky")) == second != first
    assert messages.add(tx, replace(HEARD, external_id=None)) != first
    assert messages.add(tx, replace(HEARD, external_id=None)) != first
    assert by_id(tx, first).text == HEARD.text
    with pytest.raises(ValueError, match="could not be stored"):
        messages.add(tx, replace(HEARD, external_id=None), first)


def test_a_message_is_found_by_its_words_its_speaker_and_its_day(tx: Tx) -> None:
    message = messages.add(tx, HEARD)
    for query in ("hamsters", "Ann", "22 November 2026", "2026-11-22"):
        assert found(tx, query) == [message]
    assert found(tx, "tortoise") == []


def test_text_that_sqlite_cannot_hold_is_stored_without_it(tx: Tx) -> None:
    message = messages.add(tx, replace(HEARD, text="half \ud83d and \x00null", speaker="A\x00nn"))
    assert by_id(tx, message).text == "half  and null"
    assert by_id(tx, message).speaker == "Ann"


def test_a_conversation_is_the_newest_messages_oldest_first(tx: Tx) -> None:
    ids = [messages.add(tx, replace(HEARD, external_id=str(n))) for n in range(6)]
    messages.add(tx, replace(HEARD, place=PlaceId("discord:2"), external_id="elsewhere"))
    tx.run("UPDATE messages SET is_archived = 1 WHERE id = ?", (ids[4],))

    def listed(limit: int) -> list[MessageId]:
        return [row.id for row in messages.conversation(tx, PLACE, Scope(GUILD), limit)]

    assert listed(3) == [ids[2], ids[3], ids[5]]
    assert listed(0) == []
    assert listed(-1) == []


def test_an_edit_replaces_the_text_and_its_words(tx: Tx) -> None:
    message = messages.add(tx, HEARD)
    edit_message(tx, "900", "My tortoise is called Bolt", NOON + timedelta(seconds=5))
    edited = by_id(tx, message)
    assert (edited.id, edited.text, edited.revision) == (message, "My tortoise is called Bolt", 1)
    assert edited.edited_at == NOON + timedelta(seconds=5)
    assert found(tx, "hamster") == []
    assert found(tx, "tortoise Ann 2026-11-22") == [message]
    check_index(tx)


def test_a_deletion_removes_text_words_and_metadata_and_keeps_the_place(tx: Tx) -> None:
    message = messages.add(tx, HEARD)
    delete_message(tx, "900", NOON + timedelta(hours=1))
    deleted = by_id(tx, message)
    assert (deleted.id, deleted.text, deleted.delivery, deleted.revision) == (message, "", "", 1)
    assert deleted.deleted_at == NOON + timedelta(hours=1)
    assert found(tx, "hamster") == found(tx, "Ann") == []
    assert [row.id for row in messages.conversation(tx, PLACE, Scope(GUILD), 5)] == [message]
    check_index(tx)


def test_redacting_our_rows_takes_the_words_and_leaves_the_pairing(tx: Tx) -> None:
    said = messages.add(tx, replace(SAID, tool_call_id="c1", tool_name="recall", tool_args='{"q": "Bolt"}'))
    other = messages.add(tx, replace(SAID, sequence=1))
    assert messages.redact(tx, [said, MessageId(1)], NOON) == 1
    assert messages.redact(tx, [said], NOON) == 0
    row = by_id(tx, said)
    assert (row.text, row.tool_args, row.tool_call_id, row.tool_name) == ("", "{}", "c1", "recall")
    assert by_id(tx, other).tool_args is None
    assert by_id(tx, other).text == SAID.text
    assert found(tx, "Bolt") == [other]
    check_index(tx)


def test_an_edit_that_comes_late_or_again_changes_nothing(tx: Tx) -> None:
    message = messages.add(tx, HEARD)
    for seconds, text, applied in (
        (5, "b", True), (4, "c", False), (5, "b", False), (5, "c", True), (6, "c", True), (6.0004, "c", False),
        (7, "d\x00", True),
    ):  # fmt: skip
        at = NOON + timedelta(seconds=seconds)
        assert messages.edit(tx, by_id(tx, message), text, at) is applied, (seconds, text)
    assert (by_id(tx, message).text, found(tx, "hamster")) == ("d", [])
    delete_message(tx, "900", NOON)
    assert not messages.edit(tx, by_id(tx, message), "e", NOON + timedelta(hours=1))
    check_index(tx)


def test_a_call_is_narrowed_with_its_result_and_with_no_other(tx: Tx) -> None:
    call, _result, other, _plain = (
        messages.add(tx, replace(SAID, sequence=number, batch=batch, tool_call_id=call))
        for number, (batch, call) in enumerate(((TURN, "c"), (TURN, "c"), (TurnId(78), "c"), (TURN, None)))
    )
    assert [messages.narrow(tx, [call], OWNER) for _ in range(2)] == [2, 0]
    assert by_id(tx, other).audience == GUILD


def test_a_finished_conversation_has_nothing_that_a_turn_is_to_answer(tx: Tx) -> None:
    _waits, runs, over, event = (taken(tx, number) for number in range(1, 5))
    begun(tx, runs)
    tx.run("UPDATE inbox SET status = 'done' WHERE id = ?", (over.id,))
    tx.run("UPDATE inbox SET message_id = NULL WHERE id = ?", (event.id,))
    rows = messages.conversation(tx, PLACE, Scope(GUILD), 10, finished=True)
    assert [row.id for row in rows] == [over.message, event.message]


Reading = Callable[[Rows, list[MessageId], Scope], Sequence[Message]]
READINGS: dict[str, Reading] = {
    "conversation": lambda rows, _, scope: messages.conversation(rows, PLACE, scope, 100),
    "of_batch": lambda rows, _, scope: messages.of_batch(rows, TURN, scope),
    "by_ids": messages.by_ids,
}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
def test_a_reading_gives_exactly_the_rows_its_scope_may_use(tx: Tx, reading: Reading, scope: Scope) -> None:
    ids = [messages.add(tx, replace(HEARD, external_id=row, audience=row)) for row in AUDIENCES]
    messages.join_batch(tx, ids, TURN)
    assert [row.audience for row in reading(tx, ids, scope)] == [row for row in AUDIENCES if scope.may_use(row)]


def test_what_is_held_of_a_person_is_exported_counted_and_erased(tx: Tx) -> None:
    direct = Audience(f"person:{ANN}")
    heard = messages.add(tx, HEARD)
    aloud = messages.add(tx, SAID)
    private = messages.add(tx, replace(SAID, audience=direct, text="only for Ann"))
    messages.note_delivery(tx, private, "failed: forbidden")
    notice = messages.add(tx, replace(SAID, audience=direct, person=None, text="a reminder"))
    bobs = messages.add(tx, replace(HEARD, person=BOB, external_id="901"))
    add_turn(tx)
    for row in (heard, bobs):
        tx.insert("turn_uses", {"turn_id": TURN, "kind": "message", "row_id": str(row), "audience": GUILD})

    assert kept_of("messages").count(tx, ANN) == 3
    exported = kept_of("messages").export(tx, ANN)
    assert [row["id"] for row in exported] == [heard, private, notice]
    assert exported[0]["text"] == HEARD.text
    assert exported[1]["metadata"] == {"delivery": "failed: forbidden"}

    assert kept_of("messages").erase(tx, ANN) == 3
    assert kept_of("messages").count(tx, ANN) == 0
    assert kept_of("messages").export(tx, ANN) == []
    left = tx.all("SELECT id, person_id FROM messages ORDER BY id")
    assert [(row[0], row[1]) for row in left] == [(aloud, None), (bobs, BOB)]
    assert [row[0] for row in tx.all("SELECT row_id FROM turn_uses WHERE kind = 'message'")] == [str(bobs)]
    (gone,) = tx.all("SELECT row_id FROM turn_uses WHERE kind = 'gone'")
    assert gone[0] != str(heard)
    assert found(tx, "hamster") == [bobs]
    check_index(tx)


def test_the_owner_s_own_places_count_as_the_owner_s(tx: Tx) -> None:
    messages.add(tx, replace(SAID, audience=OWNER))
    assert kept_of("messages").count(tx, ANN) == 1
    assert kept_of("messages").count(tx, BOB) == 0


def test_a_message_is_found_by_the_beginning_of_its_id_and_no_other(tx: Tx) -> None:
    for key in ("at://a/1#x", "at://a/11#y"):
        heard = NewMessage(PLACE, ANN, "Ann", "hello", "bluesky", key, PUBLIC, Trust.STRANGER, NOON)
        messages.add(tx, heard)
    found = messages.by_external_prefix(tx, "bluesky", "at://a/1#")
    assert found is not None
    assert found.external_id == "at://a/1#x"
    assert messages.by_external_prefix(tx, "bluesky", "at://a/2#") is None
    assert messages.by_external_prefix(tx, "discord", "at://a/1#") is None


def test_people_are_counted_by_what_a_scope_may_know_of_them(tx: Tx) -> None:
    private = Audience("person:discord:ann")
    for number, (name, minutes, audience) in enumerate(
        [("Ann", 0, GUILD), ("Annie", 1, GUILD), ("Secret Ann", 2, private), ("Ann", 3, Audience("guild:2"))]
    ):
        at = NOON + timedelta(minutes=minutes)
        heard = replace(HEARD, speaker=name, at=at, audience=audience, external_id=f"said-{number}")
        messages.add(tx, heard)
    messages.add(tx, replace(HEARD, person=BOB, speaker="Bob", external_id="bob", at=NOON + timedelta(hours=1)))
    messages.add(tx, SAID)
    messages.add(tx, replace(HEARD, person=None, external_id="nobody"))
    messages.add(tx, replace(HEARD, external_id="gone"))
    delete_message(tx, "gone", NOON)

    def known(scope: Scope) -> list[tuple[str, str, int]]:
        return [(row["person_id"], row["speaker"], row["n"]) for row in messages.speakers(tx, scope, 10)]

    assert known(Scope(GUILD)) == [(BOB, "Bob", 1), (ANN, "Annie", 2)]
    assert known(Scope(OWNER)) == [(BOB, "Bob", 1), (ANN, "Ann", 3)]
    assert known(Scope(private)) == [(ANN, "Secret Ann", 1)]
    assert [(row["person_id"], row["speaker"]) for row in messages.private_speakers(tx, 10)] == [(ANN, "Secret Ann")]
    plan = tx.all("EXPLAIN QUERY PLAN SELECT count(*) FROM messages WHERE role = 'user' AND deleted_at IS NULL "
                  "AND person_id IS NOT NULL AND audience = 'x' GROUP BY person_id")  # fmt: skip
    assert "messages_said" in plan[0]["detail"]
