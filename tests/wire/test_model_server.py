"""What the scripted model refuses, as a provider does; tests/bot/models has every answer and fault with our client."""

from typing import Any

import aiohttp
import pytest

from tests.wire.model import Answer, ModelServer, Reply, Request

ASKED = {"role": "user", "content": "Hello?"}
FUNCTION = {"name": "recall", "arguments": "{}"}
CALLED = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}]}
GIVEN = {"role": "tool", "tool_call_id": "c1", "content": "nothing found"}


async def status(server: ModelServer, *messages: dict[str, Any]) -> int:
    """What a request with these messages is answered with."""
    headers = {"Authorization": f"Bearer {server.api_key}"}
    body = {"model": "scripted", "messages": messages}
    async with (
        aiohttp.ClientSession(headers=headers) as http,
        http.post(f"{server.base_url}/chat/completions", json=body) as answer,
    ):
        return answer.status


@pytest.mark.parametrize("history", [(ASKED, CALLED, ASKED), (ASKED, CALLED), (ASKED, GIVEN)])
async def test_a_history_that_a_provider_would_refuse_is_refused(history: tuple[dict[str, Any], ...]) -> None:
    async with ModelServer.start() as server:
        assert await status(server, ASKED) == 400, "nothing is scripted"
        server.script(Answer("kept"))
        assert await status(server, *history) == 400
        assert await status(server, ASKED, CALLED, GIVEN) == 200
        assert [bool(request.problem) for request in server.requests] == [False, True, False]


async def test_an_exception_in_a_rule_ends_the_test() -> None:
    def fail(_request: Request) -> Reply:
        raise AssertionError("wrong prompt")

    async def run() -> None:
        async with ModelServer.start() as server:
            server.default = fail
            assert await status(server, ASKED) == 500

    with pytest.raises(AssertionError, match="wrong prompt"):
        await run()
