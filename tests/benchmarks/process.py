"""The service as a process, watched from outside."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.wire.discord import Channel, DiscordServer, Person

ROOT = Path(__file__).parents[2]
_READY_SECONDS = 60.0
TICKS = os.sysconf("SC_CLK_TCK")
"""In a second, of what the kernel counts."""
CARINA = ("-m", "bot", "run", "--log-json")
FLOOR = (str(Path(__file__).with_name("floor_bot.py")),)
_SETTINGS = """[discord]
default_mode = "mention"
dm = "shared"
[limits]
person_per_hour = 0
guild_per_hour = 0
all_per_hour = 0
"""


def environment(folder: Path, servers: Mapping[str, str], **more: str) -> dict[str, str]:
    """That of a bot which speaks to these servers; Carina finds its settings in the folder."""
    (folder / "carina.toml").write_text(_SETTINGS)
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    path = os.pathsep.join([*filter(None, [servers.get("PYTHONPATH")]), str(ROOT)])
    own = {"CARINA_HOME": str(folder / "data"), "CARINA_MODEL": "openai:scripted", "PYTHONPATH": path}
    return {**kept, **servers, **own, **more}


def measured_apart(module: str, rounds: int, *arguments: int, first: str = "") -> list[dict[str, Any]]:
    """What `measure(folder, *arguments)` of a benchmark gives in processes of its own, after a statement."""
    run = f"print(json.dumps(in_folder(lambda folder: measure(folder, *{arguments}))))"
    code = f"import json\n{first}\nfrom {module} import measure\nfrom tests.benchmarks.options import in_folder\n{run}"
    found = []
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))  # the lines before it are the log
    return found


async def begun(command: Sequence[str], folder: Path, given: Mapping[str, str]) -> asyncio.subprocess.Process:
    """A Python program in a folder, with that environment."""
    return await asyncio.create_subprocess_exec(
        sys.executable, *command, cwd=folder, env=given, stderr=asyncio.subprocess.PIPE, limit=1 << 20
    )


async def asked(server: DiscordServer, channel: Channel, person: Person, number: int) -> float:
    """Milliseconds from a mention to its answer."""
    answers = sum(message.author is server.bot for message in channel.messages)
    begin = time.perf_counter()
    await person.say(channel, f"<@bot> number {number}")
    await server.until(
        lambda: sum(message.author is server.bot for message in channel.messages) > answers, 60, "an answer"
    )
    return 1000 * (time.perf_counter() - begin)


async def until_ready(process: asyncio.subprocess.Process, front_end: str) -> None:
    """Until the service logs that a front end is connected. Raises when it ends."""
    lines = list[str]()
    async with asyncio.timeout(_READY_SECONDS):
        async for line in _lines(process):
            lines.append(line)
            if line.startswith("{"):
                event = json.loads(line)
                if event.get("event") == "ready" and event.get("front_end") == front_end:
                    return
    raise RuntimeError("the service ended: " + "".join(lines[-20:]))


async def _lines(process: asyncio.subprocess.Process) -> AsyncIterator[str]:
    if process.stderr is None:
        raise RuntimeError("the process was started without a pipe for its log")
    while line := await process.stderr.readline():
        yield line.decode(errors="replace")


async def stopped(process: asyncio.subprocess.Process) -> str:
    """End the service; the rest of its log."""
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
    _out, log = await process.communicate()
    return (log or b"").decode(errors="replace")


@asynccontextmanager
async def drained(process: asyncio.subprocess.Process) -> AsyncIterator[None]:
    """Read the log until the block ends, so that the service never waits for somebody who does."""

    async def read() -> None:
        async for _line in _lines(process):
            pass

    reading = asyncio.create_task(read())
    try:
        yield
    finally:
        reading.cancel()
        await asyncio.wait([reading])


def resident_mib(pid: int | str = "self") -> dict[str, float]:
    """Memory of a process as the kernel counts it, in MiB: VmRSS, RssAnon (its own), RssFile (shared files)."""
    lines = (Path("/proc") / str(pid) / "status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines if line.startswith(("VmRSS", "RssAnon", "RssFile")))
    return {name: int(value.split()[0]) / 1024 for name, value in found.items()}


def threads(pid: int | str = "self") -> int:
    """How many threads a process has."""
    return len(list((Path("/proc") / str(pid) / "task").iterdir()))


def cpu_seconds(pid: int) -> float:
    """Seconds of processor time of a process so far."""
    fields = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
