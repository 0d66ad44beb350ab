"""`python tests/benchmarks/retrieval.py PATH [--json]`: retrieval on LoCoMo, for a file like locomo-dev.json.

With --json standard output is one object, by method, in percent over the categories 1 to 4; null for what was not
run. Why it was not stands on standard error, with the tables.
"""

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="retrieval.py", description=__doc__)
    parser.add_argument("path", type=Path, metavar="PATH", help="a file like locomo-dev.json")
    parser.add_argument("--json", action="store_true", help="JSON on standard output, tables on standard error")
    chosen = parser.parse_args()
    if not chosen.path.is_file():
        parser.error(f"there is no file {chosen.path}; PATH is a file of conversations like locomo-dev.json")
    if str(ROOT) not in sys.path:  # run by its path, not with -m
        sys.path[0] = str(ROOT)
    recalls: Any = importlib.import_module("tests.benchmarks.recalls")
    show: Any = importlib.import_module("tests.benchmarks.report").show
    try:
        outcome = recalls.measured(chosen.path)
    except ValueError as error:
        parser.error(str(error))
    show(Console(stderr=chosen.json, width=None if sys.stderr.isatty() else 130), recalls.reported(outcome))
    if chosen.json:
        sys.stdout.write(recalls.as_json(outcome) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
