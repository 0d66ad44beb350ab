"""A scripted language model behind a real socket, speaking Chat Completions.

The bot under test runs as its own process and knows only a base URL and a key, so everything between
it and a provider is real: sockets, SDK, streaming, timeouts. A test says what the model answers, in
order (`script`) or by looking at the request (`default`), and reads what the bot asked (`requests`).

Requests are checked as the real service checks them: a history with an unanswered tool call gets a 400
and `Request.problem`, and leaves the script where it was.
"""

import asyncio
import itertools
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias, assert_never

from aiohttp import web

from tests.wire import PATIENCE

Json: TypeAlias = dict[str, Any]
SERIAL = itertools.count(1)  # ids are never used twice, not even by two servers


Finish: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]


@dataclass(frozen=True)
class Tokens:
    """`cached` (read from the cache) and `written` (to it) are part of `input`."""

    input: int
    output: int
    cached: int = 0
    written: int = 0


@dataclass(frozen=True)
class Call:
    """A tool call. Arguments given as text are sent as they stand, valid JSON or not."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = None

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Answer:
    """Text, tool calls, or both; streamed in `chunks` pieces with `pace` seconds between events."""

    text: str = ""
    calls: Sequence[Call] = ()
    chunks: int = 1
    pace: float = 0
    finish: Finish | None = None
    tokens: Tokens | None = None
    reasoning: str = ""

    @property
    def finish_reason(self) -> Finish:
        return self.finish or ("tool_calls" if self.calls else "stop")


class Calls(Answer):
    def __init__(
        self, *calls: Call, text: str = "", chunks: int = 1, pace: float = 0, tokens: Tokens | None = None
    ) -> None:
        super().__init__(text, calls, chunks, pace, tokens=tokens)


@dataclass(frozen=True)
class Fail:
    """An HTTP error. A `retry_after` below a second goes out in milliseconds, as OpenAI sends it."""

    status: int
    retry_after: float | None = None
    code: str | None = None
    message: str = "scripted failure"


UNAUTHORIZED = Fail(401, code="invalid_api_key", message="Incorrect API key provided.")
CONTEXT_OVERFLOW = Fail(
    400,
    code="context_length_exceeded",
    message="This model's maximum context length is 8192 tokens. Please reduce the length of the messages.",
)
OVERLOADED = Fail(503, code="server_is_overloaded", message="The server is overloaded.")
UNFINISHED = Answer("one two three four", chunks=4)


@dataclass(frozen=True)
class Cut:
    """An answer that stops after so many events of content; what comes then is the subclass."""

    after_chunks: int = 0
    answer: Answer = UNFINISHED


class Hang(Cut):
    """Silence until the client goes away. `Hang()` does not even send a status line."""


class Broken(Cut):
    """The connection dies in the middle of the body."""


class Ended(Cut):
    """The body ends early but properly: no finish reason or, not streamed, half a JSON document."""


class Garbage(Cut):
    """Bytes that are not JSON. `Garbage()` is the web page of a proxy, with a status of 200."""


@dataclass(frozen=True)
class ErrorEvent(Cut):
    """An error reported under a status of 200, after the answer has begun."""

    error: Fail = OVERLOADED


class Disconnect(Cut):
    """The connection closes without an answer."""


@dataclass(frozen=True)
class Slow:
    seconds: float
    reply: "Reply"


@dataclass(frozen=True)
class Held:
    """A reply that waits until something is so, looking often: what the test brings about comes before it."""

    until: Callable[[], object]
    reply: "Reply"


Reply: TypeAlias = Answer | Fail | Cut | Slow | Held


@dataclass
class Request:
    body: Json
    at: float  # on the clock of the event loop
    problem: str | None = None
    abandoned: bool = False  # the client hung up before the end of the reply

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def messages(self) -> list[Json]:
        return list(self.body["messages"])

    @property
    def tools(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]

    @property
    def system(self) -> str:
        return "\n\n".join(text_of(m) for m in self.messages if m["role"] in {"system", "developer"})

    @property
    def last_user(self) -> str:
        return next((text_of(m) for m in reversed(self.messages) if m["role"] == "user"), "")

    @property
    def results(self) -> list[str]:
        """The tool results this request brings: those at the very end of the conversation."""
        tail = itertools.takewhile(lambda m: m["role"] == "tool", reversed(self.messages))
        return [text_of(message) for message in tail][::-1]


def text_of(message: Json) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def problem_with(body: Json) -> str | None:
    """What the real service would refuse about this request."""
    if not body.get("model") or not body.get("messages"):
        return "'model' and a non-empty 'messages' are required"
    for tool in body.get("tools", []):
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["function"]["name"]):
            return f"Invalid tool name {tool['function']['name']!r}"
    unanswered: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in unanswered:
                return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            unanswered.remove(message["tool_call_id"])
        elif unanswered:
            break
        elif message["role"] == "assistant":
            unanswered = {call["id"] for call in message.get("tool_calls") or ()}
            if not unanswered and not message.get("content"):
                return "an assistant message needs 'content' or 'tool_calls'"
    if unanswered:
        return f"these tool_call_ids did not have response messages: {', '.join(sorted(unanswered))}"
    return None


def pieces(text: str, count: int) -> Iterator[str]:
    """`text` in at most `count` parts of nearly equal length, none of them empty."""
    edges = [len(text) * i // max(count, 1) for i in range(max(count, 1) + 1)]
    return (text[a:b] for a, b in itertools.pairwise(edges) if a < b)


def usage_of(answer: Answer, request: Request) -> Json:
    tokens = answer.tokens
    if tokens is None:
        asked = json.dumps([request.messages, request.body.get("tools")])
        said = answer.text + "".join(call.name + call.text for call in answer.calls)
        tokens = Tokens(len(asked) // 4 + 1, len(said) // 4 + 1)
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached, "cache_write_tokens": tokens.written},
    }


def sse(event: Json | str) -> bytes:
    return f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()


@dataclass(frozen=True)
class Writer:
    """The wire form of one answer to one request."""

    request: Request
    number: int

    def head(self, kind: str) -> Json:
        when = 1_700_000_000 + self.number
        return {"id": f"chatcmpl-{self.number}", "object": kind, "created": when, "model": self.request.model}

    def call(self, index: int, call: Call, arguments: str) -> Json:
        return {
            "id": call.id or f"call_{self.number}_{index}",
            "type": "function",
            "function": {"name": call.name, "arguments": arguments},
        }

    def completion(self, answer: Answer) -> Json:
        message: Json = {"role": "assistant", "content": answer.text or None}
        if answer.calls:
            message["tool_calls"] = [self.call(i, call, call.text) for i, call in enumerate(answer.calls)]
        choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason, "logprobs": None}
        return self.head("chat.completion") | {"choices": [choice], "usage": usage_of(answer, self.request)}

    def chunk(self, delta: Json, finish: Finish | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return self.head("chat.completion.chunk") | {"choices": [choice], "usage": None}

    def content(self, answer: Answer) -> Iterator[Json]:
        if answer.reasoning:
            yield self.chunk({"reasoning_content": answer.reasoning})
        for piece in pieces(answer.text, answer.chunks):
            yield self.chunk({"content": piece})
        for index, call in enumerate(answer.calls):
            yield self.chunk({"tool_calls": [{"index": index} | self.call(index, call, "")]})
            for piece in pieces(call.text, max(answer.chunks, 2)):
                yield self.chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})

    def events(self, answer: Answer) -> Iterator[Json]:
        yield self.chunk({"role": "assistant", "content": ""})
        yield from self.content(answer)
        yield self.chunk({}, answer.finish_reason)
        options = self.request.body.get("stream_options") or {}
        if options.get("include_usage"):
            usage = {"choices": [], "usage": usage_of(answer, self.request)}
            yield self.head("chat.completion.chunk") | usage

    @property
    def kind(self) -> str:
        return "text/event-stream" if self.request.stream else "application/json"

    def parts(self, answer: Answer) -> Iterator[bytes]:
        """The body: event by event, or a document in two halves."""
        if self.request.stream:
            yield from map(sse, self.events(answer))
            yield sse("[DONE]")
        else:
            document = json.dumps(self.completion(answer)).encode()
            yield document[: len(document) // 2]
            yield document[len(document) // 2 :]


def error_body(fail: Fail) -> Json:
    kind = "server_error" if fail.status >= 500 else "invalid_request_error"
    return {"error": {"message": fail.message, "type": kind, "param": None, "code": fail.code}}


def refusal(fail: Fail) -> web.Response:
    headers = {}
    if (wait := fail.retry_after) is not None:
        headers = {"Retry-After": str(int(wait))} if wait >= 1 else {"retry-after-ms": str(wait * 1000)}
    return web.json_response(error_body(fail), status=fail.status, headers=headers)


def hang_up(http: web.Request) -> None:
    if http.transport is not None:
        http.transport.abort()


async def send_parts(http: web.Request, kind: str, parts: Iterable[bytes], pace: float) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": kind})
    await response.prepare(http)
    for part in parts:
        await response.write(part)
        await asyncio.sleep(pace)
    return response


async def send_cut(http: web.Request, writer: Writer, cut: Cut) -> web.StreamResponse:
    count = 1 + cut.after_chunks if writer.request.stream else 1
    begun = itertools.islice(writer.parts(cut.answer), count)
    response = await send_parts(http, writer.kind, begun, cut.answer.pace)
    match cut:
        case Hang():
            await asyncio.Event().wait()
        case Broken():
            hang_up(http)
        case Garbage():
            await response.write(sse('{"id": "chatcmpl-'))
        case ErrorEvent():
            await response.write(sse(error_body(cut.error)))
    return response


async def send(http: web.Request, writer: Writer, reply: Reply) -> web.StreamResponse:
    match reply:
        case Answer():
            return await send_parts(http, writer.kind, writer.parts(reply), reply.pace)
        case Fail():
            return refusal(reply)
        case Disconnect():
            hang_up(http)
            return web.Response()
        case Hang(after_chunks=0):
            await asyncio.Event().wait()
            return web.Response()
        case Garbage(after_chunks=0):
            return web.Response(text="<html>502 Bad Gateway</html>", content_type="text/html")
        case ErrorEvent() if not writer.request.stream:
            return web.json_response(error_body(reply.error))
        case Cut():
            return await send_cut(http, writer, reply)
        case Slow(seconds, then):
            await asyncio.sleep(seconds)
            return await send(http, writer, then)
        case Held(until, then):
            while not until():
                await asyncio.sleep(0.02)
            return await send(http, writer, then)
        case _:
            assert_never(reply)


class ModelServer:
    def __init__(self, models: Sequence[str]) -> None:
        self.models = models
        self.api_key = "sk-carina-tests"
        self.base_url = ""
        self.default: Callable[[Request], Reply] = lambda r: Fail(400, message=f"no script for {r.last_user!r}")
        self.requests: list[Request] = []
        self.pending: deque[Reply] = deque()
        self._arrived = asyncio.Condition()
        self._broken_rule: Exception | None = None

    @classmethod
    @asynccontextmanager
    async def start(cls, *, models: Sequence[str] = ("scripted",)) -> AsyncIterator[Self]:
        """Serve until the block ends. An exception in `default` is raised there, as the bot only sees a 500."""
        server = cls(models)
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_get("/v1/models", server._list_models)
        app.router.add_post("/v1/chat/completions", server._complete)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            server.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
            yield server
        finally:
            await runner.cleanup()
        if server._broken_rule is not None:
            raise server._broken_rule

    def environment(self) -> dict[str, str]:
        return {"OPENAI_BASE_URL": self.base_url, "OPENAI_API_KEY": self.api_key}

    def script(self, *replies: Reply) -> None:
        """Add replies, given in the order in which requests arrive."""
        self.pending.extend(replies)

    async def wait_for(self, count: int, timeout: float = PATIENCE) -> list[Request]:
        """All requests so far, as soon as there are `count` of them."""
        try:
            async with asyncio.timeout(timeout), self._arrived:
                await self._arrived.wait_for(lambda: len(self.requests) >= count)
        except TimeoutError:
            raise TimeoutError(f"{len(self.requests)} of {count} model requests in {timeout} s") from None
        return self.requests

    def _authorized(self, http: web.Request) -> bool:
        return http.headers.get("Authorization") == f"Bearer {self.api_key}"

    async def _list_models(self, http: web.Request) -> web.Response:
        if not self._authorized(http):
            return refusal(UNAUTHORIZED)
        data = [{"id": model, "object": "model", "created": 0, "owned_by": "tests"} for model in self.models]
        return web.json_response({"object": "list", "data": data})

    async def _complete(self, http: web.Request) -> web.StreamResponse:
        if not self._authorized(http):
            return refusal(UNAUTHORIZED)
        body = await http.json()
        request = Request(body, asyncio.get_running_loop().time(), problem_with(body))
        async with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
        if request.problem:
            return refusal(Fail(400, message=request.problem))
        reply = self.pending.popleft() if self.pending else self._ask_rule(request)
        try:
            return await send(http, Writer(request, next(SERIAL)), reply)
        except (asyncio.CancelledError, ConnectionResetError):
            request.abandoned = True
            raise

    def _ask_rule(self, request: Request) -> Reply:
        try:
            return self.default(request)
        except Exception as error:
            self._broken_rule = error
            raise
