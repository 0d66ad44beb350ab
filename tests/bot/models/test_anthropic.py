"""Anthropic's models over real sockets."""

from collections.abc import AsyncIterator

import pytest

from bot.models.anthropic_messages import connect
from bot.models.base import (
    Access,
    Answer,
    AssistantMessage,
    Call,
    ContextTooLong,
    Limits,
    ModelBusy,
    ModelError,
    ModelGarbage,
    ModelRefused,
    ModelRejected,
    TextDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from bot.models.http_model import HttpModel
from memory.store.records import replace
from tests.bot.models.anthropic_server import KEY, AnthropicServer, Refuses, Says, call, text
from tests.bot.models.scripted import HELLO, events, last

NAME = "anthropic:claude-haiku-4-5"
TOOLS = replace(
    HELLO, tools=tuple(ToolSpec(name, "Search.", {"type": "object", "properties": {}}) for name in ("recall", "search"))
)


@pytest.fixture
async def server() -> AsyncIterator[AnthropicServer]:
    async with AnthropicServer.start() as server:
        yield server


@pytest.fixture
async def model(server: AnthropicServer) -> AsyncIterator[HttpModel]:
    model = connect(Access(NAME, Limits(attempt=5, silence=3), KEY, server.base_url))
    async with model.provider:
        yield model


async def test_text_is_streamed_and_priced(server: AnthropicServer, model: HttpModel) -> None:
    tokens = {
        "input_tokens": 100,
        "output_tokens": 20,
        "cache_read_input_tokens": 900,
        "cache_creation_input_tokens": 0,
    }
    server.script = [Says([{"type": "thinking", "thinking": "A greeting."}, text("Hello there")], tokens=tokens)]
    *pieces, answer = await events(model)
    assert pieces == [TextDelta("Hello"), TextDelta(" there")]
    assert isinstance(answer, Answer)
    assert (answer.text, answer.model, answer.finish) == ("Hello there", NAME, "stop")
    assert answer.reasoning == "A greeting."
    assert (answer.usage.input_tokens, answer.usage.cache_read_tokens) == (1000, 900)
    assert answer.usage.cost_usd == pytest.approx((100 * 1 + 900 * 0.1 + 20 * 5) / 1_000_000)


async def test_calls_and_a_failed_result_go_round(server: AnthropicServer, model: HttpModel) -> None:
    server.script = [
        Says([text("Wait."), call("toolu_1", "recall", {"query": "x"})], stop="tool_use"),
        Says([text("Sorry.")]),
    ]
    first = await last(model, TOOLS)
    assert first.calls == (Call("toolu_1", "recall", '{"query": "x"}'),)
    said = AssistantMessage(first.text, first.calls)
    failed = ToolMessage("toolu_1", "recall", "no index", ok=False)
    await last(model, replace(TOOLS, messages=(*TOOLS.messages, said, failed, UserMessage("[system] hurry"))))
    _, answered, results = server.requests[1]["messages"]
    assert [block["type"] for block in answered["content"]] == ["text", "tool_use"]
    assert [block["type"] for block in results["content"]] == ["tool_result", "text"]
    assert (results["content"][0]["tool_use_id"], results["content"][0]["is_error"]) == ("toolu_1", True)


async def test_the_stable_beginning_is_marked_for_the_cache(server: AnthropicServer, model: HttpModel) -> None:
    server.script = [Says([text("hi")])]
    await last(model, replace(TOOLS, force_tool="recall", temperature=0.5))
    [sent] = server.requests
    assert sent["system"][-1]["text"] == "Be brief."
    assert "cache_control" in sent["system"][-1]
    assert sent["tool_choice"] == {"type": "tool", "name": "recall"}
    assert sent["temperature"] == 0.5


async def test_images_are_shown_by_address_or_as_they_are(server: AnthropicServer, model: HttpModel) -> None:
    server.script = [Says([text("hi")])]
    images = ("https://cdn.example/a.png", "data:image/png;base64,iVBORw==")
    await last(model, replace(HELLO, messages=(UserMessage("look", images=images),)))
    assert [part.get("source") for part in server.requests[0]["messages"][0]["content"]] == [
        None,
        {"type": "url", "url": images[0]},
        {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
    ]


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (Refuses(529, "overloaded_error"), ModelBusy, "HTTP 529"),
        (Refuses(200, "overloaded_error", started=True), ModelBusy, "overloaded_error"),
        (Refuses(429, "rate_limit_error"), ModelBusy, "HTTP 429"),
        (Refuses(500, "api_error"), ModelBusy, "HTTP 500"),
        (Refuses(400, "invalid_request_error", "prompt is too long: 210000 tokens"), ContextTooLong, "too long"),
        (Refuses(413, "request_too_large"), ContextTooLong, "too long"),
        (Refuses(400, "invalid_request_error", "messages: odd"), ModelRejected, r"\(HTTP 400 invalid_request_error\)$"),
        (Refuses(400, "invalid_request_error", "Your credit balance is too low"), ModelRefused, "refused access"),
        (Refuses(403, "permission_error"), ModelRefused, "refused access"),
        (Refuses(404, "not_found_error", "model: claude-0"), ModelRefused, "was not found"),
        (Says([text("half an ans")], stop=None), ModelGarbage, "stopped in the middle"),
    ],
)
async def test_every_fault_has_a_type_and_words(
    server: AnthropicServer, model: HttpModel, reply: Says | Refuses, kind: type[ModelError], words: str
) -> None:
    server.script = [reply]
    with pytest.raises(kind, match=words) as caught:
        await events(model)
    if isinstance(caught.value, ModelBusy) and isinstance(reply, Refuses) and not reply.started:
        assert caught.value.retry_after == 3
