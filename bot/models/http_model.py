"""A model called over HTTP without its provider's library, which would take seconds at startup and most of each turn.

A `Dialect` is the part that differs between protocols: the request, and how an answer is assembled from events.
"""

import asyncio
import contextlib
import json
import re
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any, Final, Literal, Protocol, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from bot.models import normalization, prices
from bot.models.base import (
    Access,
    Answer,
    Call,
    ContextTooLong,
    Event,
    ModelBusy,
    ModelError,
    ModelGarbage,
    ModelRefused,
    ModelRejected,
    Request,
    TextDelta,
    Trouble,
    Usage,
)
from bot.models.normalization import Pieces, clean
from memory.store.logs import Log
from texts import gettext_lazy

_OVERFLOW = re.compile(
    r"context.?(size|length|window)|prompt is too long|too many tokens|exceed_context|token count .{0,40}exceeds",
    re.IGNORECASE,
)
_SPENT = re.compile(r"insufficient_quota|billing|credit balance", re.IGNORECASE)
_NO_KEY = re.compile(r"API key (not valid|not found|expired)", re.IGNORECASE)  # Google's wording
_BUSY_STATUS = (408, 409, 425, 429)
_LONGEST_MESSAGE = 200


def unsupported(error: ModelError, document: object, options: Collection[str]) -> str:
    """The option because of which the server refuses the request, by its own words; empty if it names none of these."""
    if not isinstance(error, ModelRejected):
        return ""
    said = _error(document)
    named = str(said.get("param") or "").partition(".")[0]
    words = re.findall(r"\w+", str(said.get("message")))
    words += ["response_format"] if "json_schema" in words else []  # some name only the kind of format
    return next((option for option in sorted(options) if option == named or option in words), "")


def refusal(status: int, document: object, retry_after: float | None, model: str, secret: str) -> ModelError:
    """The error for a response with this status; `document` is its body, parsed if it was JSON, else its text."""
    error, code = _error(document), f"HTTP {status} {_code(document)}".strip()
    words = one_line(str(error.get("message") or ""), secret)
    told = f"{_code(document)} {error.get('message')}"
    if status == 413 or (status in (400, 422, 500) and _OVERFLOW.search(told)):
        return ContextTooLong(gettext_lazy("{model}: the conversation is too long for it", model=model))
    spent = status == 402 or (status in (400, 403, 429) and _SPENT.search(told))
    if spent or status in (401, 403) or (status == 400 and _NO_KEY.search(told)):
        reason = gettext_lazy("{model} refused access ({code})", model=model, code=code)
        return ModelRefused(reason, trouble=Trouble.QUOTA if spent else Trouble.KEY)
    if status == 404:
        reason = gettext_lazy("{model} was not found ({code})", model=model, code=code)
        return ModelRefused(reason, trouble=Trouble.MISSING, said=words)
    if status in _BUSY_STATUS or status >= 500:
        return ModelBusy(gettext_lazy("{model} is busy or failing ({code})", model=model, code=code), retry_after)
    return ModelRejected(gettext_lazy("{model} rejected the request ({code})", model=model, code=code), said=words)


def failed_in_stream(document: object, model: str, secret: str) -> ModelError:
    """The error for a failure in the middle of an answer: most are temporary, so a retry may work."""
    code = _error(document).get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return refusal(code, document, None, model, secret)
    if _OVERFLOW.search(f"{_code(document)} {_error(document).get('message')}"):
        return ContextTooLong(gettext_lazy("{model}: the conversation is too long for it", model=model))
    why = _code(document) or gettext_lazy("an error in its answer")
    return ModelBusy(gettext_lazy("{model} is busy or failing ({code})", model=model, code=why))


def late(model: str) -> ModelError:
    return ModelBusy(gettext_lazy("{name} did not answer in time", name=model), trouble=Trouble.UNREACHABLE)


def cut_off(reason: str, retry_after: float | None = None) -> ModelError:
    return ModelBusy(reason, retry_after, trouble=Trouble.UNREACHABLE)


def no_answer(model: str, why: str) -> ModelError:
    return ModelGarbage(gettext_lazy("{model} gave an invalid answer ({why})", model=model, why=why))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, if the server gives a number; a date is not worth parsing."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None


def _error(document: object) -> Mapping[str, Any]:
    """The error object: servers send it as an object, alone in a list, as a text, or without an envelope."""
    document = document[0] if isinstance(document, list) and document else document
    found = document.get("error", document) if isinstance(document, dict) else document
    return found if isinstance(found, dict) else {"message": found}


def _code(document: object) -> str:
    error = _error(document)
    named = error.get("code") or error.get("type") or ""
    return named if isinstance(named, str) and re.fullmatch(r"[\w.-]{1,60}", named) else ""


def one_line(text: str, secret: str) -> str:
    """A provider's message on one short line, without the secret."""
    hidden = text.replace(secret, "***") if secret else text
    line = " ".join(hidden.split())
    return line if len(line) <= _LONGEST_MESSAGE else line[:_LONGEST_MESSAGE] + "…"


