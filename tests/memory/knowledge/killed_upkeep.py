"""Upkeep that dies: `python -m tests.memory.knowledge.killed_upkeep FOLDER STEP` does a run in copies of
FOLDER/carina.db, and its undoing, each killed STEP statements later, until one comes to its end. Prints at which that
was."""

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory.knowledge import entries
from memory.knowledge.graph import Entity, Kind, Triple
from memory.knowledge.upkeep.applied_plans import apply, undo
from memory.knowledge.upkeep.planned_changes import Link, Mark, Merge, Pass, Plan, Refine, Retire, kin_of
from memory.people.audience import Audience, Scope
from memory.store.database import Tx
from memory.store.sqlite import connect
from tests.memory.parts import NOON, STAR

GUILD = Audience("guild:discord:1")


def tidy(tx: Tx) -> None:
    """Everything that a run can do: two entries become one with what they say, one is noise, one is refined."""
    fourth, third, second, first = entries.latest(tx, STAR, Scope(GUILD))
    merge = Merge(Pass.CONSOLIDATION, (first, second), first.content, "", ())
    retire, refine = Retire(Pass.CONSOLIDATION, third), Refine(Pass.CONSOLIDATION, fourth, "food", ("tea",))
    ann, tram = Entity("Ann", Kind.PERSON), Entity("tram 71", Kind.THING)
    linked = Link(Pass.ENTITIES, second, (Triple(ann, "goes by", tram),))
    mark = Mark(Pass.CONSOLIDATION, kin_of(first).part, 9)
    apply(tx, Plan((merge, retire, refine, linked), (mark,), (fourth,), ("something was left",)), NOON)


WORKS: dict[str, Callable[[Tx], object]] = {"tidy": tidy, "undo": lambda tx: undo(tx, NOON)}


def killed_at(path: Path, work: Callable[[Tx], object], statement: int) -> bool:
    """Whether the work died at that statement; in a process of its own, which ends as by SIGKILL."""
    child = os.fork()
    if child == 0:
        _work(connect(path), work, statement)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def _work(raw: Any, work: Callable[[Tx], object], statement: int) -> None:
    count = itertools.count(1)

    def reach(_sql: str) -> None:
        if next(count) == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    raw.set_trace_callback(reach)
    raw.execute("BEGIN IMMEDIATE")
    work(Tx(raw))
    raw.execute("COMMIT")


def main(folder: Path, step: int) -> None:
    start = folder / "carina.db"
    for name, work in WORKS.items():
        for statement in itertools.count(1, step):
            copy = folder / f"{name}_{statement}.db"
            shutil.copy(start, copy)
            if not killed_at(copy, work, statement):
                break
        sys.stdout.write(f"{name} {statement}\n")
        start = copy


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
