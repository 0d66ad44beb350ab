"""Tries at the rows of a turn, and when they are given up.

A try is counted once it comes to a model or a tool, so that a death there counts; the first with its first answer,
which spares a commit. One that ended with the process before that is a start. Pauses between tries grow, whatever ended
them.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta

from memory.queue.inbox import NOBODY, OVER_LIMIT, InRow
from memory.store.clock import to_text
from memory.store.database import Tx, Value
from memory.store.ids import InboxId, TurnId


def begin(tx: Tx, rows: Iterable[InRow], turn: TurnId, *, first: bool) -> None:
    """Give rows to a new turn, of which a try begins; `first`: nobody tried any of them."""
    sql = """UPDATE inbox SET status = 'claimed', turn_id = :turn, attempts = attempts + 1,
               ran = iif(:first, 0, ran),
               next_attempt_at = iif(:first OR last_error IN (:over, :nobody), NULL, next_attempt_at),
               last_error = nullif(nullif(last_error, :over), :nobody)
             WHERE id IN (SELECT value FROM json_each(:rows))"""
    values: dict[str, Value] = {"turn": turn, "first": int(first), "rows": json.dumps([row.id for row in rows])}
    tx.run(sql, {**values, "over": OVER_LIMIT, "nobody": NOBODY})


def count_attempt(tx: Tx, turn: TurnId) -> int:
    """Note that another try at a turn begins; gives its number, from 1. A kill counts as a failed try."""
    sql = "UPDATE inbox SET attempts = attempts + 1 WHERE turn_id = ? AND status = 'claimed' RETURNING attempts"
    return max((int(row["attempts"]) for row in tx.all(sql, (turn,))), default=0)


PAUSES = (0.0, 5.0, 20.0, 60.0)
"""Seconds until what ended with the process is tried again, by the number of the try that did; the last repeated."""
MOST_STARTS = 10
"""Starts in a row that ended with the process before a model or a tool was asked; then the row is what ends it."""
HEALTHY = (timedelta(minutes=10), timedelta(hours=1))
"""The same for what had all its tries but never failed by itself: each of these is one more."""


def note_ran(tx: Tx, turn: TurnId, now: datetime) -> None:
    """The try came to its first model call or tool: from here on it counts, and if the process ends it pauses."""
    sql = """UPDATE inbox SET ran = 1, starts = 0, next_attempt_at = NULL WHERE turn_id = ? AND status = 'claimed'
             RETURNING attempts"""
    tries = max((int(row["attempts"]) for row in tx.all(sql, (turn,))), default=0)
    if (pause := _after(tries, now)) is not None:
        tx.run("UPDATE inbox SET next_attempt_at = ? WHERE turn_id = ? AND status = 'claimed'", (pause, turn))


def count_again(tx: Tx, turn: TurnId, now: datetime, *, ran: bool) -> None:
    """The try before ended; another begins, and counts beside it if that one `ran`."""
    if ran:
        count_attempt(tx, turn)
        tx.run("UPDATE inbox SET ran = 0 WHERE turn_id = ? AND status = 'claimed'", (turn,))
        return
    sql = "UPDATE inbox SET starts = starts + 1 WHERE turn_id = ? AND status = 'claimed' RETURNING starts"
    starts = max((int(row["starts"]) for row in tx.all(sql, (turn,))), default=0)
    sql = "UPDATE inbox SET next_attempt_at = ? WHERE turn_id = ? AND status = 'claimed'"
    tx.run(sql, (_after(starts, now), turn))


def _after(tries: int, now: datetime) -> str | None:
    seconds = PAUSES[min(max(tries, 1), len(PAUSES)) - 1]
    return to_text(now + timedelta(seconds=seconds)) if seconds else None


def wait_apart(tx: Tx, turn: TurnId, again: datetime) -> None:
    """Take the rows of a turn apart, to be tried again at that time; until then they hold up nobody."""
    sql = "UPDATE inbox SET next_attempt_at = ?, ran = 0 WHERE turn_id = ? AND status = 'claimed'"
    tx.run(sql, (again, turn))
    separate(tx, turn)


def uncount_attempt(tx: Tx, turn: TurnId) -> None:
    """The try that runs is none, as it was stopped in good order; the next one counts."""
    sql = """UPDATE inbox SET attempts = max(attempts - 1, 0), next_attempt_at = NULL, ran = 1
             WHERE turn_id = ? AND status = 'claimed'"""
    tx.run(sql, (turn,))


def postpone(tx: Tx, turn: TurnId, error: str, again: datetime) -> None:
    """The try failed: its rows stay with the turn and wait until `again`."""
    sql = "UPDATE inbox SET last_error = ?, next_attempt_at = ?, ran = 1 WHERE turn_id = ? AND status = 'claimed'"
    tx.run(sql, (error, again, turn))


def separate(tx: Tx, turn: TurnId, tried: int | None = None) -> None:
    """Take the rows of a turn apart: each gets a turn of its own, so that one bad row fails alone.

    With `tried` those that were tried so often stay, and those that had all their starts.
    """
    sql = """UPDATE inbox SET status = 'received', turn_id = NULL, alone = 1 WHERE turn_id = :turn
             AND status = 'claimed' AND (:tried IS NULL OR (attempts < :tried AND starts + 1 < :most))"""
    tx.run(sql, {"turn": turn, "tried": tried, "most": MOST_STARTS})


def bury(tx: Tx, turn: TurnId, error: str, now: datetime) -> None:
    """Give the rows of a turn up; `revive` brings one back."""
    sql = """UPDATE inbox SET status = 'dead', last_error = ?, done_at = ?
             WHERE turn_id = ? AND status = 'claimed'"""
    tx.run(sql, (error, now, turn))


def not_begun(tx: Tx, identifier: InboxId, error: str, due: datetime, *, dead: bool, now: datetime) -> None:
    """No turn could be made of a row: it waits until `due`, or is given up."""
    sql = """UPDATE inbox SET attempts = attempts + 1, last_error = ?, next_attempt_at = ?, alone = 1,
             status = iif(?, 'dead', status), done_at = iif(?, ?, done_at) WHERE id = ?"""
    tx.run(sql, (error, due, int(dead), int(dead), now, identifier))
