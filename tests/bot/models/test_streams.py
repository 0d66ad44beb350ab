"""Answers as servers of Chat Completions really send them, which is often not as agreed."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.models.base import (
    Access,
    Answer,
    Call,
    ContextTooLong,
    Limits,
    ModelBusy,
    ModelError,
    ModelGarbage,
    ModelRejected,
    ToolSpec,
)
from bot.models.chat_completions import connect
from bot.models.http_model import HttpModel
from memory.store.records import replace
from tests.bot.models.scripted import HELLO, events, last
from tests.captured_logs import capture_logs

TOOLS = replace(HELLO, tools=(ToolSpec("recall", "Search.", {"type": "object"}),), force_tool="recall", temperature=0.5)
CALLED = Call("c1", "recall", '{"q": "x"}')


def chunk(finish: str | None = None, **delta: object) -> bytes:
    return sse({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def sse(event: object) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def called(index: int | None, call_id: str | None, name: str | None, arguments: object) -> bytes:
    piece = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return chunk(tool_calls=[{key: value for key, value in piece.items() if value is not None}])


DONE, STOP = b"data: [DONE]\n\n", chunk("stop")
HI = chunk(content="Hi")


@dataclass
class Server:
    """Answers each request with the next of its responses, and keeps what it was asked."""

    base_url: str = ""
    responses: tuple[web.Response, ...] = ()
    asked: list[dict[str, object]] | None = None
    connections: set[object] | None = None

    async def respond(self, http: web.Request) -> web.Response:
        self.asked = [*(self.asked or ()), await http.json()]
        self.connections = {*(self.connections or ()), http.transport}
        return self.responses[len(self.asked) - 1]

    def answer(self, *bodies: bytes, kind: str = "text/event-stream") -> None:
        self.responses = tuple(web.Response(body=body, content_type=kind) for body in bodies)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    app = web.Application()
    app.router.add_post("/chat/completions", server.respond)
    async with TestServer(app) as running:
        server.base_url = str(running.make_url("")).rstrip("/")
        yield server


@pytest.fixture
async def model(server: Server) -> AsyncIterator[HttpModel]:
    model = connect(Access("openai:local", Limits(attempt=5, silence=2), "key", server.base_url))
    async with model.provider:
        yield model


SAID = {
    "as agreed": HI + STOP + DONE,
    "without [DONE]": HI + STOP,
    "without a reason to stop": HI + DONE,
    "a reason of its own": HI + chunk("eos_token") + DONE,
    "null content": chunk(role="assistant", content=None) + HI + STOP + DONE,
    "CR LF": (HI + STOP + DONE).replace(b"\n", b"\r\n"),
    "CR": (HI + STOP + DONE).replace(b"\n", b"\r"),
    "no space after the colon": (HI + STOP + DONE).replace(b"data: ", b"data:"),
    "comments and other fields": b": ping\n\nevent: message\nid: 1\n" + HI + b"retry: 5\n\n" + STOP + DONE,
    "no empty line at the end": HI + STOP + DONE.rstrip(),
    "thoughts in fields of their own": chunk(reasoning_content="Hm") + chunk(reasoning="hm") + HI + STOP + DONE,
    "a list of parts": chunk(content=[{"type": "thinking", "thinking": []}, {"type": "text", "text": "Hi"}]) + STOP,
    "counts among the pieces": sse({"choices": [], "usage": {"prompt_tokens": 1}}) + HI + STOP + DONE,
    "an event about something else": sse({"x_groq": {"id": "1"}}) + HI + STOP + DONE,
    "an event in several lines": b'data: {"choices":\ndata: [{"delta": {"content": "Hi"}}]}\n\n' + STOP + DONE,
    "after the end": HI + STOP + DONE + b"data: not json\n\n",
}


@pytest.mark.parametrize("body", SAID.values(), ids=SAID.keys())
async def test_it_is_understood(server: Server, model: HttpModel, body: bytes) -> None:
    server.answer(body, body)
    assert [((await last(model)).text, (await last(model)).calls)] == [("Hi", ())]


async def test_its_thoughts_are_kept_apart_from_what_it_says(server: Server, model: HttpModel) -> None:
    server.answer(SAID["thoughts in fields of their own"])
    answer = await last(model)
    assert (answer.text, answer.reasoning) == ("Hi", "Hmhm")


async def test_a_server_that_does_not_stream_is_understood(server: Server, model: HttpModel) -> None:
    message = {"role": "assistant", "content": "Hi", "tool_calls": [{"id": "c1", "function": {"name": "recall"}}]}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 7}}
    server.answer(json.dumps(body).encode(), kind="application/json")
    answer = await last(model)
    assert (answer.text, answer.calls, answer.usage.input_tokens) == ("Hi", (Call("c1", "recall", "{}"),), 7)


CALLS = {
    "in pieces": called(0, "c1", "recall", "") + called(0, None, None, '{"q": ') + called(0, None, None, '"x"}'),
    "whole": called(0, "c1", "recall", '{"q": "x"}'),
    "without an index": called(None, "c1", "recall", '{"q": ') + called(None, None, None, '"x"}'),
    "id and name again with each piece": called(0, "c1", "recall", '{"q": ') + called(0, "c1", "recall", '"x"}'),
    "an object": called(0, "c1", "recall", {"q": "x"}),
}


@pytest.mark.parametrize("body", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("finish", ["tool_calls", "stop"])
async def test_a_call_is_understood(server: Server, model: HttpModel, body: bytes, finish: str) -> None:
    server.answer(body + chunk(finish) + DONE)
    assert (await last(model)).calls == (CALLED,)


async def test_a_call_without_an_id_is_given_one(server: Server, model: HttpModel) -> None:
    server.answer(called(0, None, "recall", "{}") + STOP)
    (call,) = (await last(model)).calls
    assert call.id.startswith("call_")


NO_ANSWERS: list[tuple[str, bytes, type[ModelError]]] = [
    ("HTML", b"<html><body>502 Bad Gateway</body></html>", ModelGarbage),
    ("nothing at all", b"", ModelGarbage),
    ("only [DONE]", DONE, ModelGarbage),
    ("half an answer", HI, ModelGarbage),
    ("half an event", HI + b'data: {"cho', ModelGarbage),
    ("an error", HI + sse({"error": {"message": "boom", "type": "server_error"}}), ModelBusy),
    ("an error as a text", HI + sse({"error": "boom"}), ModelBusy),
    ("an error of a status", sse({"error": {"message": "no", "code": 422}}), ModelRejected),
    ("too long", sse({"error": {"message": "the context length is exceeded"}}), ContextTooLong),
]


@pytest.mark.parametrize(("body", "kind"), [each[1:] for each in NO_ANSWERS], ids=[each[0] for each in NO_ANSWERS])
async def test_it_is_no_answer(server: Server, model: HttpModel, body: bytes, kind: type[ModelError]) -> None:
    server.answer(body)
    with pytest.raises(kind):
        await events(model)


async def test_an_event_that_never_ends_is_not_read_to_its_end(
    server: Server, model: HttpModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.models.http_model._LARGEST", 1_000_000)
    server.answer(b"data: " + b"x" * 3_000_000)
    with pytest.raises(ModelGarbage):
        await events(model)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Unsupported value", "param": "temperature", "code": "unsupported_value"},
        {"message": "Unsupported parameter: 'temperature' is not supported with this model."},
    ],
)
async def test_an_option_that_a_model_does_not_take_is_left_out_from_then_on(
    server: Server, model: HttpModel, error: dict[str, str]
) -> None:
    refused = web.Response(status=400, body=json.dumps({"error": error}), content_type="application/json")
    answered = [web.Response(body=HI + STOP + DONE, content_type="text/event-stream") for _ in range(2)]
    server.responses = (refused, *answered)
    with capture_logs() as logs:
        assert [(await last(model, TOOLS)).text for _ in range(2)] == ["Hi", "Hi"]
    assert ["temperature" in asked for asked in server.asked or ()] == [True, False, False]
    assert all("tool_choice" in asked for asked in server.asked or ())
    assert [entry["option"] for entry in logs] == ["temperature"]


async def test_a_model_is_held_to_a_form_until_its_server_says_that_it_cannot(server: Server, model: HttpModel) -> None:
    error = {"message": "This response_format type is unavailable now", "type": "invalid_request_error"}
    refused = web.Response(status=400, body=json.dumps({"error": error}), content_type="application/json")
    answered = [web.Response(body=HI + STOP + DONE, content_type="text/event-stream") for _ in range(3)]
    server.responses = (answered[0], refused, *answered[1:])
    asked = replace(TOOLS, tools=(), form={"type": "object", "properties": {}})
    assert [(await last(model, asked)).text for _ in range(3)] == ["Hi"] * 3
    said = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": asked.form}}
    assert [each.get("response_format") for each in server.asked or ()] == [said, said, None, None]


async def test_a_request_that_is_refused_without_the_option_too_is_refused(server: Server, model: HttpModel) -> None:
    error = json.dumps({"error": {"message": "temperature is what I do not like"}})
    server.responses = tuple(web.Response(status=400, body=error, content_type="application/json") for _ in range(2))
    with pytest.raises(ModelRejected) as caught:
        await events(model, TOOLS)
    assert caught.value.said == "temperature is what I do not like"
    assert len(server.asked or ()) == 2


@pytest.mark.parametrize("bypass", ["", "far.example", "::1"])
async def test_a_proxy_of_the_environment_is_used_and_passwords_of_other_programs_are_not(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bypass: str
) -> None:
    server.answer(HI + STOP + DONE)
    (tmp_path / "netrc").write_text("machine far.example login ana password secret\n")
    given = {"http_proxy": server.base_url, "no_proxy": bypass, "NETRC": str(tmp_path / "netrc")}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    address = "http://[::1]:9" if bypass == "::1" else "http://far.example"
    far = connect(Access("openai:local", Limits(attempt=5, silence=2), "key", address))
    async with far.provider:
        if bypass:
            with pytest.raises(ModelBusy, match="connect"):
                await last(far, HELLO)
        else:
            assert (await last(far, HELLO)).text == "Hi"


def shape(delta: object, finish: object = "stop") -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


SHAPES: list[object] = [
    [1, 2],
    "x",
    5,
    None,
    {},
    {"choices": 5},
    {"choices": [5]},
    shape(5),
    shape({"content": {"a": 1}}),
    shape({"tool_calls": [{"index": "z", "function": 5}]}),
    shape({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "recall", "arguments": {"q": 1}}}]}),
    shape({"content": "hi"}, "eos_token"),
    shape({"content": "hi"}, 7),
    {"error": "plain"},
    {"error": {"message": "boom", "code": 500}},
]
BODIES = [
    *(b"data: " + json.dumps(event).encode() + b"\n\ndata: [DONE]\n\n" for event in SHAPES),
    b"data: \xff\xfe\n\n",
    b"\xff\xfe\x00",
    b"",
]


@pytest.mark.parametrize("body", [*BODIES, None])
async def test_other_shapes_are_garbage_or_answers(server: Server, model: HttpModel, body: bytes | None) -> None:
    server.answer(body or b"not gzip")
    if body is None:
        server.responses[0].headers["Content-Encoding"] = "gzip"
    with contextlib.suppress(ModelGarbage, ModelBusy):
        assert isinstance((await events(model))[-1], Answer)


async def test_a_kept_connection_that_its_server_has_closed_is_given_up_for_a_new_one() -> None:
    """As llama.cpp's server does: it says that it keeps the connection, and closes it with the next request."""
    asked: list[bytes] = []

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length:")[2].split()[0])
        asked.append(await reader.readexactly(size))
        body = HI + STOP + DONE
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nKeep-Alive: timeout=5\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        await reader.read(1)
        writer.close()

    async with await asyncio.start_server(respond, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        model = connect(Access("openai:local", Limits(attempt=5, silence=2), "key", url))
        async with model.provider:
            answers = [(await last(model)).text for _ in range(3)]

    assert answers == ["Hi"] * 3
    assert len(asked) == 3
