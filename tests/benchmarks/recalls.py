"""Retrieval on LoCoMo: which share of the turns that hold an answer stands among the first 5, 10, 20 hits.

Beside the product's own search, asked in full, in keywords and with words that a chat model (scripted:
`expected_words.tsv`) expects in the answer, stand plain FTS5 over the same texts and, with an
embedder, vectors alone and both fused by reciprocal ranks. Each method answers every question of every conversation,
which has a store of its own.
"""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from memory.search.embedding.choice import missing
from memory.search.vector_similarity import Meaning
from memory.store.clock import utc_now
from memory.store.sqlite import Connection, connect
from tests.benchmarks import methods
from tests.benchmarks.embedded import filled, meanings_of, packaged
from tests.benchmarks.locomo import CATEGORIES, Conversation, Question, conversations, store
from tests.benchmarks.methods import Ask
from tests.benchmarks.options import Options
from tests.benchmarks.report import Cell, Detail, Measure, Report, at_least, percentile

CUTS = (5, 10, 20)
METHODS = ("carina", "carina_expected", "carina_keywords", "carina_no_embedder", "fts5", "dense", "rrf")


@dataclass(frozen=True)
class Answered:
    """One question as a method answered it: recall at each cut, 1 / the first evidence's rank, milliseconds."""

    category: int
    recall: tuple[float, ...]
    reciprocal: float
    milliseconds: float


