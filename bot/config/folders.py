"""Paths as people write them, and whether the data folder can stand where it is wanted."""

import os
from pathlib import Path


def located(text: str, cwd: Path) -> Path:
    """A path from where the program was started. Raises ValueError for the home of somebody who is not there."""
    try:
        return cwd / Path(text).expanduser()
    except RuntimeError:
        raise ValueError("a path; what begins with ~ names no user of this machine") from None


def folder_problem(folder: Path) -> str:
    """Why this folder cannot be used or made; empty when it can, as far as one can tell without trying."""
    try:
        standing = next(path for path in (folder, *folder.parents) if _stands(path))
        named = "it" if standing == folder else str(standing)
        if not standing.is_dir():
            return f"{named} is not a folder"
        if not os.access(standing, os.R_OK | os.W_OK | os.X_OK):
            return f"{named} cannot be written by you"
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""


def _stands(path: Path) -> bool:
    """Whether there is anything of that name, be it a link that leads nowhere. Raises OSError for what is no name."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
