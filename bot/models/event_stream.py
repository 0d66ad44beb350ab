"""Posting JSON and reading the server-sent events of the answer: one attempt, every failure one of ours."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Final, Self

import aiohttp

from bot.models import http_failures
from bot.models.access import Access
from bot.models.base import ModelError

DONE: Final = "[DONE]"
"""The last event of OpenAI's streams."""
_LARGEST = 16 * 1024 * 1024  # bytes of one event; nobody's answer is as long
_LONGEST_ERROR = 64 * 1024
_LAST_BYTES_SECONDS = 0.2  # after the last event: a connection whose answer is read to its end can be used again
_IDLE_SECONDS = 55  # most servers and proxies close after a minute


class Unsupported(Exception):
    """The server does not take this option with this model; `error` is what to raise where it cannot be left out."""

    def __init__(self, option: str, error: ModelError) -> None:
        self.option = option
        self.error = error


class EventStream:
    """Connections to one address; entered and left by whoever opens it."""

    def __init__(self, access: Access, url: str, headers: Mapping[str, str], optional: frozenset[str]) -> None:
        self._access = access
        self._optional = optional
        self._url = url
        self._headers = {**headers, "Content-Type": "application/json"}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        limits = self._access.limits
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
            timeout=aiohttp.ClientTimeout(total=limits.attempt, sock_connect=limits.silence, sock_read=limits.silence),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=True,  # proxies stand there
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def post(self, document: Mapping[str, Any]) -> AsyncGenerator[Any, None]:
        """The events as they come, or the whole answer where the server does not stream. Raises a ModelError."""
        model, secret = self._access.name, self._access.key
        if self._session is None:
            raise RuntimeError("the connection is not open")
        body = encoded(document)
        try:
            async with self._session.post(self._url, data=body, headers=self._headers) as response:
                if response.status >= 400:
                    said = _read(await response.content.read(_LONGEST_ERROR))
                    wait = http_failures.retry_after(response.headers)
                    error = http_failures.refusal(response.status, said, wait, model, secret)
                    if option := http_failures.unsupported(error, said, self._optional.intersection(document)):
                        raise Unsupported(option, error)
                    raise error
                if response.content_type == "application/json":
                    yield json.loads(await response.read())
                    return
                async for data in events(response.content.iter_any()):
                    if data != DONE:
                        yield json.loads(data)
                        continue
                    yield DONE
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_LAST_BYTES_SECONDS):
                            await response.content.read()
                    return
        except TimeoutError:
            raise http_failures.late(model) from None
        except aiohttp.ClientConnectorError:
            raise http_failures.cut_off(model, "connect") from None
        except (aiohttp.ClientError, OSError):
            raise http_failures.cut_off(model, "closed") from None
        except ValueError as error:
            raise http_failures.no_answer(model, type(error).__name__) from None


class Ready(bytes):
    """A part of a document that is JSON already: what is the same in every request is written once."""


def encoded(document: Mapping[str, Any]) -> bytes:
    """A document as JSON."""
    members = (as_json(name) + b":" + as_json(value) for name, value in document.items())
    return b"{" + b",".join(members) + b"}"


def as_json(value: object) -> bytes:
    """JSON without what no text may hold: half a character would make all of it unreadable."""
    if isinstance(value, Ready):
        return value
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


async def events(pieces: AsyncIterator[bytes]) -> AsyncGenerator[str, None]:
    """The data of each event; comments and other fields are passed over. Raises ValueError."""
    lines: list[str] = []
    async for line in _lines(pieces):
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif not line and lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncGenerator[str, None]:
    """Split at LF, CR or both; a CR LF that comes in two pieces makes one more empty line, which ends nothing."""
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        if len(rest) > _LARGEST:
            raise ValueError("one event without an end")
        for line in whole:
            yield line.decode()
    if rest:
        yield rest.decode()


def _read(body: bytes) -> object:
    text = body.decode(errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        return text
