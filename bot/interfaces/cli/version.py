"""Which version of Carina this is."""

import tomllib
from importlib import metadata
from pathlib import Path

_PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def version() -> str:
    """As the installed package says; started from a checkout that is not installed, as the checkout says."""
    try:
        return metadata.version("carina")
    except metadata.PackageNotFoundError:
        return str(tomllib.loads(_PROJECT.read_text("utf-8"))["project"]["version"])
