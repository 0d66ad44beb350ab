"""What was given up: which rows count, and how they come back or go with the pieces behind them."""

import pytest

from memory.people.audience import Scope, Trust
from memory.queue import messages, outbox
from memory.queue.messages import TurnRow
from memory.queue.outbox import CardButtons, CardDetail, Detail, EditDetail, OutRow, Status, TextDetail
from memory.store.database import Tx
from memory.store.ids import OutboxId, RequestId
from tests.memory.parts import ANN, GUILD, HALL, NOON, STAR, begun, kept_of
from tests.memory.queue.test_outbox import known, queued


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


def test_failing_again_holds_them_back_again(tx: Tx) -> None:
    rows = pieces(tx)
    for _ in range(2):
        given_up(tx, rows[0])
        one = found(tx, rows[0].id)
        assert len(one.held) == 2
        outbox.retry(tx, one)
    assert states(tx, rows) == ["pending"] * 3


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


@pytest.mark.parametrize("detail", [CardDetail(CardButtons(RequestId(1), ())), EditDetail("card/1")])
def test_cards_and_their_edits_are_the_brokers(tx: Tx, detail: Detail) -> None:
    given_up(tx, queued(tx, "card/1/x", detail=detail))
    assert outbox.list_undelivered(tx, 10) == []


def test_the_agent_is_no_longer_told_that_it_failed(tx: Tx) -> None:
    turn = begun(tx)
    said = TurnRow(turn.id, 1, HALL.id, STAR, ANN, "Star", "assistant", "hello", "discord", GUILD, Trust.AGENT, NOON)
    message = messages.add_said(tx, said)
    row = queued(tx, f"turn/{turn.id}/0", turn=turn.id, message=message)
    given_up(tx, row)
    before = messages.by_ids(tx, [message], Scope(GUILD))[0].delivery
    messages.note_delivery(tx, message, "failed: forbidden")
    outbox.retry(tx, found(tx, row.id))
    assert messages.by_ids(tx, [message], Scope(GUILD))[0].delivery == before


def test_pieces_behind_one_that_failed_come_back_with_it_as_they_were(tx: Tx) -> None:
    rows = pieces(tx)
    given_up(tx, rows[1])
    assert states(tx, rows) == ["pending", "failed", "withdrawn"]
    one = found(tx, rows[1].id)
    assert one.held == (rows[2].id,)
    outbox.retry(tx, one)
    assert states(tx, rows) == ["pending"] * 3
    assert [known(tx, row.id) for row in rows] == rows
    assert outbox.list_undelivered(tx, 10) == []
    assert outbox.undelivered(tx, rows[1].id) is None


def test_the_newest_come_first(tx: Tx) -> None:
    rows = [queued(tx, str(number)) for number in range(3)]
    for row in rows:
        given_up(tx, row)
    assert [each.row.id for each in outbox.list_undelivered(tx, 2)] == [rows[2].id, rows[1].id]
