"""A server as a child process: JSON-RPC messages, one per line, over its standard input and output.

The size of a message is limited, standard error is logged, and the process ends with the connection: its input is
closed, and after a while it and its children are killed.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from memory.store.logs import Log
from sources.text import one_line

LONGEST_MESSAGE = 4_000_000  # bytes
_LONGEST_LINE = 500  # characters of a line of standard error that are logged
_LINES = 200  # lines of standard error that are logged per process
_GRACE = 1.0  # seconds to end by itself, and again after SIGTERM
CLOSING = 3 * _GRACE
"""Seconds that ending a process may take."""

_log = Log("carina.mcp")


@dataclass(frozen=True)
class Command:
    """What to run. `env` are variables beside the few that every process gets: path, home, user, language."""

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
    """Run it, and talk to it within the context; `ended` is set when its output ends. Raises OSError."""
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
    except ValueError:  # `readline` raises this for a line above the limit
        _log.warning("mcp_too_much", server=server, limit=LONGEST_MESSAGE)
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        pass  # the connection ends
    finally:
        ended.set()


async def _speak(stdin: asyncio.StreamWriter, said: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with contextlib.suppress(OSError, anyio.ClosedResourceError):  # it reads no more; its end is noticed elsewhere
        async for message in said:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            stdin.write(f"{text}\n".encode())
            await stdin.drain()


async def _note_errors(server: str, stderr: asyncio.StreamReader) -> None:
    """Log its standard error up to a limit; the rest is read and dropped."""
    left = _LINES
    while piece := await stderr.read(64_000):
        for line in piece.splitlines()[: max(left, 0)]:
            _log.info("mcp_stderr", server=server, line=_shown(line))
        left -= len(piece.splitlines())


def _shown(line: bytes) -> str:
    return one_line(line.decode("utf-8", "replace"), _LONGEST_LINE)


async def _end(child: _Child) -> None:
    """Close its input and wait, terminate it and wait, then kill it."""
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
    """End the process and its children, as far as the platform can."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL if hard else signal.SIGTERM)
        else:
            process.kill()
