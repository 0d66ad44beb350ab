"""What people said to an agent, for inferring what they want: their own words alone, never what they quote."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.knowledge.consolidation.plan import Part, Pass
from memory.knowledge.consolidation.run_records import mark_of
from memory.knowledge.feedback import unquoted
from memory.people.audience import Audience, Trust
from memory.store.database import Rows
from memory.store.ids import AgentId, MessageId, PersonId

REACH = timedelta(days=30)
"""How far back something may have been said to count as an occurrence."""
_MOST_READ, _MOST_SHOWN = 1_000, 120


@dataclass(frozen=True)
class Saying:
    """A message of a person that an agent answered."""

    id: MessageId
    person: PersonId
    speaker: str
    text: str


def sayings(rows: Rows, agent: AgentId, now: datetime) -> Mapping[Part, Sequence[Saying]]:
    """What was said lately to an agent, by part, the oldest first; only parts in which something is new."""
    found = rows.all(
        """SELECT m.id, m.person_id, m.speaker, m.content, m.audience, m.trust
           FROM messages m JOIN turns t ON t.id = m.batch_id
           WHERE t.agent_id = ? AND m.role = 'user' AND m.person_id IS NOT NULL AND m.deleted_at IS NULL
           AND m.created_at >= ? ORDER BY m.id DESC LIMIT ?""",
        (agent, now - REACH, _MOST_READ),
    )
    parts: dict[Part, list[Saying]] = {}
    for row in found:
        text = unquoted(row["content"])
        part = Part(agent, Audience(row["audience"]), Trust(row["trust"]))
        said = parts.setdefault(part, [])
        if text and len(said) < _MOST_SHOWN:
            said.append(Saying(MessageId(row["id"]), PersonId(row["person_id"]), row["speaker"], text))
    return {
        part: list(reversed(said))
        for part, said in parts.items()
        if said and said[0].id > mark_of(rows, Pass.PREFERENCES, part)
    }
