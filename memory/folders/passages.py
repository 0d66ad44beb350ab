"""Splits a file into passages, the parts that are found by search."""

from msgspec import Struct

from memory.folders.file_lines import blocks_of, lines

MAX_INDEXED = 2_000_000
"""The most bytes of an indexed file; larger ones are read by windows and searched by pattern."""
_CHARACTERS = 1_200
_LINES = 40


class Passage(Struct, frozen=True):
    """Lines `start` to `end` of a file."""

    start: int
    end: int
    content: str


def passages(content: bytes) -> list[Passage]:
    """Split into whole lines, up to 40 or 1,200 characters; a longer line is split in parts. Without blank passages."""
    made: list[Passage] = []
    held: list[str] = []
    start, size = 1, 0
    for line in lines(blocks_of(content), kept=MAX_INDEXED):
        if held and (len(held) == _LINES or size + len(line.text) > _CHARACTERS):
            made += _cut(start, held)
            held, start, size = [], line.number, 0
        held.append(line.text)
        size += len(line.text) + 1
    made += _cut(start, held)
    return [each for each in made if each.content.strip()]


def _cut(start: int, held: list[str]) -> list[Passage]:
    """One passage, or several for a single longer line."""
    text, end = "\n".join(held), start + max(len(held) - 1, 0)
    return [Passage(start, end, text[at : at + _CHARACTERS]) for at in range(0, len(text), _CHARACTERS)]
