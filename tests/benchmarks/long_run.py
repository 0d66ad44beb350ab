"""Memory of the service over 10,000 answers on Discord, over sockets, with the embedder if there is one.

Ten people take turns in five channels, and five answers are waited for at a time. Everything is stored, searched and
embedded, so caches fill up first; what the least of a fifth grows by after that would be a leak. While messages are
embedded it takes some 15 MiB more.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.flow import bot_process
from tests.benchmarks.options import Options
from tests.benchmarks.plot import Line, plot
from tests.benchmarks.process import CARINA, drained, resident_mib, threads
from tests.benchmarks.report import Detail, Measure, Report, at_most
from tests.benchmarks.words import Words
from tests.wire.discord import DiscordServer
from tests.wire.model import Answer, ModelServer

_ANSWERS, _EVERY = 10_000, 100
_CHANNELS, _PEOPLE = 5, 10
_IDLE = 12  # seconds until everything is loaded


async def _talk(folder: Path, answers: int, every: int) -> tuple[Line, int]:
    words = Words(23)
    async with DiscordServer.start() as server, ModelServer.start() as model:
        model.default = lambda _request: Answer(words.sentence(20), chunks=5)
        guild = server.guild("Bench")
        channels = [guild.text_channel(f"channel-{number}") for number in range(_CHANNELS)]
        persons = [server.person(f"person{number}") for number in range(_PEOPLE)]
        for person in persons:
            guild.add(person)
        servers = {**server.environment(hurry=False), **model.environment(), "DISCORD_TOKEN": server.token}
        async with bot_process(folder, servers, CARINA) as process, drained(process):
            await asyncio.sleep(_IDLE)
            found = [(0.0, resident_mib(process.pid)["VmRSS"])]
            for begin in range(0, answers, _CHANNELS):
                for at, channel in enumerate(channels):
                    await persons[(begin + at) % _PEOPLE].say(channel, f"<@bot> {words.sentence(10)}")
                await server.until(partial(_answered, channels, 2 * (begin // _CHANNELS + 1)), 120, "the answers")
                model.requests.clear()
                if (begin + _CHANNELS) % every == 0:
                    found.append((float(begin + _CHANNELS), resident_mib(process.pid)["VmRSS"]))
            return found, threads(process.pid)


def _answered(channels: Sequence[Any], messages: int) -> bool:
    return all(len(channel.messages) >= messages for channel in channels)


def run(options: Options) -> Report:
    answers, every = options.scaled(_ANSWERS), options.scaled(_EVERY)
    with TemporaryDirectory() as folder:
        line, running = asyncio.run(_talk(Path(folder), answers, every))
    at, fifth = dict(line), len(line) // 5
    settled, last = (min(size for _, size in part) for part in (line[fifth : 2 * fifth], line[-fifth:]))
    report = Report(f"Memory over {answers:,} answers")
    report.measures += [
        Measure("idle", "MiB", (at[0.0],), at_most(150)),
        Measure(f"after {options.scaled(1_000):,} answers", "MiB", (at[float(options.scaled(1_000))],), at_most(180)),
        Measure("the least of the second fifth", "MiB", (settled,)),
        Measure("the least of the last fifth", "MiB", (last,)),
    ]
    marks = {0, every, *(answers * part // 10 for part in (1, 2, 4, 6, 8, 10))}
    rows = tuple((f"{count:,.0f}", size) for count, size in line if count in marks)
    report.details.append(Detail("VmRSS", ("answers", "MiB"), rows))
    report.pictures["memory"] = plot(f"Memory over {answers:,} answers", ("answers", "MiB"), {"VmRSS": line})
    report.notes.append(f"{running} threads at the end; five answers at a time.")
    return report
