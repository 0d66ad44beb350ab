"""Gaps as a store: noted, tried with growing pauses, read or closed, and gone with their person."""

from datetime import timedelta

import pytest

from memory.people.audience import OWNER, PUBLIC, Audience, person_audience
from memory.queue import inbox, missed_messages
from memory.queue.missed_messages import Span
from memory.queue.notifications import Place
from memory.store.database import Tx
from memory.store.ids import PersonId, PlaceId
from tests.memory.parts import ANN, NOON, notification

HALL = PlaceId("discord:10")
SPAN = Span(HALL, "100", "999")
EVE = PersonId("discord:7")


def noted(tx: Tx, span: Span = SPAN, reason: str = "503") -> None:
    missed_messages.note(tx, [span], reason, NOON, NOON + missed_messages.FIRST_WAIT)


def test_pauses_double_up_to_the_longest(tx: Tx) -> None:
    noted(tx)
    missed_messages.close(tx, Span(HALL, "0", "999"), "gone", NOON)
    missed_messages.failed(tx, Span(HALL, "1", "2"), "504", NOON)  # which is no gap any more
    waits = []
    for _ in range(50):
        missed_messages.failed(tx, SPAN, "504", NOON)
        at = missed_messages.next_try(tx, "discord")
        assert at is not None
        waits.append(at - NOON)
    assert waits[:3] == [missed_messages.FIRST_WAIT, 2 * missed_messages.FIRST_WAIT, 4 * missed_messages.FIRST_WAIT]
    assert (waits[-1], missed_messages.due(tx, "discord", NOON, 10)) == (missed_messages.LONGEST_WAIT, [])
    assert {(gap.reason, gap.tries) for gap in missed_messages.listing(tx)} == {("504", 50), ("gone", 1)}


def test_noted_again_it_reaches_as_far_as_either_and_stays_one(tx: Tx) -> None:
    noted(tx, Span(HALL, "100", "999"))
    noted(tx, Span(HALL, "100", "1000"))
    noted(tx, Span(HALL, "100", "998"))
    assert [gap.span for gap in missed_messages.listing(tx)] == [Span(HALL, "100", "1000")]
    for before in ("1002", "1001"):
        noted(tx, Span(HALL, "100", before))
    assert [gap.span for gap in missed_messages.listing(tx)] == [Span(HALL, "100", "1002")]
    for seconds in (10, 12):
        missed_messages.note(tx, [SPAN], "503", NOON, NOON + timedelta(seconds=seconds))
    assert missed_messages.next_try(tx, "discord") == NOON + timedelta(seconds=10), "at the earlier time"


def test_what_was_read_in_part_is_shown_although_it_is_not_read_again(tx: Tx) -> None:
    noted(tx)
    missed_messages.close(tx, SPAN, "only the newest were read", NOON)
    missed_messages.fill(tx, SPAN)
    assert missed_messages.next_try(tx, "discord") is None
    assert [gap.reason for gap in missed_messages.listing(tx)] == ["only the newest were read"]


def test_what_reaches_further_by_now_than_what_was_tried_or_read_stays_open_until_it_is_read(tx: Tx) -> None:
    noted(tx)
    noted(tx, Span(HALL, "100", "1000"))
    assert not missed_messages.close(tx, SPAN, "gone", NOON)
    missed_messages.fill(tx, SPAN)
    assert [gap.span.before for gap in missed_messages.due(tx, "discord", NOON + missed_messages.FIRST_WAIT, 10)] == [
        "1000"
    ]
    missed_messages.fill(tx, Span(HALL, "100", "1000"))
    assert missed_messages.listing(tx) == []
    noted(tx)
    assert missed_messages.close(tx, Span(HALL, "100", "1000"), "503", NOON), (
        "the same reason, and further than the gap"
    )


def test_what_cannot_be_read_is_closed_once_and_forgotten_later(tx: Tx) -> None:
    noted(tx)
    assert missed_messages.close(tx, SPAN, "gone", NOON)
    assert not missed_messages.close(tx, SPAN, "gone", NOON)
    assert missed_messages.close(tx, SPAN, "gone for good", NOON)
    assert missed_messages.next_try(tx, "discord") is None
    missed_messages.failed(tx, SPAN, "503", NOON)
    (gap,) = missed_messages.listing(tx)
    assert (gap.reason, gap.next_try_at) == ("gone for good", None)
    noted(tx)
    assert missed_messages.next_try(tx, "discord") is not None, "it can be read again after all"
    assert missed_messages.close(tx, SPAN, "gone", NOON)
    other = Span(PlaceId("discord:11"), "1", "2")
    later = NOON + missed_messages.KEPT + timedelta(seconds=1)
    missed_messages.note(tx, [other], "503", later, later)
    assert [gap.span for gap in missed_messages.listing(tx)] == [other]


@pytest.mark.parametrize(
    ("kind", "audience", "writer", "position", "known"),
    [
        ("direct", person_audience(EVE), EVE, "2", True), ("direct", person_audience(EVE), ANN, "2", True),
        ("direct", person_audience(EVE), EVE, "", False), ("direct", person_audience(ANN), EVE, "2", False),
        ("direct", OWNER, EVE, "2", True), ("direct", OWNER, ANN, "2", False), ("guild", OWNER, EVE, "2", False),
    ],
)  # fmt: skip
def test_who_wrote_directly_before_needs_not_be_looked_for(
    tx: Tx, kind: str, audience: Audience, writer: PersonId, position: str, known: bool
) -> None:
    elsewhere = Place(HALL, "guild", PUBLIC)
    inbox.accept(tx, notification(1, place=elsewhere, person=EVE, position="1"), None, NOON)
    assert missed_messages.never_wrote(tx, [EVE, EVE]) == [EVE]
    place = Place(PlaceId("discord:20"), kind, audience)
    inbox.accept(tx, notification(2, place=place, person=writer, position=position), None, NOON)
    assert missed_messages.never_wrote(tx, [EVE]) == ([] if known else [EVE])
