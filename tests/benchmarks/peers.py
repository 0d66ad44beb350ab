"""`make bench-peers [LOCOMO=PATH]`: programs that do part of the same, in environments of their own, side by side.

A peer that cannot be installed or run is in the table with the reason. No weights are downloaded: chromadb and mem0 get
vectors of Carina's packaged embedder, made beforehand; making them is in no time here.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from memory.search.embedding.choice import missing
from memory.store.faults import commit_point
from tests.benchmarks import recalls
from tests.benchmarks.embedded import filled, meanings_of, packaged
from tests.benchmarks.locomo import Conversation, Turn, conversations, store
from tests.benchmarks.process import CARINA, FLOOR, ROOT, asked, cpu_seconds, drained, environment, resident_mib
from tests.benchmarks.report import Detail, machine, percentile, show_detail
from tests.wire.discord import DiscordServer
from tests.wire.model import Answer, ModelServer

_FILL = commit_point("bench.fill_peers")
_PLACE = ROOT / ".venv" / "peers"
_PACKAGES = {"nanobot-ai": ("nanobot-ai", "discord.py"), "mem0ai": ("mem0ai",), "chromadb": ("chromadb",)}
_IDLE, _WARM, _COUNT = 12, 5, 40


def installed(name: str) -> str:
    """Make the environment of a peer; why it cannot be, or nothing."""
    home = _PLACE / name
    try:
        if not (home / "done").exists():
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, capture_output=True, text=True)
            pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", *_PACKAGES[name]]
            subprocess.run(pip, check=True, capture_output=True, text=True, timeout=900)
            (home / "done").touch()
    except (subprocess.SubprocessError, OSError) as error:
        return f"not installed: {_last_line(error)}"
    return ""


def _last_line(error: Exception) -> str:
    said = getattr(error, "stderr", None) or str(error)
    return (str(said).strip().splitlines() or [type(error).__name__])[-1][:120]


# ------------------------------------------------------------------------------------------------ a mention on Discord


@dataclass(frozen=True)
class _Bot:
    name: str
    command: Sequence[str]
    prepare: Callable[[Path, Mapping[str, str]], Mapping[str, str]]
    """Writes its settings into a folder, and gives more of its environment."""


def _nanobot(folder: Path, servers: Mapping[str, str]) -> Mapping[str, str]:
    workspace = folder / ".nanobot"
    workspace.mkdir()
    discord = {"enabled": True, "token": servers["DISCORD_TOKEN"], "allowFrom": ["*"], "groupPolicy": "mention"}
    settings = {
        "agents": {"defaults": {"model": "scripted", "provider": "openai", "workspace": str(workspace / "workspace")}},
        "providers": {"openai": {"apiKey": servers["OPENAI_API_KEY"], "apiBase": servers["OPENAI_BASE_URL"]}},
        "channels": {"discord": discord},
    }
    (workspace / "config.json").write_text(json.dumps(settings))
    return {"PYTHONPATH": servers["PYTHONPATH"]}


_BOTS = (
    _Bot("bare discord.py bot", (sys.executable, *FLOOR), environment),
    _Bot("Carina", (sys.executable, *CARINA), environment),
    _Bot(
        "Carina without an embedder",
        (sys.executable, *CARINA),
        lambda folder, servers: environment(folder, servers, EMBEDDING_MODEL="none"),
    ),
    _Bot("nanobot-ai", (str(_PLACE / "nanobot-ai" / "bin" / "nanobot"), "gateway", "--foreground"), _nanobot),
)


async def _mention(bot: _Bot, folder: Path) -> tuple[str, ...]:
    async with DiscordServer.start() as server, ModelServer.start() as model:
        model.default = lambda _request: Answer("Hello there.", chunks=5)
        guild = server.guild("Home")
        general, ana = guild.text_channel("general"), server.person("ana")
        guild.add(ana)
        servers = {**server.environment(hurry=False), **model.environment(), "DISCORD_TOKEN": server.token}
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        more = {**kept, **servers, "HOME": str(folder), **bot.prepare(folder, servers)}
        begin = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *bot.command,
            cwd=folder,
            env=more,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )

        try:
            async with drained(process):
                await server.until(lambda: server.gateway.identifies, 60, "IDENTIFY")
                started, busy = time.perf_counter() - begin, cpu_seconds(process.pid)
                await asyncio.sleep(_IDLE)
                idle = resident_mib(process.pid)["VmRSS"]
                for number in range(_WARM):
                    await asked(server, general, ana, number)
                before = cpu_seconds(process.pid)
                waits = [await asked(server, general, ana, number) for number in range(_COUNT)]
                each = 1000 * (cpu_seconds(process.pid) - before) / _COUNT
            prompt = len(json.dumps({name: model.requests[0].body.get(name) for name in ("messages", "tools")}))
        finally:
            process.kill()  # one of them does not end when it is asked to
            await process.wait()
    shown = (percentile(waits, 0.5), each, started, busy, idle)
    return (bot.name, *(f"{value:.1f}" for value in shown), f"{prompt:,}")


def mentions() -> Detail:
    rows = []
    for bot in _BOTS:
        why = installed(bot.name) if bot.name in _PACKAGES else ""
        try:
            with TemporaryDirectory() as folder:
                rows.append((bot.name, why, *[""] * 5) if why else asyncio.run(_mention(bot, Path(folder))))
        except (OSError, RuntimeError, TimeoutError) as error:
            rows.append((bot.name, f"not run: {_last_line(error)}", *[""] * 5))
    columns = (
        "bot",
        "mention to answer, p50 ms",
        "CPU ms",
        "to IDENTIFY s",
        "its CPU s",
        "idle MiB",
        "prompt, characters",
    )
    return Detail("A mention on Discord over sockets; the prompt of the first one, as JSON", columns, tuple(rows))


# -------------------------------------------------------------------------------------------------------------- recall


def recall(path: Path, most: int) -> tuple[Detail, Detail]:
    """Every way of `recalls`, and the peers; then what storing one text took."""
    outcome, stored, refused = recalls.measured(path, most), defaultdict[str, list[float]](list), dict[str, str]()
    for talk in conversations(path)[:most]:
        vectors = asyncio.run(_vectors(talk))
        for name in ("mem0ai", "chromadb"):
            refused[name] = refused.get(name) or installed(name)
            if not refused[name]:
                try:
                    told = _asked(name, talk, vectors)
                    outcome.answered.setdefault(name, []).extend(_answers(talk, told))
                    stored[name].append(told["store_ms"])
                except subprocess.SubprocessError as error:
                    refused[name] = f"not run: {_last_line(error)}"
        stored["Carina"].append(asyncio.run(_stored(talk)))
    rows = [(name, f"{percentile(each, 0.5):.2f}") for name, each in stored.items() if not refused.get(name)]
    rows += [(name, why) for name, why in refused.items() if why]
    return recalls.side_by_side(outcome), Detail("Storing one text", ("store", "p50 ms"), tuple(rows))


async def _stored(talk: Conversation) -> float:
    """Milliseconds that Carina takes for one turn, indexed by words."""
    async with filled(lambda _tx: None) as database:
        begin = time.perf_counter()
        await database.write(_FILL, lambda tx: store(tx, talk.turns))
        return 1000 * (time.perf_counter() - begin) / len(talk.turns)


async def _vectors(talk: Conversation) -> Mapping[str, Sequence[float]]:
    async with packaged() as embedder:
        if embedder is None:
            raise SystemExit(f"{missing()} is not installed")
        made = await meanings_of(embedder, [*map(_told, talk.turns), *(each.text.strip() for each in talk.questions)])
    return {text: array("b", meaning.vector).tolist() for text, meaning in made.items()}


def _told(turn: Turn) -> str:
    """As Carina gives it to the embedder."""
    return f"[{turn.at.day} {turn.at:%B %Y}] {turn.speaker}: {turn.text}".strip()


def _asked(name: str, talk: Conversation, vectors: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    questions = [each.text.strip() for each in talk.questions]
    command = [str(_PLACE / name / "bin" / "python"), str(Path(__file__).with_name("peer_stores.py")), name]
    with TemporaryDirectory() as folder:
        given = {"folder": folder, "texts": [*map(_told, talk.turns)], "questions": questions, "vectors": vectors}
        done = subprocess.run(
            command, input=json.dumps(given), capture_output=True, text=True, check=True, timeout=1_800, cwd=folder
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _answers(talk: Conversation, told: Mapping[str, Any]) -> Iterator[recalls.Answered]:
    for question, ranked, took in zip(talk.questions, told["ranked"], told["search_ms"], strict=True):
        yield recalls.judged(question, [talk.turns[number].id for number in ranked], took)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers", description=__doc__)
    parser.add_argument("--locomo", type=Path, help="path of locomo-dev.json; without it recall is not measured")
    parser.add_argument("--conversations", type=int, default=6)
    chosen, console = parser.parse_args(), Console(width=None if sys.stdout.isatty() else 130)
    console.print(" · ".join(f"{name} {value}" for name, value in machine().items()), highlight=False)
    show_detail(console, mentions())
    if chosen.locomo is not None:
        for detail in recall(chosen.locomo, chosen.conversations):
            show_detail(console, detail)


if __name__ == "__main__":
    main()
