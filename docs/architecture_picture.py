"""Draw docs/architecture.svg from the imports of the code: `python -m docs.architecture_picture`.

Each package is a box in the row of its layer; an arrow means that a module of one imports a module of the other.
Arrows that follow from others are left out, so that what remains can be read.
"""

import ast
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"

ROWS: tuple[tuple[tuple[str, str], ...], ...] = (
    (("bot.interfaces.cli", "the command line"),),
    (("bot.app", "composition"),),
    (("bot.interfaces", "Discord, Bluesky, socket, MCP"),),
    (("bot.services", "what people ask for"),),
    (("bot.runtime", "router, conversations, delivery"),),
    (("bot.upkeep", "work while nobody talks"),),
    (("bot.agents", "turns, tools, groups, permissions"),),
    (("scheduler", "when something is due"), ("bot.models", "language models"), ("sources", "Discord, Bluesky, web")),
    (("memory", ""),),
)
"""From top to bottom: a package and what it holds."""
MEMORY = (
    *(("queue", "inbox, turns, outbox"), ("blocks", "versioned blocks"), ("knowledge", "entries, facts, summaries")),
    *(("people", "audience, privacy"), ("agenda", "reminders, tasks, events"), ("search", "words and meaning")),
    *(("folders", "files for agents"), ("store", "SQLite files"), ("…", "groups, jobs, activity, grants")),
)

_WIDTH, _BOX, _ROW, _GAP = 900, (250, 46), 84, 30
_FRAME = 3 * _BOX[0] + 2 * _GAP + 30, 3 * (_BOX[1] + 12) + 32


def imports(root: Path = ROOT) -> dict[str, set[str]]:
    """Which drawn package imports which others."""
    found: dict[str, set[str]] = {name: set() for row in ROWS for name, _ in row}
    for path in sorted(
        path for top in ("bot", "sources", "scheduler", "memory") for path in (root / top).rglob("*.py")
    ):
        importer = _package(path.relative_to(root).with_suffix("").as_posix().replace("/", "."))
        if importer is not None:
            targets = map(_package, _imported(ast.parse(path.read_text("utf-8"))))
            found[importer] |= {target for target in targets if target not in (None, importer)}
    return found


def _package(module: str) -> str | None:
    return next((name for row in ROWS for name, _ in row if f"{module}.".startswith(f"{name}.")), None)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.Import(names=names):
                yield from (alias.name for alias in names)


def essential(arrows: dict[str, set[str]]) -> dict[str, set[str]]:
    """Without those that a way over other packages implies."""
    return {
        start: {end for end in ends if not any(end in _reached(arrows, over) for over in ends - {end})}
        for start, ends in arrows.items()
    }


def _reached(arrows: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = arrows[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen


def draw(arrows: dict[str, set[str]]) -> str:
    """The picture as SVG."""
    places = dict(_places())
    height = places["memory"][1] + _FRAME[1] + _GAP
    lines = [_arrow(places[start], places[end]) for start in sorted(arrows) for end in sorted(arrows[start])]
    boxes = [_box(name, holds, *places[name]) for row in ROWS[:-1] for name, holds in row]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="14"><title>Packages of Carina and what imports what</title>'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#5b6b8c"/></marker></defs>'
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
    )
    return "\n".join([head, *lines, *boxes, *_memory(*places["memory"]), "</svg>", ""])


def _places() -> Iterator[tuple[str, tuple[int, int]]]:
    """The left upper corner of every box."""
    for number, row in enumerate(ROWS):
        room = _FRAME[0] if row[0][0] == "memory" else len(row) * _BOX[0] + (len(row) - 1) * _GAP
        for column, (name, _) in enumerate(row):
            yield name, ((_WIDTH - room) // 2 + column * (_BOX[0] + _GAP), _GAP + number * _ROW)


def _memory(left: int, top: int) -> Iterator[str]:
    yield (
        f'<rect x="{left}" y="{top}" width="{_FRAME[0]}" height="{_FRAME[1]}" rx="10" fill="none" stroke="#5b6b8c"/>'
        f'<text x="{left + 15}" y="{top + 20}" font-weight="600" fill="#1d2740">memory</text>'
    )
    for number, (name, holds) in enumerate(MEMORY):
        row, column = divmod(number, 3)
        yield _box(name, holds, left + 15 + column * (_BOX[0] + _GAP), top + 30 + row * (_BOX[1] + 12))


def _box(name: str, holds: str, left: int, top: int) -> str:
    middle = left + _BOX[0] // 2
    return (
        f'<rect x="{left}" y="{top}" width="{_BOX[0]}" height="{_BOX[1]}" rx="8" fill="#eef2fb" stroke="#5b6b8c"/>'
        f'<text x="{middle}" y="{top + 19}" text-anchor="middle" font-weight="600" fill="#1d2740">'
        f"{escape(name.replace('.', '/'))}</text>"
        f'<text x="{middle}" y="{top + 37}" text-anchor="middle" font-size="12" fill="#46516a">{escape(holds)}</text>'
    )


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    """From one box down to the other; beside its neighbor, from side to side."""
    (left, top), (to_left, to_top) = start, end
    half = _BOX[0] // 2
    if top == to_top:
        ends = (
            (left + _BOX[0], top + 23, to_left, top + 23)
            if left < to_left
            else (left, top + 23, to_left + _BOX[0], top + 23)
        )
    elif to_top == dict(_places())["memory"][1]:
        ends = left + half, top + _BOX[1], left + half, to_top
    else:
        ends = left + half, top + _BOX[1], to_left + half, to_top
    return '<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="#5b6b8c" marker-end="url(#tip)"/>'.format(*ends)


if __name__ == "__main__":
    PICTURE.write_text(draw(essential(imports())), "utf-8")
