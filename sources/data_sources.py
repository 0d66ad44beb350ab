"""The items of data sources: of folders, whose files are never opened; `sources.feeds` reads feeds and calendars."""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from texts import TextError


class Item(Struct, frozen=True):
    """An item of a source. It is news if its key is new, or if its `mark` has changed."""

    key: str
    mark: str
    title: str
    text: str = ""
    link: str = ""
    at: datetime | None = None


class SourceUnreadable(TextError):
    """A source cannot be read as its kind; the text says why."""


MOST_FILES = 200_000


def read_folder(folder: Path) -> list[Item]:
    """Every file in a folder and its subfolders. Raises SourceUnreadable."""
    if not folder.is_dir():
        raise SourceUnreadable("the folder does not exist")
    found = []
    for path, entry in _files(folder, ""):
        try:
            known = entry.stat(follow_symlinks=False)
        except OSError:  # it was deleted while the folder was read
            continue
        found.append(Item(path, f"{known.st_mtime_ns}:{known.st_size}", path))
        if len(found) > MOST_FILES:
            raise SourceUnreadable("the folder has more than {most} files", most=f"{MOST_FILES:,}")
    return found


def _files(folder: Path, within: str) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    waiting = [(str(folder), within)]
    while waiting:
        at, name = waiting.pop()
        try:
            with os.scandir(at) as entries:
                for entry in entries:
                    path = f"{name}{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, f"{path}/"))
                    elif entry.is_file(follow_symlinks=False):
                        yield path.encode("utf-8", "replace").decode(), entry
        except OSError as error:
            if at == str(folder):
                raise SourceUnreadable("the folder cannot be read: {reason}", reason=error.strerror) from error
