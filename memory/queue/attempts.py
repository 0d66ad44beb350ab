"""Attempts at the inbox rows of a turn, and when the rows are given up.

An attempt counts from its first model call or tool call on, so that a crash there counts; the first attempt is counted
with its first answer, which saves a commit. An attempt that ended with the process before that is only a start. Pauses
between attempts grow, whatever ended them.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta

from memory.queue.inbox import NOBODY, OVER_LIMIT, InRow
from memory.store.clock import to_text
from memory.store.database import Tx, Value
from memory.store.ids import InboxId, TurnId


def begin(tx: Tx, rows: Iterable[InRow], turn: TurnId, *, first: bool) -> None:
    """Assign rows to a new turn and begin an attempt; `first`: none of the rows was tried before."""
    sql = """UPDATE inbox SET status = 'claimed', turn_id = :turn, attempts = attempts + 1,
               ran = iif(:first, 0, ran),
               next_attempt_at = iif(:first OR last_error IN (:over, :nobody), NULL, next_attempt_at),
               last_error = nullif(nullif(last_error, :over), :nobody)
             WHERE id IN (SELECT value FROM json_each(:rows))"""
    values: dict[str, Value] = {"turn": turn, "first": int(first), "rows": json.dumps([row.id for row in rows])}
    tx.run(sql, {**values, "over": OVER_LIMIT, "nobody": NOBODY})


def count_attempt(tx: Tx, turn: TurnId) -> int:
    """Count a new attempt at a turn; returns its number, from 1. A killed attempt counts as failed."""
    sql = "UPDATE inbox SET attempts = attempts + 1 WHERE turn_id = ? AND status = 'claimed' RETURNING attempts"
    return max((int(row["attempts"]) for row in tx.all(sql, (turn,))), default=0)


PAUSES = (0.0, 5.0, 20.0, 60.0)
"""Seconds before an attempt that ended with the process is repeated, by its number; the last value repeats."""
MOST_STARTS = 10
"""Starts in a row that ended with the process before any model or tool call; after that the row itself is blamed."""
HEALTHY = (timedelta(minutes=10), timedelta(hours=1))
"""Pauses for rows with no attempts left that never failed themselves: each pause grants one more attempt."""


def note_ran(tx: Tx, turn: TurnId, now: datetime) -> None:
    """The attempt reached its first model or tool call: it counts now, and if the process ends, a pause follows."""
    sql = """UPDATE inbox SET ran = 1, starts = 0, next_attempt_at = NULL WHERE turn_id = ? AND status = 'claimed'
             RETURNING attempts"""
    tries = max((int(row["attempts"]) for row in tx.all(sql, (turn,))), default=0)
    if (pause := _after(tries, now)) is not None:
        tx.run("UPDATE inbox SET next_attempt_at = ? WHERE turn_id = ? AND status = 'claimed'", (pause, turn))


def count_again(tx: Tx, turn: TurnId, now: datetime, *, ran: bool) -> None:
    """Begin another attempt after one that ended with the process; it counts as an additional one if that one `ran`."""
    if ran:
        count_attempt(tx, turn)
        tx.run("UPDATE inbox SET ran = 0 WHERE turn_id = ? AND status = 'claimed'", (turn,))
        return
    sql = "UPDATE inbox SET starts = starts + 1 WHERE turn_id = ? AND status = 'claimed' RETURNING starts"
    starts = max((int(row["starts"]) for row in tx.all(sql, (turn,))), default=0)
    sql = "UPDATE inbox SET next_attempt_at = ? WHERE turn_id = ? AND status = 'claimed'"
    tx.run(sql, (_after(starts, now), turn))


def count_start(tx: Tx, row: InboxId, now: datetime) -> None:
    """A turn is about to begin for a row, which may end the process: then the next one waits before it tries."""
    starts = tx.number("UPDATE inbox SET starts = starts + 1 WHERE id = ? RETURNING starts", (row,))
    tx.run("UPDATE inbox SET next_attempt_at = ? WHERE id = ?", (_after(starts, now), row))


def uncount_start(tx: Tx, row: InboxId) -> None:
    """Its turn begins, in this transaction."""
    tx.run("UPDATE inbox SET starts = starts - 1, next_attempt_at = NULL WHERE id = ?", (row,))


def _after(tries: int, now: datetime) -> str | None:
    seconds = PAUSES[min(max(tries, 1), len(PAUSES)) - 1]
    return to_text(now + timedelta(seconds=seconds)) if seconds else None


def uncount_attempt(tx: Tx, turn: TurnId) -> None:
    """Do not count the running attempt, since it was stopped on purpose; the next one counts."""
    sql = """UPDATE inbox SET attempts = max(attempts - 1, 0), next_attempt_at = NULL, ran = 1
             WHERE turn_id = ? AND status = 'claimed'"""
    tx.run(sql, (turn,))


def postpone(tx: Tx, turn: TurnId, error: str, again: datetime) -> None:
    """The attempt failed: its rows stay with the turn and wait until `again`."""
    sql = "UPDATE inbox SET last_error = ?, next_attempt_at = ?, ran = 1 WHERE turn_id = ? AND status = 'claimed'"
    tx.run(sql, (error, again, turn))


def separate(tx: Tx, turn: TurnId, tried: int | None = None, *, again: datetime | None = None) -> None:
    """Give each row of a turn a turn of its own, so that one bad row fails alone.

    With `tried`, rows with that many attempts, or with all their starts used up, stay. With `again`, all are tried from
    then on, and block nothing else until then.
    """
    sql = """UPDATE inbox SET status = 'received', turn_id = NULL, alone = 1,
               next_attempt_at = coalesce(:again, next_attempt_at), ran = iif(:again IS NULL, ran, 0)
             WHERE turn_id = :turn AND status = 'claimed'
             AND (:tried IS NULL OR (attempts < :tried AND starts + 1 < :most))"""
    tx.run(sql, {"turn": turn, "tried": tried, "most": MOST_STARTS, "again": again})


def bury(tx: Tx, turn: TurnId, error: str, now: datetime) -> None:
    """Give up the rows of a turn; `revive` undoes that for one row."""
    sql = """UPDATE inbox SET status = 'dead', last_error = ?, done_at = ?
             WHERE turn_id = ? AND status = 'claimed'"""
    tx.run(sql, (error, now, turn))


def not_begun(tx: Tx, identifier: InboxId, error: str, due: datetime, *, dead: bool, now: datetime) -> None:
    """No turn could be made from a row: it waits until `due`, or is given up."""
    sql = """UPDATE inbox SET attempts = attempts + 1, last_error = ?, next_attempt_at = ?, alone = 1,
             status = iif(?, 'dead', status), done_at = iif(?, ?, done_at) WHERE id = ?"""
    tx.run(sql, (error, due, int(dead), int(dead), now, identifier))
