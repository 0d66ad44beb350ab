"""The unmodified program as a process: started, watched through its log, stopped, killed, started again."""

import asyncio
import json
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.processes import ROOT, START_SECONDS, Read, run_beside, start
from tests.wire import PATIENCE

STOP_SECONDS = 30.0
KILLED = -signal.SIGKILL


class Service:
    """One data folder, with at most one process on it at a time."""

    def __init__(self, folder: Path, environment: Mapping[str, str], front_end: str = "discord") -> None:
        self.home = folder / "data"
        self.file = folder / "carina.toml"
        self.environment = dict(environment)
        self.front_end = front_end
        self.lines: list[str] = []
        """What all processes wrote to standard error, in order."""
        self.events: list[dict[str, Any]] = []
        """The lines of the present process that are log events."""
        self.expected_errors: set[str] = set()
        """Events that may be logged as errors; any other fails the test at its end."""
        self._process: Read | None = None
        self._reading: asyncio.Task[None] | None = None
        self._over = False
        self._news = asyncio.Condition()

    async def start(self) -> None:
        """Start it and wait until its front end is connected."""
        await self.launch()
        await self.logged("ready", front_end=self.front_end, within=START_SECONDS)

    async def launch(self, *arguments: str) -> None:
        """Start the process without waiting for anything."""
        assert self._process is None, "it is already running"
        self.events, self._over = [], False
        self._process = await start(arguments or ("run", "--log-json"), self._variables(), ROOT)
        self._reading = asyncio.create_task(self._read(self._process.stderr))

    async def logged(self, event: str, *, within: float = PATIENCE, count: int = 1, **facts: object) -> dict[str, Any]:
        """The count-th event of that name with these facts, already there or still to come."""

        def fitting() -> list[dict[str, Any]]:
            return [
                found
                for found in self.events
                if found["event"] == event and all(found.get(key) == value for key, value in facts.items())
            ]

        try:
            async with asyncio.timeout(within), self._news:
                await self._news.wait_for(lambda: len(fitting()) >= count or self._over)
        except TimeoutError:
            raise AssertionError(f"no {event!r} with {facts} within {within} s") from None
        assert len(fitting()) >= count, f"the process ended without {event!r} with {facts}"
        return fitting()[count - 1]

    def logged_events(self, event: str) -> list[dict[str, Any]]:
        return [found for found in self.events if found["event"] == event]

    async def stop(self, within: float = STOP_SECONDS) -> None:
        """SIGTERM; it must say `stopped` as its last word and exit with 0."""
        self.terminate()
        assert await self.ended(within) == 0
        assert self.events, "it wrote no event"
        assert self.events[-1]["event"] == "stopped"

    def terminate(self) -> None:
        self._running.send_signal(signal.SIGTERM)

    async def kill(self) -> None:
        """SIGKILL: nothing is tidied up."""
        self._running.kill()
        await self.ended()

    async def restart(self, *, kill: bool = False) -> None:
        """Stop it, or kill it, and start it again."""
        await (self.kill() if kill else self.stop())
        await self.start()

    @asynccontextmanager
    async def dying(self, fault: str) -> AsyncIterator[Callable[[Coroutine[Any, Any, object]], object]]:
        """Start it anew, to die at that fault point in this block; after the block it can be started as usual.

        What is given to the function that the block gets is done meanwhile, and perhaps never answered.
        """
        if self.is_running:
            await self.stop()
        self.environment["CARINA_FAULT"] = fault
        await self.start()
        doing: list[asyncio.Task[object]] = []
        yield lambda coming: doing.append(asyncio.ensure_future(coming))
        assert await self.ended() == KILLED
        for task in doing:
            task.cancel()
        await asyncio.gather(*doing, return_exceptions=True)
        del self.environment["CARINA_FAULT"]

    async def ended(self, within: float = START_SECONDS) -> int:
        """Wait for its end; gives the exit code."""
        process, reading = self._running, self._reading
        assert reading is not None
        try:
            async with asyncio.timeout(within):
                code = await process.ended()
                await reading
        except TimeoutError:
            raise AssertionError(f"it was still running after {within} s") from None
        self._process = self._reading = None
        return code

    async def run(self, *arguments: str, within: float = START_SECONDS) -> tuple[int, str, str]:
        """Another command on the same folder: exit code, standard output, standard error."""
        done = await run_beside(arguments, self._variables(), ROOT, within)
        return done.returncode, done.stdout, done.stderr

    async def said(self, *arguments: str) -> str:
        """What a command that works prints."""
        code, out, error = await self.run(*arguments)
        assert code == 0, error
        return out

    async def data(self, *arguments: str) -> Any:
        """The same as data."""
        return json.loads(await self.said(*arguments, "--json"))

    async def refused(self, *arguments: str, code: int = 1) -> str:
        """Why a command does nothing."""
        ended, out, error = await self.run(*arguments)
        assert (ended, out) == (code, "")
        return error

    def limit_files(self, size: int) -> None:
        """The system lets no file of the process become larger, as on a full disk; -1: any size."""
        _now, most = resource.prlimit(self._running.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self._running.pid, resource.RLIMIT_FSIZE, (size, most))

    @property
    def is_running(self) -> bool:
        return self._process is not None

    @property
    def text(self) -> str:
        """Everything that was written to standard error."""
        return "\n".join(self.lines)

    async def close(self) -> None:
        """End what still runs, and leave the log for pytest to show when the test failed."""
        if self._process is not None:
            self._process.kill()
            await self._process.ended()
        if self._reading is not None:
            await self._reading
        self._process = self._reading = None
        sys.stdout.write("\n".join(["", *self.lines, ""]))

    def unexpected(self) -> list[str]:
        """What all processes logged as an error, and every traceback, that the test did not announce."""
        found = []
        for line in self.lines:
            event = json.loads(line) if line.startswith("{") else {"event": line, "level": "error"}
            if event.get("level") in ("error", "critical") and event["event"] not in self.expected_errors:
                found.append(line)
        return found

    @property
    def _running(self) -> Read:
        assert self._process is not None, "it is not running"
        return self._process

    def _variables(self) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
        own = {
            "CARINA_HOME": str(self.home),
            "CARINA_CONFIG": str(self.file),
            "NO_COLOR": "1",
            "EMBEDDING_MODEL": "none",
        }
        return {**inherited, **own, **self.environment}

    async def _read(self, errors: asyncio.StreamReader) -> None:
        async for raw in errors:
            line = raw.decode("utf-8", "replace").rstrip("\n")
            async with self._news:
                self.lines.append(line)
                if line.startswith("{"):
                    self.events.append(json.loads(line))
                self._news.notify_all()
        async with self._news:
            self._over = True
            self._news.notify_all()
