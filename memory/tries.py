"""Tries at the rows of a turn: counted before they begin, so that a death counts as one, and at last given up."""

from datetime import datetime

from memory.clock import to_text
from memory.database import Tx
from memory.ids import InboxId, TurnId


def count_attempt(tx: Tx, turn: TurnId) -> int:
    """Note that another try at a turn begins; gives its number, from 1. A kill counts as a failed try."""
    tx.run("UPDATE inbox SET attempts = attempts + 1 WHERE turn_id = ? AND status = 'claimed'", (turn,))
    row = tx.one("SELECT max(attempts) AS n FROM inbox WHERE turn_id = ? AND status = 'claimed'", (turn,))
    return int(row["n"] or 0) if row is not None else 0


def uncount_attempt(tx: Tx, turn: TurnId) -> None:
    """The try that runs is none: it was stopped in good order."""
    sql = "UPDATE inbox SET attempts = attempts - 1 WHERE turn_id = ? AND status = 'claimed' AND attempts > 0"
    tx.run(sql, (turn,))


def postpone(tx: Tx, turn: TurnId, error: str, again: datetime) -> None:
    """The try failed: its rows stay with the turn and wait until `again`."""
    sql = "UPDATE inbox SET last_error = ?, next_attempt_at = ? WHERE turn_id = ? AND status = 'claimed'"
    tx.run(sql, (error, to_text(again), turn))


def separate(tx: Tx, turn: TurnId, tried: int | None = None) -> None:
    """Take the rows of a turn apart: each gets a turn of its own, so that one bad row fails alone.

    With `tried` those that were tried so often stay.
    """
    sql = """UPDATE inbox SET status = 'received', turn_id = NULL, alone = 1 WHERE turn_id = ? AND status = 'claimed'
             AND (? IS NULL OR attempts < ?)"""
    tx.run(sql, (turn, tried, tried))


def bury(tx: Tx, turn: TurnId, error: str, now: datetime) -> None:
    """Give the rows of a turn up; `revive` brings one back."""
    sql = """UPDATE inbox SET status = 'dead', last_error = ?, done_at = ?
             WHERE turn_id = ? AND status = 'claimed'"""
    tx.run(sql, (error, to_text(now), turn))


def not_begun(tx: Tx, identifier: InboxId, error: str, due: datetime, *, dead: bool, now: datetime) -> None:
    """No turn could be made of a row: it waits until `due`, or is given up."""
    sql = """UPDATE inbox SET attempts = attempts + 1, last_error = ?, next_attempt_at = ?, alone = 1,
             status = iif(?, 'dead', status), done_at = iif(?, ?, done_at) WHERE id = ?"""
    tx.run(sql, (error, to_text(due), int(dead), int(dead), to_text(now), identifier))
