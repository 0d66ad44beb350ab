"""A model of a provider over real sockets: what is sent, what comes back, and what every failure becomes."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from bot.models.base import (
    Access,
    Answer,
    AssistantMessage,
    Call,
    ContextTooLong,
    Limits,
    Message,
    ModelBusy,
    ModelError,
    ModelGarbage,
    ModelRefused,
    ModelRejected,
    Request,
    TextDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from bot.models.chat_completions import connect
from bot.models.http_model import Assembly, HttpModel, refusal
from memory.store.records import replace
from tests.bot.models.scripted import HELLO, events, last
from tests.wire import model as wire
from tests.wire import until
from tests.wire.model import ModelServer

RECALL = ToolSpec("recall", "Search or insert.", {"type": "object", "properties": {"query": {"type": "string"}}})
SEARCH = ToolSpec("search", "Search everything.", {"type": "object", "properties": {}})
TOOLS = replace(HELLO, tools=(RECALL, SEARCH))
LIMITS = Limits(attempt=5, silence=3)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer.start() as server:
        yield server


@asynccontextmanager
async def connected(
    server: ModelServer, *, name: str = "openai:scripted", key: str = "", limits: Limits = LIMITS
) -> AsyncIterator[HttpModel]:
    model = connect(Access(name, limits, key or server.api_key, server.base_url))
    async with model.provider:
        yield model


@pytest.fixture
async def model(server: ModelServer) -> AsyncIterator[HttpModel]:
    async with connected(server) as model:
        yield model


async def test_text_is_streamed_in_order_and_comes_whole_at_the_end(server: ModelServer, model: HttpModel) -> None:
    server.script(wire.Answer("one two three", chunks=3, tokens=wire.Tokens(900, 30, cached=700, written=50)))
    *pieces, answer = await events(model)
    assert pieces == [TextDelta("one "), TextDelta("two "), TextDelta("three")]
    assert isinstance(answer, Answer)
    assert (answer.text, answer.model, answer.finish, answer.degraded) == (
        "one two three",
        "openai:scripted",
        "stop",
        "",
    )
    usage = answer.usage
    assert (usage.input_tokens, usage.output_tokens) == (900, 30)
    assert (usage.cache_read_tokens, usage.cache_write_tokens, usage.cost_usd) == (700, 50, None)


async def test_settings_reach_the_server(server: ModelServer, model: HttpModel) -> None:
    server.script(wire.Answer("hi"), wire.Answer("hi"))
    await last(model, replace(TOOLS, temperature=0.25, max_tokens=77, force_tool="search"))
    await last(model, replace(TOOLS, force_tool="no_such_tool"))
    first, second = (request.body for request in server.requests)
    assert (first["model"], first["temperature"], first["max_tokens"]) == ("scripted", 0.25, 77)
    assert first["tool_choice"] == {"type": "function", "function": {"name": "search"}}
    assert first["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}]
    assert second["tool_choice"] == "auto"
    assert "temperature" not in second
    sent = [tool["function"] for tool in second["tools"]]
    assert [(tool["name"], tool["description"]) for tool in sent] == [
        (tool.name, tool.description) for tool in TOOLS.tools
    ]
    assert sent[0]["parameters"]["properties"] == RECALL.parameters["properties"]


async def test_the_same_request_is_sent_the_same_byte_for_byte(server: ModelServer, model: HttpModel) -> None:
    server.script(wire.Answer("hi"), wire.Answer("hi"))
    await last(model, TOOLS)
    await last(model, TOOLS)
    assert json.dumps(server.requests[0].body) == json.dumps(server.requests[1].body)


async def test_calls_come_back_and_their_results_are_sent(server: ModelServer, model: HttpModel) -> None:
    server.script(
        wire.Calls(wire.Call("recall", {"query": "x"}, id="c1"), wire.Call("search", id="c2"), text="Wait.", chunks=2),
        wire.Answer("It is on Elm Street."),
    )
    first = await last(model, TOOLS)
    assert first.calls == (Call("c1", "recall", '{"query": "x"}'), Call("c2", "search", "{}"))
    assert (first.text, first.finish) == ("Wait.", "stop")
    said = AssistantMessage(first.text, first.calls)
    results = (ToolMessage("c1", "recall", "on Elm Street"), ToolMessage("c2", "search", "no index", ok=False))
    await last(model, replace(TOOLS, messages=(*TOOLS.messages, said, *results)))
    request = server.requests[1]
    assert [message["role"] for message in request.messages] == ["system", "user", "assistant", "tool", "tool"]
    assert request.results[0] == "on Elm Street"
    assert "no index" in request.results[1]


@pytest.mark.parametrize("call", [wire.Call("recall", '{"query": '), wire.Call("unknown tool!", {"a": 1})])
async def test_bad_calls_are_handed_on_and_can_be_answered(
    server: ModelServer, model: HttpModel, call: wire.Call
) -> None:
    server.script(wire.Calls(call), wire.Answer("sorry"))
    answer = await last(model, TOOLS)
    [made] = answer.calls
    assert (made.name, made.arguments) == (call.name, call.text)
    history = (AssistantMessage("", answer.calls), ToolMessage(made.id, made.name, "no such tool", ok=False))
    await last(model, replace(TOOLS, messages=(*TOOLS.messages, *history)))
    sent = server.requests[1].messages[2]["tool_calls"][0]["function"]
    assert isinstance(json.loads(sent["arguments"]), dict)
    assert server.requests[1].problem is None


CALL = AssistantMessage("", (Call("c1", "recall", "{}"), Call("x" * 50, "search", "{}")))
FIRST, SECOND = ToolMessage("c1", "recall", "one"), ToolMessage("x" * 50, "search", "two")


@pytest.mark.parametrize(
    ("messages", "roles"),
    [
        ((CALL,), ["assistant", "tool", "tool"]),
        ((FIRST, UserMessage("hm")), ["user"]),
        ((CALL, UserMessage("hurry"), SECOND, FIRST), ["assistant", "tool", "tool", "user"]),
        ((AssistantMessage("  "), UserMessage("")), ["user"]),
    ],
)
async def test_a_history_that_would_be_refused_is_mended(
    server: ModelServer, model: HttpModel, messages: tuple[Message, ...], roles: list[str]
) -> None:
    server.script(wire.Answer("hi"))
    await last(model, replace(TOOLS, messages=(*HELLO.messages, *messages)))
    [request] = server.requests
    assert [message["role"] for message in request.messages[2:]] == roles
    ids = [call["id"] for message in request.messages for call in message.get("tool_calls") or ()]
    assert all(len(call_id) <= 40 for call_id in ids)


async def test_half_characters_are_mended_both_ways(server: ModelServer, model: HttpModel) -> None:
    server.script(wire.Answer("a\ud83d\ude00b\ud83d", chunks=4))
    broken = "b\ud83dc \ud83d\ude00"
    tool = replace(RECALL, description=broken, parameters={"type": "object", "description": broken})
    history = (AssistantMessage(broken, (Call(broken, broken, broken),)), ToolMessage(broken, broken, broken))
    *pieces, answer = await events(model, Request(broken, (UserMessage(broken), *history), (tool,)))
    assert isinstance(answer, Answer)
    assert answer.text == "a😀b\ufffd"
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == "a😀b"
    assert server.requests[0].system == "b\ufffdc 😀"


async def test_images_are_named_to_a_server_that_may_not_see(server: ModelServer, model: HttpModel) -> None:
    server.script(wire.Answer("hi"))
    await last(model, replace(HELLO, messages=(UserMessage("look", images=("https://cdn.example/cat.png",)),)))
    assert server.requests[0].last_user == "look\n[image that you cannot see: cat.png]"


async def test_images_are_shown_to_a_model_that_sees(server: ModelServer) -> None:
    server.script(wire.Answer("hi"))
    seeing = connect(Access("openai:scripted", LIMITS, server.api_key, server.base_url, images=True))
    async with seeing.provider:
        await last(seeing, replace(HELLO, messages=(UserMessage("look", images=("https://cdn.example/a?ex=1",)),)))
    assert server.requests[0].messages[1]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "https://cdn.example/a?ex=1"}},
    ]


@pytest.mark.parametrize(
    ("reply", "finish", "text"),
    [
        (wire.Answer("and then", finish="length"), "length", "and then"),
        (wire.Answer("", finish="content_filter"), "filter", ""),
        (wire.Answer(""), "stop", ""),
    ],
)
async def test_silence_and_cut_answers_are_answers(
    server: ModelServer, model: HttpModel, reply: wire.Answer, finish: str, text: str
) -> None:
    server.script(reply)
    answer = await last(model)
    assert (answer.finish, answer.text, answer.calls) == (finish, text, ())


@dataclass(frozen=True)
class Fault:
    reply: wire.Reply
    kind: type[ModelError]
    words: str
    streamed: int = 0


FAULTS = [
    Fault(wire.Fail(429, retry_after=7), ModelBusy, "HTTP 429"),
    Fault(wire.Fail(429, code="insufficient_quota"), ModelRefused, "insufficient_quota"),
    Fault(wire.Fail(500), ModelBusy, "HTTP 500"),
    Fault(wire.OVERLOADED, ModelBusy, "server_is_overloaded"),
    Fault(wire.Fail(529), ModelBusy, "HTTP 529"),
    Fault(wire.Fail(408), ModelBusy, "HTTP 408"),
    Fault(wire.UNAUTHORIZED, ModelRefused, r"refused access \(HTTP 401 invalid_api_key\)$"),
    Fault(wire.Fail(403, code="forbidden"), ModelRefused, "HTTP 403"),
    Fault(wire.Fail(404, code="model_not_found"), ModelRefused, "was not found"),
    Fault(wire.Fail(400, code="bad_schema", message="bad\nschema"), ModelRejected, r"\(HTTP 400 bad_schema\)$"),
    Fault(wire.CONTEXT_OVERFLOW, ContextTooLong, "too long"),
    Fault(wire.Fail(413), ContextTooLong, "too long"),
    Fault(wire.Fail(400, message="request exceeds the available context size"), ContextTooLong, "too long"),
    Fault(wire.Fail(400, message="The input token count (9) exceeds the maximum of 8."), ContextTooLong, "too long"),
    Fault(wire.Fail(400, message="API key not valid. Please pass a valid API key."), ModelRefused, "refused access"),
    Fault(wire.Broken(after_chunks=2), ModelBusy, "connection", 2),
    Fault(wire.Disconnect(), ModelBusy, "connection"),
    Fault(wire.Ended(after_chunks=2), ModelGarbage, "invalid answer", 2),
    Fault(wire.Garbage(after_chunks=2), ModelGarbage, "invalid answer", 2),
    Fault(wire.Garbage(), ModelGarbage, "invalid answer"),
    Fault(wire.ErrorEvent(after_chunks=2), ModelBusy, "overloaded", 2),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kind.__name__}-{fault.words[:12]}")
async def test_every_fault_has_a_type_and_words(server: ModelServer, model: HttpModel, fault: Fault) -> None:
    server.script(fault.reply)
    stream = model.complete(HELLO)
    for _ in range(fault.streamed):
        assert isinstance(await anext(stream), TextDelta)
    with pytest.raises(fault.kind, match=fault.words) as caught:
        await anext(stream)
    assert len(server.requests) == 1
    assert "openai:scripted" in caught.value.reason
    if isinstance(caught.value, ModelBusy):
        assert caught.value.retry_after == (7 if fault.words == "HTTP 429" else None)


@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("limits", [Limits(attempt=0.3), Limits(silence=0.3)])
async def test_a_hang_meets_each_time_limit(server: ModelServer, after: int, limits: Limits) -> None:
    server.script(wire.Hang(after_chunks=after))
    async with connected(server, limits=limits) as model:
        with pytest.raises(ModelBusy, match="did not answer in time"):
            await events(model)
    await until(lambda: server.requests[0].abandoned)


async def test_no_error_quotes_the_key(server: ModelServer) -> None:
    key = "sk-proj-very-secret"
    said = f"Incorrect API key provided: {key}."
    server.script(wire.Fail(400, message=said), wire.Fail(401, message=said), wire.Fail(404, message=said))
    server.api_key = key
    async with connected(server, key=key) as model:
        for _ in range(3):
            with pytest.raises(ModelError) as caught:
                await events(model)
            assert key not in caught.value.reason + caught.value.said
            assert caught.value.__cause__ is None
            assert caught.value.__suppress_context__ or caught.value.__context__ is None


async def test_cancelling_hangs_up_at_once(server: ModelServer, model: HttpModel) -> None:
    server.script(wire.Answer("a b c d", chunks=4, pace=5), wire.Answer("still here"))
    asking = asyncio.create_task(events(model))
    [request] = await server.wait_for(1)
    await asyncio.sleep(0.05)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await last(model)).text == "still here"
    await until(lambda: request.abandoned)


async def test_a_listener_that_leaves_hangs_up(server: ModelServer, model: HttpModel) -> None:
    server.script(wire.Answer("abcd", chunks=4, pace=0.5), wire.Answer("still here"))
    stream = model.complete(HELLO)
    assert await anext(stream) == TextDelta("a")
    await stream.aclose()
    assert (await last(model)).text == "still here"
    await until(lambda: server.requests[0].abandoned)


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("openai:m", "https://api.openai.com/v1/chat/completions"),
        ("google:m", "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"),
        ("groq:m", "https://api.groq.com/openai/v1/chat/completions"),
        ("mistral:m", "https://api.mistral.ai/v1/chat/completions"),
    ],
)
def test_each_provider_is_asked_at_its_own_address(name: str, address: str) -> None:
    assert connect(Access(name, LIMITS, "k")).provider._url == address


@pytest.mark.parametrize(
    ("name", "signed", "roles"),
    [
        ("google:m", True, ["system", "user", "assistant", "tool", "user"]),
        ("groq:m", False, ["system", "user", "assistant", "tool", "user"]),
        ("mistral:m", False, ["system", "user", "assistant", "tool", "assistant", "user"]),
    ],
)
async def test_providers_get_what_they_want_beside_the_protocol(
    server: ModelServer, name: str, signed: bool, roles: list[str]
) -> None:
    server.script(wire.Answer("hi"))
    call = AssistantMessage("", (Call("c1", "recall", "{}"),))
    async with connected(server, name=name) as model:
        await last(model, replace(TOOLS, messages=(*HELLO.messages, call, FIRST, UserMessage("hm")), max_tokens=7))
    [request] = server.requests
    assert [message["role"] for message in request.messages] == roles
    [made] = request.messages[2]["tool_calls"]
    assert ("extra_content" in made) is signed
    assert request.messages[3]["tool_call_id"] == made["id"]
    assert re.fullmatch("[A-Za-z0-9]{9}" if name == "mistral:m" else "c1", made["id"])  # its server takes no others
    assert request.body["max_tokens"] == 7


async def test_google_is_sent_no_word_of_a_schema_that_it_refuses(server: ModelServer) -> None:
    tree = {"type": "object", "properties": {"below": {"$ref": "#/$defs/Tree"}}, "additionalProperties": False}
    given = {
        "type": "object", "$defs": {"Tree": tree}, "additionalProperties": False, "required": ["kind"],
        "properties": {
            "kind": {"const": "a"}, "type": {"type": ["string", "null"], "format": "uuid"}, "number": {"enum": [1, 2]},
            "tree": {"$ref": "#/$defs/Tree", "description": "d"},
            "any": {"oneOf": [{"exclusiveMinimum": 1}], "items": True},
        },
    }  # fmt: skip
    server.script(wire.Answer("hi"))
    async with connected(server, name="google:m") as model:
        await last(model, replace(HELLO, tools=(ToolSpec("t", "T.", given),)))
    assert server.requests[0].body["tools"][0]["function"]["parameters"] == {
        "type": "object", "required": ["kind"],
        "properties": {
            "kind": {"enum": ["a"]}, "type": {"type": "string", "nullable": True}, "number": {},
            "tree": {"type": "object", "description": "d", "properties": {"below": {"type": "object"}}},
            "any": {"anyOf": [{}], "items": {}},
        },
    }  # fmt: skip


def test_thoughts_that_only_the_total_counts_are_paid_for_too() -> None:
    answer = Assembly(Access("google:m", LIMITS, "k"))
    answer.counts, answer.finish = {"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}, "stop"
    usage = answer.finished().usage
    assert (usage.input_tokens, usage.output_tokens) == (20, 603)


def test_an_error_alone_in_a_list_is_read_too() -> None:
    told = [{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}]
    assert isinstance(refusal(400, told, None, "google:m", ""), ModelRefused)
