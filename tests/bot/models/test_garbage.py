"""A server that sends JSON of another shape than agreed: an error of ours or an answer, never anything else."""

import json
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from bot.models.base import Access, Answer, Event, Limits, ModelBusy, ModelError, ModelGarbage
from bot.models.chat_completions import connect
from tests.bot.models.scripted import events


def choice(delta: object, finish: object = "stop") -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


STREAMS: list[object] = [
    [1, 2],
    "x",
    5,
    None,
    {},
    {"choices": 5},
    {"choices": [5]},
    choice(5),
    choice({"content": {"a": 1}}),
    choice({"tool_calls": [{"index": "z", "function": 5}]}),
    choice({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "recall", "arguments": {"q": 1}}}]}),
    choice({"content": "hi"}, "eos_token"),
    choice({"content": "hi"}, 7),
    {"error": "plain"},
    {"error": {"message": "boom", "code": 500}},
]
BODIES = [
    *(b"data: " + json.dumps(event).encode() + b"\n\ndata: [DONE]\n\n" for event in STREAMS),
    b"data: \xff\xfe\n\n",
    b"\xff\xfe\x00",
    b"",
]


@pytest.fixture
async def base_url() -> AsyncIterator[str]:
    async def respond(http: web.Request) -> web.Response:
        number = int((await http.json())["model"])
        encoding = {"Content-Encoding": "gzip"} if number == len(BODIES) else {}
        body = BODIES[number] if number < len(BODIES) else b"not gzip"
        return web.Response(body=body, headers={"Content-Type": "text/event-stream", **encoding})

    app = web.Application()
    app.router.add_post("/chat/completions", respond)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("number", range(len(BODIES) + 1))
async def test_other_shapes_are_garbage_or_answers(base_url: str, number: int) -> None:
    model = connect(Access(f"openai:{number}", Limits(attempt=5, silence=2), "key", base_url))
    async with model.provider:
        found: Event | ModelError
        try:
            found = (await events(model))[-1]
        except (ModelGarbage, ModelBusy) as error:
            found = error
    assert isinstance(found, Answer | ModelGarbage | ModelBusy)
