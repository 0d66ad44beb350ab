"""`python -m tests.benchmarks`: every benchmark, as tables or as JSON. It measures; it never fails a build."""

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Protocol, cast

from rich.console import Console

from tests.benchmarks.options import Options
from tests.benchmarks.report import Report, as_data, machine, show

BENCHMARKS = {
    "mention": "mentions",
    "turn": "turns",
    "growth": "growth",
    "long_run": "long_run",
    "edit": "edits",
    "flow": "flow",
    "constellations": "constellations",
    "search": "searching",
    "locomo": "recalls",
    "echo": "echo",
    "short_queries": "short_queries",
    "group_chat": "group_chat",
    "embedding": "embedding",
    "pages": "pages",
    "api": "api",
    "prompt": "prompts",
    "tools": "tool_choice",
}


class Benchmark(Protocol):
    def run(self, options: Options) -> Report: ...


def main() -> None:
    chosen = _parse()
    if chosen.plots:
        chosen.plots.mkdir(parents=True, exist_ok=True)
    options = Options(rounds=chosen.rounds, quick=chosen.quick, locomo=chosen.locomo, model=chosen.model)
    console = Console(stderr=chosen.json, width=None if sys.stdout.isatty() else 130)
    shape = machine()
    console.print(" · ".join(f"{name} {value}" for name, value in shape.items()), highlight=False)
    found = {}
    for name in chosen.only or BENCHMARKS:
        module = cast("Benchmark", importlib.import_module(f"tests.benchmarks.{BENCHMARKS[name]}"))
        console.print(f"[dim]{name} ...[/dim]")
        report = module.run(options)
        show(console, report)
        found[name] = as_data(report)
        for picture, drawn in report.pictures.items() if chosen.plots else ():
            (chosen.plots / f"{picture}.svg").write_text(drawn, "utf-8")
    if chosen.json:
        sys.stdout.write(json.dumps({"machine": shape, "benchmarks": found}, indent=1) + "\n")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=list(BENCHMARKS), help="just this one; may be repeated")
    parser.add_argument("--json", action="store_true", help="JSON on standard output, tables on standard error")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (3)")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, to try it out")
    parser.add_argument("--locomo", type=Path, help="path of locomo-dev.json, for the retrieval benchmark")
    parser.add_argument("--model", default="", metavar="URL", help="a Chat Completions server, for the tools benchmark")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="where plots are written, as SVG")
    return parser.parse_args()


if __name__ == "__main__":
    main()
