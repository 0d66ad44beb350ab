"""A list of erasures beside the databases, so that restoring an older copy does not undo them.

One line of JSON each, appended and flushed to disk before anything is erased. Ids and times, never words.
"""

import json
import os
from pathlib import Path

from msgspec import Struct

from memory.store.folder import private_file
from memory.store.ids import ErasureId, PersonId
from memory.store.records import asdict

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
