"""The scripted model behaves on the wire as a provider does, seen through the library the bot uses."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic_ai import exceptions
from pydantic_ai.direct import model_request
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
    Answer,
    Hang,
    ModelServer,
    Reply,
    Request,
)

SETTINGS = ModelSettings(max_retries=0, request_timeout=10)
QUESTION: list[ModelMessage] = [ModelRequest([SystemPromptPart("Be brief."), UserPromptPart("Hello?")])]
RECALL = ToolDefinition(
    name="recall",
    description="Search or insert.",
    parameters_json_schema={"type": "object", "properties": {"operation": {"type": "string"}}},
)
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
async def client(base_url: str, api_key: str, model: str = "scripted") -> AsyncIterator[OpenAIChatModel]:
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    async with OpenAIProvider(base_url=base_url, api_key=api_key) as provider:
        yield OpenAIChatModel(model, provider=provider, profile=profile)


@pytest.fixture
async def model(server: ModelServer) -> AsyncIterator[OpenAIChatModel]:
    async with client(server.base_url, server.api_key) as model:
        yield model


async def ask(
    model: OpenAIChatModel, messages: list[ModelMessage] = QUESTION, settings: ModelSettings = SETTINGS
) -> ModelResponse:
    parameters = ModelRequestParameters(function_tools=[RECALL])
    return await model_request(model, messages, model_settings=settings, model_request_parameters=parameters)


async def test_client_that_gives_up_is_noticed(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Hang(), Answer("still here"))
    with pytest.raises(exceptions.ModelRequestTimeout):
        await ask(model, settings=ModelSettings(max_retries=0, request_timeout=1))
    assert (await ask(model)).text == "still here"
    assert [request.abandoned for request in server.requests] == [True, False]


async def test_requests_are_recorded_in_order(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Answer("one"), Answer("two"))
    await ask(model)
    await ask(model, EXCHANGE)
    first, second = server.requests
    assert (first.model, first.stream, first.system, first.last_user) == ("scripted", False, "Be brief.", "Hello?")
    assert (first.tools, first.results, second.results) == (["recall"], [], ["nothing found"])
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "tool"]
    assert first.at <= second.at


async def test_used_up_script_is_refused_in_words(server: ModelServer, model: OpenAIChatModel) -> None:
    with pytest.raises(exceptions.ModelRequestRejectedError, match=r"no script for 'Hello\?'"):
        await ask(model)


async def test_exception_in_a_rule_ends_the_test() -> None:
    def fail(request: Request) -> Reply:
        raise AssertionError("wrong prompt")

    async def run() -> None:
        async with ModelServer.start() as server, client(server.base_url, server.api_key) as model:
            server.default = fail
            with pytest.raises(exceptions.ModelServerError):
                await ask(model)

    with pytest.raises(AssertionError, match="wrong prompt"):
        await run()


@pytest.mark.parametrize("history", [EXCHANGE[:2] + QUESTION, EXCHANGE[:2], EXCHANGE[:1] + EXCHANGE[2:]])
async def test_history_the_service_would_refuse_is_refused(
    server: ModelServer, model: OpenAIChatModel, history: list[ModelMessage]
) -> None:
    server.script(Answer("kept"))
    with pytest.raises(exceptions.ModelRequestRejectedError):
        await ask(model, history)
    assert server.requests[0].problem
    assert (await ask(model)).text == "kept"
