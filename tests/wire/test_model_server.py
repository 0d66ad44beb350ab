"""The scripted model behaves on the wire as a provider does, seen through the library the bot uses."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest
from pydantic_ai import exceptions
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
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
    Held,
    ModelServer,
    RawCall,
    Reply,
    Request,
    Slow,
    Tokens,
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


@dataclass
class Stream:
    """What a caller has seen of a stream, also when it failed on the way."""

    settings: ModelSettings = field(default_factory=lambda: SETTINGS)
    text: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    calls: list[ToolCallPart] = field(default_factory=list)
    response: ModelResponse = field(default_factory=lambda: ModelResponse([]))

    async def read(self, model: OpenAIChatModel) -> ModelResponse:
        parameters = ModelRequestParameters(function_tools=[RECALL])
        async with model_request_stream(
            model, QUESTION, model_settings=self.settings, model_request_parameters=parameters
        ) as stream:
            try:
                async for event in stream:
                    self._see(event)
            finally:
                self.response = stream.get()
        return self.response

    def _see(self, event: object) -> None:
        match event:
            case PartStartEvent(part=TextPart(content=text)):
                self.text.append(text)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                self.text.append(text)
            case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(piece))):
                self.arguments.append(piece)
            case PartEndEvent(part=ToolCallPart() as call):
                self.calls.append(call)


async def test_answer_arrives_whole(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Answer("hello"))
    response = await ask(model)
    assert (response.text, response.finish_reason, response.model_name) == ("hello", "stop", "scripted")


async def test_answer_is_streamed_in_pieces(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Answer("one two three", chunks=3, pace=0.001))
    stream = Stream()
    response = await stream.read(model)
    assert stream.text == ["one ", "two ", "three"]
    assert (response.text, response.state, response.finish_reason) == ("one two three", "complete", "stop")


async def test_pace_spreads_a_stream_over_time(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Answer("abcd", chunks=4, pace=0.05))
    started = asyncio.get_running_loop().time()
    await Stream().read(model)
    assert asyncio.get_running_loop().time() - started >= 0.2


async def test_text_and_calls_share_an_answer(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Calls(Call("recall", {"operation": "insert"}), Call("recall", {}), text="Let me note that."))
    response = await ask(model)
    assert (response.text, response.finish_reason) == ("Let me note that.", "tool_call")
    assert [call.args for call in response.tool_calls] == ['{"operation": "insert"}', "{}"]
    assert len({call.tool_call_id for call in response.tool_calls}) == 2


async def test_call_arguments_are_streamed_in_pieces(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Calls(Call("recall", {"operation": "read"}, id="c7"), Call("recall"), text="Wait.", chunks=3))
    stream = Stream()
    response = await stream.read(model)
    assert len(stream.arguments) > 3
    assert [(call.tool_name, call.args) for call in stream.calls] == [
        ("recall", '{"operation": "read"}'),
        ("recall", "{}"),
    ]
    assert stream.calls[0].tool_call_id == "c7"
    assert (response.finish_reason, response.tool_calls) == ("tool_call", stream.calls)


@pytest.mark.parametrize("call", [RawCall("recall", '{"operation": '), Call("unknown_tool", {"a": 1})])
async def test_bad_calls_reach_the_caller_as_they_are(server: ModelServer, model: OpenAIChatModel, call: Call) -> None:
    server.script(Calls(call), Calls(call))
    for response in (await ask(model), await Stream().read(model)):
        assert [(part.tool_name, part.args) for part in response.tool_calls] == [(call.name, call.text)]


async def test_usage_counts_cached_tokens(server: ModelServer, model: OpenAIChatModel) -> None:
    answer = Answer("hello", tokens=Tokens(input=1000, output=20, cached=700, written=100))
    server.script(answer, answer)
    for response in (await ask(model), await Stream().read(model)):
        usage = response.usage
        assert (usage.input_tokens, usage.output_tokens) == (1000, 20)
        assert (usage.cache_read_tokens, usage.cache_write_tokens) == (700, 100)


async def test_usage_is_estimated_unless_scripted(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Answer("a" * 400))
    usage = (await ask(model)).usage
    assert usage.output_tokens == 101
    assert usage.input_tokens > 10


async def test_a_server_may_leave_usage_out(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Answer("hello", measured=False), Answer("hello", measured=False))
    for response in (await ask(model), await Stream().read(model)):
        assert response.usage.unmeasured_requests == 1


async def test_price_is_known_offline_for_known_models(server: ModelServer) -> None:
    server.default = lambda _: Answer("hello", tokens=Tokens(1_000_000, 0))
    async with client(server.base_url, server.api_key, "gpt-5-mini") as known:
        assert float((await ask(known)).cost().total_price) == pytest.approx(0.25)
    async with client(server.base_url, server.api_key) as unknown:
        response = await ask(unknown)
        with pytest.raises(LookupError):
            response.cost()


async def test_answer_cut_at_the_token_limit(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Answer("and then", finish="length"), Answer("and then", finish="length"))
    for response in (await ask(model), await Stream().read(model)):
        assert (response.text, response.finish_reason) == ("and then", "length")


@dataclass(frozen=True)
class Fault:
    reply: Reply
    error: type[exceptions.ModelAPIError]
    status: int
    retry_after: float | None = None


FAULTS = [
    Fault(Fail(429, retry_after=7), exceptions.ModelRateLimitError, 429, 7),
    Fault(Fail(429, retry_after=0.25), exceptions.ModelRateLimitError, 429, 0.25),
    Fault(Fail(429, code="insufficient_quota"), exceptions.ModelQuotaExceededError, 429),
    Fault(Fail(500), exceptions.ModelServerError, 500),
    Fault(Fail(503, code="server_is_overloaded"), exceptions.ModelOverloadedError, 503),
    Fault(Fail(404, code="model_not_found"), exceptions.ModelNotFoundError, 404),
    Fault(CONTEXT_OVERFLOW, exceptions.ModelContextWindowExceededError, 400),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.status}-{fault.error.__name__}")
async def test_http_failures_have_types(server: ModelServer, model: OpenAIChatModel, fault: Fault) -> None:
    server.script(fault.reply, fault.reply)
    for asking in (ask(model), Stream().read(model)):
        with pytest.raises(fault.error) as caught:
            await asking
        assert isinstance(caught.value, exceptions.ModelHTTPError)
        assert (caught.value.status_code, caught.value.retry_after) == (fault.status, fault.retry_after)
    assert len(server.requests) == 2


async def test_wrong_key_is_refused(server: ModelServer) -> None:
    async with client(server.base_url, "wrong") as model:
        with pytest.raises(exceptions.ModelAuthenticationError) as caught:
            await ask(model)
    assert caught.value.provider_error_code == "invalid_api_key"
    assert (server.unauthorized, server.requests) == (1, [])


async def test_hang_meets_each_timeout(server: ModelServer, model: OpenAIChatModel) -> None:
    server.default = lambda _: Hang()
    with pytest.raises(exceptions.ModelTimeoutError) as attempt:
        await ask(model, settings=ModelSettings(max_retries=0, timeout=0.5))
    assert attempt.value.phase == "read"
    with pytest.raises(exceptions.ModelRequestTimeout) as whole:
        await ask(model, settings=ModelSettings(max_retries=0, request_timeout=0.2))
    assert (whole.value.timeout, whole.value.setting) == (0.2, "request_timeout")
    with pytest.raises(exceptions.ModelRequestTimeout) as first:
        await Stream(ModelSettings(max_retries=0, first_event_timeout=0.2)).read(model)
    assert first.value.setting == "first_event_timeout"


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        (ModelSettings(max_retries=0, timeout=1), exceptions.ModelTimeoutError),
        (ModelSettings(max_retries=0, request_timeout=2), exceptions.ModelRequestTimeout),
    ],
)
async def test_hang_in_mid_stream(
    server: ModelServer, model: OpenAIChatModel, settings: ModelSettings, error: type[exceptions.ModelAPIError]
) -> None:
    server.script(Hang(after_chunks=2))
    stream = Stream(settings)
    with pytest.raises(error):
        await stream.read(model)
    assert (len(stream.text), stream.response.state) == (2, "incomplete")


async def test_client_that_gives_up_is_noticed(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Hang(), Answer("still here"))
    with pytest.raises(exceptions.ModelRequestTimeout):
        await ask(model, settings=ModelSettings(max_retries=0, request_timeout=1))
    assert (await ask(model)).text == "still here"
    assert [request.abandoned for request in server.requests] == [True, False]


async def test_slow_answer_arrives_late(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Slow(0.2, Answer("late")))
    started = asyncio.get_running_loop().time()
    assert (await ask(model)).text == "late"
    assert asyncio.get_running_loop().time() - started >= 0.2


@pytest.mark.parametrize("reply", [Broken(after_chunks=2), Broken(after_chunks=4, answer=Calls(Call("recall")))])
async def test_broken_stream_keeps_what_arrived(server: ModelServer, model: OpenAIChatModel, reply: Broken) -> None:
    server.script(reply)
    stream = Stream()
    with pytest.raises(exceptions.ModelConnectionError) as caught:
        await stream.read(model)
    assert caught.value.phase == "read"
    assert stream.response.state == "incomplete"
    assert stream.response.parts


@pytest.mark.parametrize("reply", [Ended(after_chunks=2), Garbage(after_chunks=2), ErrorEvent(after_chunks=2)])
async def test_spoiled_stream_is_an_error(server: ModelServer, model: OpenAIChatModel, reply: Reply) -> None:
    server.script(reply)
    stream = Stream()
    with pytest.raises(exceptions.ModelAPIError) as caught:
        await stream.read(model)
    assert (len(stream.text), stream.response.state) == (2, "incomplete")
    assert isinstance(caught.value, exceptions.ModelOverloadedError) == isinstance(reply, ErrorEvent)
    assert caught.value.in_stream == isinstance(reply, ErrorEvent)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Broken(), exceptions.ModelConnectionError),
        (Ended(), exceptions.ModelAPIError),
        (Garbage(after_chunks=1), exceptions.ModelAPIError),
        (ErrorEvent(), exceptions.UnexpectedModelBehavior),
    ],
)
async def test_spoiled_document_is_an_error(
    server: ModelServer, model: OpenAIChatModel, reply: Reply, error: type[Exception]
) -> None:
    server.script(reply)
    with pytest.raises(error):
        await ask(model)


async def test_web_page_instead_of_an_answer_is_an_error(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Garbage(), Garbage())
    for asking in (ask(model), Stream().read(model)):
        with pytest.raises(exceptions.UnexpectedModelBehavior):
            await asking


async def test_connection_can_close_without_an_answer(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Disconnect(), Disconnect())
    for asking in (ask(model), Stream().read(model)):
        with pytest.raises(exceptions.ModelConnectionError):
            await asking


async def test_nobody_listens_after_the_end() -> None:
    async with ModelServer.start() as server:
        pass
    async with client(server.base_url, server.api_key) as model:
        with pytest.raises(exceptions.ModelConnectionError) as caught:
            await ask(model)
    assert caught.value.phase == "connect"


async def test_requests_are_recorded_in_order(server: ModelServer, model: OpenAIChatModel) -> None:
    server.script(Answer("one"), Answer("two"))
    await ask(model)
    await ask(model, EXCHANGE)
    first, second = server.requests
    assert (first.model, first.stream, first.system, first.last_user) == ("scripted", False, "Be brief.", "Hello?")
    assert (first.tools, first.results, second.results) == (["recall"], [], ["nothing found"])
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "tool"]
    assert first.at <= second.at


async def test_rule_answers_when_the_script_is_used_up(server: ModelServer, model: OpenAIChatModel) -> None:
    def obey(request: Request) -> Reply:
        return Answer(f"done: {request.results[0]}") if request.results else Calls(Call("recall"))

    server.default = obey
    server.script(Answer("scripted"))
    assert (await ask(model)).text == "scripted"
    assert (await ask(model)).tool_calls
    assert (await ask(model, EXCHANGE)).text == "done: nothing found"


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


async def test_wait_for_returns_when_enough_requests_came(server: ModelServer, model: OpenAIChatModel) -> None:
    server.default = lambda _: Answer("hello")
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(server.wait_for(2, timeout=5))
        await ask(model)
        assert not waiting.done()
        await ask(model)
    assert waiting.result() == server.requests
    with pytest.raises(TimeoutError, match="2 of 3 model requests"):
        await server.wait_for(3, timeout=0.05)


async def test_requests_are_served_at_the_same_time(server: ModelServer, model: OpenAIChatModel) -> None:
    server.default = lambda _: Held(lambda: len(server.requests) == 20, Answer("hello"))
    answers = await asyncio.gather(*(ask(model) for _ in range(20)))
    assert [answer.text for answer in answers] == ["hello"] * 20


async def test_server_returns_on_the_same_port() -> None:
    async with ModelServer.start() as first:
        port = int(first.base_url.split(":")[2].removesuffix("/v1"))
    async with ModelServer.start(port=port) as second:
        assert second.base_url == first.base_url


async def test_models_are_listed_and_environment_suffices() -> None:
    async with ModelServer.start(models=("small", "large")) as server, httpx2.AsyncClient() as http:
        environment = server.environment()
        url = environment["OPENAI_BASE_URL"] + "/models"
        assert (await http.get(url)).status_code == 401
        listed = await http.get(url, headers={"Authorization": f"Bearer {environment['OPENAI_API_KEY']}"})
    assert [entry["id"] for entry in listed.json()["data"]] == ["small", "large"]


CHILD = """
import os, urllib.request as http
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
body = b'{"model": "any", "stream": true, "messages": [{"role": "user", "content": "Hello from a child"}]}'
print(http.urlopen(http.Request(url, body, headers)).read().decode())
"""


async def test_another_process_is_served(server: ModelServer) -> None:
    server.script(Answer("hello", chunks=2))
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, env=server.environment(), stdout=asyncio.subprocess.PIPE
    )
    [request] = await server.wait_for(1)
    output, _ = await child.communicate()
    assert request.last_user == "Hello from a child"
    assert output.decode().rstrip().endswith("data: [DONE]")
