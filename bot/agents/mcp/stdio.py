"""A server that is a process of ours: JSON-RPC messages, one a line, over its standard input and output.

What it says at once is bounded, what it writes to standard error is logged, and it ends with the connection: its input
is closed, and after a while it and what it started are killed.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from sources.text import one_line

LONGEST_MESSAGE = 4_000_000  # bytes
_LONGEST_LINE = 500  # characters of standard error that are logged
_LINES = 200  # of standard error that are logged for one process
_GRACE = 1.0  # seconds to end by itself, and again after it was told to
CLOSING = 3 * _GRACE
"""Seconds that ending one may take."""

_log = structlog.stdlib.get_logger("carina.mcp")


@dataclass(frozen=True)
class Command:
    """What is run. `env` are variables beside the few that every process is given: path, home, user, language."""

    server: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""


@dataclass(frozen=True)
class _Child:
    process: asyncio.subprocess.Process
    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader


@asynccontextmanager
async def stdio(command: Command, ended: asyncio.Event) -> AsyncGenerator[TransportStreams]:
    """Run it, and talk to it while the context is open; `ended` is set when it says nothing more. Raises OSError."""
    child = await _start(command)
    try:
        heard, hearing = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        saying, said = anyio.create_memory_object_stream[SessionMessage](0)
        async with heard, hearing, saying, said, anyio.create_task_group() as tasks:
            tasks.start_soon(_listen, command.server, child.stdout, heard, ended)
            tasks.start_soon(_speak, child.stdin, said)
            tasks.start_soon(_note_errors, command.server, child.stderr)
            try:
                yield hearing, saying
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(child)
                tasks.cancel_scope.cancel()
    finally:
        _kill(child.process, hard=True)


async def _start(command: Command) -> _Child:
    process = await asyncio.create_subprocess_exec(
        *command.argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**get_default_environment(), **command.env},
        cwd=command.cwd or None,
        limit=LONGEST_MESSAGE,
        start_new_session=True,
    )
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    if stdin is None or stdout is None or stderr is None:
        raise OSError("it was started without pipes")
    return _Child(process, stdin, stdout, stderr)


async def _listen(
    server: str,
    stdout: asyncio.StreamReader,
    heard: MemoryObjectSendStream[SessionMessage | Exception],
    ended: asyncio.Event,
) -> None:
    try:
        async with heard:
            while line := await stdout.readline():
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValidationError:
                    _log.debug("mcp_no_message", server=server, line=_shown(line))
                    continue
                await heard.send(SessionMessage(message))
    except ValueError:  # what `readline` raises where no line ends within its limit
        _log.warning("mcp_too_much", server=server, limit=LONGEST_MESSAGE)
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        pass  # the connection ends
    finally:
        ended.set()


async def _speak(stdin: asyncio.StreamWriter, said: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with contextlib.suppress(OSError, anyio.ClosedResourceError):  # it takes nothing more; its end is heard
        async for message in said:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            stdin.write(f"{text}\n".encode())
            await stdin.drain()


async def _note_errors(server: str, stderr: asyncio.StreamReader) -> None:
    """Log what it writes to standard error, as far as that is of use; the rest is read and left."""
    left = _LINES
    while piece := await stderr.read(64_000):
        for line in piece.splitlines()[: max(left, 0)]:
            _log.info("mcp_stderr", server=server, line=_shown(line))
        left -= len(piece.splitlines())


def _shown(line: bytes) -> str:
    return one_line(line.decode("utf-8", "replace"), _LONGEST_LINE)


async def _end(child: _Child) -> None:
    """Close its input and wait, tell it to end and wait, then kill it."""
    child.stdin.close()
    for hard in (False, True):
        if await _over(child.process):
            return
        _kill(child.process, hard=hard)
    await _over(child.process)


async def _over(process: asyncio.subprocess.Process) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_GRACE):
            await process.wait()
    return process.returncode is not None


def _kill(process: asyncio.subprocess.Process, *, hard: bool) -> None:
    """End it and what it started, as far as the platform can tell."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL if hard else signal.SIGTERM)
        else:
            process.kill()
