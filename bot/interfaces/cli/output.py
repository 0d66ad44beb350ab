"""How commands print what they found: JSON for machines, tables for people, tab-separated lines for other programs."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.console import Console

from bot.errors import UserError
from bot.interfaces.cli import streams
from bot.services.tables import rows_text


def print_lines(lines: Sequence[str]) -> None:
    """Print words for a person, as they are. Raises UserError when standard output takes nothing."""
    _print("\n".join(lines))


def print_passing(line: str) -> None:
    """Print how far something has come, on a terminal: the next line that is printed takes its place."""
    _console().print(line, markup=False, end="\r")


def print_data(data: Any) -> None:
    """Print one JSON document. Raises UserError when standard output takes nothing."""
    _print(json.dumps(data, ensure_ascii=not streams.says_everything(), indent=2))


def print_rows(rows: Sequence[Mapping[str, Any]], *, empty: str, brief: Collection[str] = (), whole: str = "") -> None:
    """Print a table, or `empty` without rows; on a terminal too narrow for it a line for each value.

    Rows that are nothing but a sentence stand as they are. On a terminal the texts of the columns `brief` are cut to
    one line each, and `whole` is said below when one was; other programs get all of them.
    """
    console = _console()
    width = console.width if console.is_terminal else None
    print_lines([rows_text(rows, empty=empty, width=width, brief=brief, whole=whole)])


def _print(shown: str) -> None:
    try:
        console = _console()
        console.file.write(f"{shown}\n")  # as it is: `print` makes spaces of tabs, and pictures of their names
        console.file.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        streams.drop_output()
        raise UserError(f"standard output cannot be written: {error.strerror}") from error


def _console() -> Console:
    return Console(highlight=False, soft_wrap=True)
