"""One open connection to a server: list its tools, call one, and return its result as text of limited length."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from mcp import Client, MCPError
from mcp.client._transport import Transport
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
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
)

from bot.agents.mcp.offers import Listed
from bot.agents.mcp.stdio import LONGEST_MESSAGE, Command, stdio
from sources.text import one_line
from texts import gettext_lazy

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
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Given:
    """The result of a call: text from the server, and whether the call succeeded."""

    text: str
    ok: bool


class TooLarge(httpx2.TransportError):
    """An answer exceeds the limit."""


@dataclass(frozen=True)
class Signs:
    """Signals from the server: it is gone, or its list of tools has changed."""

    ended: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def heard(self, message: IncomingMessage) -> None:
        """The server sent a message without a request."""
        if isinstance(message, ToolListChangedNotification):
            self.changed.set()


class Session:
    def __init__(self, client: Client, signs: Signs) -> None:
        self._session = client.session
        self.signs = signs

    async def tools(self) -> list[Listed]:
        found: list[Listed] = []
        cursor = None
        for _page in range(_MOST_PAGES):
            params = PaginatedRequestParams(cursor=cursor) if cursor is not None else None
            page = await self._session.list_tools(params=params)
            found += map(_listed, page.tools)
            cursor = page.next_cursor
            if cursor is None:
                break
        return found

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Given:
        """Call a tool; raises MCPError if the server answers with a protocol error.

        The result is not checked against the server's own schema for results: it is shown as text.
        """
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
        result = await self._session.send_request(request, CallToolResult)
        return Given(text_of(result.content, result.structured_content), ok=not result.is_error)


def _listed(tool: Tool) -> Listed:
    hints = tool.annotations.model_dump(mode="json", by_alias=True) if tool.annotations is not None else {}
    return Listed(tool.name, tool.description or tool.title or "", tool.input_schema, hints)


@asynccontextmanager
async def open_session(where: Command | Address) -> AsyncGenerator[Session]:
    """Connect and initialize. Raises OSError, MCPError, or other errors from a server that violates the protocol."""
    async with AsyncExitStack() as stack:
        signs = Signs()
        transport = await _transport(where, signs.ended, stack)
        client = Client(transport, client_info=_OURS, cache=None, message_handler=signs.heard)
        yield Session(await stack.enter_async_context(client), signs)


async def _transport(where: Command | Address, ended: asyncio.Event, stack: AsyncExitStack) -> Transport:
    if isinstance(where, Command):
        return stdio(where, ended)
    http = await stack.enter_async_context(_http(where))
    return streamable_http_client(where.url, http_client=http, max_sse_event_size=LONGEST_MESSAGE)


def _http(where: Address) -> httpx2.AsyncClient:
    # No read timeout: every request has its own, and an event stream may be silent for long.
    timeout = httpx2.Timeout(_CONNECT, read=None)
    return httpx2.AsyncClient(headers=dict(where.headers), timeout=timeout, transport=_Bounded(), trust_env=False)


class _Bounded(httpx2.AsyncHTTPTransport):
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


def why_failed(error: BaseException) -> tuple[str, str]:
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
            return gettext_lazy("gave an answer of more than {most:,} bytes", most=LONGEST_MESSAGE), ""
        case httpx2.TransportError():
            return gettext_lazy("cannot be reached"), ""
        case MCPError(code=code) if code == CONNECTION_CLOSED:
            return gettext_lazy("ended before it had answered"), ""
        case MCPError(message=message):
            return gettext_lazy("answered with an error"), message
        case _:
            return gettext_lazy("does not follow the protocol ({error})", error=type(error).__name__), ""


__all__ = ["Address", "Given", "MCPError", "Session", "open_session", "why_failed"]
