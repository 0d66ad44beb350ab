"""A plot of a few lines as SVG."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import TypeAlias

from tests.benchmarks.report import number

Line: TypeAlias = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 800, 420, 70, 190, 40, 50
_COLORS = ("#1f5fbf", "#b3541e", "#2e7d4f", "#7a3e9d", "#a32638", "#5b6b8c")
_TICKS = 6


def plot(title: str, axes: tuple[str, str], lines: Mapping[str, Line], *, log: bool = False) -> str:
    """Lines by name; with `log` both axes are logarithmic."""
    scale: Callable[[float], float] = math.log10 if log else float
    xs, ys = ([point[axis] for line in lines.values() for point in line] for axis in (0, 1))
    low = (min(xs), min(ys)) if log else (0.0, 0.0)
    high = max(xs), max(ys)

    def at(x: float, y: float) -> tuple[float, float]:
        across, up = (
            (scale(value) - scale(low[axis])) / ((scale(high[axis]) - scale(low[axis])) or 1)
            for axis, value in enumerate((x, y))
        )
        return _LEFT + across * (_WIDTH - _LEFT - _RIGHT), _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM)

    return "\n".join([*_frame(title, axes), *_ticks(low, high, at, log=log), *_drawn(lines, at), "</svg>", ""])


def _frame(title: str, axes: tuple[str, str]) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="#1d2740"><title>{escape(title)}</title>'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>'
    )
    yield f'<text x="{_LEFT}" y="18" font-size="14" font-weight="600">{escape(title)}</text>'
    yield f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 10}" text-anchor="middle">{escape(axes[0])}</text>'
    yield f'<text x="{_LEFT - 40}" y="{_TOP - 8}" fill="#46516a">{escape(axes[1])}</text>'


def _ticks(
    low: tuple[float, float], high: tuple[float, float], at: Callable[[float, float], tuple[float, float]], *, log: bool
) -> Iterator[str]:
    for value in _steps(low[0], high[0], log=log):
        x, y = at(value, low[1])
        yield f'<text x="{x:.0f}" y="{y + 18:.0f}" text-anchor="middle">{number(value)}</text>'
    for value in _steps(low[1], high[1], log=log):
        x, y = at(low[0], value)
        yield f'<text x="{x - 8:.0f}" y="{y + 4:.0f}" text-anchor="end">{number(value)}</text>'
        yield f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{_WIDTH - _RIGHT}" y2="{y:.0f}" stroke="#dfe4ee"/>'


def _steps(low: float, high: float, *, log: bool) -> list[float]:
    if log:
        powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        return [10.0**power for power in powers] or [low, high]
    step = 10.0 ** math.floor(math.log10(high or 1))
    step = next(each for each in (step / 5, step / 2, step, 2 * step) if high / each <= _TICKS or each > step)
    return [step * count for count in range(int(high / step) + 1)]


def _drawn(lines: Mapping[str, Line], at: Callable[[float, float], tuple[float, float]]) -> Iterator[str]:
    """The lines, and beside the end of each its name; names that would overlap stand below one another."""
    ends = sorted((at(*line[-1])[1], name) for name, line in lines.items())
    below = 0.0
    labels = {}
    for y, name in ends:
        below = labels[name] = max(y + 4, below + 15)
    for position, (name, line) in enumerate(lines.items()):
        color, points = _COLORS[position % len(_COLORS)], [at(*point) for point in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>'
        if len(points) <= _TICKS:
            yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in points)
        yield f'<text x="{_WIDTH - _RIGHT + 8}" y="{labels[name]:.0f}" fill="{color}">{escape(name)}</text>'
