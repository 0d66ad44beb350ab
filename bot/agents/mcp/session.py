"""An open session with a server: lists its tools, calls one, and gives its result as text of limited length.

`servers.py` keeps it open.
"""

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client, MCPError
from mcp.client._transport import Transport, TransportStreams
from mcp.client.session import IncomingMessage
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    AudioContent,
    BlobResourceContents,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    Implementation,
    PaginatedRequestParams,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
    ToolListChangedNotification,
    jsonrpc_message_adapter,
)
from msgspec import Struct, field
from pydantic import ValidationError

from bot.agents.mcp.offered_tools import ListedTool
from memory.store.logs import Log
from sources.text import one_line
from texts import gettext_lazy

LONGEST_MESSAGE = 4_000_000  # bytes
_LONGEST_LINE = 500  # characters of a line of standard error that are logged
_LINES = 200  # lines of standard error that are logged per process; or in a row that are no messages
_GRACE = 1.0  # seconds to end by itself, and again after SIGTERM
CLOSING = 3 * _GRACE
"""Seconds that ending a process may take."""

_log = Log("carina.mcp")


@dataclass(frozen=True)
class Command:
    """The command to run. `env` adds to the few variables that every process gets: path, home, user, language."""

    server: str
    argv: Sequence[str]
    env: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    cwd: str = ""


class _Child(Struct, frozen=True):
    process: asyncio.subprocess.Process
    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader


class Signals(Struct):
    """Signals from the server: it is gone, or its list of tools has changed; and its last line that is no message."""

    ended: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    complaint: str = ""

    async def heard(self, message: IncomingMessage) -> None:
        """The server sent a message without a request."""
        if isinstance(message, ToolListChangedNotification):
            self.changed.set()


@asynccontextmanager
async def stdio(command: Command, signs: Signals) -> AsyncGenerator[TransportStreams]:
    """Run the command, and connect to it within the context. Raises OSError.

    The library's own client takes lines of any length, and leaves the process running if canceled while ending it.
    """
    child = await _start(command)
    try:
        heard, hearing = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        saying, said = anyio.create_memory_object_stream[SessionMessage](0)
        async with heard, hearing, saying, said, anyio.create_task_group() as tasks:
            tasks.start_soon(_listen, command.server, child.stdout, heard, signs)
            tasks.start_soon(_speak, child.stdin, said)
            tasks.start_soon(_note_errors, command.server, child.stderr, signs)
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
    signs: Signals,
) -> None:
    left = _LINES  # a program that is no server could write without end, and take all the time of the service
    try:
        async with heard:
            while left and (line := await stdout.readline()):
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValidationError:
                    left -= 1
                    signs.complaint = _shown(line)
                    _log.debug("mcp_no_message", server=server, line=signs.complaint)
                    continue
                left = _LINES
                await heard.send(SessionMessage(message))
    except ValueError:  # `readline` raises this for a line above the limit
        _log.warning("mcp_too_much", server=server, limit=LONGEST_MESSAGE)
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        pass  # the connection ends
    finally:
        signs.ended.set()
    while await stdout.read(64_000):
        pass  # a pipe that nobody reads to its end is never closed


