"""Retrieval on LoCoMo: which share of the turns that hold an answer stands among the first 5, 10, 20 hits.

One store for each conversation, a message for each turn with its session's date. Beside the program's own search
stand two plain FTS5 indexes of the same texts, asked with every word of the question as it stands.
"""

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from memory import messages
from memory.audience import PUBLIC, Scope, Trust
from memory.clock import utc_now
from memory.database import Connection, Database, Tx, connect
from memory.faults import commit_point
from memory.ids import AgentId, PersonId, PlaceId
from memory.migrations import Kind, prepare
from memory.search import Query, search
from tests.benchmarks.options import Options
from tests.benchmarks.report import Cell, Detail, Measure, Report, percentile

_FILL = commit_point("bench.fill_locomo")

CUTS = (5, 10, 20)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_AGENT = AgentId("agt_bench")

Ask: TypeAlias = Callable[[str], list[str]]
"""A question -> the ids of the turns that are found, best first."""


@dataclass(frozen=True)
class Turn:
    id: str
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True)
class Question:
    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True)
class Asked:
    """One question as a method answered it: recall at each cut, and the milliseconds."""

    category: int
    recall: tuple[float, ...]
    milliseconds: float


def evidence(given: Sequence[str]) -> frozenset[str]:
    """Ids of turns, out of strings of which some are malformed ("D8:6; D9:17", "D:11:26", "D30:05")."""
    found = (re.search(r"D:?(\d+):(\d+)", part) for text in given for part in re.split(r"[;,\s]+", text))
    return frozenset(f"D{int(match[1])}:{int(match[2])}" for match in found if match)


