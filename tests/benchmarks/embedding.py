"""The packaged embedder and what is near: texts a second, memory, and the time of a search among many vectors."""

import asyncio
import functools
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bot.config import load_config
from bot.upkeep.embedding import open_embedder
from memory.people.audience import Audience, Scope, Trust, person_audience
from memory.queue import messages
from memory.queue.messages import Heard
from memory.search import vectors
from memory.search.embedding import Vector, make_embedder, missing, to_vector
from memory.search.embedding.base import signs
from memory.search.embedding.choice import Choice
from memory.search.vectors import Question
from memory.store import distances, sqlite
from memory.store.clock import utc_now
from memory.store.constellation import Constellations
from memory.store.database import Database, Rows, Tx, Value
from memory.store.faults import commit_point
from memory.store.ids import AgentId, PersonId, PlaceId
from memory.store.migrations import Kind, prepare
from tests.benchmarks.options import Options
from tests.benchmarks.process import ROOT, resident_mib
from tests.benchmarks.report import Measure, Report, at_least, at_most, percentile
from tests.benchmarks.words import Words
from tests.benchmarks.world import GUILD

_FILL = commit_point("bench.fill_embedding")

SIZES = {10_000: 10.0, 100_000: 50.0}
"""Vectors that may be used, and the milliseconds that a search among them may take."""

_AGENT, _PLACE = AgentId("agt_bench"), PlaceId("bench:1")
_MODEL, _DIMENSION = "bench", 384
_CLUSTERS, _NOISES = 300, 1_000
_HIDDEN = person_audience(PersonId("bench:p1"))


class _Drawn:
    """Vectors in clusters, as texts make them: a search among purely random ones shows nothing."""

    def __init__(self) -> None:
        self._random = random.Random(5)
        self._clusters = [self._gauss(1.0) for _ in range(_CLUSTERS)]
        self._noises = [self._gauss(0.5) for _ in range(_NOISES)]

    def one(self) -> Vector:
        choose = self._random.choice
        near = map(add, choose(self._clusters), choose(self._noises))
        return to_vector(map(add, near, choose(self._noises)))

    def _gauss(self, spread: float) -> list[float]:
        return [self._random.gauss(0, spread) for _ in range(_DIMENSION)]


def _space(tx: Tx, audience: Audience) -> int:
    model = tx.one("SELECT id FROM vector_models")
    assert model is not None
    values: dict[str, Value] = {"model_id": model["id"], "kind": "message", "view": "own"}
    values |= {"agent_id": "", "audience": audience}
    tx.insert("vector_spaces", values, ignore=True)
    row = tx.one("SELECT id FROM vector_spaces WHERE audience = ?", (audience,))
    assert row is not None
    return int(row["id"])


def _fill(tx: Tx, first: int, count: int, drawn: _Drawn) -> None:
    vectors.choose(tx, _MODEL, _DIMENSION)
    usable, hidden = _space(tx, GUILD), _space(tx, _HIDDEN)
    for number in range(first, first + count):
        vector = drawn.one()
        space = hidden if number % 10 == 9 else usable
        row: dict[str, Value] = {"space_id": space, "kind": "message", "row": 10**17 + number, "part": 0}
        tx.insert("vectors", {**row, "bits": signs(vector), "vector": vector})


