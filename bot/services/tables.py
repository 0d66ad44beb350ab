"""Tables of rows, and one row as lines."""

import io
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from memory.store.ids import code
from sources.text import without_unseen
from texts import _

_PROSE = ("last_error", "text", "place", "reason", "why", "before", "after")
"""Columns with longer texts share the remaining width; other columns stay on one line, for copying."""
_HEADINGS = {
    "begins_anew": "resets at",
    "calls_without_price": "unpriced calls",
    "carried": "imported",
    "cost_usd": "cost in dollars",
    "deed": "kind of change",
    "did": "what it did",
    "every_minutes": "minutes between checks",
    "heard": "received",
    "heard_in": "received in",
    "perhaps": "guess",
    "says": "statement",
    "tech": "technology",
    "usd": "limit in dollars",
    "usd_left": "dollars left",
}
_LEAST_PROSE = 20  # cells for such a column
_GAP = 2  # cells between columns


def rows_text(
    rows: Sequence[Mapping[str, Any]],
    *,
    empty: str,
    width: int | None,
    brief: Collection[str] = (),
    whole: str = "",
) -> str:
    """A table, or `empty` without rows; on a terminal too narrow for it, a line for each value.

    Rows of a single sentence stay as they are. `width` is the terminal's, None for a program, which gets every text in
    full. On a terminal the texts of the columns `brief` are cut to one line, and the text `whole` follows if any was.
    """
    if not rows:
        return empty
    if all(row.keys() == {"text"} for row in rows):
        return "\n".join(row["text"] for row in rows)
    if width is None:
        return "\n".join(["\t".join(rows[0]), *("\t".join(_flat(value) for value in row.values()) for row in rows)])
    shown = _brief(_numbered(rows), brief, width)
    fits = _width(shown) <= width
    text = _drawn(_table(shown), width) if fits else "\n\n".join("\n".join(record_lines(row)) for row in shown)
    return f"{text}\n\n{whole}" if whole and shown != _numbered(rows) else text


def _numbered(rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The rows with ids shortened to the digits that have to be typed."""
    ids = [str(row.get("id", "")) for row in rows]
    return [{**row, "id": code(row["id"], ids)} if str(row.get("id", "")).isdecimal() else row for row in rows]


def heading(name: str) -> str:
    """The heading of a field, in English."""
    return _HEADINGS.get(name, name.replace("_", " "))


def record_lines(row: Mapping[str, Any]) -> list[str]:
    """One thing, a line for each nonempty value."""
    return [f"{_title(name)}: {_text(value)}" for name, value in row.items() if _text(value)]


def _brief(rows: Sequence[Mapping[str, Any]], names: Collection[str], width: int) -> Sequence[Mapping[str, Any]]:
    """The rows with the texts of these columns cut to one line: longer ones share the remaining width."""
    if not (cut := [name for name in rows[0] if name in names]):
        return rows
    rest = _width([{name: value for name, value in row.items() if name not in cut} for row in rows])
    left = width - rest - _GAP * len(cut)
    longest = {name: max(cell_len(_title(name)), *(cell_len(_flat(row[name])) for row in rows)) for name in cut}
    room = dict[str, int]()
    for behind, name in enumerate(sorted(cut, key=lambda name: longest[name])):
        room[name] = min(longest[name], left // (len(cut) - behind))
        left -= room[name]
    if any(room[name] < min(longest[name], _LEAST_PROSE) for name in cut):
        # Not a table: each value on a line of its own, after its name.
        room = {name: max(width - cell_len(f"{_title(name)}: "), 1) for name in cut}
    return [{**row, **{name: _cut(row[name], cells) for name, cells in room.items()}} for row in rows]


def _cut(value: Any, cells: int) -> str:
    line = Text(_flat(value))
    line.truncate(cells, overflow="ellipsis")
    return line.plain


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in rows[0]:
        table.add_column(_title(name), overflow="fold", no_wrap=name not in _PROSE)
    for row in rows:
        table.add_row(*(escape(_text(value)) for value in row.values()))
    return table


def _width(rows: Sequence[Mapping[str, Any]]) -> int:
    """The minimum width of the table, in cells, without cutting anything."""
    widths = []
    for name in rows[0]:
        longest = max(cell_len(_title(name)), *(cell_len(_text(row[name])) for row in rows))
        widths.append(min(longest, _LEAST_PROSE) if name in _PROSE else longest)
    return sum(widths) + _GAP * (len(widths) - 1)


def _title(name: str) -> str:
    return _(heading(name))


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return _("yes") if value else _("no")
        case list() | tuple():
            return ", ".join(map(_text, value))
        case dict():
            return ", ".join(f"{name}={_text(each)}" for name, each in value.items())
        case _:
            return without_unseen(str(value))


def _flat(value: Any) -> str:
    return " ".join(_text(value).split())


def _drawn(table: Table, width: int) -> str:
    page = io.StringIO()
    Console(file=page, width=width, highlight=False, soft_wrap=True).print(table)
    return page.getvalue().rstrip("\n")
