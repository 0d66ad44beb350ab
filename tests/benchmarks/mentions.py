"""A mention in Discord to its answer over real sockets, beside a bare discord.py bot in the same run.

The model takes no time. Processor time is that of the bot's process alone, its threads included. Vectors of what was
said are made once nothing was written for two seconds, which is after the mentions here: that stands apart, as "later".
"""

import asyncio
import functools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.config import load_config
from memory import agents
from memory.people.audience import PUBLIC
from memory.store.clock import utc_now
from memory.store.constellations import Constellations
from memory.store.faults import commit_point
from memory.store.ids import PlaceId
from tests.benchmarks.options import Options
from tests.benchmarks.process import (
    CARINA,
    FLOOR,
    TICKS,
    asked,
    begun,
    cpu_seconds,
    drained,
    environment,
    resident_mib,
    stopped,
    until_ready,
)
from tests.benchmarks.report import Detail, Measure, Report, at_most, percentile
from tests.benchmarks.turns import fill_blocks, fill_messages
from tests.benchmarks.words import Words
from tests.bot.seeding import seeded
from tests.wire.discord import Channel, DiscordServer, Person
from tests.wire.model import Answer, ModelServer, Tokens

_FILL = commit_point("bench.fill_mentions")
_FLOOR, _CARINA, _WORDS_ALONE, _FULL = (
    "bare discord.py bot",
    "Carina",
    "Carina without an embedder",
    "Carina, 10,000 messages and 100 blocks, without",
)
_WARM, _COUNT, _PAUSE = 5, 60, 0.02
_TOKENS = Tokens(3_000, 3)  # given, as to count a long prompt takes time, and the bare bot does not ask for it
_UNTIL_LOADED = 8  # seconds: by then the embedder has begun with what waits for it
_UNTIL_SYNCED = 2  # seconds until the first start has told Discord its commands, which happens once
_LATER, _MOST_LATER = 4, 40  # seconds without work that end what is done later, and the most that it is waited for


@dataclass
class _Series:
    """What one bot took, start by start; milliseconds, of a start seconds."""

    waits: list[list[float]] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    later: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    second: list[float] = field(default_factory=list)
    identify_cpu: list[float] = field(default_factory=list)
    connected: list[float] = field(default_factory=list)
    idle: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)

    def share(self, share: float) -> tuple[float, ...]:
        return tuple(percentile(each, share) for each in self.waits)


def _identified(server: DiscordServer, before: int) -> bool:
    return server.gateway.identifies > before


async def _fill(folder: Path, place: PlaceId) -> None:
    """A memory that has been used: 2,000 of the messages were said where the bot is asked.

    It is measured without an embedder, which would be busy with these messages all the time.
    """
    words, config = Words(7), load_config({"CARINA_HOME": str(folder / "data")}, folder)
    async with Constellations.open(folder / "data", utc_now) as constellations:
        home, _ = await seeded(config, constellations)
        async with constellations.use(home) as database:
            agent = (await database.read(agents.agents))[0]
            await database.write(_FILL, lambda tx: fill_blocks(tx, agent.id, 100, words, PUBLIC))
            await database.write(_FILL, lambda tx: fill_messages(tx, agent.id, 10_000, 2_000, words, here_is=place))


async def _round(name: str, series: _Series, count: int) -> None:
    with TemporaryDirectory() as made:
        folder = Path(made)
        async with DiscordServer.start() as server, ModelServer.start() as model:
            model.default = lambda _request: Answer("Hello there.", chunks=5, tokens=_TOKENS)
            guild = server.guild("Home")
            general, ana = guild.text_channel("general"), server.person("ana")
            guild.add(ana)
            if name == _FULL:
                await _fill(folder, PlaceId(f"discord:{general.id}"))
            servers = {**server.environment(hurry=False), **model.environment(), "DISCORD_TOKEN": server.token}
            more = {"EMBEDDING_MODEL": "none"} if name in (_WORDS_ALONE, _FULL) else {}
            for start in range(2):  # the second start has everything that the first one made
                begin, before = time.perf_counter(), server.gateway.identifies
                process = await begun(FLOOR if name == _FLOOR else CARINA, folder, environment(folder, servers, **more))
                waiting = asyncio.create_task(until_ready(process, "discord"))
                await server.until(functools.partial(_identified, server, before), 60)
                identified = cpu_seconds(process.pid)
                await waiting
                if start:
                    series.identify_cpu.append(identified)
                    series.connected.append(time.perf_counter() - begin)
                    await asyncio.sleep(_UNTIL_LOADED)
                    series.idle.append(resident_mib(process.pid)["VmRSS"])
                    await _measure(process, (server, general, ana), series, count)
                else:
                    await asyncio.sleep(_UNTIL_SYNCED)
                await stopped(process)


