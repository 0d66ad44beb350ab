"""Ratings of conversations that are over, one each. Only ratings and names of tools are stored, never words."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from memory.knowledge import items, sessions
from memory.knowledge.feedback import Signal, unquoted
from memory.knowledge.items import Item, Kind, encoded
from memory.people.audience import Audience, Trust
from memory.queue.messages import Message
from memory.store.database import Row, Rows, Tx, as_dict
from memory.store.ids import AgentId, MessageId, PlaceId, SessionId

REACH = timedelta(days=2)
"""Talks that ended longer ago and are not graded yet are skipped."""
_MOST_SHOWN = 60  # messages of a talk


class Quality(StrEnum):
    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"


JudgedBy: TypeAlias = Literal["model", "rules"]


class Talk(Struct, frozen=True):
    """A finished session, with the feedback on its answers; `lines` have a `person` only where it is their own."""

    id: SessionId
    agent: AgentId
    place: PlaceId
    lines: tuple[Message, ...]
    tools: tuple[str, ...]
    """The tools that were used."""
    failures: tuple[str, ...]
    """The tools that failed, once per failure."""
    given: Counter[Signal]
    corrected: frozenset[MessageId]
    """Messages that are known to be corrections."""
    audience: Audience
    trust: Trust
    last_at: str


class Evaluation(Struct, frozen=True):
    quality: Quality
    worked: tuple[str, ...]
    failed: tuple[str, ...]
    by: JudgedBy


def unjudged(rows: Rows, now: datetime, limit: int) -> list[Talk]:
    """Finished talks with people that have no grade yet, oldest first."""
    sql = """SELECT * FROM sessions s WHERE ended = 1 AND last_at >= ?
             AND NOT EXISTS (SELECT 1 FROM items i WHERE i.kind = 'evaluation' AND i.key = CAST(s.id AS TEXT))
             AND EXISTS (SELECT 1 FROM messages m WHERE m.place_id = s.place_id AND m.audience = s.audience
               AND m.role = 'user' AND m.person_id IS NOT NULL AND m.deleted_at IS NULL
               AND m.id BETWEEN s.start_position AND s.end_position)
             ORDER BY last_at, id LIMIT +?"""
    return [_talk(rows, row) for row in rows.all(sql, (now - REACH, limit))]


def _talk(rows: Rows, row: Row) -> Talk:
    span = as_dict(row)
    used = rows.all(f"SELECT tool_name FROM messages WHERE role = 'tool' AND batch_id IN ({sessions.TURNS})", span)
    given = rows.all(
        f"""SELECT i.key AS kind, s.message_id, i.detail ->> 'tool' AS tool FROM items i
            LEFT JOIN item_sources s ON s.item_id = i.id WHERE i.kind = 'signal' AND i.turn_id IN ({sessions.TURNS})""",
        span,
    )
    return Talk(
        id=SessionId(row["id"]),
        agent=AgentId(row["agent_id"]),
        place=PlaceId(row["place_id"]),
        lines=tuple(map(_line, sessions.said(rows, row)[-_MOST_SHOWN:])),
        tools=tuple(dict.fromkeys(each["tool_name"] for each in used if each["tool_name"])),
        failures=tuple(each["tool"] for each in given if each["kind"] == Signal.FAILURE),
        given=Counter(Signal(each["kind"]) for each in given),
        corrected=frozenset(MessageId(each["message_id"]) for each in given if each["message_id"] is not None),
        audience=Audience(row["audience"]),
        trust=Trust(row["trust"]),
        last_at=row["last_at"],
    )


def _line(said: Message) -> Message:
    own = said.role == "user" and said.person is not None
    return said._replace(text=unquoted(said.text)) if own else said._replace(person=None)


def by_rules(talk: Talk) -> Evaluation:
    """Grade a talk by feedback and failures: one makes it fair, more make it poor."""
    given = talk.given
    against = given[Signal.CORRECTION] + 2 * given[Signal.DOWN] + given[Signal.FAILURE] - given[Signal.UP]
    quality = Quality.GOOD if against <= 0 else Quality.FAIR if against == 1 else Quality.POOR
    failed = tuple(dict.fromkeys(talk.failures))
    return Evaluation(quality, tuple(tool for tool in talk.tools if tool not in failed), failed, "rules")


def keep(tx: Tx, talk: Talk, found: Evaluation, now: datetime) -> bool:
    """Store a grade; False if the talk has gone on or changed since it was read."""
    sql = "SELECT 1 FROM sessions WHERE id = ? AND ended = 1 AND last_at = ?"
    if tx.one(sql, (talk.id, talk.last_at)) is None:
        return False
    if items.find(tx, Kind.EVALUATION, key=str(talk.id)):
        return False
    heard = talk.audience, talk.trust, now, now
    items.put(tx, Item(Kind.EVALUATION, *heard, key=str(talk.id), detail=encoded(found), agent=talk.agent))
    return True


def tallied(rows: Rows, agents: Sequence[AgentId], since: datetime) -> tuple[Counter[Quality], Counter[str]]:
    """How many talks of agents got each grade since then, and in how many each tool failed."""
    sql = """SELECT detail FROM items WHERE kind = 'evaluation' AND created_at >= ?
             AND agent_id IN (SELECT value FROM json_each(?))"""
    found = [msgspec.json.decode(row["detail"], type=Evaluation) for row in rows.all(sql, (since, list(agents)))]
    failed = Counter(tool for each in found for tool in each.failed)
    return Counter(each.quality for each in found), failed
