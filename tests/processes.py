"""The program in processes of its own, forked from one that has loaded it (`fork_server`); else the same as by hand."""

import asyncio
import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.fork_server import NUMBER

ROOT = Path(__file__).parents[1]
START_SECONDS = 60.0


class Process:
    """One command on streams that are given; `returncode` is known once its end was waited for."""

    def __init__(
        self, arguments: tuple[str, ...], environment: Mapping[str, str], folder: Path, streams: tuple[int, int, int]
    ) -> None:
        self._status, theirs = socket.socketpair()
        request = {"arguments": arguments, "environment": dict(environment), "folder": str(folder)}
        with theirs:
            socket.send_fds(_server(), [b"+"], [theirs.fileno(), *streams])
            self._status.sendall(f"{json.dumps(request)}\n".encode())
        self._status.settimeout(START_SECONDS)
        self.pid = NUMBER.unpack(self._status.recv(NUMBER.size))[0]
        self.returncode: int | None = None

    def wait(self, seconds: float = START_SECONDS) -> int:
        """Wait for its end. Raises TimeoutError."""
        if self.returncode is None:
            self._status.settimeout(seconds)
            self._ended(self._status.recv(NUMBER.size))
        assert self.returncode is not None
        return self.returncode

    async def ended(self) -> int:
        if self.returncode is None:
            self._status.setblocking(False)
            self._ended(await asyncio.get_running_loop().sock_recv(self._status, NUMBER.size))
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended(self, code: bytes) -> None:
        (self.returncode,) = NUMBER.unpack(code)
        self._status.close()


class Done(subprocess.CompletedProcess[str]):
    """A command that has ended."""

    def said(self) -> str:
        """What it printed; it did what was asked, and had nothing else to say."""
        assert (self.returncode, self.stderr) == (0, "")
        return self.stdout

    def data(self) -> Any:
        """What it printed as JSON."""
        return json.loads(self.said())

    def refused(self, *words: str, code: int = 1) -> None:
        """It printed nothing, and said why."""
        assert (self.returncode, self.stdout) == (code, ""), self.stderr
        assert [each for each in words if each not in self.stderr] == []
        assert "Traceback" not in self.stderr


class Read(Process):
    """A command that is read while it runs: `await start(...)`."""

    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader


async def start(
    arguments: tuple[str, ...], environment: Mapping[str, str], folder: Path, said: str | None = None
) -> Read:
    """Start a command without waiting for anything; `said` is its whole input."""
    (stdout, out), (stderr, error) = await _reader(), await _reader()
    given = _input(said)
    process = Read(arguments, environment, folder, (given, out, error))
    for end in (given, out, error):
        os.close(end)
    process.stdout, process.stderr = stdout, stderr
    return process


async def _reader() -> tuple[asyncio.StreamReader, int]:
    """A pipe: what is read from it, and the end for writing."""
    ours, theirs = os.pipe()
    reader = asyncio.StreamReader(2**24)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(ours, "rb", 0))
    return reader, theirs


@contextlib.contextmanager
def _command(
    arguments: tuple[str, ...], environment: Mapping[str, str], folder: Path, said: str | None
) -> Iterator[tuple[Process, Callable[[], Done]]]:
    """A command whose input is there at once, and what it wrote once it has ended."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        given = _input(said)
        process = Process(arguments, environment, folder, (given, out.fileno(), error.fileno()))
        os.close(given)

        def finished() -> Done:
            texts = [os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode() for file in (out, error)]
            return Done(arguments, process.wait(), *texts)

        try:
            yield process, finished
        finally:
            process.kill()
            process.wait()


def run(
    arguments: tuple[str, ...],
    environment: Mapping[str, str],
    folder: Path,
    said: str | None = None,
    seconds: float = START_SECONDS,
) -> Done:
    """Run a command to its end. Raises TimeoutError."""
    with _command(arguments, environment, folder, said) as (process, finished):
        process.wait(seconds)
        return finished()


async def run_beside(
    arguments: tuple[str, ...], environment: Mapping[str, str], folder: Path, seconds: float = START_SECONDS
) -> Done:
    """Likewise, while the loop of the test goes on."""
    with _command(arguments, environment, folder, None) as (process, finished):
        async with asyncio.timeout(seconds):
            await process.ended()
        return finished()


def _input(said: str | None) -> int:
    """The end for reading of a pipe with all of this in it, closed at the other; or nothing to read from."""
    if said is None:
        return os.open(os.devnull, os.O_RDONLY)
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    assert os.write(theirs, said.encode()) == len(said.encode()), "more than a pipe holds"
    os.close(theirs)
    return ours


@functools.cache
def _server() -> socket.socket:
    """The server of this process; it ends when the socket is closed."""
    ours, theirs = socket.socketpair()
    with theirs:
        number = theirs.fileno()
        os.set_inheritable(number, True)
        words = [sys.executable, "-m", "tests.fork_server", str(number)]
        os.posix_spawn(sys.executable, words, {**os.environ, "PYTHONPATH": str(ROOT)})
    return ours
