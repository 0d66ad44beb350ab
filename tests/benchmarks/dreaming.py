"""Upkeep of memory: choosing among 50,000 entries, and doing what was decided, with the memory it takes."""

import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.knowledge import consolidation
from memory.knowledge.archival import Entry
from memory.knowledge.archival.entries import columns_of
from memory.knowledge.consolidation import Choice, Mark, Merge, Pass, Plan, Retire
from memory.people.audience import Audience, Trust
from memory.store.clock import to_text
from memory.store.database import Tx
from memory.store.ids import AgentId, EntryId, PersonId
from memory.store.migrations import Kind, prepare
from memory.store.sqlite import connect
from tests.benchmarks.options import Options
from tests.benchmarks.report import Measure, Report, at_most
from tests.benchmarks.words import Words

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
STAR = AgentId("agt_star")
GUILD = Audience("guild:discord:1")
ENTRIES, NEW = 50_000, 400


def run(options: Options) -> Report:
    """Candidates twice (a few new ones; everything new) and one plan; peak of Python's memory while choosing."""
    report = Report("Upkeep of memory (one agent, words alone)")
    with TemporaryDirectory() as folder:
        tx = _opened(Path(folder))
        _fill(tx, options.scaled(ENTRIES), 0)
        first = [_timed(lambda: consolidation.choose(tx, STAR, Pass.DUPLICATES)) for _ in range(options.rounds)]
        _mark_all(tx)
        _fill(tx, options.scaled(NEW), ENTRIES)
        later = [_timed(lambda: consolidation.choose(tx, STAR, Pass.DUPLICATES)) for _ in range(options.rounds)]
        choice, peak = _with_peak(lambda: consolidation.choose(tx, STAR, Pass.DUPLICATES))
        applied = _timed(lambda: consolidation.apply(tx, _plan(tx, choice), NOW))
    count = f"{options.scaled(ENTRIES):,}"
    report.measures += [
        Measure(f"choose among {count}, everything is new", "s", tuple(first), at_most(2)),
        Measure(f"choose among {count}, {options.scaled(NEW)} are new", "s", tuple(later), at_most(2)),
        Measure("memory while choosing, peak", "MB", (peak / 1e6,), at_most(64)),
        Measure(f"one transaction with {_size(choice)} changes", "s", (applied,), at_most(1)),
    ]
    return report


def _opened(folder: Path) -> Tx:
    prepare(folder / "carina.db", Kind.CONSTELLATION)
    tx = Tx(connect(folder / "carina.db"))
    fields = dict.fromkeys(("name", "model", "system_prompt", "enabled_tools", "created_at", "updated_at"), "[]")
    tx.insert("agents", {**fields, "id": STAR})
    return tx


def _fill(tx: Tx, count: int, start: int) -> None:
    """Sentences with the frequencies of a language; every tenth is nearly the one before it."""
    words, text = Words(start), ""
    tx.run("BEGIN")
    for number in range(start, start + count):
        text = f"{text} again" if number % 10 == 9 else words.sentence(9)
        entry = _entry(number, text)
        key = {"id": entry.id, "agent_id": STAR, "created_at": to_text(NOW)}
        tx.insert("archival_entries", {**key, **columns_of(entry)})
    tx.run("COMMIT")


def _entry(number: int, text: str) -> Entry:
    return Entry(
        EntryId(f"ent_{number}"), STAR, None, text, "", (), {}, 0.5, 0, (PersonId("discord:ann"),), (), None, GUILD,
        Trust.APPROVED, NOW, NOW, NOW,
    )  # fmt: skip


def _mark_all(tx: Tx) -> None:
    row = tx.one("SELECT max(seq) FROM dream_changes")
    part = consolidation.Part(STAR, GUILD, Trust.APPROVED)
    consolidation.apply(tx, Plan(marks=(Mark(Pass.DUPLICATES, part, int(row[0]) if row is not None else 0),)), NOW)


def _plan(tx: Tx, choice: Choice) -> Plan:
    clusters = [cluster for found in choice.clusters.values() for cluster in found]
    may = consolidation.allowance(tx, STAR, NOW)
    merges = [Merge(Pass.DUPLICATES, each[:2], f"{each[0].content} {each[1].content}", "", ()) for each in clusters]
    merged = {entry.id for each in merges for entry in each.sources}
    rest = [entry for new in choice.new.values() for entry in new if entry.id not in merged]
    retired = [Retire(Pass.CONSOLIDATION, entry) for entry in rest[: may - len(merged)]]
    return Plan((*merges, *retired))


def _size(choice: Choice) -> int:
    return sum(len(new) for new in choice.new.values())


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _with_peak(work: Callable[[], Choice]) -> tuple[Choice, int]:
    tracemalloc.start()
    found = work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return found, peak