def turns_of(conversation: dict[str, Any]) -> Iterator[Turn]:
    for session in conversation["sessions"]:
        begin = datetime.strptime(session["date"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for number, turn in enumerate(session["turns"]):
            caption = f" [shares image: {turn['caption']}]" if turn.get("caption") else ""
            yield Turn(turn["id"], turn["speaker"], turn["text"] + caption, begin + timedelta(minutes=number))


def questions_of(conversation: dict[str, Any], known: set[str]) -> Iterator[Question]:
    for given in conversation["questions"]:
        needed = evidence(given["evidence"]) & known
        if needed:
            yield Question(given["question"], given["category"], needed)


def _store(tx: Tx, turns: Sequence[Turn]) -> None:
    for turn in turns:
        person = PersonId(f"bench:{turn.speaker}")
        heard = messages.Heard(
            PlaceId("bench:talk"), person, turn.speaker, turn.text, "bench", turn.id, PUBLIC, Trust.APPROVED, turn.at
        )
        messages.add_heard(tx, heard)


def _index(raw: Connection, turns: Sequence[Turn]) -> None:
    """FTS5 as it comes, over the same words."""
    raw.execute("CREATE VIRTUAL TABLE plain USING fts5(text)")
    for number, turn in enumerate(turns):
        date = f"{turn.at.day} {turn.at:%B %Y}"
        raw.execute("INSERT INTO plain (rowid, text) VALUES (?, ?)", (number, f"{date} {turn.speaker}: {turn.text}"))


def _plain(raw: Connection, turns: Sequence[Turn], joint: str) -> Ask:
    """Every word of the question as it stands; `joint` is OR or AND."""

    def ask(text: str) -> list[str]:
        match = f" {joint} ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        sql = "SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY bm25(plain) LIMIT 20"
        return [turns[row[0]].id for row in raw.execute(sql, (match,)).fetchall()]

    return ask


def _own(raw: Connection, ids: dict[str, str]) -> Ask:
    def ask(text: str) -> list[str]:
        query = Query(text=text, agent=_AGENT, domains=frozenset(("messages",)), limit=20)
        return [ids[hit.id] for hit in search(Tx(raw), query, Scope(PUBLIC)).hits]

    return ask


def _measure(ask: Ask, questions: Sequence[Question]) -> list[Asked]:
    asked = []
    for question in questions:
        begin = time.perf_counter()
        found = ask(question.text)
        took = 1000 * (time.perf_counter() - begin)
        needed = question.evidence
        recall = tuple(len(needed & set(found[:cut])) / len(needed) for cut in CUTS)
        asked.append(Asked(question.category, recall, took))
    return asked


async def _conversation(folder: Path, conversation: dict[str, Any], asked: dict[str, list[Asked]]) -> int:
    turns = list(turns_of(conversation))
    questions = list(questions_of(conversation, {turn.id for turn in turns}))
    path = folder / "carina.db"
    prepare(path, Kind.CONSTELLATION)
    async with Database.open(path) as database:
        await database.write(_FILL, lambda tx: _store(tx, turns))
    raw = connect(path)
    try:
        rows = raw.execute("SELECT id, external_id FROM messages").fetchall()
        _index(raw, turns)
        methods = {
            "Carina": _own(raw, {str(row["id"]): row["external_id"] for row in rows}),
            "plain FTS5, any of all words": _plain(raw, turns, "OR"),
            "plain FTS5, every word": _plain(raw, turns, "AND"),
        }
        for name, ask in methods.items():
            asked.setdefault(name, []).extend(_measure(ask, questions))
    finally:
        raw.close()
    return len(conversation["questions"]) - len(questions)


def run(options: Options) -> Report:
    report = Report("LoCoMo retrieval: recall of evidence turns")
    if options.locomo is None or not options.locomo.is_file():
        named = "no path was given" if options.locomo is None else f"there is no file {options.locomo.name}"
        report.notes.append(f"not measured: {named}; pass --locomo PATH with the path of locomo-dev.json")
        return report
    conversations = json.loads(options.locomo.read_text("utf-8"))
    asked, skipped = dict[str, list[Asked]](), 0
    begun = utc_now()
    for conversation in conversations[: 1 if options.quick else None]:
        with TemporaryDirectory() as folder:
            skipped += asyncio.run(_conversation(Path(folder), conversation, asked))
    own = asked["Carina"]
    for position, cut in enumerate(CUTS):
        values = [100 * each.recall[position] for each in own if each.category != 5]
        report.measures.append(Measure(f"recall@{cut}, categories 1-4", "%", (sum(values) / len(values),)))
    report.details.append(_side_by_side(asked))
    report.details.append(_by_category(asked))
    report.notes.append(
        f"{len(conversations)} conversations, {len(own)} questions, {skipped} without usable evidence left out; "
        f"{(utc_now() - begun).total_seconds():.0f} s."
    )
    return report


def _mean(asked: Sequence[Asked], position: int) -> float:
    return 100 * sum(each.recall[position] for each in asked) / max(len(asked), 1)


def _side_by_side(asked: dict[str, list[Asked]]) -> Detail:
    rows: list[tuple[Cell, ...]] = []
    for name, every in asked.items():
        four = [each for each in every if each.category != 5]
        times = [each.milliseconds for each in every]
        recalls = [f"{_mean(of, position):.1f}" for of in (four, every) for position in range(len(CUTS))]
        rows.append((name, *recalls, percentile(times, 0.5), percentile(times, 0.95)))
    columns = (*(f"R@{cut}" for cut in CUTS), *(f"R@{cut} all" for cut in CUTS))
    return Detail("Categories 1-4, and all five", ("method", *columns, "p50 ms", "p95 ms"), tuple(rows))


def _by_category(asked: dict[str, list[Asked]]) -> Detail:
    rows = []
    for name, every in asked.items():
        parts = [[each for each in every if each.category == category] for category in CATEGORIES]
        rows.append((name, *(f"{_mean(part, 1):.1f}" for part in parts)))
    counts = [sum(each.category == category for each in next(iter(asked.values()))) for category in CATEGORIES]
    columns = [f"{name} ({count})" for name, count in zip(CATEGORIES.values(), counts, strict=True)]
    return Detail("R@10 by category", ("method", *columns), tuple(rows))
