"""Names of folders, and of files inside them: plain text that leads nowhere else."""

import re
import unicodedata

from memory.store.errors import Refused

MAX_PATH = 400  # characters
_MAX_DEPTH = 16
_MAX_NAME = 255  # bytes, on every usual file system
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


def checked_folder(name: str) -> str:
    """The name of a folder. Raises `Refused` for one that could not stand before a path."""
    if _NAME.fullmatch(name) is None:
        raise Refused(
            "{name!r} cannot name a folder: use at most 40 small letters, digits, - and _, and begin with a "
            "letter or digit",
            name=clean(name),
        )
    return name


def parts_of(path: str) -> tuple[str, ...]:
    """The parts of a path inside a folder.

    Raises `Refused` for `..`, an absolute path, hidden names (a dot first, as secrets and repositories have them),
    and names that do not look like what they are.
    """
    parts = tuple(path.split("/"))
    if not 0 < len(path) <= MAX_PATH or len(parts) > _MAX_DEPTH:
        raise Refused(
            "a path has 1 to {max_path} characters and at most {max_depth} parts",
            max_path=MAX_PATH,
            max_depth=_MAX_DEPTH,
        )
    for part in parts:
        if part in ("", ".", ".."):
            raise Refused(
                "{path!r} leads out of the folder or is not a path: name the file without . and ..", path=clean(path)
            )
        if part.startswith("."):
            raise Refused(
                "{path!r}: hidden files and directories (beginning with a dot) are never opened", path=clean(path)
            )
        if not plain_name(part):
            raise Refused(
                "{path!r}: names with control, invisible or unprintable characters are not opened", path=clean(path)
            )
    return parts


def plain_name(name: str) -> bool:
    """Whether a name is shown as it is: no control, direction or invisible characters, no backslash, fit for a disk."""
    unseen = any(unicodedata.category(character)[0] == "C" for character in name)
    broken = any(unicodedata.category(character) in ("Zl", "Zp") for character in name)
    return not (unseen or broken or "\\" in name or name != name.strip()) and 0 < len(name.encode()) <= _MAX_NAME


def flat_name(name: str) -> str:
    """The name of a file that somebody gave, as one that can stand in a folder."""
    flat = clean(name).replace("\\", "_").replace("/", "_").lstrip(". ")
    while len(flat.encode()) > _MAX_NAME:
        flat = flat[1:]  # the end says what kind of file it is
    return flat.strip() or "file"


def clean(name: str) -> str:
    """A name that may be anything, as one line without characters that cannot be seen."""
    shown = "".join(" " if unicodedata.category(each)[0] in "CZ" else each for each in name)
    return " ".join(shown.split())[:MAX_PATH]
