"""The queue of cleanups after edits and deletions of messages: one row for each part of one.

`memory.erasure.edited_or_deleted_messages` does them. The unit of work that accepts the edit or deletion also erases
the message's text, whatever happens later. Data derived from the text follows in units of its own, one per part, so
that a failing part does not hold back the others. A row is deleted in its own unit, so each is handled once. A failing
one waits longer each time, and after `TRIES` attempts until the next start. While a row exists it holds the erased
text, which says what has to be removed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from memory.people.audience import Audience
from memory.queue.messages import Message
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, GroupId, MessageId, SessionId, snowflakes
from memory.store.row_mapper import Codec, RowMapper, UnreadableRow

TRIES = 5
WAITS = (timedelta(seconds=2), timedelta(seconds=20), timedelta(minutes=2), timedelta(minutes=20))


class Target(StrEnum):
    BLOCKS = "blocks"
    WORDS = "words"
    """Learned entries that contain the words, and messages of ours that quote them."""
    FACTS = "facts"


@dataclass(frozen=True)
class Ask:
    """Whom to ask to store again what an edit removed; `event` names the edit, `within` who else hears the answer."""

    group: GroupId
    event: str
    within: tuple[Audience, ...]


_ASK = Codec[Ask](Ask)


class FollowUp(Struct, frozen=True):
    id: int
    message: MessageId
    part: Target
    old_text: str
    learners: tuple[tuple[AgentId, SessionId], ...]
    ask: Ask | UnreadableRow | None
    at: datetime
    attempts: int
    next_attempt_at: datetime | None


def learners(rows: Rows, message: MessageId) -> list[tuple[AgentId, SessionId]]:
    """The agents that learned facts from a message, each with the session in which it did."""
    sql = """SELECT f.agent_id, s.session_id FROM fact_sources s JOIN facts f ON f.id = s.fact_id
             WHERE s.message_id = ? AND s.origin = 'said' GROUP BY f.agent_id ORDER BY f.agent_id"""
    return [(AgentId(row["agent_id"]), SessionId(row["session_id"])) for row in rows.all(sql, (message,))]


def queue(
    tx: Tx, old: Message, at: datetime, learners: Sequence[tuple[AgentId, SessionId]] = (), ask: Ask | None = None
) -> None:
    """Queue the follow-ups; `old` is the message before its edit or deletion at `at`."""
    said = {"message_id": old.id, "person_id": old.person, "audience": old.audience, "old_text": old.text}
    asked = {"learners": json.dumps(learners), "ask": "{}" if ask is None else _ASK.dump(ask)}
    for part in (Target.BLOCKS, Target.WORDS, *([Target.FACTS] if learners else [])):
        values = {"id": snowflakes.next(), "part": part, **said, **asked, "at": at, "next_attempt_at": at}
        tx.insert("follow_ups", values)


def over(tx: Tx, follow_up: FollowUp) -> None:
    tx.run("DELETE FROM follow_ups WHERE id = ?", (follow_up.id,))


def failed(tx: Tx, follow_up: FollowUp, error: str, now: datetime) -> bool:
    """Record a failure; False when no attempt is left and it waits for the next start."""
    tries = follow_up.attempts + 1
    again = now + WAITS[tries - 1] if tries < TRIES else None
    sql = "UPDATE follow_ups SET attempts = ?, next_attempt_at = ?, last_error = ? WHERE id = ?"
    tx.run(sql, (tries, again, error, follow_up.id))
    return again is not None


def waiting(rows: Rows) -> list[FollowUp]:
    """All follow-ups that will still be tried, in the order of their events."""
    return _of.all(rows, "SELECT * FROM follow_ups WHERE next_attempt_at IS NOT NULL ORDER BY id")


def try_again(tx: Tx, now: datetime) -> None:
    """At startup, give those that were given up another attempt."""
    tx.run("UPDATE follow_ups SET next_attempt_at = ? WHERE next_attempt_at IS NULL", (now,))


def given_up(rows: Rows) -> int:
    """How many follow-ups have no attempt left."""
    return rows.number("SELECT count(*) FROM follow_ups WHERE attempts >= ?", (TRIES,))


_of = RowMapper(FollowUp, ask=lambda row: None if row["ask"] == "{}" else _ASK.read(row["ask"]))
