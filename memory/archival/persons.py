"""What archival entries hold of a person: to show, to count, to erase."""

import json
from typing import Any

from memory.archival import journal
from memory.archival.reading import of_person
from memory.archival.storing import remove
from memory.audience import person_audience
from memory.database import Rows, Tx
from memory.ids import PersonId


def export_person(rows: Rows, person: PersonId) -> list[dict[str, Any]]:
    """Every agent's entries that hold a person's words or were stored in their direct messages, and what is kept of
    those that a night changed; oldest first."""
    condition, parameters = _held_for(person)
    columns = "id, agent_id, label, content, category, tags, metadata, importance, audience, created_at, updated_at"
    found = rows.all(f"SELECT {columns} FROM archival_entries WHERE {condition} ORDER BY n", parameters)
    parsed = ("tags", "metadata")
    entries = [
        {key: json.loads(row[key]) if key in parsed else row[key] for key in columns.split(", ")} for row in found
    ]
    return [*entries, *journal.of_person(rows, person)]


def count_person(rows: Rows, person: PersonId) -> int:
    """How many entries `export_person` gives and `erase_person` removes."""
    condition, parameters = _held_for(person)
    row = rows.one(f"SELECT count(*) FROM archival_entries WHERE {condition}", parameters)
    return (0 if row is None else int(row[0])) + len(journal.of_person(rows, person))


def erase_person(tx: Tx, person: PersonId) -> int:
    """Remove those entries with their notes of use; how many."""
    condition, parameters = _held_for(person)
    found = tx.all(f"SELECT id FROM archival_entries WHERE {condition}", parameters)
    kept = journal.erase_person(tx, person)
    return kept + remove(tx, [row["id"] for row in found])


def _held_for(person: PersonId) -> tuple[str, tuple[str, ...]]:
    condition, parameters = of_person(person)
    return f"({condition} OR audience = ?)", (*parameters, person_audience(person))
