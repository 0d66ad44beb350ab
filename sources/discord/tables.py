"""Renders Markdown tables, which Discord does not support, as code blocks with aligned columns."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice

_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?")
_FENCE = re.compile(r"\s*(```|~~~)")
_CELL = re.compile(r"(?<!\\)\|")
_MARKS = re.compile(r"\*\*|__|`")
_WIDEST = 90  # cells per line; a wider table becomes one paragraph per row


def tables_as_code(text: str) -> str:
    """A text with aligned tables; everything else, and code, unchanged."""
    return "\n".join(_lines(text.split("\n"))) if "|" in text else text


def _lines(lines: Sequence[str]) -> Iterator[str]:
    place, fence = 0, ""
    while place < len(lines):
        line = lines[place]
        if found := _FENCE.match(line):
            fence = "" if fence == found[1] else fence or found[1]
        rows = [] if fence else _table(lines, place)
        if rows:
            yield from _drawn(rows)
            place += len(rows) + 1  # the line of dashes
        else:
            yield line
            place += 1


def _table(lines: Sequence[str], place: int) -> list[list[str]]:
    first, *rule = lines[place : place + 2]
    if not rule or "|" not in first or "|" not in rule[0] or not _RULE.fullmatch(rule[0].strip()):
        return []
    head = _cells(first)
    if len(head) != len(_cells(rule[0])):
        return []
    rows = [head]
    for line in islice(lines, place + 2, None):
        if "|" not in line:
            break
        cells = _cells(line)
        rows.append([*cells, *[""] * len(head)][: max(len(head), 1)])
    return rows


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [_MARKS.sub("", cell.strip()).replace(r"\|", "|") for cell in _CELL.split(inner)]


def _drawn(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + 2 * len(widths) > _WIDEST:
        for row in rows[1:]:
            yield "; ".join(f"**{name}**: {cell}" for name, cell in zip(rows[0], row, strict=True) if cell)
        return
    yield "```"
    for number, row in enumerate(rows):
        yield "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        if number == 0:
            yield "  ".join("─" * width for width in widths)
    yield "```"


def _width(text: str) -> int:
    """In cells: East Asian characters take two, combining ones none."""
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text)
    return len(text) + wide - sum(unicodedata.combining(each) > 0 for each in text)
