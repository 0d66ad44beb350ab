"""People's privacy choices: rows of global.db.

A choice holds only the person's id. It survives an erasure, since otherwise erasing would end an opt-out.
"""

from datetime import datetime
from enum import StrEnum

from memory.store.database import Rows, Tx
from memory.store.ids import PersonId


class PrivacyChoice(StrEnum):
    """Why nothing that a person says is stored or answered. Both last until the person ends them."""

    PAUSED = "paused"
    OPTED_OUT = "opted_out"


def choices(rows: Rows) -> dict[PersonId, tuple[PrivacyChoice, str]]:
    """Everybody's current choice, with its start."""
    found = rows.all("SELECT person_id, choice, since FROM privacy_choices")
    return {PersonId(row["person_id"]): (PrivacyChoice(row["choice"]), row["since"]) for row in found}


def ended(rows: Rows) -> dict[PersonId, list[tuple[str, str]]]:
    """The start and end of everybody's earlier choices."""
    found: dict[PersonId, list[tuple[str, str]]] = {}
    for row in rows.all("SELECT person_id, since, until FROM ended_privacy_choices"):
        found.setdefault(PersonId(row["person_id"]), []).append((row["since"], row["until"]))
    return found


def choose(tx: Tx, person: PersonId, choice: PrivacyChoice | None, now: datetime) -> None:
    """Store a choice; None ends the current one. The commit of this must be durable."""
    ended = "SELECT person_id, since, ? FROM privacy_choices WHERE person_id = ?"
    tx.run(f"INSERT OR REPLACE INTO ended_privacy_choices {ended}", (now, person))
    tx.run("DELETE FROM privacy_choices WHERE person_id = ?", (person,))
    if choice is not None:
        tx.insert("privacy_choices", {"person_id": person, "choice": choice, "since": now})
