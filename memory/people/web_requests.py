"""Requests of programs that are done once, however often they are sent: rows of global.db, digests alone."""

from datetime import datetime, timedelta
from enum import Enum

from memory.store.clock import to_text
from memory.store.database import Tx, Value

KEPT = timedelta(hours=24)


class Known(Enum):
    """How a request stands that was sent under a key."""

    NEW = "it is the first"
    DONE = "it was answered"
    OPEN = "it is under way, or its end is not known"
    OTHER = "the key was given to another request"


def begin(tx: Tx, key: str, given: bytes, request: bytes, now: datetime) -> Known:
    """Write down that a request is done now, if it was not sent before."""
    tx.run("DELETE FROM web_requests WHERE at <= ?", (to_text(now - KEPT),))
    row: dict[str, Value] = {"key_id": key, "given": given, "request": request, "at": to_text(now)}
    if tx.insert("web_requests", row, ignore=True):
        return Known.NEW
    found = tx.one("SELECT request, done FROM web_requests WHERE key_id = ? AND given = ?", (key, given))
    if found is None or found["request"] != request:
        return Known.OTHER
    return Known.DONE if found["done"] else Known.OPEN


def end(tx: Tx, key: str, given: bytes, *, done: bool) -> None:
    """It was answered; or nothing was done, and it can be sent again."""
    sql = "UPDATE web_requests SET done = 1" if done else "DELETE FROM web_requests"
    tx.run(f"{sql} WHERE key_id = ? AND given = ?", (key, given))
