"""Keeps the index of a local folder up to date with its directory, in steps of limited time.

Each file is a transaction of its own, so that an interrupted run continues where it stopped. A file is read again when
its size or change time differs; if its content is still the same, only the time is stored. Files that no longer exist
are removed at the end, when all others are up to date.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

from msgspec import Struct

from memory.folders import disk
from memory.folders.disk import DiskFile
from memory.folders.file_lines import MAX_INDEXED
from memory.folders.rows import (
    TOO_LARGE,
    File,
    Folder,
    NewFile,
    files,
    new_file,
    put,
    remove_files,
    set_indexed,
    touch,
    type_of,
)
from memory.people.audience import Scope
from memory.store.database import Database, Rows, Tx
from memory.store.errors import Refused
from memory.store.faults import commit_point
from memory.store.records import replace

_FILE = commit_point("folders.file")
_END = commit_point("folders.end")


class Progress(Struct, frozen=True):
    """The progress of indexing: how many files exist and still wait, and what this step did."""

    files: int
    waiting: int
    changed: int
    removed: int

    @property
    def finished(self) -> bool:
        return self.waiting == 0


async def index(database: Database, folder: Folder, clock: Callable[[], datetime], seconds: float) -> Progress:
    """Update the index of a folder for about this many seconds, but at least by one file. Raises `Refused`.

    Files of a virtual folder are indexed when they are stored.
    """
    scope = Scope(folder.audience)
    known = await database.read(lambda rows: _known(rows, folder, scope))
    if folder.kind == "virtual":
        return Progress(len(known), 0, 0, 0)
    root, deadline = Path(folder.path), time.monotonic() + seconds
    seen = await asyncio.to_thread(lambda: list(disk.walk(root)))
    stale = [each for each in seen if _differs(each, known.get(each.name))]
    changed = 0
    for number, each in enumerate(stale):
        if number and time.monotonic() > deadline:
            return Progress(len(seen), len(stale) - number, changed, 0)
        new = await asyncio.to_thread(_read, root, each)
        old = known.get(each.name)
        changed += await database.write(_FILE, partial(_store, folder=folder, new=new, old=old, now=clock()))
    gone = sorted(known.keys() - {each.name for each in seen})
    removed = await database.write(_END, lambda tx: _end(tx, folder, gone, clock()))
    return Progress(len(seen), 0, changed, removed)


def _known(rows: Rows, folder: Folder, scope: Scope) -> dict[str, File]:
    return {each.name: each for each in files(rows, folder.id, scope, limit=2 * disk.MOST_FILES)}


def _differs(seen: DiskFile, known: File | None) -> bool:
    return known is None or (seen.size, seen.modified) != (known.size, known.modified)


def _read(root: Path, seen: DiskFile) -> NewFile:
    """A file as it is now, with its passages; an unreadable one only with its name and the reason."""
    try:
        with disk.open_file(root, seen.name) as file:
            now = file.seen
            if now.size > MAX_INDEXED:
                kind = type_of(now.name, is_binary=False)
                return NewFile(now.name, kind, now.size, "", note=TOO_LARGE, modified=now.modified)
            content = b"".join(_at_most(file.blocks(), MAX_INDEXED + 1))
    except Refused as error:
        return NewFile(seen.name, "", seen.size, "", note=str(error), modified=seen.modified)
    return replace(new_file(now.name, content), size=now.size, modified=now.modified)


def _at_most(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The first bytes of a file, which may grow while it is read."""
    for block in blocks:
        yield block[:size]
        size -= len(block)
        if size <= 0:
            return


def _store(tx: Tx, *, folder: Folder, new: NewFile, old: File | None, now: datetime) -> bool:
    """Store a file; returns whether its content has changed."""
    if old is not None and old.digest and old.digest == new.digest and old.size == new.size:
        touch(tx, old.id, new.modified)
        return False
    put(tx, folder, new, now)
    return True


def _end(tx: Tx, folder: Folder, gone: list[str], now: datetime) -> int:
    set_indexed(tx, folder.id, now)
    return remove_files(tx, folder.id, gone)