async def _speak(stdin: asyncio.StreamWriter, said: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with contextlib.suppress(OSError, anyio.ClosedResourceError):  # it no longer reads; its end is noticed elsewhere
        async for message in said:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            stdin.write(f"{text}\n".encode())
            await stdin.drain()


async def _note_errors(server: str, stderr: asyncio.StreamReader, signs: Signals) -> None:
    """Log its standard error up to a limit; the rest is read and dropped."""
    left = _LINES
    while piece := await stderr.read(64_000):
        for line in piece.splitlines()[: max(left, 0)]:
            signs.complaint = _shown(line)
            _log.info("mcp_stderr", server=server, line=signs.complaint)
        left -= len(piece.splitlines())


def _shown(line: bytes) -> str:
    return one_line(line.decode("utf-8", "replace"), _LONGEST_LINE)


async def _end(child: _Child) -> None:
    """Close its input and wait, terminate it and wait, then kill it."""
    child.stdin.close()
    for hard in (False, True, True):  # the last one only waits
        with anyio.move_on_after(_GRACE):
            await child.process.wait()
        _kill(child.process, hard=hard)


def _kill(process: asyncio.subprocess.Process, *, hard: bool) -> None:
    """End the process and its children, as far as the platform can, unless it has ended."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL if hard else signal.SIGTERM)
        else:
            process.kill()


LONGEST = 200_000
"""Characters of a result; `bot.agents.context.working_memory` decides how much a model sees at once."""
_LABEL = 200


def text_of(content: Iterable[Any], structured: Any) -> str:
    """The text of a result; other content is named. Without text, the structured data."""
    parts = [_part(each) for each in content]
    if structured is not None and not any(isinstance(each, TextContent) for each in content):
        parts.append(json.dumps(structured, ensure_ascii=False, indent=1))
    text = "\n\n".join(filter(None, parts))
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n… {len(text) - LONGEST:,} more characters were left out."
    return text or "(nothing)"


def _part(part: Any) -> str:
    match part:
        case TextContent(text=text):
            return text
        case ImageContent(mime_type=kind, data=data) | AudioContent(mime_type=kind, data=data):
            return f"({_kind(kind)}, {len(data) * 3 // 4:,} bytes, not shown)"
        case ResourceLink(uri=uri, name=name):
            return f"(a link: {one_line(name, _LABEL)} <{one_line(str(uri), _LABEL)}>)"
        case EmbeddedResource(resource=TextResourceContents(uri=uri, text=text)):
            return f"{one_line(str(uri), _LABEL)}:\n{text}"
        case EmbeddedResource(resource=BlobResourceContents() as resource):
            return f"({_kind(resource.mime_type)}, {len(resource.blob) * 3 // 4:,} bytes, not shown)"
        case _:
            return "(something that is not shown)"


def _kind(kind: str | None) -> str:
    return one_line(kind or "", 60) or "a file of unknown kind"


_MOST_PAGES = 20  # pages of a listing
_OURS = Implementation(name="carina", version="1")
_CONNECT = 10.0  # seconds for one TCP connection


@dataclass(frozen=True)
class Address:
    """The address of an HTTP server. `headers` contain secrets."""

    url: str
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)


class CallResult(Struct, frozen=True):
    """The result of a call: text from the server, and whether the call succeeded."""

    text: str
    ok: bool


class TooLarge(httpx2.TransportError):
    """An answer exceeds the limit."""


class Session:
    def __init__(self, client: Client, signs: Signals) -> None:
        self._session = client.session
        self.signs = signs

    async def tools(self) -> list[ListedTool]:
        found: list[ListedTool] = []
        cursor = None
        for _page in range(_MOST_PAGES):
            params = PaginatedRequestParams(cursor=cursor) if cursor is not None else None
            page = await self._session.list_tools(params=params)
            found += map(_listed, page.tools)
            cursor = page.next_cursor
            if cursor is None:
                break
        return found

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> CallResult:
        """Call a tool; raises MCPError if the server answers with a protocol error.

        The result is not checked against the server's own schema for results: it is shown as text.
        """
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
        result = await self._session.send_request(request, CallToolResult)
        return CallResult(text_of(result.content, result.structured_content), ok=not result.is_error)


def _listed(tool: Tool) -> ListedTool:
    hints = tool.annotations.model_dump(mode="json", by_alias=True) if tool.annotations is not None else {}
    return ListedTool(tool.name, tool.description or tool.title or "", tool.input_schema, hints)


@asynccontextmanager
async def open_session(where: Command | Address, signs: Signals) -> AsyncGenerator[Session]:
    """Connect and initialize. Raises OSError, MCPError, or other errors from a server that violates the protocol."""
    async with AsyncExitStack() as stack:
        transport = await _transport(where, signs, stack)
        client = Client(transport, client_info=_OURS, cache=None, message_handler=signs.heard)
        yield Session(await stack.enter_async_context(client), signs)


async def _transport(where: Command | Address, signs: Signals, stack: AsyncExitStack) -> Transport:
    if isinstance(where, Command):
        return stdio(where, signs)
    http = await stack.enter_async_context(_http(where))
    return streamable_http_client(where.url, http_client=http, max_sse_event_size=LONGEST_MESSAGE)


def _http(where: Address) -> httpx2.AsyncClient:
    # No read timeout: every request has its own, and an event stream may be silent for long.
    timeout = httpx2.Timeout(_CONNECT, read=None)
    return httpx2.AsyncClient(headers=dict(where.headers), timeout=timeout, transport=_Transport(), trust_env=False)


class _Transport(httpx2.AsyncHTTPTransport):
    """Limits the size of an answer; in an event stream, of each event."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = _BoundedStream(response.stream)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream | httpx2.AsyncByteStream) -> None:
        if not isinstance(stream, httpx2.AsyncByteStream):
            raise TypeError(stream)
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            if (size := size + len(piece)) > LONGEST_MESSAGE:
                raise TooLarge(f"an answer of more than {LONGEST_MESSAGE:,} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def why_failed(error: BaseException, complaint: str) -> tuple[str, str]:
    """Why the connection failed: in our words after "it" (empty after a timeout), and in the server's."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case TimeoutError() | httpx2.TimeoutException():
            return "", ""
        case FileNotFoundError(filename=name) | PermissionError(filename=name) | NotADirectoryError(filename=name):
            return gettext_lazy("cannot be started: {name}: {error}", name=name, error=error.strerror), ""
        case OSError():
            return gettext_lazy("cannot be started: {error}", error=error.strerror or type(error).__name__), ""
        case TooLarge():
            return gettext_lazy("sent an answer of more than {most:,} bytes", most=LONGEST_MESSAGE), ""
        case httpx2.TransportError():
            return gettext_lazy("cannot be reached"), ""
        case MCPError(code=code) if code == CONNECTION_CLOSED:
            return gettext_lazy("closed the connection before it answered"), complaint
        case MCPError(message=message):
            return gettext_lazy("answered with an error"), message
        case _:
            return gettext_lazy("does not follow the protocol ({error})", error=type(error).__name__), ""
