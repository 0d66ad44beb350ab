"""Short queries that share no word with what they are to find: 60 of them, over a small store and a large one.

Half of the statements are an agent's entries, half were said. Around them stands chatter, made here of sentences that
state none of it. Twenty more queries ask for what nobody said: for those nothing should be taken for an answer.
"""

import asyncio
import itertools
import random
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from memory.agents import Agent, seed_agent
from memory.knowledge import entry_changes
from memory.knowledge.entries import NewEntry, Origin
from memory.people.audience import PUBLIC, Scope, Trust
from memory.search.all_domains import search
from memory.search.embedding.choice import missing
from memory.search.query import Hit, Query
from memory.search.vector_similarity import Meaning
from memory.store.database import Rows, Tx
from tests.benchmarks.embedded import filled, meanings_of, packaged
from tests.benchmarks.locomo import hear
from tests.benchmarks.methods import AGENT
from tests.benchmarks.options import Options
from tests.benchmarks.report import Detail, Report, percentile

TITLE = "Short queries by meaning"
_BEGIN = datetime(2026, 9, 1, 9, tzinfo=UTC)
_SMALL, _LARGE = 40, 4_000  # sentences of chatter
_FIRST = 3  # hits among which the statement should be
_SAID = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
ASKED: Mapping[str, str] = _SAID["asked"]
UNKNOWN: Sequence[str] = _SAID["unknown"]
_WHO = ["Ann", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal"]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def chatter(count: int) -> list[str]:
    """So many different sentences, the same each time."""
    drawn = random.Random(7)
    every = list(itertools.product(*(_SAID["chatter"][part] for part in ("openings", "frames", "things"))))
    said = [opening + frame.format(thing=thing, day=drawn.choice(_DAYS)) for opening, frame, thing in every]
    drawn.shuffle(said)
    return [sentence[0].upper() + sentence[1:] for sentence in said[:count]]


def _fill(tx: Tx, size: int) -> None:
    """The statements evenly among the chatter: every other one as an entry, and one in ten sentences of the rest."""
    seed_agent(tx, Agent(AGENT, "Bench", "", "", "", ()), _BEGIN)
    drawn, noise, statements = random.Random(3), chatter(size), list(ASKED.values())
    said = [(sentence, number % 10 == 0) for number, sentence in enumerate(noise)]
    for number, sentence in enumerate(statements):
        said.insert(drawn.randrange(len(said) + 1), (sentence, number % 2 == 0))
    for number, (sentence, kept) in enumerate(said):
        at = _BEGIN + timedelta(minutes=7 * number)
        if kept:
            entry_changes.insert(tx, AGENT, NewEntry(sentence, Origin(Scope(PUBLIC), Trust.APPROVED, None)), at)
            continue
        hear(tx, drawn.choice(_WHO), sentence, str(number), at)


@dataclass
class _Store:
    """What was found in one store: by query, the hits; and how long each search took, in milliseconds."""

    hits: dict[str, list[Hit]] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)

    def rank(self, query: str) -> int:
        """Of the statement among the hits, from 1; 0 when it is not among them."""
        return next((rank for rank, hit in enumerate(self.hits[query], 1) if ASKED[query] in hit.text), 0)

    def firm(self, query: str) -> bool:
        """Whether the statement is a hit, and no guess."""
        rank = self.rank(query)
        return bool(rank) and not self.hits[query][rank - 1].perhaps


def _ask(rows: Rows, store: _Store, meanings: Mapping[str, Meaning]) -> None:
    for text, meaning in meanings.items():
        begin = time.perf_counter()
        found = search(rows, Query(text=text, agent=AGENT, meaning=meaning, guesses=True), Scope(PUBLIC))
        store.times.append(1000 * (time.perf_counter() - begin))
        store.hits[text] = found.hits


async def _measured(sizes: Sequence[int]) -> list[_Store]:
    """What was found in a store of each size; nothing without an embedder."""
    stores = list[_Store]()
    async with packaged() as embedder:
        if embedder is not None:
            meanings = await meanings_of(embedder, (*ASKED, *UNKNOWN))
            for size in sizes:
                stores.append(store := _Store())
                async with filled(partial(_fill, size=size), embedder) as database:
                    await database.read(partial(_ask, store=store, meanings=meanings))
    return stores


def run(options: Options) -> Report:
    sizes = (_SMALL, options.scaled(_LARGE))
    stores = asyncio.run(_measured(sizes))
    if not stores:
        return Report(TITLE, notes=[f"not measured: {missing()} is not installed"])
    heads = ("store", "first", f"first {_FIRST}", "shown", "no guess", "unknown: none", "a guess", "a hit", "p50 ms")
    names = [f"{len(ASKED)} statements, {size:,} sentences of chatter" for size in sizes]
    rows = tuple(_summed(name, store) for name, store in zip(names, stores, strict=True))
    about = f"Of {len(ASKED)} queries that a statement answers, and of {len(UNKNOWN)} that none does"
    return Report(TITLE, details=[Detail(about, heads, rows)])


def _summed(name: str, store: _Store) -> tuple[str | float, ...]:
    ranks = [store.rank(query) for query in ASKED]
    firm = sum(store.firm(query) for query in ASKED)
    unknown = [store.hits[query] for query in UNKNOWN]
    sure = sum(any(not hit.perhaps for hit in hits) for hits in unknown)
    none = sum(not hits for hits in unknown)
    first, few = sum(rank == 1 for rank in ranks), sum(0 < rank <= _FIRST for rank in ranks)
    counts = (first, few, sum(map(bool, ranks)), firm, none, len(unknown) - none - sure, sure)
    return (name, *map(str, counts), percentile(store.times, 0.5))
