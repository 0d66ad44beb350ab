"""A client that is not ours takes the scripted model for a provider; tests/bot/models has every fault with our own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic_ai import exceptions
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from tests.wire.model import (
    CONTEXT_OVERFLOW,
    Answer,
    Broken,
    Call,
    Calls,
    Disconnect,
    Ended,
    ErrorEvent,
    Fail,
    Garbage,
    Hang,
    ModelServer,
    Reply,
    Request,
    Tokens,
)

SETTINGS = ModelSettings(max_retries=0, request_timeout=10)
QUESTION: list[ModelMessage] = [ModelRequest([SystemPromptPart("Be brief."), UserPromptPart("Hello?")])]
RECALL = ToolDefinition(name="recall", description="Search.", parameters_json_schema={"type": "object"})
PARAMETERS = ModelRequestParameters(function_tools=[RECALL])
EXCHANGE: list[ModelMessage] = [
    *QUESTION,
    ModelResponse([ToolCallPart("recall", '{"operation": "read"}', tool_call_id="c1")]),
    ModelRequest([ToolReturnPart("recall", "nothing found", tool_call_id="c1")]),
]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer.start() as server:
        yield server


@asynccontextmanager
async def client(server: ModelServer) -> AsyncIterator[OpenAIChatModel]:
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    async with OpenAIProvider(base_url=server.base_url, api_key=server.api_key) as provider:
        yield OpenAIChatModel("scripted", provider=provider, profile=profile)


@pytest.fixture
async def model(server: ModelServer) -> AsyncIterator[OpenAIChatModel]:
    async with client(server) as model:
        yield model


async def ask(
    model: OpenAIChatModel, messages: list[ModelMessage] = QUESTION, settings: ModelSettings = SETTINGS
) -> ModelResponse:
    return await model_request(model, messages, model_settings=settings, model_request_parameters=PARAMETERS)


async def stream(model: OpenAIChatModel) -> ModelResponse:
    async with model_request_stream(
        model, QUESTION, model_settings=SETTINGS, model_request_parameters=PARAMETERS
    ) as events:
        async for _ in events:
            pass
        return events.get()


CALL = Call("recall", {"operation": "read"}, id="c7")


@pytest.mark.parametrize(
    ("answer", "text", "finish"),
    [
        (Answer("one two three", chunks=3), "one two three", "stop"),
        (Answer("and then", finish="length"), "and then", "length"),
        (Calls(CALL, Call("unknown", "{"), text="Wait.", chunks=3), "Wait.", "tool_call"),
    ],
)
async def test_answers_say_the_same_whole_and_streamed(
    server: ModelServer, model: OpenAIChatModel, answer: Answer, text: str, finish: str
) -> None:
    server.script(answer, answer)
    for response in (await ask(model), await stream(model)):
        assert (response.text, response.finish_reason) == (text, finish)
        called = [(call.tool_name, call.args) for call in response.tool_calls]
        assert called == [(call.name, call.text) for call in answer.calls]


async def test_usage_is_as_scripted_or_estimated_or_left_out(server: ModelServer, model: OpenAIChatModel) -> None:
    scripted = Answer("hello", tokens=Tokens(input=1000, output=20, cached=700, written=100))
    unmeasured = Answer("hello", measured=False)
    server.script(scripted, scripted, unmeasured, unmeasured, Answer("a" * 400))
    for usage in ((await ask(model)).usage, (await stream(model)).usage):
        assert (usage.input_tokens, usage.output_tokens) == (1000, 20)
        assert (usage.cache_read_tokens, usage.cache_write_tokens) == (700, 100)
    assert [(await ask(model)).usage.unmeasured_requests, (await stream(model)).usage.unmeasured_requests] == [1, 1]
    assert (await ask(model)).usage.output_tokens == 101


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Fail(429, retry_after=7), exceptions.ModelRateLimitError),
        (Fail(429, code="insufficient_quota"), exceptions.ModelQuotaExceededError),
        (Fail(503, code="server_is_overloaded"), exceptions.ModelOverloadedError),
        (CONTEXT_OVERFLOW, exceptions.ModelContextWindowExceededError),
        (Broken(), exceptions.ModelConnectionError),
        (Ended(), exceptions.ModelAPIError),
        (Garbage(), exceptions.UnexpectedModelBehavior),
        (Garbage(after_chunks=1), exceptions.ModelAPIError),
        (ErrorEvent(after_chunks=2), exceptions.AgentRunError),
        (Disconnect(), exceptions.ModelConnectionError),
    ],
)
async def test_faults_are_those_of_a_provider(
    server: ModelServer, model: OpenAIChatModel, reply: Reply, error: type[Exception]
) -> None:
    server.script(reply, reply)
    for asking in (ask(model), stream(model)):
        with pytest.raises(error):
            await asking


async def test_a_client_that_gives_up_is_noticed(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Hang(), Answer("still here"))
    with pytest.raises(exceptions.ModelRequestTimeout):
        await ask(model, settings=ModelSettings(max_retries=0, request_timeout=0.5))
    assert (await ask(model)).text == "still here"
    assert [request.abandoned for request in server.requests] == [True, False]


async def test_requests_are_recorded_and_a_rule_answers_after_the_script(
    server: ModelServer, model: OpenAIChatModel
) -> None:
    with pytest.raises(exceptions.ModelRequestRejectedError, match=r"no script for 'Hello\?'"):
        await ask(model)
    server.default = lambda request: Answer(f"done: {request.results[0]}") if request.results else Calls(CALL)
    server.script(Answer("scripted"))
    assert (await ask(model)).text == "scripted"
    assert (await ask(model)).tool_calls
    assert (await ask(model, EXCHANGE)).text == "done: nothing found"
    first, last = server.requests[0], server.requests[-1]
    assert (first.model, first.stream, first.system, first.last_user) == ("scripted", False, "Be brief.", "Hello?")
    assert (first.tools, first.results, last.results) == (["recall"], [], ["nothing found"])


async def test_an_exception_in_a_rule_ends_the_test() -> None:
    def fail(request: Request) -> Reply:
        raise AssertionError("wrong prompt")

    async def run() -> None:
        async with ModelServer.start() as server, client(server) as model:
            server.default = fail
            with pytest.raises(exceptions.ModelServerError):
                await ask(model)

    with pytest.raises(AssertionError, match="wrong prompt"):
        await run()


@pytest.mark.parametrize("history", [EXCHANGE[:2] + QUESTION, EXCHANGE[:2], EXCHANGE[:1] + EXCHANGE[2:]])
async def test_a_history_that_a_provider_would_refuse_is_refused(
    server: ModelServer, model: OpenAIChatModel, history: list[ModelMessage]
) -> None:
    server.script(Answer("kept"))
    with pytest.raises(exceptions.ModelRequestRejectedError):
        await ask(model, history)
    assert (await ask(model)).text == "kept"
