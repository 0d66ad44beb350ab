"""What the outbox gave up: shown to the owner, sent again at their word, or dropped.

Pieces of a text that stood behind a piece that failed are `withdrawn` with their words, and name that piece as
`behind` in their detail: they come back with it, and go with it. Rows whose words were forgotten are not among these,
nor are cards and what changes them, which the broker sees to when they fail.
"""

from collections import Counter
from dataclasses import dataclass

from memory.queue import messages, outbox
from memory.queue.outbox import OutRow, Status
from memory.store.database import Rows, Tx
from memory.store.ids import OutboxId

_GIVEN_UP = """status IN ('failed', 'unknown') AND kind = 'text'
    AND (content <> '' OR json_extract(detail, '$.files') IS NOT NULL)
    AND json_extract(detail, '$.card') IS NULL AND json_extract(detail, '$.edits') IS NULL"""
_HELD = "status = 'withdrawn' AND turn_id = :turn AND json_extract(detail, '$.behind') = :id"


@dataclass(frozen=True)
class Undelivered:
    """A row that was given up; `held` are the later pieces of the same text that were held back with it."""

    row: OutRow
    held: tuple[OutboxId, ...]


def counts(rows: Rows) -> dict[str, int]:
    """How many were not delivered (`failed`), and of how many nobody can tell (`unknown`)."""
    found = Counter(row["status"] for row in rows.all(f"SELECT status FROM outbox WHERE {_GIVEN_UP}"))
    return {"failed": found[Status.FAILED], "unknown": found[Status.UNKNOWN]}


def listing(rows: Rows, limit: int) -> list[Undelivered]:
    """The newest of them, newest first."""
    sql = f"SELECT id FROM outbox WHERE {_GIVEN_UP} ORDER BY id DESC LIMIT ?"
    found = (undelivered(rows, OutboxId(row["id"])) for row in rows.all(sql, (limit,)))
    return [each for each in found if each is not None]


def undelivered(rows: Rows, identifier: OutboxId) -> Undelivered | None:
    """One of them; None for any other row."""
    if rows.one(f"SELECT 1 FROM outbox WHERE id = ? AND {_GIVEN_UP}", (identifier,)) is None:
        return None
    row = outbox.get(rows, identifier)
    if row is None:
        return None
    sql = f"SELECT id FROM outbox WHERE {_HELD} ORDER BY id"
    held = rows.all(sql, {"turn": row.turn, "id": row.id})
    return Undelivered(row, tuple(OutboxId(each["id"]) for each in held))


def retry(tx: Tx, found: Undelivered) -> None:
    """Queue it again with what was held back behind it.

    What failed is sent anew. What may have been said is `sending` still, with `twice` in its detail: the place's
    history is asked first, and where that cannot be read it is sent all the same.
    """
    again = "attempts = 0, next_attempt_at = NULL, last_error = NULL"
    row = found.row
    if row.status is Status.UNKNOWN:
        sql = f"UPDATE outbox SET status = 'sending', detail = json_set(detail, '$.twice', 1), {again} WHERE id = ?"
    else:
        sql = f"UPDATE outbox SET status = 'pending', sending_at = NULL, {again} WHERE id = ?"
    tx.run(sql, (row.id,))
    sql = f"""UPDATE outbox SET status = 'pending', detail = json_remove(detail, '$.behind'), sending_at = NULL, {again}
        WHERE {_HELD}"""
    tx.run(sql, {"turn": row.turn, "id": row.id})
    if row.message is not None:
        messages.note_delivery(tx, row.message, "")


def drop(tx: Tx, found: Undelivered) -> None:
    """Forget what it and those behind it said; that they were given up stays."""
    gone = "UPDATE outbox SET status = 'withdrawn', content = '', detail = '{}'"
    tx.run(f"{gone} WHERE {_HELD}", {"turn": found.row.turn, "id": found.row.id})
    tx.run(f"{gone} WHERE id = ?", (found.row.id,))
