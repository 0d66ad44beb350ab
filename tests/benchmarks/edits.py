"""An edit of a block with its commit, as a tool makes it; and loading a block that has many updates."""

import asyncio
import time
from collections.abc import Callable

from memory import blocks
from memory.agents import Agent, seed_agent
from memory.blocks import Author, Block, BlockType, NewBlock
from memory.blocks.document import SYSTEM, agent_writer
from memory.blocks.store import DEFAULT_POLICY, CheckpointPolicy, load_block
from memory.people.audience import PUBLIC, Scope, Trust
from memory.store.clock import utc_now
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import AgentId, TurnId, snowflakes
from tests.benchmarks.embedded import filled
from tests.benchmarks.options import Options
from tests.benchmarks.report import Report, at_most, percentiles
from tests.benchmarks.words import Words

_EDIT = commit_point("bench.edit")

SIZES = (2_000, 5_000)
UPDATES = 108
OTHERS = 100
"""Other blocks of the same agent."""
_AGENT = AgentId("agt_bench")
_WARM = 20


def _fill(tx: Tx) -> None:
    now, words = utc_now(), Words(3)
    seed_agent(tx, Agent(_AGENT, "Bench", "", "", "", ()), now)
    for number in range(OTHERS):
        _make(tx, f"other_{number}", words.text(400))
    for size in SIZES:
        _make(tx, f"notes_{size}", words.text(size), limit=size + 1_000)


def _make(tx: Tx, label: str, content: str, limit: int = 5_000) -> None:
    new = NewBlock(
        _AGENT, label, "Notes.", PUBLIC, Trust.AGENT, type=BlockType.WORKING, char_limit=limit, content=content
    )
    blocks.create_block(tx, new, SYSTEM, utc_now())


async def _edits(database: Database, size: int, count: int) -> dict[str, list[float]]:
    """Append a line, replace words of it, take it away again; the block keeps its size."""
    label, found = f"notes_{size}", dict[str, list[float]]({"append": [], "replace": [], "busy": []})
    for number in range(count):
        line = f"On day {number} we talked about the harbour bridge and the old candle.\n"
        other = line.replace("harbour", "village")
        for old, new in (("", line), (line, other), (other, "")):
            kind, work = ("replace" if old else "append"), _edit(label, old, new)
            busy, begin = time.process_time(), time.perf_counter()
            await database.write(_EDIT, work)
            found[kind].append(1000 * (time.perf_counter() - begin))
            found["busy"].append(1000 * (time.process_time() - busy))
    return found


def _edit(label: str, old: str, new: str, policy: CheckpointPolicy = DEFAULT_POLICY) -> Callable[[Tx], Block]:
    turn = TurnId(snowflakes.next())
    author = Author(_AGENT, Scope(PUBLIC), agent_writer(_AGENT), Trust.AGENT, utc_now(), turn, policy=policy)
    if old:
        return lambda tx: blocks.replace_in_block(tx, author, label, old, new)
    return lambda tx: blocks.append_block(tx, author, label, new)


async def _round(options: Options) -> dict[int, dict[str, list[float]]]:
    found = {}
    async with filled(_fill) as database:
        for size in SIZES:
            await _edits(database, size, _WARM)
            found[size] = await _edits(database, size, options.scaled(300))
    return found


async def _loads(policy: CheckpointPolicy, count: int) -> list[float]:
    """Milliseconds of loading a block of 2,000 characters after 108 changes."""
    async with filled(_fill) as database:
        for number in range(UPDATES):
            line = f"On day {number // 2} we talked.\n"
            work = _edit("notes_2000", *((line, "") if number % 2 else ("", line)), policy)
            block = await database.write(_EDIT, work)

        def load(rows: Rows) -> float:
            begin = time.perf_counter()
            opened = load_block(rows, block.id, None)
            assert opened.pending == (UPDATES + 1) % policy.updates  # and the first change, which filled it
            return 1000 * (time.perf_counter() - begin)

        return [await database.read(load) for _ in range(count)]


def run(options: Options) -> Report:
    rounds = [asyncio.run(_round(options)) for _ in range(options.rounds)]
    late = CheckpointPolicy(updates=10_000, size=10_000_000)
    loads = {"as stored": DEFAULT_POLICY, "without a checkpoint": late}
    report = Report("Block edit including commit (an agent with 100 other blocks), and loading a block")
    targets = {0.5: at_most(2.0), 0.99: None}
    for size in SIZES:
        for kind in ("append", "replace"):
            found = [each[size][kind] for each in rounds]
            report.measures += percentiles(f"{kind}, {size:,} characters", "ms", found, targets)
        busy = [each[size]["busy"] for each in rounds]
        report.measures += percentiles(f"any edit, {size:,} characters: processor time", "ms", busy, {0.5: None})
    for kind, policy in loads.items():
        times = asyncio.run(_loads(policy, options.scaled(300)))
        report.measures += percentiles(f"load of a block after {UPDATES} changes, {kind}", "ms", [times], targets)
    report.notes.append("As awaited by the caller; commits are not fsynced (durable against SIGKILL, not a power cut).")
    return report
