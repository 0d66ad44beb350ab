"""Whose words are shown in no one else's turn: people who want nothing kept, and who ask not to be shown to everybody.

What they said before stays stored, for themselves. A choice comes from global.db and is written into every
constellation; a label comes with what the person says, and goes when they say something without it.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from memory.store.database import Rows, Tx
from memory.store.ids import PersonId


class Why(StrEnum):
    CHOICE = "choice"
    LABEL = "label"


def shown(table: str) -> str:
    """A condition for rows with `person_id` and `audience`: none of talks with such people that others heard."""
    own = f"{table}.audience IN ('owner', 'person:' || u.person_id)"
    return f"NOT EXISTS (SELECT 1 FROM unshown_people u WHERE u.person_id = {table}.person_id AND NOT {own})"


def note(tx: Tx, person: PersonId, why: Why, now: datetime, *, holds: bool) -> None:
    """Note that something keeps a person's words from others, or does so no more."""
    if holds:
        tx.insert("unshown_people", {"person_id": person, "why": why, "since": now}, ignore=True)
    else:
        tx.run("DELETE FROM unshown_people WHERE person_id = ? AND why = ?", (person, why))


def choices(tx: Tx, chosen: Mapping[PersonId, str]) -> None:
    """Set whose choice it is, with since when: what global.db has, which a crash may have left unwritten here."""
    tx.run("DELETE FROM unshown_people WHERE why = ?", (Why.CHOICE,))
    for person, since in chosen.items():
        tx.insert("unshown_people", {"person_id": person, "why": Why.CHOICE, "since": since}, ignore=True)


def chosen(rows: Rows) -> dict[PersonId, str]:
    found = rows.all("SELECT person_id, since FROM unshown_people WHERE why = ?", (Why.CHOICE,))
    return {PersonId(row["person_id"]): row["since"] for row in found}


def people(rows: Rows) -> frozenset[PersonId]:
    return frozenset(PersonId(row["person_id"]) for row in rows.all("SELECT person_id FROM unshown_people"))
