"""People's states: one word of their own for how they are, by which groups decide who answers.

A state that was given in a place is visible to whoever may know that place's messages.
"""

from datetime import datetime, timedelta

from memory.people.audience import OWNER, Audience, Scope
from memory.store.database import Rows, Tx
from memory.store.ids import PersonId

LONGEST = 40
"""The maximum length of a state, in characters."""
LASTS = timedelta(hours=24)
"""How long a state lasts: whoever was overwhelmed yesterday says so again today."""


def put(tx: Tx, person: PersonId, audience: Audience, state: str, now: datetime) -> None:
    """Set a person's state for one audience; an empty state clears it."""
    tx.run("DELETE FROM person_states WHERE person_id = ? AND audience = ?", (person, audience))
    if state:
        tx.insert("person_states", {"person_id": person, "audience": audience, "state": state, "said_at": now})


def of(rows: Rows, people: tuple[PersonId, ...], scope: Scope, now: datetime) -> str:
    """The newest unexpired state from any of a person's accounts that the scope may know; empty for none."""
    sql = """SELECT state FROM person_states WHERE person_id IN (SELECT value FROM json_each(?)) AND KNOWN(audience)
             AND said_at > ? ORDER BY said_at DESC LIMIT 1"""
    return rows.value(*scope.bind(sql, people, now - LASTS), str) or ""


def noted(rows: Rows, people: tuple[PersonId, ...], scope: Scope, label: str) -> list[str]:
    """The contents of blocks with that label, of any agent, about a person, that the scope may know.

    A block is about a person if it says so, or if only this person can read it.
    """
    alone = scope.audience if scope.audience == OWNER or scope.audience.startswith("person:") else ""
    sql = """SELECT content FROM memory_blocks WHERE deleted_at IS NULL AND label = ? AND KNOWN(audience)
             AND (person_id IN (SELECT value FROM json_each(?)) OR audience = ?)"""
    return [str(row["content"]) for row in rows.all(*scope.bind(sql, label, people, alone))]
