"""The outbox as a store: a row passes from pending to an end and never comes back from one."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memory.people.audience import Scope
from memory.queue import messages, outbox, turns
from memory.queue.outbox import (
    ActDetail,
    CardButtons,
    CardDetail,
    Detail,
    EditDetail,
    File,
    Image,
    NewRow,
    OutRow,
    PressButtons,
    Status,
    TextDetail,
)
from memory.store.database import Tx
from memory.store.ids import EntryId, OutboxId, PersonId, PlaceId, ReminderId, RequestId
from memory.store.row_mapper import UnreadableRow
from tests.memory.parts import ANN, GUILD, HALL, NOON, begun, kept_of, name_types, spoken, taken

LATER = NOON + timedelta(seconds=30)


def queued(tx: Tx, key: str, content: str = "hi", **change: Any) -> OutRow:
    row = NewRow(**{"key": key, "place": HALL.id, "content": content, "audience": GUILD, **change})
    identifier = outbox.add(tx, row, NOON)
    assert identifier is not None
    return known(tx, identifier)


def known(tx: Tx, identifier: OutboxId) -> OutRow:
    row = outbox.get(tx, identifier)
    assert row is not None
    return row


def test_the_same_key_is_queued_once(tx: Tx) -> None:
    first = queued(tx, "turn/1/0", detail=TextDetail(reply_to="7"))
    assert outbox.add(tx, NewRow("turn/1/0", HALL.id, "again", GUILD), NOON) is None
    assert outbox.for_delivery(tx, HALL.id)[0] == [first]
    assert (first.content, first.detail, first.status) == ("hi", TextDetail(reply_to="7"), Status.PENDING)
    assert outbox.of_key(tx, "turn/1/0") == first


def test_what_waits_is_given_in_order_and_by_place(tx: Tx) -> None:
    rows = [queued(tx, str(number)) for number in range(3)]
    elsewhere = queued(tx, "elsewhere", place=PlaceId("discord:11"))
    assert outbox.for_delivery(tx, HALL.id)[0] == rows
    assert outbox.for_delivery(tx, elsewhere.place)[0] == [elsewhere]
    assert outbox.open_places(tx) == [("discord", HALL.id), ("discord", elsewhere.place)]
    assert outbox.count_open(tx) == 4


def sent(tx: Tx, row: OutRow, external_id: str = "555") -> bool:
    outbox.mark_sending(tx, row.id, NOON)
    return outbox.mark_sent(tx, row.id, external_id, NOON)


def test_a_delivery_is_given_what_is_unsent_in_its_place_and_the_previews_that_are_shown(tx: Tx) -> None:
    row = queued(tx, "text")
    outbox.mark_sending(tx, row.id, NOON)
    assert outbox.open_places(tx) == [("discord", HALL.id)], "also after the process ended while it was sent"
    turn, elsewhere = begun(tx), PlaceId("discord:11")
    shown, begins = queued(tx, "shown", kind="preview"), queued(tx, "begins", kind="preview", turn=turn.id)
    outbox.mark_sending(tx, begins.id, NOON)
    for each in (shown, queued(tx, "said"), queued(tx, "other", kind="preview", place=elsewhere)):
        sent(tx, each, each.key)
    unsent, previews = outbox.for_delivery(tx, HALL.id)
    assert ([each.key for each in unsent], [each.key for each in previews]) == (["text", "begins"], ["shown"])


def test_what_was_sent_tells_whether_its_place_needs_another_look(tx: Tx) -> None:
    elsewhere = PlaceId("discord:11")
    row, other = queued(tx, "a"), queued(tx, "b")
    queued(tx, "c", place=elsewhere)
    sent(tx, queued(tx, "d", kind="preview", place=elsewhere), "900")
    outbox.mark_sending(tx, row.id, NOON)
    outbox.mark_retry(tx, row.id, "slow down", LATER)
    assert outbox.claim(tx, HALL.id, LATER) == (known(tx, row.id), False)
    looks = [outbox.mark_sent(tx, row.id, "555", LATER)]  # the other one is pending
    outbox.mark_sending(tx, other.id, NOON)
    looks.append(outbox.mark_sent(tx, row.id, "555", LATER))  # ... and being sent
    outbox.mark_sent(tx, other.id, "556", LATER)
    assert [*looks, outbox.mark_sent(tx, row.id, "555", LATER)] == [True, True, False]
    assert known(tx, row.id).last_error == ""
    sent(tx, queued(tx, "e", kind="preview"), "901")
    assert outbox.mark_sent(tx, row.id, "555", LATER), "the preview may be left over"
    assert outbox.mark_sent(tx, OutboxId(404), "557", LATER), "nobody can tell of a row that was erased"


def test_what_was_certainly_sent_in_a_place_since_then_is_known(tx: Tx) -> None:
    rows = [queued(tx, "a"), queued(tx, "b"), queued(tx, "c", place=PlaceId("discord:11")), queued(tx, "d")]
    for at, row in zip((NOON, LATER, LATER, LATER), rows, strict=True):
        outbox.mark_sent(tx, row.id, row.key, at)
    outbox.replace_preview(tx, rows[3].id)
    assert known(tx, rows[3].id).content == ""
    assert outbox.sent_since(tx, HALL.id, LATER) == {"b"}


def test_what_is_withdrawn_or_emptied_says_nothing_any_more(tx: Tx) -> None:
    one, other = queued(tx, "a", detail=TextDetail(files=(File("a.md", "words"),))), queued(tx, "b")
    assert outbox.withdraw(tx, one.id)
    assert (known(tx, one.id).content, known(tx, one.id).detail) == ("", TextDetail())
    held = {
        "type": "act",
        "act": "post",
        "files": [["a.md", "words"]],
        "images": [["image/png", "", ""]],
        "else": ["discord:2"],
    }
    tx.run("UPDATE outbox SET detail = ? WHERE id = ?", (json.dumps(held), other.id))
    outbox.empty(tx, other.id)
    assert (known(tx, other.id).content, known(tx, other.id).detail) == ("", ActDetail("post"))


def test_the_first_moment_of_sending_is_kept_however_often_it_is_tried(tx: Tx) -> None:
    row, first = queued(tx, "a"), NOON + timedelta(seconds=10)
    outbox.mark_sending(tx, row.id, first)
    again = outbox.mark_sending(tx, row.id, LATER)
    assert again is not None
    assert (again.status, again.attempts, again.sending_at) == (Status.SENDING, 2, first)
    assert outbox.claim(tx, HALL.id, LATER) is None
    assert not outbox.withdraw(tx, row.id)


@pytest.mark.parametrize("end", [Status.FAILED, Status.UNKNOWN, Status.WITHDRAWN, Status.SENT])
def test_an_ended_row_is_never_sent_again(tx: Tx, end: Status) -> None:
    row = queued(tx, "a")
    sent(tx, row)
    assert outbox.said_by_us(tx, "discord", "555") == known(tx, row.id)
    assert outbox.said_by_us(tx, "bluesky", "555") is None
    outbox.mark_closed(tx, row.id, end, "because")
    assert outbox.mark_sending(tx, row.id, LATER) is None
    assert outbox.for_delivery(tx, HALL.id)[0] == []
    assert (known(tx, row.id).status, known(tx, row.id).last_error) == (end, "because")


def test_what_was_certainly_not_delivered_waits_for_its_time_or_for_the_place(tx: Tx) -> None:
    row = queued(tx, "a")
    outbox.mark_sending(tx, row.id, NOON)
    outbox.mark_retry(tx, row.id, "slow down", LATER)
    waiting = known(tx, row.id)
    assert (waiting.status, waiting.sending_at, waiting.next_attempt_at) == (Status.PENDING, None, LATER)
    assert outbox.claim(tx, HALL.id, NOON) is None
    outbox.release(tx, PlaceId("discord:11"))
    assert known(tx, row.id).next_attempt_at == LATER
    outbox.release(tx, HALL.id)
    assert known(tx, row.id).next_attempt_at is None


def test_a_cancelled_turn_takes_back_only_what_nobody_has_begun_to_send(tx: Tx) -> None:
    turn = begun(tx)
    begun_row, waiting = queued(tx, "a", turn=turn.id), queued(tx, "b", "secret", turn=turn.id)
    other = queued(tx, "c")
    outbox.mark_sending(tx, begun_row.id, NOON)
    assert outbox.withdraw_pending(tx, turn.id) == 1
    found = [known(tx, row.id) for row in (begun_row, waiting, other)]
    assert [row.status for row in found] == [Status.SENDING, Status.WITHDRAWN, Status.PENDING]
    assert found[1].content == ""


def test_the_rest_of_an_answer_goes_with_a_piece_that_failed_and_nothing_else_of_the_turn(tx: Tx) -> None:
    turn = begun(tx)
    keys = [
        f"turn/{turn.id}/0",
        f"turn/{turn.id}/1",
        f"tool/{turn.id}/5/0",
        f"tool/{turn.id}/5/1",
        f"tool/{turn.id}/55/0",
    ]
    first, second, tool, more, _other = [queued(tx, key, turn=turn.id) for key in keys]
    sent(tx, queued(tx, f"turn/{turn.id}/2", turn=turn.id), "900")
    for row, left in ((tool, [keys[0], keys[1], keys[4]]), (first, [keys[4]])):
        outbox.mark_closed(tx, row.id, Status.FAILED, "forbidden")
        assert outbox.withdraw_rest(tx, row) == 1
        assert [found.key for found in outbox.for_delivery(tx, HALL.id)[0]] == left
    assert [found(tx, row.id).held for row in (first, tool)] == [(second.id,), (more.id,)]


@pytest.mark.parametrize(
    ("kind", "status", "said"),
    [
        ("text", Status.SENDING, True), ("text", Status.SENT, True), ("text", Status.UNKNOWN, True),
        ("text", Status.FAILED, False), ("text", Status.PENDING, False), ("preview", Status.SENT, False),
    ],
)  # fmt: skip
def test_a_turn_has_spoken_when_an_answer_left_or_may_have_left(tx: Tx, kind: str, status: Status, said: bool) -> None:
    turn = begun(tx)
    row = queued(tx, "a", turn=turn.id, kind=kind)
    tx.run("UPDATE outbox SET status = ? WHERE id = ?", (status, row.id))
    assert outbox.anything_said(tx, turn.id) is said


@pytest.mark.parametrize("shown", [False, True])
def test_a_preview_is_left_over_once_its_turn_is_done_and_no_answer_waits(tx: Tx, shown: bool) -> None:
    turn = begun(tx)
    queued(tx, "another's", turn=begun(tx).id)
    preview = queued(tx, f"preview/{turn.id}", kind="preview", turn=turn.id)
    outbox.mark_sending(tx, preview.id, NOON)
    if shown:
        outbox.mark_sent(tx, preview.id, "900", NOON)
    assert outbox.orphan_previews(tx, HALL.id) == []  # still running
    tx.run("UPDATE turns SET status = 'suspended' WHERE id = ?", (turn.id,))
    assert outbox.orphan_previews(tx, HALL.id) == []  # it waits for approval
    answer = queued(tx, "answer", turn=turn.id)
    turns.end(tx, turn.id, "done", NOON)
    assert outbox.orphan_previews(tx, HALL.id) == []  # the answer will replace it
    outbox.mark_sending(tx, answer.id, NOON)
    assert outbox.orphan_previews(tx, HALL.id) == []
    outbox.mark_closed(tx, answer.id, Status.FAILED, "x")
    assert outbox.orphan_previews(tx, HALL.id) == [known(tx, preview.id)]
    assert outbox.orphan_previews(tx, PlaceId("discord:11")) == []
    assert outbox.open_places(tx) == [("discord", HALL.id)]
    outbox.replace_preview(tx, preview.id)
    assert outbox.orphan_previews(tx, HALL.id) == []
    assert outbox.said_by_us(tx, "discord", "900") is None


CARD = {"request": 3, "offers": ["once", "no"]}
BUTTONS = CardButtons(RequestId(3), ("once", "no"))
AS_BEFORE: list[tuple[dict[str, Any], Detail]] = [
    ({}, TextDetail()),
    ({"reply_to": "7", "mentions": ["discord:ann"], "speaker": "", "avatar": "a", "preview": "preview/1"},
     TextDetail("7", (PersonId("discord:ann"),), avatar="a", preview="preview/1")),
    ({"after": "turn/1/0", "files": [["a.md", "words"]], "behind": 5, "twice": 1},
     TextDetail(after="turn/1/0", files=(File("a.md", "words"),), behind=OutboxId(5), twice=True)),
    ({"press": {"kind": "reminder", "id": 4, "offers": ["done"]}, "mentions": []},
     TextDetail(press=PressButtons("reminder", ReminderId(4), ("done",)))),
    ({"press": {"kind": "preference", "id": "ent_1", "offers": ["allow"]}},
     TextDetail(press=PressButtons("preference", EntryId("ent_1"), ("allow",)))),
    ({"card": CARD, "else": ["discord:2"], "files": [["r.json", "{}"]]},
     CardDetail(BUTTONS, (PlaceId("discord:2"),), (File("r.json", "{}"),))),
    ({"card": CARD}, CardDetail(BUTTONS)),
    ({"edits": "card/1", "buttons": CARD}, EditDetail("card/1", BUTTONS)),
    ({"edits": "card/1", "buttons": None, "away": True}, EditDetail("card/1", away=True)),
    ({"act": "post", "target": "", "images": [["image/png", "a cat", "aGk="]], "earlier": [8]},
     ActDetail("post", images=(Image("image/png", "a cat", "aGk="),), earlier=(OutboxId(8),))),
]  # fmt: skip


@pytest.mark.parametrize(("stored", "detail"), AS_BEFORE)
def test_details_of_this_and_of_earlier_versions_are_read(tx: Tx, stored: dict[str, Any], detail: Detail) -> None:
    row = queued(tx, "a")
    tx.run("UPDATE outbox SET detail = ?", (json.dumps(stored),))
    name_types(tx)
    assert known(tx, row.id).detail == detail == queued(tx, "b", detail=detail).detail


@pytest.mark.parametrize("stored", ['{"sings": true}', '{"act": "post", "reply_to": "7"}', '{"card": {}}', "[", "7"])
def test_a_row_that_cannot_be_read_keeps_nobody_from_the_others(tx: Tx, stored: str) -> None:
    damaged, sound = queued(tx, "a"), queued(tx, "b")
    tx.run("UPDATE outbox SET detail = ? WHERE id = ?", (stored, damaged.id))
    first, second = outbox.for_delivery(tx, HALL.id)[0]
    assert isinstance(first.detail, UnreadableRow)
    assert second == sound


def test_what_was_sent_is_forgotten_without_looking_through_everything(tx: Tx) -> None:
    plan = " ".join(row["detail"] for row in tx.all(f"EXPLAIN QUERY PLAN {outbox._FORGET}", ("[]",)))
    assert "SEARCH outbox USING INDEX outbox_turn" in plan
    assert "SCAN outbox" not in plan


def test_with_a_message_of_ours_goes_what_was_sent_of_it_and_what_tools_of_its_turn_said(tx: Tx) -> None:
    turn = begun(tx)
    message, other = [messages.add(tx, spoken(turn)) for _ in range(2)]
    answer, tool = f"turn/{turn.id}", f"tool/{turn.id}"
    rows: tuple[tuple[str, dict[str, Any]], ...] = (
        (f"{answer}/0", {"message": message}),
        (f"{tool}/1", {}),
        (f"{answer}/stays", {}),
        (f"{tool}/stays/1", {"message": other}),
        (f"{tool}/stays/2", {"kind": "preview"}),
        ("tool/like/stays", {}),
    )
    for key, change in rows:
        sent(tx, queued(tx, key, turn=turn.id, **change), key)
    queued(tx, f"{answer}/stays/unsent", turn=turn.id, message=message)
    being_sent = queued(tx, f"{answer}/stays/sending", turn=turn.id, message=message)
    outbox.mark_sending(tx, being_sent.id, NOON)
    asked = taken(tx, 1).message
    assert asked is not None
    tx.run("UPDATE messages SET batch_id = ? WHERE id = ?", (turn.id, asked))
    assert outbox.forget(tx, [asked]) == 0, "a person's message is none of ours"
    assert outbox.forget(tx, [message]) == 2
    assert [row["key"] for row in tx.all("SELECT key FROM outbox WHERE content = '' ORDER BY id")] == [
        f"{answer}/0",
        f"{tool}/1",
    ]


def test_a_row_that_was_looked_for_in_vain_begins_anew(tx: Tx) -> None:
    row = queued(tx, "a")
    outbox.mark_sending(tx, row.id, NOON)
    outbox.restart_sending(tx, row.id, LATER)
    assert (known(tx, row.id).status, known(tx, row.id).sending_at) == (Status.SENDING, LATER)
    pending = queued(tx, "b")
    outbox.restart_sending(tx, pending.id, LATER)
    assert known(tx, pending.id).sending_at is None


# ------------------------------------------------------------------------------------------- what was given up


def given_up(tx: Tx, row: OutRow, status: Status = Status.FAILED) -> None:
    outbox.mark_sending(tx, row.id, NOON)
    outbox.mark_closed(tx, row.id, status, "forbidden")
    outbox.withdraw_rest(tx, row)


def pieces(tx: Tx, count: int = 3) -> list[OutRow]:
    turn = begun(tx)
    return [queued(tx, f"turn/{turn.id}/{n}", f"piece {n}", turn=turn.id, person=ANN) for n in range(count)]


def found(tx: Tx, identifier: OutboxId) -> outbox.Undelivered:
    one = outbox.undelivered(tx, identifier)
    assert one is not None
    return one


def states(tx: Tx, rows: list[OutRow]) -> list[str]:
    return [known(tx, row.id).status.value for row in rows]


DEEDS: dict[str, tuple[Status, Callable[[Tx, OutboxId], object]]] = {
    "claim": (Status.PENDING, lambda tx, row: outbox.mark_sending(tx, row, LATER)),
    "sent": (Status.SENDING, lambda tx, row: outbox.mark_sent(tx, row, "555", LATER)),
    "taken": (Status.PENDING, lambda tx, row: outbox.take(tx, known(tx, row), "555", LATER)),
    "closed": (Status.SENDING, lambda tx, row: outbox.mark_closed(tx, row, Status.FAILED, "x")),
    "retried": (Status.SENDING, lambda tx, row: outbox.mark_retry(tx, row, "x", LATER)),
    "begun anew": (Status.SENDING, lambda tx, row: outbox.restart_sending(tx, row, LATER)),
    "withdrawn": (Status.PENDING, outbox.withdraw),
    "emptied": (Status.SENT, outbox.empty),
    "without images": (Status.SENT, outbox.drop_images),
    "a preview": (Status.SENT, outbox.replace_preview),
    "sent again": (Status.FAILED, lambda tx, row: outbox.retry(tx, found(tx, row))),
    "dropped": (Status.FAILED, lambda tx, row: outbox.drop(tx, found(tx, row))),
}


@pytest.mark.parametrize(("status", "deed"), DEEDS.values(), ids=DEEDS)
def test_what_is_done_to_a_row_is_done_to_no_other(
    tx: Tx, status: Status, deed: Callable[[Tx, OutboxId], object]
) -> None:
    held = {"files": [["a.md", "words"]], "images": [["image/png", "a cat", "aGk="]], "twice": 1}
    one, other = queued(tx, "a"), queued(tx, "b")
    tx.run("UPDATE outbox SET status = ?, detail = ?", (status, json.dumps(held)))
    before = [tuple(tx.all("SELECT * FROM outbox WHERE id = ?", (row.id,))[0]) for row in (one, other)]
    deed(tx, one.id)
    after = [tuple(tx.all("SELECT * FROM outbox WHERE id = ?", (row.id,))[0]) for row in (one, other)]
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_a_row_that_is_being_sent_is_not_taken_by_a_caller_who_waits(tx: Tx) -> None:
    row = queued(tx, "a")
    outbox.mark_sending(tx, row.id, NOON)
    outbox.take(tx, known(tx, row.id), "555", LATER)
    assert known(tx, row.id).status is Status.SENDING


def test_what_may_have_been_said_is_looked_for_before_it_is_sent_again(tx: Tx) -> None:
    row, behind = pieces(tx, 2)
    given_up(tx, row, Status.UNKNOWN)
    outbox.retry(tx, found(tx, row.id))
    again = known(tx, row.id)
    assert (again.status, again.sending_at, again.attempts) == (Status.SENDING, NOON, 0)
    assert again.detail == TextDetail(twice=True)
    assert known(tx, behind.id).status is Status.PENDING
    outbox.restart_sending(tx, row.id, NOON)
    assert known(tx, row.id).detail == TextDetail()


def test_dropping_forgets_the_words_of_all_of_them(tx: Tx) -> None:
    rows = pieces(tx)
    given_up(tx, rows[0])
    outbox.drop(tx, found(tx, rows[0].id))
    assert states(tx, rows) == ["withdrawn"] * 3
    assert tx.all("SELECT 1 FROM outbox WHERE content <> '' OR detail <> '{}'") == []
    assert outbox.count_undelivered(tx) == {"failed": 0, "unknown": 0}


def test_what_was_forgotten_or_erased_is_none_of_them_and_nothing_of_it_comes_back(tx: Tx) -> None:
    rows = pieces(tx)
    given_up(tx, rows[0])
    assert outbox.count_undelivered(tx) == {"failed": 1, "unknown": 0}
    kept_of("outbox").erase(tx, ANN)
    assert outbox.count_undelivered(tx) == {"failed": 0, "unknown": 0}
    assert outbox.undelivered(tx, rows[0].id) is None
    assert tx.all("SELECT 1 FROM outbox WHERE content <> ''") == []


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("detail", [CardDetail(CardButtons(RequestId(1), ())), EditDetail("card/1"), TextDetail()])
def test_cards_and_their_edits_are_the_brokers_and_previews_nobodys(tx: Tx, detail: Detail, again: bool) -> None:
    row = queued(tx, "card/1/x", kind="preview" if isinstance(detail, TextDetail) else "text", detail=detail)
    given_up(tx, row)
    if again:
        outbox.mark_retry(tx, row.id, "slow down", LATER)
    assert outbox.list_undelivered(tx, 10) == []


def test_a_text_of_files_alone_is_undelivered_and_one_that_was_withdrawn_is_not(tx: Tx) -> None:
    rows = [queued(tx, str(number), "", detail=TextDetail(files=(File("a.md", "words"),))) for number in range(3)]
    for row in rows:
        given_up(tx, row)
    given_up(tx, queued(tx, "b"), Status.WITHDRAWN)
    assert [each.row.id for each in outbox.list_undelivered(tx, 2)] == [rows[2].id, rows[1].id], "the newest first"


@pytest.mark.parametrize(("deed", "told"), [(outbox.retry, ""), (outbox.drop, "unknown: nobody knows")])
def test_the_agent_is_told_that_it_may_have_failed_until_it_is_sent_again(
    tx: Tx, deed: Callable[[Tx, outbox.Undelivered], None], told: str
) -> None:
    turn = begun(tx)
    message = messages.add(tx, spoken(turn))
    row = queued(tx, f"turn/{turn.id}/0", turn=turn.id, message=message)
    given_up(tx, row, Status.UNKNOWN)
    messages.note_delivery(tx, message, "unknown: nobody knows")
    deed(tx, found(tx, row.id))
    assert messages.by_ids(tx, [message], Scope(GUILD))[0].delivery == told


def test_pieces_behind_one_that_failed_come_back_with_it_as_they_were_however_often(tx: Tx) -> None:
    rows = pieces(tx)
    for _ in range(2):
        given_up(tx, rows[1])
        assert states(tx, rows) == ["pending", "failed", "withdrawn"]
        one = found(tx, rows[1].id)
        assert one.held == (rows[2].id,)
        outbox.retry(tx, one)
        assert [known(tx, row.id) for row in rows] == rows
        assert outbox.list_undelivered(tx, 10) == []
