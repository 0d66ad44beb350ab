"""`make bench-peers [LOCOMO=PATH]`: programs that do part of the same, in environments of their own, side by side.

A peer that cannot be installed or run is in the table with the reason. No weights are downloaded: chromadb and mem0 get
vectors of Carina's packaged embedder, made beforehand; making them is in no time here.
"""

import argparse
import asyncio
import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from memory.store.database import Database
from memory.store.faults import commit_point
from memory.store.migrations import Kind, prepare
from memory.store.sqlite import connect
from tests.benchmarks import methods
from tests.benchmarks.embedded import embed_rows, meanings_of, packaged
from tests.benchmarks.flow import CARINA, FLOOR
from tests.benchmarks.locomo import Conversation, conversations, store
from tests.benchmarks.process import ROOT, cpu_seconds, drained, resident_mib
from tests.benchmarks.report import Detail, machine, percentile, show_detail
from tests.wire.discord import DiscordServer
from tests.wire.model import Answer, ModelServer

_FILL = commit_point("bench.fill_peers")
_PLACE = ROOT / ".venv" / "peers"
_PACKAGES = {"nanobot-ai": ("nanobot-ai", "discord.py"), "mem0ai": ("mem0ai",), "chromadb": ("chromadb",)}
_CUTS = (5, 10)
_IDLE, _WARM, _COUNT = 12, 5, 40
_SETTINGS = '[discord]\ndefault_mode = "mention"\n[limits]\nperson_per_hour = 0\nguild_per_hour = 0\nall_per_hour = 0\n'


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


def _carina(folder: Path, servers: Mapping[str, str]) -> Mapping[str, str]:
    (folder / "carina.toml").write_text(_SETTINGS)
    path = os.pathsep.join((servers["PYTHONPATH"], str(ROOT)))
    return {"CARINA_HOME": str(folder / "data"), "CARINA_MODEL": "openai:scripted", "PYTHONPATH": path}