@dataclass
class Outcome:
    """What every method that was run made of the questions; `notes` says what was left out."""

    answered: dict[str, list[Answered]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


Summary: TypeAlias = Mapping[str, Any]


def measured(path: Path, most: int | None = None) -> Outcome:
    """All methods over the conversations of a file, or over the first `most` of them."""
    outcome, begun = Outcome(), utc_now()
    every = conversations(path)[:most]
    asyncio.run(_all(every, outcome))
    asked, skipped = sum(len(each.questions) for each in every), sum(each.skipped for each in every)
    seconds = (utc_now() - begun).total_seconds()
    outcome.notes.append(
        f"{len(every)} conversations, {asked} questions, {skipped} without usable evidence left out; {seconds:.0f} s."
    )
    return outcome


async def _all(every: Sequence[Conversation], outcome: Outcome) -> None:
    async with packaged() as embedder:
        if embedder is None:
            outcome.notes.append(f"carina with an embedder, dense and rrf were not run: {missing()} is not installed")
        else:
            outcome.notes.append("milliseconds are without those of embedding the question.")
        for conversation in every:
            async with filled(partial(store, turns=conversation.turns), embedder) as database:
                questions = conversation.questions
                asked = [each.text for each in questions]
                expected = [f"{text} {methods.expected(text)}" for text in asked]
                texts = [*asked, *map(methods.keywords, asked), *expected]
                meanings = await meanings_of(embedder, texts) if embedder else None
                with closing(connect(database.path)) as raw:
                    for name, ask in _ways(raw, conversation, meanings).items():
                        outcome.answered.setdefault(name, []).extend(_answer(ask, each) for each in questions)


def _ways(raw: Connection, conversation: Conversation, meanings: Mapping[str, Meaning] | None) -> dict[str, Ask]:
    plain = methods.plain(raw, conversation.turns)
    by_words = {"carina_no_embedder": methods.product(raw), "fts5": plain}
    if meanings is None:
        return by_words
    product, dense = methods.product(raw, meanings), methods.dense(raw, meanings)
    expecting = {"carina_expected": methods.product(raw, meanings, expects=True)}
    in_keywords = {"carina_keywords": lambda text: product(methods.keywords(text))}
    both = {"dense": dense, "rrf": methods.fused(plain, dense)}
    return {"carina": product, **expecting, **in_keywords, **by_words, **both}


def _answer(ask: Ask, question: Question) -> Answered:
    begin = time.perf_counter()
    found = ask(question.text)
    return judged(question, found, 1000 * (time.perf_counter() - begin))


def judged(question: Question, found: Sequence[str], took: float) -> Answered:
    """What the turns that were found for a question are worth; `took` milliseconds."""
    needed = question.evidence
    recall = tuple(len(needed & set(found[:cut])) / len(needed) for cut in CUTS)
    first = next((rank for rank, turn in enumerate(found, 1) if turn in needed), None)
    return Answered(question.category, recall, 0.0 if first is None else 1 / first, took)


def summary(outcome: Outcome) -> dict[str, Summary | None]:
    """By method in percent over categories 1 to 4, and by category; None for what was not run."""
    return {name: _summed(outcome.answered[name]) if name in outcome.answered else None for name in METHODS}


def _summed(answered: Sequence[Answered]) -> Summary:
    names = {number: name for number, name in CATEGORIES.items() if number != 5}
    of = {name: [each for each in answered if each.category == number] for number, name in names.items()}
    four = [each for part in of.values() for each in part]
    return {**figures(four), "by_category": {name: figures(part) for name, part in of.items() if part}}


def figures(answered: Sequence[Answered]) -> dict[str, float]:
    count = max(len(answered), 1)
    recalls = {
        f"recall_at_{cut}": round(100 * sum(each.recall[position] for each in answered) / count, 2)
        for position, cut in enumerate(CUTS)
    }
    return {**recalls, "mrr": round(100 * sum(each.reciprocal for each in answered) / count, 2)}


TITLE = "LoCoMo retrieval: recall of evidence turns"


def run(options: Options) -> Report:
    """For the whole of the benchmarks; `tests/benchmarks/retrieval.py PATH` runs this one alone."""
    if options.locomo is None or not options.locomo.is_file():
        named = "no path was given" if options.locomo is None else f"there is no file {options.locomo.name}"
        return Report(TITLE, notes=[f"not measured: {named}; pass --locomo PATH with the path of locomo-dev.json"])
    return reported(measured(options.locomo, 1 if options.quick else None))


def reported(outcome: Outcome) -> Report:
    """The figures with what they should be on conversations that nobody has seen, and all methods side by side."""
    report = Report(TITLE, details=[side_by_side(outcome), _by_category(outcome)], notes=outcome.notes)
    targets = {"carina_no_embedder": {5: 67, 10: 75}, "carina": {5: 69, 10: 78}}
    for name, summed in summary(outcome).items():
        for cut, limit in targets.get(name, {}).items():
            if summed is not None:
                value = (summed[f"recall_at_{cut}"],)
                report.measures.append(Measure(f"{name}: recall@{cut}, categories 1-4", "%", value, at_least(limit)))
    return report


def side_by_side(outcome: Outcome) -> Detail:
    rows: list[tuple[Cell, ...]] = []
    for name, answered in outcome.answered.items():
        four = [each for each in answered if each.category != 5]
        times = [each.milliseconds for each in answered]
        cells = [f"{value:.1f}" for of in (four, answered) for value in figures(of).values()]
        rows.append((name, *cells, percentile(times, 0.5), percentile(times, 0.95)))
    heads = [*(f"R@{cut}" for cut in CUTS), "MRR"]
    columns = ("method", *heads, *(f"{head} all" for head in heads), "p50 ms", "p95 ms")
    return Detail("Categories 1-4, and all five", columns, tuple(rows))


def _by_category(outcome: Outcome) -> Detail:
    rows = []
    for name, answered in outcome.answered.items():
        parts = [[each for each in answered if each.category == number] for number in CATEGORIES]
        rows.append((name, *(f"{figures(part)['recall_at_10']:.1f}" for part in parts)))
    every = next(iter(outcome.answered.values()), [])
    counts = [sum(each.category == number for each in every) for number in CATEGORIES]
    columns = [f"{name} ({count})" for name, count in zip(CATEGORIES.values(), counts, strict=True)]
    return Detail("R@10 by category", ("method", *columns), tuple(rows))


def as_json(outcome: Outcome) -> str:
    return json.dumps(summary(outcome), indent=1)
