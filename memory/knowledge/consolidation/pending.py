"""What was inferred about somebody and is not used before they say yes: out of use until then, and theirs to decide."""

import json
from collections.abc import Sequence
from dataclasses import replace

from memory.knowledge import archival
from memory.knowledge.archival import Entry, to_entry
from memory.store.database import Rows, Tx
from memory.store.ids import EntryId, PersonId

FLAG = "requires_user_permission"
_PERMITTED = "permitted"
_ALL = f"""SELECT * FROM archival_entries WHERE archived_at IS NOT NULL AND superseded_by IS NULL
    AND json_extract(metadata, '$.{FLAG}') = 1 AND person_id IS NOT NULL"""
_WAITING = f"{_ALL} AND person_id IN (SELECT value FROM json_each(?))"


def of_people(rows: Rows, people: Sequence[PersonId]) -> list[Entry]:
    """What waits for one of these people, the oldest first."""
    return [to_entry(row) for row in rows.all(f"{_WAITING} ORDER BY n", (json.dumps(list(people)),))]


def of_run(rows: Rows, run: str) -> list[Entry]:
    """What a run of upkeep inferred that waits, of everybody: for those who are asked."""
    sql = f"{_ALL} AND id IN (SELECT entry_id FROM dream_items WHERE run_id = ? AND action = 'made') ORDER BY n"
    return [to_entry(row) for row in rows.all(sql, (run,))]


def of_id(rows: Rows, identifier: EntryId) -> Entry | None:
    """One that still waits, for the card that asks its person."""
    row = rows.one(f"{_ALL} AND id = ?", (identifier,))
    return None if row is None else to_entry(row)


def answer(tx: Tx, identifier: str, people: Sequence[PersonId], *, yes: bool) -> Entry | None:
    """Use it from now on, or forget it; None when nothing of theirs waits under that id."""
    row = tx.one(f"{_WAITING} AND id = ?", (json.dumps(list(people)), identifier))
    if row is None:
        return None
    entry = to_entry(row)
    if not yes:
        archival.remove(tx, [entry.id])
        return entry
    archival.restore(tx, [entry.id])
    return archival.store(tx, replace(entry, metadata={**entry.metadata, FLAG: False, _PERMITTED: True}), None)


def is_permitted(entry: Entry) -> bool:
    """Whether its person said that it may be used."""
    return bool(entry.metadata.get(_PERMITTED))
