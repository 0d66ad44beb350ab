"""When something that waits in a constellation has to be looked at, also while nobody has it open."""

from datetime import datetime

from memory.store.clock import from_text
from memory.store.database import Rows

_SQL = """SELECT min(at) AS at FROM (
    SELECT min(coalesce(next_attempt_at, received_at)) AS at FROM inbox WHERE status IN ('received', 'claimed')
    UNION ALL SELECT min(coalesce(next_attempt_at, created_at)) FROM outbox WHERE status IN ('pending', 'sending')
    UNION ALL SELECT min(next_attempt_at) FROM follow_ups
    UNION ALL SELECT min(expires_at) FROM permission_requests WHERE status = 'waiting'
)"""


def earliest(rows: Rows) -> datetime | None:
    """The first moment for a message that waits, a row to be sent, an edit, or a request that expires."""
    row = rows.one(_SQL)
    return None if row is None or row["at"] is None else from_text(row["at"])
