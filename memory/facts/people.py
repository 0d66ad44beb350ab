"""Facts and sessions as what is known about a person."""

from typing import Any

from memory.audience import person_audience
from memory.database import Rows, Tx, as_dict
from memory.ids import PersonId

_FACTS = "person_id = ? OR audience = ?"


def export_person(rows: Rows, person: PersonId) -> list[dict[str, Any]]:
    """What was learned from a person, where that stands, and the sessions of their direct messages in short."""
    alone = person_audience(person)
    facts = rows.all(f"SELECT * FROM facts WHERE {_FACTS} ORDER BY id", (person, alone))
    sources = rows.all(
        f"SELECT * FROM fact_sources WHERE fact_id IN (SELECT id FROM facts WHERE {_FACTS}) ORDER BY id",
        (person, alone),
    )
    sessions = rows.all("SELECT * FROM sessions WHERE audience = ? ORDER BY id", (alone,))
    tables = ("facts", facts), ("fact_sources", sources), ("sessions", sessions)
    return [{"table": table, **as_dict(row)} for table, found in tables for row in found]


def erase_person(tx: Tx, person: PersonId) -> int:
    """Remove those; sessions in which others took part lose their words with the messages, by triggers."""
    alone = person_audience(person)
    gone = count_person(tx, person)
    tx.run(f"DELETE FROM facts WHERE {_FACTS}", (person, alone))
    tx.run("DELETE FROM sessions WHERE audience = ?", (alone,))
    return gone


def count_person(rows: Rows, person: PersonId) -> int:
    return len(export_person(rows, person))
