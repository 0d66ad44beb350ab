"""What is counted of the days of a constellation."""

from datetime import UTC, timedelta

from memory.queue import messages, telemetry, turns
from memory.store.database import Tx
from tests.memory.parts import NOON, begun, taken


def test_messages_that_one_turn_answered_together_are_both_answered(tx: Tx) -> None:
    rows = [taken(tx, number) for number in (1, 2, 3)]
    for together in (rows[:2], rows[2:]):
        turn = begun(tx, *together)
        messages.join_batch(tx, [row.message for row in together if row.message is not None], turn.id)
        if together == rows[:2]:
            turns.end(tx, turn.id, "done", NOON)
    day = NOON.date()
    heard, answered, _cost = telemetry.by_day(tx, NOON - timedelta(hours=1), UTC)
    assert (heard, answered) == ({day: 3}, {day: 2})
