"""One store as it grows: what a turn, an edit, a search, the disk and a backup cost with 1,000 to 1,000,000 messages.

A fifth of the messages were said in the place of the turns. They have no vectors, as if no embedder was installed.
"""

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from memory import blocks
from memory.blocks import Author, Block
from memory.blocks.document import agent_writer
from memory.people.audience import Scope, Trust
from memory.search.all_domains import search
from memory.search.query import Query
from memory.store import backups
from memory.store.clock import utc_now
from memory.store.database import Tx
from memory.store.faults import commit_point
from memory.store.ids import AgentId, TurnId, snowflakes
from tests.benchmarks.options import Options, in_folder
from tests.benchmarks.plot import plot
from tests.benchmarks.report import Cell, Detail, Measure, Report, at_most, percentile
from tests.benchmarks.turns import fill_blocks, fill_messages, take_turns
from tests.benchmarks.words import Words, vocabulary
from tests.benchmarks.world import GUILD, Making, World, open_world

_FILL, _EDIT = commit_point("bench.fill_growth"), commit_point("bench.edit_growth")

SIZES = (1_000, 10_000, 100_000, 1_000_000)
_BATCH = 5_000
_BLOCKS = 20
_TURNS, _SEARCHES, _EDITS, _WARM = 200, 100, 200, 20


_COLUMNS = (
    *("turn CPU ms", "turn wait ms", "edit CPU ms", "4 words CPU ms", "4 rare words CPU ms"),
    *("question CPU ms", "bytes a message", "backup s"),
)
_Step: TypeAlias = tuple[int, tuple[float, ...]]
"""A size, and what was measured at it: the medians of `_COLUMNS`."""


async def _busy(count: int, work: Callable[[int], Awaitable[object]]) -> float:
    """Milliseconds of processor time, the median."""
    found = []
    for number in range(count + _WARM):
        begin = time.process_time()
        await work(number)
        found.append(1000 * (time.process_time() - begin))
    return percentile(found[_WARM:], 0.5)


def _edit(tx: Tx, agent: AgentId, number: int) -> Block:
    """Append a line, or take the one before away again: the block keeps its size."""
    line = f"On day {number // 2} we talked about the harbour bridge and the old candle.\n"
    author = Author(agent, Scope(GUILD), agent_writer(agent), Trust.AGENT, utc_now(), TurnId(snowflakes.next()))
    if number % 2:
        return blocks.replace_in_block(tx, author, "work_1", line, "")
    return blocks.append_block(tx, author, "work_1", line)


async def _measured(world: World, folder: Path, size: int, options: Options) -> _Step:
    words, database = Words(size), world.runtime.database
    drawn = vocabulary()

    async def find(text: str) -> None:
        query = Query(text=text, agent=world.agent.id)
        await database.read(functools.partial(search, query=query, scope=Scope(GUILD)))

    async def edit(number: int) -> None:
        await database.write(_EDIT, functools.partial(_edit, agent=world.agent.id, number=number))

    count = options.scaled(_SEARCHES)
    common = await _busy(count, lambda _: find(words.question()))
    rare = await _busy(count, lambda number: find(" ".join(drawn[-1 - number * 4 - at] for at in range(4))))
    question = await _busy(count, lambda _: find(f"what did they say about {words.question()}?"))
    edits = await _busy(options.scaled(_EDITS), edit)
    await take_turns(world, words, _WARM)
    turns = await take_turns(world, words, options.scaled(_TURNS))
    begin = time.perf_counter()
    backup = await asyncio.to_thread(backups.create, folder, utc_now())
    taken = time.perf_counter() - begin
    backups.rotate(folder, 1, backup)
    turn, wait = (percentile([getattr(each, of) for each in turns], 0.5) for of in ("busy", "turn"))
    return size, (turn, wait, edits, common, rare, question, backup.size / size, taken)


async def _grown(folder: Path, options: Options) -> list[_Step]:
    words, found, stored = Words(7), [], 0
    async with open_world(Making(folder)) as world:
        await world.runtime.database.write(_FILL, lambda tx: fill_blocks(tx, world.agent.id, _BLOCKS, words))
        for size in map(options.scaled, SIZES):
            while stored < size:
                count = min(size - stored, _BATCH)
                fill = functools.partial(
                    fill_messages, agent=world.agent.id, count=count, here=count // 5, words=words, first=stored
                )
                await world.runtime.database.write(_FILL, fill)
                stored += count
            found.append(await _measured(world, folder, size, options))
    return found


def run(options: Options) -> Report:
    steps = in_folder(functools.partial(_grown, options=options))
    rows: tuple[tuple[Cell, ...], ...] = tuple((f"{size:,}", *found) for size, found in steps)
    report = Report(
        "Growth of one store, messages without vectors",
        [*_measures(steps)],
        [Detail("By size; medians", ("messages", *_COLUMNS), rows)],
    )
    lines = {
        name: [(size, found[at]) for size, found in steps]
        for at, name in enumerate(_COLUMNS)
        if name not in ("turn wait ms", "bytes a message")
    }
    report.pictures["growth"] = plot("Cost by stored messages", ("messages", "ms, or s"), lines, log=True)
    report.notes.append("One series, not rounds: filling a store with 1,000,000 messages takes minutes.")
    return report


def _measures(steps: list[_Step]) -> Iterator[Measure]:
    (least, first), *_, (most, last) = steps
    turns = f"a turn with {most:,} beside {least:,}, processor time"
    yield Measure(turns, "x", (last[0] / first[0],), at_most(1.5))
    size, third = steps[2]
    yield Measure(f"search by four words in {size:,}, processor time, p50", "ms", (third[3],), at_most(40))
