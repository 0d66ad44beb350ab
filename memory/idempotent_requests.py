"""The record of requests that must be carried out only once, however often they are sent."""

from datetime import datetime, timedelta
from enum import Enum

from memory.store.database import Tx, Value

KEPT = timedelta(hours=24)


class RequestState(Enum):
    """The state of a request that was sent with a key."""

    NEW = "it is the first"
    BEFORE = "it was sent before"
    OTHER = "the key was given to another request"


def begin(tx: Tx, key: str, given: bytes, request: bytes, now: datetime) -> RequestState:
    """Record that a request begins, unless it was sent before."""
    tx.run("DELETE FROM web_requests WHERE at <= ?", (now - KEPT,))
    row: dict[str, Value] = {"key_id": key, "given": given, "request": request, "at": now}
    if tx.insert("web_requests", row, ignore=True):
        return RequestState.NEW
    before = tx.value("SELECT request FROM web_requests WHERE key_id = ? AND given = ?", (key, given), bytes)
    return RequestState.BEFORE if before == request else RequestState.OTHER


def forget(tx: Tx, key: str, given: bytes) -> None:
    """Allow a request to be sent again: nothing was done."""
    tx.run("DELETE FROM web_requests WHERE key_id = ? AND given = ?", (key, given))
