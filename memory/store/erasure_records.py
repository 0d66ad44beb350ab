"""Records of the erasures of people, which survive them: rows of global.db with the person's id; and a list beside the
databases, so that restoring an older copy (`memory.store.backups`) or an import (`memory.portability.imports`) does not
undo them.

`bot.services.people.person_erasure` finishes an open one at the next start. The list has one line of JSON each,
appended and flushed to disk before anything is erased. Ids and times, never words.
"""

import json
import os
from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from memory.store.data_folder import private_file
from memory.store.database import Rows, Tx, Value
from memory.store.ids import ErasureId, PersonId, snowflakes
from memory.store.records import asdict
from memory.store.row_mapper import RowMapper

NAME = "erasures.jsonl"


class Entry(Struct, frozen=True):
    id: ErasureId
    person: PersonId
    asked_by: PersonId
    begun_at: str


def entries(folder: Path) -> list[Entry]:
    """Every recorded erasure, in order; a line that a crash cut off is skipped."""
    path = folder / NAME
    found: dict[int, Entry] = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            kept = json.loads(line)
            entry = Entry(ErasureId(kept["id"]), PersonId(kept["person"]), PersonId(kept["asked_by"]), kept["begun_at"])
        except (ValueError, KeyError, TypeError):
            continue
        found[entry.id] = entry
    return list(found.values())


def due_again(folder: Path, known: Collection[int]) -> list[Entry]:
    """The erasures, the newest of each person, that a copy of the data with only the `known` ones has not seen."""
    return list({entry.person: entry for entry in entries(folder) if entry.id not in known}.values())


def note(folder: Path, entry: Entry) -> None:
    """Record an erasure durably: it survives a power cut. Recording it again changes nothing."""
    if any(each.id == entry.id for each in entries(folder)):
        return
    path = private_file(folder / NAME)
    with path.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        if file.tell():
            file.seek(-1, os.SEEK_END)
            torn = file.read(1) != b"\n"
            file.write(b"\n" if torn else b"")
        file.write(f"{json.dumps(asdict(entry))}\n".encode())
        file.flush()
        os.fsync(file.fileno())


class Erasure(Struct, frozen=True):
    """One erasure; `receipt` is empty until it is done."""

    id: ErasureId
    person: PersonId
    asked_by: PersonId
    begun_at: str
    done_at: str
    receipt: Mapping[str, Any]

    @property
    def done(self) -> bool:
        return bool(self.done_at)

    @property
    def entry(self) -> Entry:
        return Entry(self.id, self.person, self.asked_by, self.begun_at)


def begin_erasure(tx: Tx, person: PersonId, asked_by: PersonId, now: datetime) -> Erasure:
    """Record that an erasure of a person begins, or return the one in progress. Must be durable."""
    values: dict[str, Value] = {"id": snowflakes.next(), "person_id": person, "asked_by": asked_by}
    tx.insert("erasures", {**values, "status": "begun", "begun_at": now}, ignore=True)
    return _erasure.one(tx, "SELECT * FROM erasures WHERE person_id = ? AND status = 'begun'", (person,))


def begin_again(tx: Tx, entry: Entry) -> None:
    """Record in an older copy that an erasure is still to be done there."""
    tx.run("DELETE FROM erasures WHERE person_id = ? AND status = 'begun'", (entry.person,))
    tx.run("DELETE FROM erasures WHERE id = ?", (entry.id,))
    values: dict[str, Value] = {"id": entry.id, "person_id": entry.person, "asked_by": entry.asked_by}
    tx.insert("erasures", {**values, "status": "begun", "begun_at": entry.begun_at})


def open_erasures(rows: Rows) -> list[Erasure]:
    """Unfinished erasures, oldest first."""
    return _erasure.all(rows, "SELECT * FROM erasures WHERE status = 'begun' ORDER BY id")


def finish_erasure(tx: Tx, identifier: ErasureId, receipt: Mapping[str, Any], now: datetime) -> None:
    """Store the result of an erasure: numbers and file names, never words."""
    sql = "UPDATE erasures SET status = 'done', done_at = ?, receipt = ? WHERE id = ?"
    tx.run(sql, (now, json.dumps(dict(receipt), ensure_ascii=False), identifier))


def erasures_of(rows: Rows, person: PersonId) -> list[Erasure]:
    return _erasure.all(rows, "SELECT * FROM erasures WHERE person_id = ? ORDER BY id DESC", (person,))


_erasure = RowMapper(Erasure, asked_by="asked_by")