_BOTS = (
    _Bot("bare discord.py bot", (sys.executable, *FLOOR), _carina),
    _Bot("Carina", (sys.executable, *CARINA), _carina),
    _Bot(
        "Carina without an embedder",
        (sys.executable, *CARINA),
        lambda folder, servers: {**_carina(folder, servers), "EMBEDDING_MODEL": "none"},
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

        async def ask(number: int) -> float:
            answers = sum(message.author is server.bot for message in general.messages)
            asked = time.perf_counter()
            await ana.say(general, f"<@bot> number {number}")
            await server.until(
                lambda: sum(message.author is server.bot for message in general.messages) > answers, 60, "an answer"
            )
            return 1000 * (time.perf_counter() - asked)

        try:
            async with drained(process):
                await server.until(lambda: server.gateway.identifies, 60, "IDENTIFY")
                started, busy = time.perf_counter() - begin, cpu_seconds(process.pid)
                await asyncio.sleep(_IDLE)
                idle = resident_mib(process.pid)["VmRSS"]
                for number in range(_WARM):
                    await ask(number)
                before = cpu_seconds(process.pid)
                waits = [await ask(number) for number in range(_COUNT)]
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


# ------------------------------------------------------------------------------------------------------ recall


@dataclass
class _Recall:
    """Of one store over all conversations: recall at the cuts, milliseconds."""

    recall: list[tuple[float, ...]]
    store_ms: list[float]
    search_ms: list[float]

    def row(self, name: str) -> tuple[str, ...]:
        shares = [100 * sum(each[at] for each in self.recall) / len(self.recall) for at in range(len(_CUTS))]
        times = percentile(self.store_ms, 0.5), percentile(self.search_ms, 0.5)
        return (name, *(f"{share:.1f}" for share in shares), *(f"{value:.2f}" for value in times))

    def judge(self, conversation: Conversation, found: Sequence[Sequence[str]]) -> None:
        for question, turns in zip(conversation.questions, found, strict=True):
            if question.category != 5:
                needed = question.evidence
                self.recall.append(tuple(len(needed & set(turns[:cut])) / len(needed) for cut in _CUTS))


async def _ours(folder: Path, talk: Conversation, found: dict[str, _Recall]) -> Mapping[str, Sequence[float]]:
    """Carina with and without vectors, and plain FTS5; the vectors of every text and question."""
    path, embedder = folder / "carina.db", packaged()
    if isinstance(embedder, str):
        raise SystemExit(embedder)
    prepare(path, Kind.CONSTELLATION)
    texts = [_told(talk, number) for number in range(len(talk.turns))]
    async with Database.open(path) as database:
        begin = time.perf_counter()
        await database.write(_FILL, lambda tx: store(tx, talk.turns))
        stored = 1000 * (time.perf_counter() - begin) / len(talk.turns)
        await embed_rows(database, embedder)
        meanings = await meanings_of(embedder, [*texts, *(each.text for each in talk.questions)])
    await embedder.aclose()
    raw = connect(path)
    begin = time.perf_counter()
    plain = methods.plain(raw, talk.turns)
    indexed = 1000 * (time.perf_counter() - begin) / len(talk.turns)
    ways = {
        "Carina": (stored, methods.product(raw, meanings)),
        "Carina without an embedder": (stored, methods.product(raw)),
        "plain FTS5": (indexed, plain),
    }
    for name, (each, ask) in ways.items():
        kept, ranked = found.setdefault(name, _Recall([], [], [])), []
        kept.store_ms.append(each)
        for question in talk.questions:
            begin = time.perf_counter()
            ranked.append(ask(question.text))
            kept.search_ms.append(1000 * (time.perf_counter() - begin))
        kept.judge(talk, ranked)
    raw.close()
    return {text: list(meaning.vector) for text, meaning in meanings.items()}


def _told(talk: Conversation, number: int) -> str:
    turn = talk.turns[number]
    return f"[{turn.at:%d %B %Y}] {turn.speaker}: {turn.text}"


def _peer(name: str, folder: Path, talk: Conversation, vectors: Mapping[str, Sequence[float]], kept: _Recall) -> None:
    texts = [_told(talk, number) for number in range(len(talk.turns))]
    questions = [each.text for each in talk.questions]
    given = {"folder": str(folder), "texts": texts, "questions": questions, "vectors": vectors}
    command = [str(_PLACE / name / "bin" / "python"), str(Path(__file__).with_name("peer_stores.py")), name]
    done = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=True, timeout=1_800, cwd=folder
    )
    told = json.loads(done.stdout.splitlines()[-1])
    kept.store_ms.append(told["store_ms"])
    kept.search_ms += told["search_ms"]
    kept.judge(talk, [[talk.turns[number].id for number in ranked] for ranked in told["ranked"]])


def recall(path: Path, most: int) -> Detail:
    found, refused = dict[str, _Recall](), dict[str, str]()
    for talk in conversations(path)[:most]:
        with TemporaryDirectory() as folder:
            vectors = asyncio.run(_ours(Path(folder), talk, found))
        for name in ("mem0ai", "chromadb"):
            refused[name] = refused.get(name) or installed(name)
            if not refused[name]:
                with TemporaryDirectory() as folder:
                    run = functools.partial(_peer, name, Path(folder), talk, vectors)
                    try:
                        run(found.setdefault(name, _Recall([], [], [])))
                    except subprocess.SubprocessError as error:
                        refused[name] = f"not run: {_last_line(error)}"
    rows = [each.row(name) for name, each in found.items() if not refused.get(name)]
    rows += [(name, why, "", "", "") for name, why in refused.items() if why]
    columns = ("store", "R@5 %", "R@10 %", "storing one, ms", "search, p50 ms")
    return Detail(f"LoCoMo, {most} conversations, categories 1-4, without making vectors", columns, tuple(rows))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers", description=__doc__)
    parser.add_argument("--locomo", type=Path, help="path of locomo-dev.json; without it recall is not measured")
    parser.add_argument("--conversations", type=int, default=6)
    chosen, console = parser.parse_args(), Console(width=None if sys.stdout.isatty() else 130)
    console.print(" · ".join(f"{name} {value}" for name, value in machine().items()), highlight=False)
    show_detail(console, mentions())
    if chosen.locomo is not None:
        show_detail(console, recall(chosen.locomo, chosen.conversations))


if __name__ == "__main__":
    main()