async def _near(folder: Path, size: int, questions: int) -> dict[str, list[float]]:
    drawn, path = _Drawn(), folder / "carina.db"
    found: dict[str, list[float]] = {"native": [], "processor": [], "python": []}
    prepare(path, Kind.CONSTELLATION)
    async with Database.open(path) as file:
        for first in range(0, size, 5_000):
            work = functools.partial(_fill, first=first, count=min(5_000, size - first), drawn=drawn)
            await file.write(_FILL, work)
        ways = {"native": sqlite.distances, "python": distances.PYTHON}
        for way, used in ways.items():
            sqlite.distances = used
            for _ in range(questions if way == "native" else max(questions // 10, 2)):
                question = Question(_MODEL, drawn.one(), _AGENT, kinds=frozenset(["message"]), limit=50)
                begin = time.perf_counter()
                spent = await file.read(functools.partial(_search, question=question))
                found[way].append(1000 * (time.perf_counter() - begin))
                found["processor"] += [spent] if way == "native" else []
        sqlite.distances = ways["native"]
    return found


def _search(rows: Rows, question: Question) -> float:
    """Search once; the milliseconds of processor time."""
    begin = time.thread_time()
    if len(vectors.nearest(rows, question, Scope(GUILD))) != question.limit:
        raise RuntimeError("there are fewer vectors than were stored")
    return 1000 * (time.thread_time() - begin)


# ------------------------------------------------------------------------------------------- in a process of its own


def child(texts: int) -> None:
    """Measure the packaged embedder, and print it as JSON."""
    sys.stdout.write(json.dumps(asyncio.run(_embedder(texts))) + "\n")


async def _embedder(texts: int) -> dict[str, float]:
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
    with TemporaryDirectory() as folder:
        found["/s short texts embedded and stored in the background"] = await _backfill(Path(folder), texts, words)
    return found


async def _backfill(folder: Path, texts: int, words: Words) -> float:
    """Texts a second, through the task of the service; a message has two."""
    config = load_config({"CARINA_HOME": str(folder)}, folder)
    async with Constellations.open(folder, utc_now) as constellations:
        home = await constellations.ensure("home", PersonId("bench:owner"))
        async with (
            constellations.use(home.id) as file,
            open_embedder(config) as shared,
            asyncio.TaskGroup() as tasks,
        ):
            made = shared.of(file)
            await file.write(_FILL, lambda tx: _talk(tx, texts // 2, words))
            assert made.embedder is not None
            await made.embedder.embed(["warm"], 60)
            begin = time.perf_counter()
            task = tasks.create_task(made.run(lambda: False))
            while (await file.read(vectors.standing)).waiting:
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
        heard = Heard(_PLACE, PersonId("bench:p1"), "Ann", text, "bench", str(number), GUILD, Trust.APPROVED, utc_now())
        messages.add_heard(tx, heard)


_WAYS = {"native": "", "processor": ", processor time", "python": " without sqlite-vec"}
_TARGETS = {
    "MiB of memory for it": at_most(250 * 1e6 / 2**20),
    "/s short texts embedded and stored in the background": at_least(100),
}


def _of_the_model(options: Options) -> Iterator[Measure]:
    rounds: list[dict[str, Any]] = []
    code = f"from tests.benchmarks.embedding import child; child({options.scaled(1_000)})"
    for _ in range(options.rounds):
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        rounds.append(json.loads(done.stdout.splitlines()[-1]))  # the lines before it are the log
    for what in rounds[0]:
        unit, _, words = what.partition(" ")
        yield Measure(words, unit, tuple(each[what] for each in rounds), _TARGETS.get(what))


def run(options: Options) -> Report:
    report = Report("Embedding: all-MiniLM-L6-v2 int8, and the 50 nearest of 384 dimensions, a tenth of them forbidden")
    if missing():
        report.notes.append(f"Not installed: {missing()}.")
    else:
        report.measures += _of_the_model(options)
    for size, limit in SIZES.items():
        rounds = []
        for _ in range(options.rounds):
            with TemporaryDirectory() as folder:
                rounds.append(asyncio.run(_near(Path(folder), options.scaled(size), 50)))
        for way, share in (("native", 0.5), ("native", 0.95), ("processor", 0.5), ("python", 0.5)):
            what = f"nearest of {options.scaled(size):,}, p{share * 100:.0f}{_WAYS[way]}"
            target = at_most(limit) if (way, share) == ("native", 0.5) else None
            times = tuple(percentile(each[way], share) for each in rounds)
            report.measures.append(Measure(what, "ms", times, target))
    report.notes.append(f"Native means sqlite-vec's functions: {sqlite.distances.reason or 'they are loaded'}.")
    return report
