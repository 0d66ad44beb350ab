"""The packaged embedder: texts a second, and memory; how long a search among many vectors takes, `search` shows."""

import asyncio
import resource
import time
from contextlib import aclosing
from pathlib import Path

from bot.config import load_config
from bot.upkeep.embedding import Embedders
from memory.people.audience import Trust
from memory.queue import messages
from memory.queue.messages import NewMessage
from memory.search import vectors
from memory.search.embedding.choice import Choice, make_embedder, missing
from memory.store.clock import utc_now
from memory.store.constellations import Constellations
from memory.store.database import Tx
from memory.store.faults import commit_point
from memory.store.ids import PersonId, PlaceId
from tests.benchmarks.options import Options
from tests.benchmarks.process import measured_apart, resident_mib
from tests.benchmarks.report import Measure, Report, at_least, at_most, percentile
from tests.benchmarks.words import Words
from tests.benchmarks.world import GUILD

_FILL = commit_point("bench.fill_embedding")

_PLACE = PlaceId("bench:1")


async def measure(folder: Path, texts: int) -> dict[str, float]:
    """The packaged embedder, in a process of its own."""
    words = Words(7)
    before = resident_mib()["VmRSS"]
    embedder = make_embedder(Choice())
    assert embedder is not None
    begin = time.perf_counter()
    await embedder.embed(["the first one"], 60)
    found = {"ms from nothing to the first vector": 1000 * (time.perf_counter() - begin)}
    times = []
    for _ in range(50):
        question = words.question()
        begin = time.perf_counter()
        await embedder.embed([question], 60)
        times.append(1000 * (time.perf_counter() - begin))
    found["ms for a question, p50"] = percentile(times, 0.5)
    begin = time.perf_counter()
    await embedder.embed([words.sentence(200) for _ in range(20)], 600)
    found["ms for a text of 200 words"] = 1000 * (time.perf_counter() - begin) / 20
    found["MiB of memory for it"] = resident_mib()["VmRSS"] - before
    found["MiB of memory for it at its peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    await embedder.aclose()
    found["/s short texts embedded and stored in the background"] = await _backfill(folder, texts, words)
    return found


async def _backfill(folder: Path, texts: int, words: Words) -> float:
    """Texts a second, through the task of the service; a message has two."""
    config = load_config({"CARINA_HOME": str(folder)}, folder)
    async with Constellations.open(folder, utc_now) as constellations:
        home = await constellations.ensure("home", PersonId("bench:owner"))
        async with (
            constellations.use(home.id) as file,
            aclosing(Embedders(config)) as shared,
            asyncio.TaskGroup() as tasks,
        ):
            made = shared.of(file)
            await file.write(_FILL, lambda tx: _talk(tx, texts // 2, words))
            assert made.embedder is not None
            await made.embedder.embed(["warm"], 60)
            begin = time.perf_counter()
            task = tasks.create_task(made.run(lambda: False))
            while (await file.read(vectors.progress)).waiting:
                file.committed.clear()
                await file.committed.wait()
            seconds = time.perf_counter() - begin
            stored = await file.read(lambda rows: rows.all("SELECT count(*) FROM vectors")[0][0])
            task.cancel()
    return float(stored) / seconds


def _talk(tx: Tx, count: int, words: Words) -> None:
    """Short messages: with the date and the speaker about 20 tokens, and 30 with the one before."""
    for number in range(count):
        text = words.sentence(6)
        heard = NewMessage(
            _PLACE, PersonId("bench:p1"), "Ann", text, "bench", str(number), GUILD, Trust.APPROVED, utc_now()
        )
        messages.add(tx, heard)


_TARGETS = {
    "MiB of memory for it": at_most(250 * 1e6 / 2**20),
    "/s short texts embedded and stored in the background": at_least(100),
}


def run(options: Options) -> Report:
    report = Report("Embedding: all-MiniLM-L6-v2 int8")
    if missing():
        report.notes.append(f"Not installed: {missing()}.")
    else:
        rounds = measured_apart(__name__, options.rounds, options.scaled(1_000))
        for what in rounds[0]:
            unit, _, words = what.partition(" ")
            found = tuple(each[what] for each in rounds)
            report.measures.append(Measure(words, unit, found, _TARGETS.get(what)))
    return report
