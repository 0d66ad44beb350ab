"""Draw docs/architecture.svg from the imports of the code: `python -m docs.architecture_picture`.

An arrow means that a package imports another; arrows that follow from others are left out. The command line starts
everything, so what it imports is not drawn.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"
ROWS: tuple[dict[str, str], ...] = (
    {"bot.app": "composition"},
    {"bot.interfaces": "command line, Discord, Bluesky, web, MCP"},
    {"bot.services": "commands, one module per noun"},
    {"bot.runtime": "router, conversations, delivery", "bot.upkeep": "background work on memory"},
    {"bot.agents": "turns, tools, groups, permissions"},
    {"bot.models": "language models"},
    {"sources": "Discord, Bluesky, terminal, web", "scheduler": "jobs, dates and times"},
    {"memory": "store, queue, blocks, knowledge, search, people"},
)
_IMPORT = re.compile(r"^\s*(?:from ([\w.]+) import \(?(\w*)|import ([\w.]+))", re.MULTILINE)
_WIDTH, _BOX, _HEIGHT, _ROW = 760, 300, 46, 90


def imports() -> dict[str, set[str]]:
    """Which drawn package imports which others."""
    found: dict[str, set[str]] = {name: set() for row in ROWS for name in row}
    for path in (path for top in ("bot", "sources", "scheduler", "memory") for path in (ROOT / top).rglob("*.py")):
        own = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        named = [] if own.startswith("bot.interfaces.cli.") else _IMPORT.findall(path.read_text("utf-8"))
        for start in (name for name in found if f"{own}.".startswith(f"{name}.")):
            targets = [f"{module or plain}.{name}." for module, name, plain in named]
            found[start] |= {end for end in found if end != start and any(t.startswith(f"{end}.") for t in targets)}
    return found


def draw(arrows: dict[str, set[str]]) -> str:
    """The picture as SVG."""
    boxes, lines, below = {}, [], {name: set[str]() for name in arrows}
    for number, row in enumerate(ROWS):
        for column, (name, holds) in enumerate(row.items()):
            x = _WIDTH // 2 if len(row) == 1 else _WIDTH // 4 * (1 + 2 * column)
            boxes[name] = x, 20 + number * _ROW, holds
    for name in reversed(boxes):
        below[name] = arrows[name].union(*(below[each] for each in arrows[name]))
        for end in sorted(arrows[name] - set[str]().union(*(below[each] for each in arrows[name]))):
            (x, y, _), (to_x, to_y, _) = boxes[name], boxes[end]
            lines.append(f'<path d="M{x} {y + _HEIGHT} {to_x} {to_y}" stroke="#5b6b8c" marker-end="url(#tip)"/>')
    for name, (x, y, holds) in boxes.items():
        lines.append(
            f'<rect x="{x - _BOX // 2}" y="{y}" width="{_BOX}" height="{_HEIGHT}" rx="8" fill="#eef2fb"/>'
            f'<text x="{x}" y="{y + 19}" font-weight="600">{name.replace(".", "/")}</text>'
            f'<text x="{x}" y="{y + 37}" font-size="12">{holds}</text>'
        )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {len(ROWS) * _ROW}" role="img" font-size="14" '
        'text-anchor="middle" font-family="system-ui, sans-serif" fill="#1d2740"><title>Packages and imports</title>'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#5b6b8c"/></marker></defs><path d="M0 0h2000v2000H0z" fill="#fff"/>'
    )
    return "\n".join([head, *lines, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(draw(imports()), "utf-8")
