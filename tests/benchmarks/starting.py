"""How long it takes to start, how much memory it takes to wait, and what is loaded for that."""

import asyncio
import functools
import os
import re
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.options import Options
from tests.benchmarks.process import ROOT, resident_mib, stopped, until_ready
from tests.benchmarks.report import Detail, Measure, Report, at_most
from tests.wire.discord import DiscordServer
from tests.wire.model import Answer, ModelServer

_IDLE_SECONDS = 3.0
_IMPORT = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|(\s+)(\S+)")
_SHOWN = 15


@dataclass
class _Starts:
    """Seconds and MiB, start by start."""

    first: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    identified: list[float] = field(default_factory=list)
    idle: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)
    once: list[float] = field(default_factory=list)
    help: list[float] = field(default_factory=list)
    imports: list[dict[str, int]] = field(default_factory=list)


def _environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    paths = [*filter(None, [more.pop("PYTHONPATH", "")]), str(ROOT)]
    return {**kept, "CARINA_HOME": str(folder / "data"), "PYTHONPATH": os.pathsep.join(paths), **more}


async def _start(folder: Path, environment: dict[str, str], *flags: str) -> asyncio.subprocess.Process:
    command = (sys.executable, *flags, "-m", "bot", "run", "--log-json")
    return await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=environment, stderr=asyncio.subprocess.PIPE, limit=1 << 20
    )


async def _round(folder: Path, starts: _Starts) -> None:
    async with DiscordServer.start() as server, ModelServer.start() as model:
        model.default = lambda _request: Answer("hello")
        guild = server.guild("Home")
        general, ana = guild.text_channel("general"), server.person("ana")
        guild.add(ana)
        environment = _environment(
            folder, **server.environment(hurry=False), **model.environment(), DISCORD_TOKEN=server.token
        )
        environment["CARINA_MODEL"] = "openai:scripted"
        for kept in (starts.first, starts.again):
            begin, before = time.perf_counter(), server.gateway.identifies
            process = await _start(folder, environment)
            waiting = asyncio.create_task(until_ready(process, "discord"))
            await server.until(functools.partial(_identified, server, before), 60)
            starts.identified.append(time.perf_counter() - begin)
            await waiting
            kept.append(time.perf_counter() - begin)
            await asyncio.sleep(_IDLE_SECONDS)
            found = resident_mib(process.pid)
            if kept is starts.again:
                starts.idle.append(found["VmRSS"])
                starts.own.append(found["RssAnon"])
                await ana.say(general, "<@bot> hello")
                await general.wait_for_bot(timeout=30)
                starts.asked.append(resident_mib(process.pid)["VmRSS"])
            await stopped(process)
        starts.imports.append(await _imports(folder, environment))


def _identified(server: DiscordServer, before: int) -> bool:
    return server.gateway.identifies > before


async def _imports(folder: Path, environment: dict[str, str]) -> dict[str, int]:
    """Microseconds of importing, by top-level package, of a service that is started until it is ready."""
    lines: list[str] = []
    process = await _start(folder, environment, "-X", "importtime")
    await until_ready(process, "discord", lines)
    await stopped(process)
    found: dict[str, int] = defaultdict(int)
    for line in lines:
        if match := _IMPORT.match(line):
            found[match[4].split(".")[0]] += int(match[1])
    return found


async def _wall(folder: Path, *arguments: str) -> float:
    environment = _environment(folder)
    begin = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", *arguments, cwd=folder, env=environment, stdout=asyncio.subprocess.DEVNULL
    )
    if await process.wait() != 0:
        raise RuntimeError(f"carina {' '.join(arguments)} failed")
    return time.perf_counter() - begin


async def _measure(options: Options) -> _Starts:
    starts = _Starts()
    for _ in range(options.rounds):
        with TemporaryDirectory() as folder:
            await _round(Path(folder), starts)
        with TemporaryDirectory() as folder:
            starts.once.append(await _wall(Path(folder), "chat", "--once", "remember that my dentist is on Elm Street"))
            starts.help.append(await _wall(Path(folder), "--help"))
    return starts


def run(options: Options) -> Report:
    starts = asyncio.run(_measure(options))
    report = Report("Start and idle: Discord and openai:... configured, no embedder")
    report.measures += [
        Measure("process start to `ready` of Discord", "s", tuple(starts.again), at_most(3)),
        Measure("the same, first start on an empty folder", "s", tuple(starts.first), at_most(3)),
        Measure("of it until IDENTIFY reaches the gateway", "s", tuple(starts.identified)),
        Measure("idle VmRSS, 3 s after ready", "MiB", tuple(starts.idle), at_most(150)),
        Measure("of it anonymous (not shared files)", "MiB", tuple(starts.own)),
        Measure("VmRSS after the first answer (provider loaded)", "MiB", tuple(starts.asked)),
        Measure("carina chat --once, new folder, offline", "s", tuple(starts.once)),
        Measure("carina --help", "s", tuple(starts.help)),
    ]
    report.details.append(_import_table(starts.imports))
    report.notes.append("discord.py's own pauses are as in production (no hurry): it waits 2 s for further guilds.")
    return report


def _import_table(rounds: list[dict[str, int]]) -> Detail:
    best = {name: min(found.get(name, 0) for found in rounds) / 1000 for name in rounds[0]}
    order = sorted(best, key=lambda name: -best[name])
    rows = [(name, best[name]) for name in order[:_SHOWN]]
    rows += [("everything else", sum(best[name] for name in order[_SHOWN:])), ("all", sum(best.values()))]
    return Detail(
        "Imports until ready, own time by package (-X importtime, best round)", ("package", "ms"), tuple(rows)
    )
