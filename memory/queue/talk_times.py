"""When people talked, and what they said, since some moment: what background checks of groups are decided from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.people.audience import Scope, Trust
from memory.people.unshown import shown
from memory.store.clock import from_text, to_text
from memory.store.database import Rows
from memory.store.ids import AgentId, PersonId


@dataclass(frozen=True)
class Spoken:
    """What one person said."""

    at: datetime
    text: str
    person: PersonId | None = None
    speaker: str = ""
    trust: Trust = Trust.STRANGER


def spoken_since(rows: Rows, since: datetime, scope: Scope, limit: int) -> list[Spoken]:
    """What people said after that and the scope may know, oldest first, the newest `limit` of it."""
    condition, parameters = scope.sql("audience")
    sql = f"""SELECT created_at, content, person_id, speaker, trust FROM messages
              WHERE role = 'user' AND deleted_at IS NULL AND created_at > ? AND {condition} AND {shown("messages")}
              ORDER BY created_at DESC, id DESC LIMIT ?"""
    found = rows.all(sql, (to_text(since), *parameters, limit))
    return [
        Spoken(from_text(row["created_at"]), row["content"], row["person_id"], row["speaker"], Trust(row["trust"]))
        for row in reversed(found)
    ]


def newest_result(rows: Rows, tool: str, agents: Sequence[AgentId], since: datetime, scope: Scope) -> str | None:
    """What a tool gave one of these agents last, after a moment and as far as the scope may know."""
    condition, parameters = scope.sql("audience")
    marks = ", ".join("?" * len(agents))
    sql = f"""SELECT content FROM messages WHERE role = 'tool' AND tool_name = ? AND deleted_at IS NULL
              AND created_at > ? AND agent_id IN ({marks}) AND {condition} ORDER BY created_at DESC, id DESC LIMIT 1"""
    row = rows.one(sql, (tool, to_text(since), *agents, *parameters))
    return None if row is None else str(row["content"])
