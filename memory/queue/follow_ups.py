"""What follows an edit or a deletion of a message, as rows: written with the redaction, each done by itself.

The words of the message go in the unit that takes the happening in, whatever becomes of the rest. What was derived from
them follows in units of its own, one for each part, so that a part that fails keeps none of the others back. A row goes
with its unit, so each is done once; one that fails waits longer each time, and after `TRIES` it waits for the next
start. As long as a row stands it holds the words that went, for they say what has to go.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from memory.people.audience import Audience
from memory.queue.messages import Message
from memory.store.columns import Codec, Unreadable
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, GroupId, MessageId, SessionId, snowflakes
from memory.store.row_mapper import RowMapper

TRIES = 5
WAITS = (timedelta(seconds=2), timedelta(seconds=20), timedelta(minutes=2), timedelta(minutes=20))


class Part(StrEnum):
    BLOCKS = "blocks"
    WORDS = "words"
    """Entries that were learned, and what we said with the words."""
    FACTS = "facts"


@dataclass(frozen=True)
class Ask:
    """Whom to ask to store anew what an edit takes away; `event` names the edit, `within` who else hears the answer."""

    group: GroupId
    event: str
    within: tuple[Audience, ...]


_ASK = Codec[Ask](Ask)


@dataclass(frozen=True)
class FollowUp:
    id: int
    message: MessageId
    part: Part
    old_text: str
    learners: tuple[tuple[AgentId, SessionId], ...]
    ask: Ask | Unreadable | None
    at: datetime
    attempts: int
    next_attempt_at: datetime | None


def learners(rows: Rows, message: MessageId) -> list[tuple[AgentId, SessionId]]:
    """Which agents learned facts from a message, each with the session in which it did."""
    sql = """SELECT f.agent_id, s.session_id FROM fact_sources s JOIN facts f ON f.id = s.fact_id
             WHERE s.message_id = ? AND s.origin = 'said' GROUP BY f.agent_id ORDER BY f.agent_id"""
    return [(AgentId(row["agent_id"]), SessionId(row["session_id"])) for row in rows.all(sql, (message,))]


def queue(
    tx: Tx,
    old: Message,
    at: datetime,
    learners: Sequence[tuple[AgentId, SessionId]] = (),
    ask: Ask | None = None,
) -> None:
    """Note what has to follow; `old` is the message as it was before the edit or deletion of that time."""
    for part in (Part.BLOCKS, Part.WORDS, *([Part.FACTS] if learners else [])):
        tx.insert(
            "follow_ups",
            {
                "id": snowflakes.next(),
                "message_id": old.id,
                "person_id": old.person,
                "audience": old.audience,
                "part": part,
                "old_text": old.text,
                "learners": json.dumps(learners),
                "ask": "{}" if ask is None else _ASK.dump(ask),
                "at": at,
                "next_attempt_at": at,
            },
        )


def over(tx: Tx, follow_up: FollowUp) -> None:
    tx.run("DELETE FROM follow_ups WHERE id = ?", (follow_up.id,))


def failed(tx: Tx, follow_up: FollowUp, error: str, now: datetime) -> bool:
    """Note that it failed; False when it has had all its tries and waits for the next start."""
    tries = follow_up.attempts + 1
    again = now + WAITS[tries - 1] if tries < TRIES else None
    sql = "UPDATE follow_ups SET attempts = ?, next_attempt_at = ?, last_error = ? WHERE id = ?"
    tx.run(sql, (tries, again, error, follow_up.id))
    return again is not None


def waiting(rows: Rows) -> list[FollowUp]:
    """All that is to be tried at some time, in the order in which it happened."""
    return _of.all(rows, "SELECT * FROM follow_ups WHERE next_attempt_at IS NOT NULL ORDER BY id")


def try_again(tx: Tx, now: datetime) -> None:
    """At a start: what was given up is tried once more."""
    tx.run("UPDATE follow_ups SET next_attempt_at = ? WHERE next_attempt_at IS NULL", (now,))


def given_up(rows: Rows) -> int:
    """How many parts have had all their tries."""
    return rows.number("SELECT count(*) FROM follow_ups WHERE attempts >= ?", (TRIES,))


_of = RowMapper(FollowUp, ask=lambda row: None if row["ask"] == "{}" else _ASK.read(row["ask"]))
