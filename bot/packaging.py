"""An answer as the messages that say it: split for the platform, or a file when it is very long."""

from collections.abc import Callable
from dataclasses import dataclass

MAX_PIECES = 5
"""More messages than this in a row are a flood; the text goes out as a file instead."""


@dataclass(frozen=True)
class Piece:
    """One message: its text and, if any, the text of a file that goes with it."""

    text: str
    file_name: str = ""
    file_text: str = ""


def package(text: str, split: Callable[[str], list[str]]) -> list[Piece]:
    """The pieces of an answer, in order; none for an empty one."""
    if not text.strip():
        return []
    parts = split(text)
    if len(parts) <= MAX_PIECES:
        return [Piece(part) for part in parts]
    note = f"(My answer is {len(text):,} characters long: the whole of it is in the file.)"
    return [Piece(parts[0]), Piece(note, "answer.md", text)]
