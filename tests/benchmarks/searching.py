"""How long a search takes over 1,000, 10,000 and 100,000 messages."""

import asyncio
import functools
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.agents import Agent, seed_agent
from memory.audience import Scope
from memory.clock import utc_now
from memory.database import Database, Tx
from memory.faults import commit_point
from memory.ids import AgentId
from memory.migrations import Kind, prepare
from memory.search import Query, search
from tests.benchmarks.options import Options
from tests.benchmarks.report import Measure, Report, percentile
from tests.benchmarks.turns import fill_messages
from tests.benchmarks.words import Words
from tests.benchmarks.world import GUILD

_FILL = commit_point("bench.fill_searching")

SIZES = (1_000, 10_000, 100_000)
_AGENT = AgentId("agt_bench")
_BATCH = 5_000


async def _fill(database: Database, size: int, words: Words) -> float:
    """Messages in batches; microseconds for each."""
    now = utc_now()
    await database.write(_FILL, lambda tx: seed_agent(tx, Agent(_AGENT, "Bench", "", "", "", ()), now))
    begin = time.perf_counter()
    for number, count in enumerate(_batches(size)):

        def work(tx: Tx, number: int = number, count: int = count) -> None:
            fill_messages(tx, _AGENT, count, count // 5, words, first=number * _BATCH)

        await database.write(_FILL, work)
    return 1e6 * (time.perf_counter() - begin) / size


def _batches(size: int) -> Iterator[int]:
    while size > 0:
        yield min(size, _BATCH)
        size -= _BATCH


async def _round(folder: Path, size: int, questions: int) -> tuple[list[float], float]:
    words, path, found = Words(11), folder / "carina.db", []
    prepare(path, Kind.CONSTELLATION)
    async with Database.open(path) as database:
        each = await _fill(database, size, words)
        for _ in range(questions):
            query = Query(text=words.question(), agent=_AGENT)
            begin = time.perf_counter()
            await database.read(functools.partial(search, query=query, scope=Scope(GUILD)))
            found.append(1000 * (time.perf_counter() - begin))
    return found, each


def run(options: Options) -> Report:
    report = Report("Search by words, four words a question, all domains, 8 hits with neighbours")
    for size in SIZES:
        rounds = []
        for _ in range(options.rounds):
            with TemporaryDirectory() as folder:
                rounds.append(asyncio.run(_round(Path(folder), options.scaled(size), options.scaled(200))))
        for share in (0.5, 0.95):
            found = tuple(percentile(times, share) for times, _ in rounds)
            report.measures.append(Measure(f"{options.scaled(size):,} messages, p{share * 100:.0f}", "ms", found))
        report.measures.append(
            Measure(f"{options.scaled(size):,} messages, storing one", "µs", tuple(e for _, e in rounds))
        )
    return report
