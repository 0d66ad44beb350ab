"""How somebody is, in a word of their own, and as the blocks about them have it.

What was said in a place holds where those who hear it may know it, like anything else that was said there.
"""

from datetime import datetime, timedelta

from memory.people.audience import OWNER, Audience, Scope
from memory.store.database import Rows, Tx
from memory.store.ids import PersonId

LONGEST = 40
"""Characters of a state."""
LASTS = timedelta(hours=24)
"""How long a state holds that is not said again: who was overwhelmed yesterday says so anew."""


def put(tx: Tx, person: PersonId, audience: Audience, state: str, now: datetime) -> None:
    """Let somebody be so from now on, as far as that audience knows; an empty state takes it back."""
    tx.run("DELETE FROM person_states WHERE person_id = ? AND audience = ?", (person, audience))
    if state:
        tx.insert("person_states", {"person_id": person, "audience": audience, "state": state, "said_at": now})


def of(rows: Rows, people: tuple[PersonId, ...], scope: Scope, now: datetime) -> str:
    """What somebody said last under any of their accounts, as far as the scope may know it and it still holds.

    Empty for nothing.
    """
    condition, parameters = scope.sql("audience")
    marks = ", ".join("?" * len(people))
    sql = f"""SELECT state FROM person_states WHERE person_id IN ({marks}) AND {condition}
              AND said_at > ? ORDER BY said_at DESC LIMIT 1"""
    row = rows.one(sql, (*people, *parameters, now - LASTS))
    return "" if row is None else str(row["state"])


def noted(rows: Rows, people: tuple[PersonId, ...], scope: Scope, label: str) -> list[str]:
    """The contents of blocks of that label, of any agent, that are about somebody and that the scope may know.

    About somebody are blocks that say so, and those that only this one person can read.
    """
    condition, parameters = scope.sql("audience")
    marks = ", ".join("?" * len(people))
    alone = scope.audience if scope.audience == OWNER or scope.audience.startswith("person:") else ""
    sql = f"""SELECT content FROM memory_blocks WHERE deleted_at IS NULL AND label = ? AND {condition}
              AND (person_id IN ({marks}) OR audience = ?)"""
    return [str(row["content"]) for row in rows.all(sql, (label, *parameters, *people, alone))]
