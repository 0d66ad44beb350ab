"""Every fault point of the program, and those that no message can reach."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("memory", "sources", "scheduler", "bot")

EXEMPT: dict[str, str] = tomllib.loads(Path(__file__).with_name("exempt.toml").read_text("utf-8"))
"""Points that handling messages does not reach, and why."""


BY_CLOCK = frozenset(
    {"job.queue", "job.claim", "job.complete", "discord.typing", "discord.open_unread", "gaps.note", "gaps.fill"}
)
"""Reached when a job of the service comes due, an answer takes a moment, or something is indexed or read back."""


_LIST = f"""
import importlib, pkgutil
from memory.store.faults import faults
for name in {PACKAGES}:
    for found in pkgutil.walk_packages(importlib.import_module(name).__path__, name + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
print(*(point.name for point in faults.all()))
"""


def all_points() -> frozenset[str]:
    """The names of all points, by importing every module of the program.

    In a process of its own: tests declare points too, and this one may have loaded them.
    """
    return frozenset(subprocess.check_output([sys.executable, "-c", _LIST], cwd=ROOT, text=True).split())
