"""One store as it grows: what a turn, an edit, a search, the disk and a backup cost with 1,000 to 1,000,000 messages.

A fifth of the messages were said in the place of the turns. They have no vectors, as if no embedder was installed.
"""

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from memory import blocks
from memory.blocks import Author, Block
from memory.blocks.document import agent_writer
from memory.people.audience import Scope, Trust
from memory.search.hybrid import search
from memory.search.query import Query
from memory.store import backups
from memory.store.clock import utc_now
from memory.store.database import Tx
from memory.store.faults import commit_point
from memory.store.ids import AgentId, TurnId, snowflakes
from tests.benchmarks.options import Options
from tests.benchmarks.plot import plot
from tests.benchmarks.report import Detail, Measure, Report, at_most, percentile
from tests.benchmarks.spans import Spans, timed_writes
from tests.benchmarks.turns import fill_blocks, fill_messages, take_turns
from tests.benchmarks.words import Words, vocabulary
from tests.benchmarks.world import GUILD, Making, World, open_world

_FILL, _EDIT = commit_point("bench.fill_growth"), commit_point("bench.edit_growth")

SIZES = (1_000, 10_000, 100_000, 1_000_000)
_BATCH = 5_000
_BLOCKS = 20
_TURNS, _SEARCHES, _EDITS, _WARM = 200, 100, 200, 20


@dataclass(frozen=True)
class _Step:
    """What was measured at one size: milliseconds of processor time, p50, unless the name says otherwise."""

    messages: int
    turn: float
    turn_wait: float
    edit: float
    words: float
    rare: float
    question: float
    disk_bytes: float
    backup_seconds: float


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
    words, spans, database = Words(size), Spans(), world.runtime.database
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
    with timed_writes(spans):
        await take_turns(world, spans, words, _WARM)
        spans.forget()
        await take_turns(world, spans, words, options.scaled(_TURNS))
    begin = time.perf_counter()
    backup = await asyncio.to_thread(backups.create, folder, utc_now())
    taken = time.perf_counter() - begin
    backups.rotate(folder, 1)
    turn, wait = percentile(spans.of("cpu"), 0.5), percentile(spans.of("turn"), 0.5)
    return _Step(size, turn, wait, edits, common, rare, question, backup.size / size, taken)


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
    with TemporaryDirectory() as folder:
        steps = asyncio.run(_grown(Path(folder), options))
    report = Report("Growth of one store, messages without vectors", [*_measures(steps)], [_table(steps)])
    report.pictures["growth"] = _picture(steps)
    report.notes.append("One series, not rounds: filling a store with 1,000,000 messages takes minutes.")
    return report


def _measures(steps: list[_Step]) -> list[Measure]:
    first, last, third = steps[0], steps[-1], steps[2]
    return [
        Measure(
            f"a turn with {last.messages:,} beside {first.messages:,}, processor time",
            "x",
            (last.turn / first.turn,),
            at_most(1.5),
        ),
        Measure(f"search by four words in {third.messages:,}, processor time, p50", "ms", (third.words,), at_most(40)),
    ]


def _table(steps: list[_Step]) -> Detail:
    rows = tuple(
        (
            f"{each.messages:,}",
            *(each.turn, each.turn_wait, each.edit, each.words, each.rare, each.question),
            *(each.disk_bytes, each.backup_seconds),
        )
        for each in steps
    )
    columns = (
        *("messages", "turn CPU ms", "turn wait ms", "edit CPU ms", "4 words CPU ms", "4 rare words CPU ms"),
        *("question CPU ms", "bytes a message", "backup s"),
    )
    return Detail("By size; medians", columns, rows)


def _picture(steps: list[_Step]) -> str:
    lines = {
        "turn, CPU ms": [(each.messages, each.turn) for each in steps],
        "edit, CPU ms": [(each.messages, each.edit) for each in steps],
        "4 words, CPU ms": [(each.messages, each.words) for each in steps],
        "4 rare words, CPU ms": [(each.messages, each.rare) for each in steps],
        "a question, CPU ms": [(each.messages, each.question) for each in steps],
        "backup, s": [(each.messages, each.backup_seconds) for each in steps],
    }
    return plot("Cost by stored messages", ("messages", "ms, or s"), lines, log=True)
