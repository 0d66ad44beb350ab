"""What a benchmark gives: measures with their targets, tables of details, and how they are shown."""

import os
import platform
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias

from rich.console import Console
from rich.table import Table

from memory.store.sqlite import driver

Cell: TypeAlias = str | float


@dataclass(frozen=True)
class Target:
    """What a measure should be: at most, or at least, the limit."""

    sense: Literal["<=", ">="]
    limit: float

    def met_by(self, value: float) -> bool:
        return value <= self.limit if self.sense == "<=" else value >= self.limit


def at_most(limit: float) -> Target:
    return Target("<=", limit)


def at_least(limit: float) -> Target:
    return Target(">=", limit)


@dataclass(frozen=True)
class Measure:
    """One number, measured in each of several rounds; what counts is the median round."""

    what: str
    unit: str
    rounds: tuple[float, ...]
    target: Target | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def best(self) -> float:
        more_is_better = self.target is not None and self.target.sense == ">="
        return max(self.rounds) if more_is_better else min(self.rounds)

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        if self.target.met_by(self.median):
            return "met"
        return "best round only" if self.target.met_by(self.best) else "missed"


@dataclass(frozen=True)
class Detail:
    """A table beside the measures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass
class Report:
    """Everything one benchmark found."""

    title: str
    measures: list[Measure] = field(default_factory=list)
    details: list[Detail] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pictures: dict[str, str] = field(default_factory=dict)
    """Plots as SVG, by the name of their file."""


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of all values does not exceed; 0 <= share <= 1."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def percentiles(
    what: str, unit: str, rounds: Sequence[Sequence[float]], targets: Mapping[float, Target | None]
) -> Iterator[Measure]:
    """A measure for each share; its target, if it has one."""
    for share, target in targets.items():
        found = tuple(percentile(each, share) for each in rounds)
        yield Measure(f"{what}, p{share * 100:.0f}", unit, found, target)


def number(value: float) -> str:
    """With three digits that matter."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def show(console: Console, report: Report) -> None:
    """Print a report's tables."""
    table = Table(title=report.title, title_justify="left", title_style="bold")
    table.add_column("measure")
    for name in ("target", "measured", "best", "rounds"):
        table.add_column(name, justify="right")
    table.add_column("")
    for measure in report.measures:
        target = f"{measure.target.sense} {number(measure.target.limit)} {measure.unit}" if measure.target else ""
        measured, best = f"{number(measure.median)} {measure.unit}", number(measure.best)
        table.add_row(measure.what, target, measured, best, str(len(measure.rounds)), measure.verdict)
    console.print(table)
    for detail in report.details:
        show_detail(console, detail)
    for note in report.notes:
        console.print(f"  {note}", style="dim", highlight=False)
    console.print()


def show_detail(console: Console, detail: Detail) -> None:
    table = Table(title=detail.title, title_justify="left", title_style="italic")
    for position, name in enumerate(detail.columns):
        table.add_column(name, justify="right" if position else "left")
    for row in detail.rows:
        table.add_row(*(number(cell) if isinstance(cell, float) else str(cell) for cell in row))
    console.print(table)


def as_data(report: Report) -> dict[str, Any]:
    return {
        "title": report.title,
        "measures": [
            {
                "what": measure.what,
                "unit": measure.unit,
                "target": None if measure.target is None else f"{measure.target.sense} {measure.target.limit}",
                "median": measure.median,
                "best": measure.best,
                "rounds": measure.rounds,
                "verdict": measure.verdict,
            }
            for measure in report.measures
        ],
        "details": [
            {"title": detail.title, "rows": [dict(zip(detail.columns, row, strict=True)) for row in detail.rows]}
            for detail in report.details
        ],
        "notes": report.notes,
    }


def machine() -> dict[str, str]:
    """The shape of the machine, without its name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": driver.sqlite_version,
        "load": f"{os.getloadavg()[0]:.1f}",
        "fsync": f"{fsync_ms():.2f} ms",
    }


def fsync_ms(tries: int = 50) -> float:
    """How long the disk takes to make 4 KiB safe, the median."""
    found = []
    with TemporaryDirectory() as folder, (Path(folder) / "probe").open("wb", buffering=0) as file:
        for _ in range(tries):
            file.write(bytes(4096))
            begin = time.perf_counter()
            os.fsync(file.fileno())
            found.append(1000 * (time.perf_counter() - begin))
    return statistics.median(found)
