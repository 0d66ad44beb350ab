"""One life of the program: a process, started with or without a fault, watched to its end."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.processes import Read, start
from tests.wire import LAUNCH

ROOT = Path(__file__).parents[2]
START_SECONDS = 60.0
END_SECONDS = 60.0
KILLED = -signal.SIGKILL
_KILLED_THERE = " killed"
"""Behind the point at which a process killed itself, in its trace."""


@dataclass
class Home:
    """A data folder with its configuration, and the points that all lives on it have reached."""

    folder: Path
    toml: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "carina.toml").write_text(
            f"{self.toml}\n[schedule]\nsummaries = false\nzone = 'UTC'\n\n[dreams]\nenabled = false\n", "utf-8"
        )
        self.trace_file.touch()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def trace_file(self) -> Path:
        return self.folder / "trace"

    @property
    def trace(self) -> list[str]:
        """Every "name:side" that was reached, in order."""
        return [line for line in self._noted() if not line.endswith(_KILLED_THERE)]

    @property
    def deaths(self) -> list[str]:
        """Every "name:side" at which a life killed itself, in order; what other threads reached meanwhile is none."""
        return [line.removesuffix(_KILLED_THERE) for line in self._noted() if line.endswith(_KILLED_THERE)]

    def _noted(self) -> list[str]:
        return self.trace_file.read_text("utf-8").splitlines()

    def variables(self, more: Mapping[str, str]) -> dict[str, str]:
        return {
            **{name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ},
            **self.environment,
            **more,
            "PYTHONPATH": os.pathsep.join(map(str, (LAUNCH, ROOT))),
            "KILL_TEST_TRACE": str(self.trace_file),
            "CARINA_HOME": str(self.data),
            "CARINA_CONFIG": str(self.folder / "carina.toml"),
            "NO_COLOR": "1",
            "EMBEDDING_MODEL": "none",
        }


def changed(environment: Mapping[str, str], trace: Path, **variables: str) -> dict[str, str]:
    """The environment of a process that `launch` changes as these variables say."""
    trace.touch()
    return {**environment, **variables, "PYTHONPATH": str(LAUNCH), "KILL_TEST_TRACE": str(trace)}


def check_death(home: Home, code: int, fault: str, earlier: int) -> None:
    """Raise AssertionError unless a life ended at its fault; `earlier` is how often others on that home had died."""
    assert code == KILLED, f"ended with {code} instead of at {fault}"
    found = home.deaths[earlier:]
    assert found == [":".join(fault.split(":")[:2])], f"was killed at {found or 'no fault'}, not at {fault}"


class Life:
    """A running process; its log is kept."""

    def __init__(self, process: Read) -> None:
        self._process = process
        self._ready = asyncio.Event()
        self._ended = asyncio.Event()
        self.lines: list[str] = []
        self.said = ""
        """What it wrote to standard output."""
        self.reading = asyncio.gather(self._read_log(), self._read_output())

    @property
    def code(self) -> int | None:
        return self._process.returncode

    @property
    def is_ready(self) -> bool:
        """Whether Discord was connected."""
        return self._ready.is_set()

    async def ready(self, seconds: float = START_SECONDS) -> bool:
        """Wait until Discord is connected; False when the process ended before."""
        await self._first(self._ready, self._ended, seconds=seconds)
        return self._ready.is_set()

    async def end(self, seconds: float = END_SECONDS) -> int:
        """Wait for the end; gives the exit code, negative for a signal. Raises TimeoutError."""
        await self._first(self._ended, seconds=seconds)
        await self.reading
        return await self._process.ended()

    async def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return await self.end()

    async def _first(self, *events: asyncio.Event, seconds: float) -> None:
        waiting = [asyncio.create_task(event.wait()) for event in events]
        done, _ = await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        if not done:
            raise TimeoutError(f"the process did not get on within {seconds} s:\n" + "\n".join(self.lines[-20:]))

    async def _read_log(self) -> None:
        async for raw in self._process.stderr:
            line = raw.decode("utf-8", "replace").rstrip("\n")
            self.lines.append(line)
            if line.startswith("{"):
                event = json.loads(line)
                if event.get("event") == "ready" and event.get("front_end") == "discord":
                    self._ready.set()
        await self._process.ended()
        self._ended.set()

    async def _read_output(self) -> None:
        self.said = (await self._process.stdout.read()).decode("utf-8", "replace")


@contextlib.asynccontextmanager
async def living(home: Home, *arguments: str, typed: str = "", **variables: str) -> AsyncIterator[Life]:
    """A process on a home for as long as the block lasts; what still runs then is killed. `typed` is its input."""
    process = await start(arguments, home.variables(variables), home.folder, typed)
    life = Life(process)
    try:
        yield life
    finally:
        if process.returncode is None:
            process.kill()
        await life.reading
        await process.ended()
