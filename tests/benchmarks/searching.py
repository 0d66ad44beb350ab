"""How long a search takes: by four words, by a question, with vectors too; over entries of an agent, and messages.

Entries stand for themselves; messages are understood with what was said around them, and have two vectors each.

The vectors point anywhere: what is compared costs the same whatever it means. Embedding the question is not in it.
"""

import asyncio
import functools
import random
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Protocol

from memory.agents import Agent, seed_agent
from memory.knowledge import entry_changes
from memory.knowledge.entries import NewEntry, Origin
from memory.people.audience import Scope, Trust
from memory.search import vectors
from memory.search.all_domains import search
from memory.search.embedding.base import Embedding, Tokens, to_vector
from memory.search.embedding.packaged import DIMENSION
from memory.search.query import Query
from memory.search.vector_similarity import Meaning
from memory.search.vectors import EmbeddedRow
from memory.store.clock import utc_now
from memory.store.database import Database, Tx
from memory.store.faults import commit_point
from memory.store.ids import AgentId, PersonId
from memory.store.records import replace
from tests.benchmarks.embedded import filled
from tests.benchmarks.options import Options
from tests.benchmarks.report import Measure, Report, at_most, percentiles
from tests.benchmarks.turns import fill_messages
from tests.benchmarks.words import Words
from tests.benchmarks.world import GUILD

_FILL = commit_point("bench.fill_searching")

_CHOOSE = commit_point("bench.choose_searching")
_STORE = commit_point("bench.embed_searching")

SIZES = (1_000, 10_000, 100_000)
_AGENT = AgentId("agt_bench")
_BATCH = 5_000
_MODEL = "bench:anywhere"
_WORDS_TOLD, _WORDS_ASKED = 21, 6  # with content, in a message and in a question of LoCoMo
_TARGETS = {10_000: 15.0, 100_000: 80.0}


class Fill(Protocol):
    """Stores so many rows, the first of them with that number."""

    def __call__(self, tx: Tx, count: int, words: Words, first: int) -> None: ...


def _messages(tx: Tx, count: int, words: Words, first: int) -> None:
    fill_messages(tx, _AGENT, count, count // 5, words, first=first)


def _entries(tx: Tx, count: int, words: Words, first: int) -> None:
    for number in range(first, first + count):
        origin = Origin(Scope(GUILD), Trust.APPROVED, PersonId(f"bench:p{number % 10}"))
        entry_changes.insert(tx, _AGENT, NewEntry(words.sentence(), origin), utc_now())


async def _fill(database: Database, fill: Fill, size: int, words: Words) -> float:
    """Rows in batches; microseconds for each."""
    begin = time.perf_counter()
    for number, count in enumerate(_batches(size)):
        work = functools.partial(fill, count=count, words=words, first=number * _BATCH)
        await database.write(_FILL, work)
    return 1e6 * (time.perf_counter() - begin) / size


def _batches(size: int) -> Iterator[int]:
    while size > 0:
        yield min(size, _BATCH)
        size -= _BATCH


async def _embed(database: Database, seed: int) -> None:
    """What the packaged model would make of everything, by its sizes."""
    drawn = random.Random(seed)
    await database.write(_CHOOSE, lambda tx: vectors.choose(tx, _MODEL, DIMENSION))
    while waiting := await database.read(lambda rows: vectors.missing(rows, _BATCH)):
        made = [EmbeddedRow(each, tuple(_drawn(drawn, _WORDS_TOLD) for _ in each.texts)) for each in waiting]
        await database.write(_STORE, functools.partial(vectors.store, model=_MODEL, embedded=made))


def _drawn(drawn: random.Random, words: int) -> Embedding:
    vector = to_vector(drawn.gauss(0, 1) for _ in range(DIMENSION))
    return Embedding(vector, Tokens(("word",) * words, drawn.randbytes(words * DIMENSION // 8)))


async def _asked(database: Database, queries: Iterable[Query]) -> list[float]:
    found = []
    for query in queries:
        begin = time.perf_counter()
        await database.read(functools.partial(search, query=query, scope=Scope(GUILD)))
        found.append(1000 * (time.perf_counter() - begin))
    return found


async def _round(fill: Fill, size: int, count: int) -> tuple[dict[str, list[float]], float]:
    """Milliseconds of each search, by how it is asked, and microseconds of storing one row."""
    words, drawn = Words(11), random.Random(13)
    async with filled(lambda tx: seed_agent(tx, Agent(_AGENT, "Bench", "", "", "", ()), utc_now())) as database:
        each = await _fill(database, fill, size, words)
        keywords = [Query(text=words.question(), agent=_AGENT) for _ in range(count)]
        questions = [replace(query, text=f"what did they say about {query.text}?") for query in keywords]
        found = {"four words": await _asked(database, keywords), "a question": await _asked(database, questions)}
        await _embed(database, 17)
        meant = [replace(query, meaning=Meaning(_MODEL, *_drawn(drawn, _WORDS_ASKED))) for query in questions]
        return {**found, "a question with its vector": await _asked(database, meant)}, each


def run(options: Options) -> Report:
    report = Report("Search: all domains, 8 hits, of messages with their neighbours")
    for (what, fill), size in product(_KINDS.items(), SIZES):
        named = f"{options.scaled(size):,} {what}"
        count = options.scaled(100)
        rounds = [asyncio.run(_round(fill, options.scaled(size), count)) for _ in range(options.rounds)]
        targets = {0.5: at_most(_TARGETS[size]) if size in _TARGETS else None, 0.95: None}
        for way in ("four words", "a question", "a question with its vector"):
            report.measures += percentiles(f"{named}, {way}", "ms", [times[way] for times, _ in rounds], targets)
        report.measures.append(Measure(f"{named}, storing one", "µs", tuple(storing for _, storing in rounds)))
    return report


_KINDS: Mapping[str, Fill] = {"entries of an agent": _entries, "messages": _messages}
