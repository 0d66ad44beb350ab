"""The version of Carina."""

import importlib
import tomllib
from pathlib import Path

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def version() -> str:
    """The version of the installed package, or of the checkout if it is not installed."""
    metadata = importlib.import_module("importlib.metadata")  # no other command needs it
    try:
        return str(metadata.version("carina"))
    except metadata.PackageNotFoundError:
        return str(tomllib.loads(_PROJECT.read_text("utf-8"))["project"]["version"])