async def _measure(
    process: asyncio.subprocess.Process, stage: tuple[DiscordServer, Channel, Person], series: _Series, count: int
) -> None:

    async def ask(number: int) -> float:
        await asyncio.sleep(_PAUSE)
        return await asked(*stage, number)

    async with drained(process):
        series.first.append(await ask(0))
        series.second.append(await ask(1))
        for number in range(_WARM):
            await ask(number)
        before = cpu_seconds(process.pid)
        series.waits.append([await ask(number) for number in range(count)])
        series.busy.append(1000 * (cpu_seconds(process.pid) - before) / count)
        series.answered.append(resident_mib(process.pid)["VmRSS"])
        series.later.append(1000 * await _afterwards(process.pid) / (count + _WARM))


async def _afterwards(pid: int) -> float:
    """Seconds of processor time that a process takes until it is at rest."""
    begin, rests, before = cpu_seconds(pid), 0, cpu_seconds(pid)
    for _ in range(_MOST_LATER):
        await asyncio.sleep(1)
        rests = rests + 1 if (now := cpu_seconds(pid)) - before < 2 / TICKS else 0
        before = now
        if rests == _LATER:
            break
    return before - begin


def run(options: Options) -> Report:
    names = (_FLOOR, _CARINA, _WORDS_ALONE, _FULL)
    found = {name: _Series() for name in names}
    for _ in range(options.rounds):
        for name in names:
            asyncio.run(_round(name, found[name], options.scaled(_COUNT)))
    report = Report("A mention in Discord to its answer, over sockets, with a model that takes no time")
    floor = found[_FLOOR]
    for name in names[1:]:
        series = found[name]
        report.measures += [
            Measure(f"{name}: p50 beside the floor's", "x", _beside(series.share(0.5), floor.share(0.5)), at_most(2)),
            Measure(f"{name}: p95 beside the floor's", "x", _beside(series.share(0.95), floor.share(0.95)), at_most(4)),
            Measure(f"{name}: processor time", "x", _beside(tuple(series.busy), tuple(floor.busy)), at_most(3)),
        ]
        late = tuple(first - second for first, second in zip(series.first, series.second, strict=True))
        report.measures += [
            Measure(f"{name}: the first answer after a start is later by", "ms", late, at_most(300)),
            Measure(f"{name}: processor time until IDENTIFY", "s", tuple(series.identify_cpu), at_most(1.0)),
            Measure(f"{name}: connected", "s", tuple(series.connected), at_most(2.0)),
            Measure(f"{name}: idle VmRSS", "MiB", tuple(series.idle), at_most(150 if name == _CARINA else 90)),
        ]
    rows: list[tuple[str | float, ...]] = [
        (name, *[statistics.median(of(found[name])) for of in _COLUMNS.values()]) for name in names
    ]
    report.details.append(Detail("Each bot, median round", ("bot", *_COLUMNS), tuple(rows)))
    return report


_COLUMNS: Mapping[str, Callable[[_Series], Sequence[float]]] = {
    "p50 ms": lambda series: series.share(0.5),
    "p95 ms": lambda series: series.share(0.95),
    "CPU ms": lambda series: series.busy,
    "later CPU ms": lambda series: series.later,
    "first ms": lambda series: series.first,
    "IDENTIFY CPU s": lambda series: series.identify_cpu,
    "connected s": lambda series: series.connected,
    "idle MiB": lambda series: series.idle,
    "used MiB": lambda series: series.answered,
}


def _beside(values: tuple[float, ...], floor: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(value / one for value, one in zip(values, floor, strict=True))
