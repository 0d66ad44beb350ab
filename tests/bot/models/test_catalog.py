"""The models as the service gets them: loaded late, retried, replaced, and offline at the end."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress

import pytest

from bot.errors import ConfigError
from bot.models.base import FailedModel, Limits, ToolSpec, Trouble
from bot.models.catalog import ModelCatalog
from bot.models.health import State
from tests.bot.models.scripted import HELLO, ScriptedModel, last, says
from tests.wire import model as wire
from tests.wire.model import ModelServer

LIMITS = Limits(attempt=2, silence=1, chain=4)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer.start() as server:
        yield server


@pytest.fixture
def offline() -> ScriptedModel:
    return ScriptedModel(says("No language model answers.", "offline"), name="offline")


@asynccontextmanager
async def catalog(
    server: ModelServer, offline: ScriptedModel, *fallback: str, limits: Limits = LIMITS, key: str = ""
) -> AsyncIterator[ModelCatalog]:
    models = ModelCatalog(
        fallback=fallback,
        keys={"openai": key or server.api_key},
        base_urls={"openai": server.base_url},
        offline=offline,
        limits=limits,
    )
    try:
        yield models
    finally:
        await models.aclose()


async def test_each_model_is_made_once(server: ModelServer, offline: ScriptedModel) -> None:
    async with catalog(server, offline, "openai:second", "offline") as models:
        assert models.model("openai:a") is await models.get("openai:a")
        assert models.model("offline") is offline
        assert models.model("openai:a").name == "openai:a"
        assert models.model("openai:gpt-5-mini").context_window == 32_000
        assert (await models.get("openai:gpt-5-mini")).context_window == 400_000


async def test_a_model_that_hangs_leaves_time_for_the_next(server: ModelServer, offline: ScriptedModel) -> None:
    def respond(request: wire.Request) -> wire.Reply:
        return wire.Hang(after_chunks=1) if request.model == "scripted" else wire.Answer("from the second")

    server.default = respond
    async with catalog(server, offline, "openai:second", limits=Limits(attempt=9, silence=9, chain=1)) as models:
        started = asyncio.get_running_loop().time()
        answer = await last(await models.get("openai:scripted"))
    assert answer.text == "from the second"
    assert asyncio.get_running_loop().time() - started < 6
    assert [request.model for request in server.requests] == ["scripted", "second"]


@pytest.mark.parametrize(
    ("reply", "trouble"),
    [
        (wire.Fail(401, code="invalid_api_key"), Trouble.KEY),
        (wire.Fail(403, code="forbidden"), Trouble.KEY),
        (wire.Fail(404, code="model_not_found"), Trouble.MISSING),
        (wire.Fail(429, code="insufficient_quota"), Trouble.QUOTA),
        (wire.Fail(429, retry_after=0.01), Trouble.FAILING),
        (wire.Fail(500, retry_after=0.01), Trouble.FAILING),
        (wire.Fail(400, message="no such parameter"), Trouble.FAILING),
        (wire.Garbage(), Trouble.FAILING),
        (wire.Disconnect(), Trouble.UNREACHABLE),
        (wire.Hang(), Trouble.UNREACHABLE),
    ],
)
async def test_the_offline_model_is_told_why_it_answers(
    server: ModelServer, offline: ScriptedModel, reply: wire.Reply, trouble: Trouble
) -> None:
    server.default = lambda _: reply
    async with catalog(server, offline, limits=Limits(attempt=1, silence=0.5, chain=2, tries=1)) as models:
        await last(models.model("openai:scripted"))
    assert offline.requests[0].failed == (FailedModel("openai:scripted", trouble),)


async def test_the_standing_of_every_model_is_known(server: ModelServer, offline: ScriptedModel) -> None:
    async with catalog(server, offline, "openai:second", key="sk-wrong-key-of-a-test") as models:
        await last(models.model("openai:scripted"))
        found = models.health(["openai:scripted", "offline", "openai:scripted", "groq:x"])
    assert [health.model for health in found] == ["openai:scripted", "groq:x", "openai:second"]
    assert [health.state for health in found] == [State.REFUSED, State.UNUSABLE, State.REFUSED]
    assert "HTTP 401 invalid_api_key" in found[0].words
    assert "OPENAI_API_KEY" in found[0].words
    assert "GROQ_API_KEY" in found[1].words
    assert "sk-wrong" not in repr(found)


async def test_a_small_model_s_written_call_is_understood(server: ModelServer, offline: ScriptedModel) -> None:
    server.script(wire.Answer('{"name": "recall", "arguments": {"query": "x"}}', chunks=3))
    request = type(HELLO)("Be brief.", HELLO.messages, (ToolSpec("recall", "Search.", {"type": "object"}),))
    async with catalog(server, offline) as models:
        answer = await last(models.model("openai:scripted"), request)
    assert [(call.name, call.arguments) for call in answer.calls] == [("recall", '{"query": "x"}')]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt-5", r'model "gpt-5": expected "offline" or "provider:model", with one of: openai, anthropic'),
        ("openia:gpt-5", "expected"),
        ("openai:", "expected"),
        ("anthropic:claude-haiku-4-5", r"ANTHROPIC_API_KEY: not set; expected a key"),
        ("mistral:large", r"MISTRAL_API_KEY: not set; expected a key"),
    ],
)
async def test_wrong_names_and_missing_keys_are_told(
    server: ModelServer, offline: ScriptedModel, name: str, words: str
) -> None:
    async with catalog(server, offline) as models:
        with pytest.raises(ConfigError, match=words):
            models.model(name)
        with pytest.raises(ConfigError, match=words):
            await models.get(name)
    with pytest.raises(ConfigError, match=words):
        ModelCatalog(fallback=[name], keys={}, base_urls={}, offline=offline, limits=LIMITS)


async def test_a_server_of_one_s_own_needs_no_key(offline: ScriptedModel) -> None:
    models = ModelCatalog(keys={}, base_urls={"openai": "http://127.0.0.1:9/v1"}, offline=offline, limits=LIMITS)
    answer = await last(models.model("openai:local"))
    assert "no connection to its server" in answer.degraded
    await models.aclose()
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        ModelCatalog(keys={}, base_urls={}, offline=offline, limits=LIMITS).model("openai:gpt-5")


@pytest.mark.parametrize("key", ["sk-é", "sk-a\n", "sk a"])
def test_a_key_that_cannot_be_sent_is_told_without_quoting_it(offline: ScriptedModel, key: str) -> None:
    models = ModelCatalog(keys={"openai": key}, base_urls={}, offline=offline, limits=LIMITS)
    with pytest.raises(ConfigError, match=r"^OPENAI_API_KEY: expected ASCII characters") as caught:
        models.model("openai:gpt-5")
    assert key not in str(caught.value)


UNLOADED = """
import sys
from bot.models.catalog import ModelCatalog
from bot.models.base import Limits
models = ModelCatalog(keys={"openai": "k"}, base_urls={}, offline=None, limits=Limits())
models.model("openai:gpt-5")
print([name for name in ("pydantic_ai", "openai", "anthropic", "httpx2") if name in sys.modules])
"""


def test_no_library_is_loaded_before_a_model_is_asked() -> None:
    done = subprocess.run([sys.executable, "-c", UNLOADED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_a_server_that_refuses_is_told_soon_after_all_attempts(
    offline: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = 0

    async def refusing(*_given: object, **_more: object) -> None:
        nonlocal tried
        tried += 1
        raise ConnectionRefusedError

    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", refusing)
    models = ModelCatalog(
        keys={}, base_urls={"openai": "http://127.0.0.1:9/v1"}, offline=offline, limits=Limits(tries=4)
    )
    model = await models.get("openai:x")
    began = asyncio.get_running_loop().time()
    answer = await last(model)
    assert asyncio.get_running_loop().time() - began < 3
    assert (tried, answer.degraded) == (4, "openai:x: no connection to its server")
    await models.aclose()


async def test_a_server_that_is_not_reached_is_not_waited_for_as_long_as_one_that_thinks(
    offline: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.models.http_model._CONNECT_SECONDS", 0.2)
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):  # nobody accepts them, so there is no room for more
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            with suppress(BlockingIOError):
                waiting.connect(server.getsockname())
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        models = ModelCatalog(keys={}, base_urls={"openai": url}, offline=offline, limits=Limits(tries=1))
        async with asyncio.timeout(20):
            answer = await last(await models.get("openai:x"))
        assert answer.degraded == "openai:x: no connection to its server"
        await models.aclose()
