"""The data folder of a running service, found without loading the configuration.

`bot.config` decides when no service runs, and reports problems. Everything else is loaded only when it is needed.
"""

import gc
import importlib
import os
from pathlib import Path
from typing import Any


def data_folder(cwd: Path) -> Path:
    """The folder that CARINA_HOME names, in the environment, in `.env`, or in the `.env` next to the settings file."""
    given = os.environ.get("CARINA_HOME") or _of_file(cwd / ".env", "CARINA_HOME")
    if not given and (file := os.environ.get("CARINA_CONFIG") or _of_file(cwd / ".env", "CARINA_CONFIG")):
        given = _of_file((cwd / Path(file).expanduser()).with_name(".env"), "CARINA_HOME")
    return cwd / Path(given or "data").expanduser()


def locale() -> str:
    """The locale for messages, by the variables of gettext; empty if none is set."""
    named = next(filter(None, map(os.environ.get, ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return named.partition(":")[0]


def source() -> str:
    """The platform of the reader, if another program set it (bot/services/status.py)."""
    return os.environ.get("READ_ON", "terminal")


def _of_file(path: Path, name: str) -> str:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    if name not in text:
        return ""
    dotenv = importlib.import_module("dotenv")  # only where it is needed
    return str(dotenv.dotenv_values(path).get(name) or "")


def loaded(module: str) -> Any:
    """A module with its imports, excluded from garbage collection because none of it is garbage."""
    gc.disable()
    try:
        found = importlib.import_module(module)
        gc.freeze()
    finally:
        gc.enable()
    return found
