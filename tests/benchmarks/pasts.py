"""Looking at the past of a block with ten thousand changes, and taking one writer's changes back.

Beside how long it takes stands how long the event loop was held up at most, by a task that looks every millisecond.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bot.agents.permissions.policy import People
from bot.services.blocks import Blocks
from bot.services.caller import owner_at_terminal
from memory import blocks
from memory.agents import Agent, seed_agent
from memory.blocks import Author, BlockType, NewBlock
from memory.blocks.changes import job_writer
from memory.blocks.document import SYSTEM, agent_writer
from memory.people.audience import PUBLIC, Scope, Trust
from memory.store.clock import utc_now
from memory.store.constellation import Constellations
from memory.store.database import Tx
from memory.store.faults import commit_point
from memory.store.ids import AgentId, ConstellationId
from sources.terminal import PERSON
from tests.benchmarks.options import Options
from tests.benchmarks.report import Measure, Report, at_most
from tests.benchmarks.words import Words
from tests.services.calling import registry

_FILL = commit_point("bench.fill_pasts")

CHANGES = 10_000
_AGENT, _JOB = AgentId("agt_bench"), job_writer("sleeptime")
_BATCH, _LENGTH = 200, 5_000
_LOOK = 0.001  # seconds


async def _fill(constellations: Constellations, constellation: ConstellationId, count: int) -> None:
    """An agent and a job in turn write and replace lines of one block, which keeps about the same length."""
    words, drawn = Words(5), random.Random(7)
    made = NewBlock(
        _AGENT, "notes", "Notes.", PUBLIC, Trust.AGENT, type=BlockType.WORKING, char_limit=1_000_000,
        content="".join(f"{_line(words)}\n" for _ in range(_LENGTH // 70)),
    )  # fmt: skip
    begun = utc_now() - timedelta(days=30)
    async with constellations.use(constellation) as database:

        def make(tx: Tx) -> None:
            seed_agent(tx, Agent(_AGENT, "Bench", "", "", "", ()), begun)
            blocks.create_block(tx, made, SYSTEM, begun)

        await database.write(_FILL, make)
        for first in range(0, count, _BATCH):

            def change(tx: Tx, first: int = first) -> None:
                for number in range(first, min(first + _BATCH, count)):
                    writer = _JOB if number % 5 == 0 else agent_writer(_AGENT)
                    now = begun + timedelta(seconds=30 * number)
                    author = Author(_AGENT, Scope(PUBLIC), writer, Trust.AGENT, now)
                    line = drawn.randrange(1, _LENGTH // 70)
                    blocks.edit_lines(tx, author, "notes", line, line, _line(words))

            await database.write(_FILL, change)


def _line(words: Words) -> str:
    return " ".join(words.text(70).split())


@asynccontextmanager
async def _held() -> AsyncIterator[list[float]]:
    """Milliseconds for which the loop did nothing else, the longest of the block as the only one."""
    longest = [0.0]

    async def look() -> None:
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(_LOOK)
            longest[0] = max(longest[0], 1000 * (time.perf_counter() - begin - _LOOK))

    task = asyncio.create_task(look())
    await asyncio.sleep(2 * _LOOK)
    try:
        yield longest
    finally:
        task.cancel()


def _acts(count: int) -> dict[str, tuple[str, dict[str, Any]]]:
    """What is measured, with the operation and its arguments."""
    return {
        "history, the newest 20": ("history", {"limit": 20}),
        "view at version 1": ("show", {"version": 1}),
        "diff of the first and the last": ("diff", {"older": 1}),
        "blame": ("blame", {}),
        "rollback by 100": ("rollback", {"version": count - 100}),
        "undo": ("undo", {}),
        "revert of a job's last 200": ("revert", {"writer": _JOB, "since": str(count - 1_000)}),
        "revert of all of an agent's": ("revert", {"writer": agent_writer(_AGENT)}),
    }


async def _round(folder: Path, count: int) -> dict[str, tuple[float, float]]:
    found = {}
    async with Constellations.open(folder, utc_now) as constellations:
        constellation = (await constellations.ensure("bench", PERSON)).id
        await _fill(constellations, constellation, count)
        async with constellations.use(constellation) as database:
            memory = registry(Blocks(database, People((PERSON,)), utc_now))
            for name, (operation, given) in _acts(count).items():
                async with _held() as longest:
                    begin = time.perf_counter()
                    await memory.call(f"memory.{operation}", owner_at_terminal(), {"label": "notes", **given})
                    took = 1000 * (time.perf_counter() - begin)
                found[name] = (took, longest[0])
    return found


def run(options: Options) -> Report:
    count = options.scaled(CHANGES)
    rounds = []
    for _ in range(options.rounds):
        with TemporaryDirectory() as folder:
            rounds.append(asyncio.run(_round(Path(folder), count)))
    report = Report(f"The past of a block with {count:,} changes, {_LENGTH:,} characters")
    for name in rounds[0]:
        report.measures.append(Measure(name, "ms", tuple(one[name][0] for one in rounds)))
        held = tuple(one[name][1] for one in rounds)
        report.measures.append(Measure(f"{name}: the loop held up, at most", "ms", held, at_most(50.0)))
    return report