DONE: Final = "[DONE]"
"""The last event of OpenAI's streams."""
_LARGEST = 16 * 1024 * 1024  # bytes of one event; no answer is that long
_LONGEST_ERROR = 64 * 1024
_LAST_BYTES_SECONDS = 0.2  # after the last event: a connection whose response is read to the end can be reused
_CONNECT_SECONDS = 10.0  # to resolve and reach the server
_REFUSED_SECONDS = 0.5  # before another attempt: a refusal is immediate, and is to be reported soon
_IDLE_SECONDS = 55  # most servers and proxies close after a minute


class UnsupportedOption(Exception):
    """The server does not accept this option with this model; `error` is raised if the option cannot be omitted."""

    def __init__(self, option: str, error: ModelError) -> None:
        self.option = option
        self.error = error


def _proxy(url: str) -> str | None:
    """The proxy of the environment. With `trust_env`, two threads would look there and in ~/.netrc at every request."""
    to = urlsplit(url)
    return None if proxy_bypass(to.hostname or "") else getproxies().get(to.scheme)


class EventStream:
    """Connections to one address; entered and left by their owner."""

    def __init__(self, access: Access, url: str, headers: Mapping[str, str]) -> None:
        self._access = access
        self._url = url
        self._headers = {**headers, "Content-Type": "application/json"}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        limits = self._access.limits
        connections = aiohttp.TraceConfig()
        connections.on_connection_reuseconn.append(_note_kept)
        connecting = min(limits.silence, _CONNECT_SECONDS)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
            timeout=aiohttp.ClientTimeout(limits.attempt, connect=connecting, sock_read=limits.silence),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=_proxy(self._url),
            trace_configs=[connections],
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def post(self, document: Mapping[str, Any]) -> AsyncGenerator[Any, None]:
        """The events as they arrive, or the whole response if the server does not stream. Raises a ModelError."""
        model, secret = self._access.name, self._access.key
        body = encoded(document)
        try:
            async with await self._begun(body) as response:
                if response.status >= 400:
                    said = _read(await response.content.read(_LONGEST_ERROR))
                    wait = retry_after(response.headers)
                    error = refusal(response.status, said, wait, model, secret)
                    if option := unsupported(error, said, OPTIONAL.intersection(document)):
                        raise UnsupportedOption(option, error)
                    raise error
                if response.content_type == "application/json":
                    yield json.loads(await response.read())
                    return
                async with aclosing(events(response.content.iter_any())) as stream:
                    async for data in stream:
                        if data != DONE:
                            yield json.loads(data)
                            continue
                        yield DONE
                        with contextlib.suppress(TimeoutError):
                            async with asyncio.timeout(_LAST_BYTES_SECONDS):
                                await response.content.read()
                        return
        except (aiohttp.ConnectionTimeoutError, aiohttp.ClientConnectorError) as error:
            wait = None if isinstance(error, TimeoutError) else _REFUSED_SECONDS
            raise cut_off(gettext_lazy("{model}: no connection to its server", model=model), wait) from None
        except TimeoutError:
            raise late(model) from None
        except (aiohttp.ClientError, OSError):
            raise cut_off(gettext_lazy("{model}: the connection was closed", model=model)) from None
        except ValueError as error:
            raise no_answer(model, type(error).__name__) from None

    async def _begun(self, body: bytes) -> aiohttp.ClientResponse:
        """The head of the response. The server may have silently closed a kept connection, as llama.cpp's does after
        every stream: the request is then sent on another one, finally on a new one."""
        if self._session is None:
            raise RuntimeError("the connection is not open")
        while True:
            kept: list[bool] = []
            try:
                return await self._session.post(self._url, data=body, headers=self._headers, trace_request_ctx=kept)
            except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
                if not kept:
                    raise


async def _note_kept(_session: object, context: SimpleNamespace, _params: object) -> None:
    context.trace_request_ctx.append(True)


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class EncodedPart(bytes):
    """A part of a document that is already JSON: parts that every request repeats are encoded once."""


def encoded(document: Mapping[str, Any]) -> bytes:
    members = (as_json(name) + b":" + as_json(value) for name, value in document.items())
    return b"{" + b",".join(members) + b"}"


def as_json(value: object) -> bytes:
    """JSON without lone surrogates, which would make all of it unreadable."""
    if isinstance(value, EncodedPart):
        return value
    text = _encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


async def events(pieces: AsyncIterator[bytes]) -> AsyncGenerator[str, None]:
    """The data of each event; comments and other fields are skipped. Raises ValueError.

    Lines end with LF, CR or both; a CR LF that arrives in two pieces adds an empty line, which ends nothing.
    """
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n")
        if len(rest) > _LARGEST:
            raise ValueError("one event without an end")
        for data in filter(None, map(_data, whole)):
            yield data
    if data := _data(rest):
        yield data


