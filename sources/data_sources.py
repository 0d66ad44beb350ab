"""The items of data sources: of folders, whose files are never opened; `sources.feeds` reads feeds and calendars."""

import os
import stat
from contextlib import suppress
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

    def unreadable(error: OSError) -> None:
        if error.filename == str(folder):  # those below are left out
            raise SourceUnreadable("the folder cannot be read: {reason}", reason=error.strerror) from error

    found = []
    for at, _folders, names in os.walk(folder, onerror=unreadable):  # follows no links
        within = Path(at).relative_to(folder).as_posix()
        for name in names:
            with suppress(OSError):  # it was deleted while the folder was read
                known = os.lstat(f"{at}/{name}")
                if stat.S_ISREG(known.st_mode):
                    path = f"{within}/{name}".removeprefix("./").encode("utf-8", "replace").decode()
                    found.append(Item(path, f"{known.st_mtime_ns}:{known.st_size}", path))
            if len(found) > MOST_FILES:
                raise SourceUnreadable("the folder has more than {most} files", most=f"{MOST_FILES:,}")
    return found
