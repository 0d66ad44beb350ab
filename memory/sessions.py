"""Sessions: conversations without a gap of 30 minutes, of one agent in one place, as one audience heard them.

A session begins with a turn and is over when none came for half an hour; then it is put in short (`put_in_short`).
The rows belong to the store of facts (`memory.facts`), which exports and erases them. Triggers take what a session was
about away when one of its messages changes; then it is put in short again, without that.
"""

from datetime import datetime, timedelta

from memory.clock import to_text
from memory.database import Tx, Value
from memory.ids import MessageId, SessionId
from memory.turns import Turn

GAP = timedelta(minutes=30)
"""Without a turn for so long a session is over."""


def go_on(tx: Tx, turn: Turn, span: tuple[MessageId, MessageId], now: datetime) -> SessionId:
    """Count a turn that ends for the session that goes on there, or begin one. `span`: its first and last message."""
    first, last = span
    found = tx.one(
        """SELECT id FROM sessions WHERE agent_id = ? AND audience = ? AND ended = 0 AND place_id = ? AND last_at > ?
           ORDER BY last_at DESC LIMIT 1""",
        (turn.agent, turn.scope.audience, turn.place, to_text(turn.started_at - GAP)),
    )
    if found is not None:
        sql = """UPDATE sessions SET last_at = ?, end_position = max(end_position, ?), trust = min(trust, ?)
                 WHERE id = ?"""
        tx.run(sql, (to_text(now), last, int(turn.trust), found["id"]))
        return SessionId(found["id"])
    values: dict[str, Value] = {
        "id": turn.id,
        "agent_id": turn.agent,
        "place_id": turn.place,
        "start_position": first,
        "end_position": last,
        "audience": turn.scope.audience,
        "trust": int(turn.trust),
        "started_at": to_text(turn.started_at),
        "last_at": to_text(now),
    }
    tx.insert("sessions", values)
    return SessionId(turn.id)