def _data(event: bytes) -> str:
    lines = (line for line in event.split(b"\n") if line.startswith(b"data:"))
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines).decode()


def _read(body: bytes) -> object:
    text = body.decode(errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        return text


_log = Log("bot.models")
Finish = Literal["stop", "length", "filter"]
OPTIONAL = frozenset({"temperature", "max_completion_tokens", "tool_choice", "stream_options", "response_format"})
"""Options that a request can do without: some models accept them, others refuse the request because of them."""


class Dialect(Protocol):
    def document(self, request: Request) -> dict[str, Any]: ...

    def read(self, event: Any, answer: "Assembly") -> str:
        """Add one event to the answer and return the new text. Raises ModelError."""
        ...


class HttpModel:
    """One model; `provider` holds its connections and is entered by their owner."""

    def __init__(self, access: Access, url: str, headers: Mapping[str, str], dialect: Dialect) -> None:
        self.name = access.name
        self.context_window = prices.context_window(access.name) or access.context_window
        self.provider = EventStream(access, url, headers)
        self._access = access
        self._dialect = dialect
        self._left_out: set[str] = set()

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        document = self._dialect.document(request)
        while True:
            answer = Assembly(self._access)
            sent = {name: value for name, value in document.items() if name not in self._left_out}
            try:
                async with aclosing(self.provider.post(sent)) as stream:
                    async for event in stream:
                        if piece := self._dialect.read(event, answer):
                            yield TextDelta(piece)
            except UnsupportedOption as refused:  # precedes everything else
                if refused.option in self._left_out:
                    raise refused.error from None
                _log.warning("option_left_out", model=self.name, option=refused.option)
                self._left_out.add(refused.option)
            else:
                yield answer.finished()
                return


class Assembly:
    def __init__(self, access: Access) -> None:
        self._access = access
        self._pieces, self._text, self.reasoning = Pieces(), "", ""
        self.calls: list[PartialCall] = []
        self.counts: dict[str, Any] = {}
        """The usage, in the provider's own terms."""
        self.finish: Finish | None = None

    def say(self, text: str) -> str:
        """Add text and return the part that can be shown now."""
        self._text += text
        return self._pieces.add(text)

    def end(self) -> None:
        """The stream has ended; some servers do not say why."""
        if self.finish is None and (self._text or self.calls):
            self.finish = "stop"

    def finished(self) -> Answer:
        """The whole answer. Raises ModelGarbage if it ended early."""
        if self.finish is None:
            raise self.garbage(gettext_lazy("it stopped in the middle"))
        calls = tuple(call.made() for call in self.calls if call.name)
        usage = prices.priced(self._access.name, self._usage()) if self.counts else Usage(cost_usd=None)
        return Answer(clean(self._text), calls, usage, self._access.name, self.finish, reasoning=clean(self.reasoning))

    def _usage(self) -> Usage:
        """The usage. OpenAI counts cached tokens as input, Anthropic separately; Google counts thinking only in the
        total."""
        details = self.counts.get("prompt_tokens_details")
        of: dict[str, Any] = {**(details if isinstance(details, dict) else {}), **self.counts}
        read = _count(of, "cached_tokens", "cache_read_input_tokens", "prompt_cache_hit_tokens")
        written = _count(of, "cache_write_tokens", "cache_creation_input_tokens")
        given, beside = _count(of, "prompt_tokens", "input_tokens"), read + written if "input_tokens" in of else 0
        return Usage(
            input_tokens=given + beside,
            output_tokens=max(_count(of, "completion_tokens", "output_tokens"), _count(of, "total_tokens") - given),
            cache_read_tokens=read,
            cache_write_tokens=written,
            cost_usd=None,
        )

    def failed(self, event: object) -> Exception:
        return failed_in_stream(event, self._access.name, self._access.key)

    def garbage(self, why: str = gettext_lazy("an event in an unexpected format")) -> Exception:
        return no_answer(self._access.name, why)


class PartialCall:
    def __init__(self, index: object, call_id: object = None, name: object = None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self._arguments = ""
        self.add(call_id, name)

    def add(self, call_id: object, name: object, arguments: object = None) -> None:
        if isinstance(call_id, str):
            self.id = self.id or call_id
        if isinstance(name, str):
            self.name = self.name or name
        if isinstance(arguments, dict):  # some servers send the object itself
            self._arguments = json.dumps(arguments, ensure_ascii=False)
        elif isinstance(arguments, str):
            self._arguments += arguments

    def made(self) -> Call:
        found = normalization.call_id(self.id) if self.id else f"call_{uuid.uuid4().hex[:24]}"
        return Call(found, clean(self.name), clean(self._arguments) or "{}")


def _count(counts: Mapping[str, Any], *names: str) -> int:
    found = (counts.get(name) for name in names)
    return next((each for each in found if isinstance(each, int) and each >= 0), 0)
