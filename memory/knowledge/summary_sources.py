"""What summaries of agents and of days are made of: messages of one audience, never of two."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from memory.people.audience import Audience, Scope
from memory.people.unshown import shown
from memory.queue import messages
from memory.queue.messages import COLUMNS, Message, to_message
from memory.store.clock import to_text
from memory.store.database import Rows, Value
from memory.store.ids import AgentId

_SAID = f"""role IN ('user', 'assistant') AND content <> '' AND deleted_at IS NULL AND is_archived = 0
    AND {shown("messages")}"""


class Doing(NamedTuple):
    """An agent that was there for an audience; `active` as far as it was told so when it was not any more."""

    agent: AgentId
    audience: Audience
    active: bool


class Talk(NamedTuple):
    """What an audience heard in a time: how many messages, and the newest of them."""

    audience: Audience
    messages: int
    newest: int


def doing(rows: Rows, since: datetime) -> list[Doing]:
    """The agents that said or did something since then, for each audience that heard it."""
    sql = """SELECT DISTINCT m.agent_id, m.audience, coalesce(p.active, 0) AS active FROM messages m
             LEFT JOIN agent_presence p ON p.agent_id = m.agent_id AND p.audience = m.audience
             WHERE m.agent_id IS NOT NULL AND m.created_at > ? AND m.deleted_at IS NULL ORDER BY 1, 2"""
    return [Doing(AgentId(row[0]), Audience(row[1]), bool(row[2])) for row in rows.all(sql, (to_text(since),))]


def of_agent(rows: Rows, agent: AgentId, audience: Audience, since: datetime, limit: int) -> list[Message]:
    """What an agent was told, said and did since then that exactly this audience heard; the newest, oldest first."""
    sql = f"""SELECT {COLUMNS} FROM messages WHERE audience = :audience AND created_at > :since
              AND role IN ('user', 'assistant') AND deleted_at IS NULL AND is_archived = 0 AND {shown("messages")}
              AND (agent_id = :agent OR agent_id IS NULL AND batch_id IN (
                SELECT batch_id FROM messages WHERE agent_id = :agent AND audience = :audience AND created_at > :since))
              ORDER BY id DESC LIMIT :limit"""
    values: dict[str, Value] = {"agent": agent, "audience": audience, "since": to_text(since), "limit": limit}
    return [to_message(row) for row in reversed(rows.all(sql, values))]


def talk_between(rows: Rows, start: datetime, end: datetime) -> list[Talk]:
    """Who heard how much in a time; only where a person said something."""
    sql = f"""SELECT audience, count(*), max(id) FROM messages WHERE created_at >= ? AND created_at < ? AND {_SAID}
              GROUP BY audience HAVING sum(role = 'user') > 0 ORDER BY audience"""
    return [Talk(Audience(row[0]), row[1], row[2]) for row in rows.all(sql, (to_text(start), to_text(end)))]


def said_between(rows: Rows, audience: Audience, start: datetime, end: datetime, limit: int) -> list[Message]:
    """What people and agents said in a time that exactly this audience heard; the newest, oldest first."""
    sql = f"""SELECT {COLUMNS} FROM messages WHERE audience = ? AND created_at >= ? AND created_at < ? AND {_SAID}
              ORDER BY id DESC LIMIT ?"""
    found = rows.all(sql, (audience, to_text(start), to_text(end), limit))
    return [to_message(row) for row in reversed(found)]


def unchanged(rows: Rows, sources: Sequence[Message]) -> bool:
    """Whether messages still read as they were read, for the same audience."""
    known = {message.id: message for message in sources}
    now = messages.by_ids(rows, list(known), Scope(sources[0].audience)) if sources else []
    return len(now) == len(known) and all(
        (message.revision, message.audience, message.deleted_at)
        == (known[message.id].revision, known[message.id].audience, known[message.id].deleted_at)
        for message in now
    )


def places_of(rows: Rows, sources: Sequence[Message]) -> dict[str, str]:
    """The names of the places in which messages were said, by id."""
    wanted = json.dumps(sorted({message.place for message in sources}))
    found = rows.all("SELECT id, name FROM places WHERE id IN (SELECT value FROM json_each(?))", (wanted,))
    return {row["id"]: row["name"] for row in found if row["name"]}
