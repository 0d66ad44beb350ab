"""A scripted server that speaks Anthropic's Messages API, as far as the bot uses it."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aiohttp import web
from aiohttp.test_utils import TestServer

Json: TypeAlias = dict[str, Any]
KEY = "sk-ant-tests"


@dataclass(frozen=True)
class Says:
    """Content blocks, and why it stopped; with `stop` None the stream ends without a reason."""

    blocks: Sequence[Json]
    stop: str | None = "end_turn"
    tokens: Json = field(default_factory=lambda: {"input_tokens": 100, "output_tokens": 5})


@dataclass(frozen=True)
class Refuses:
    """An error, before the stream or, with `started`, within it."""

    status: int
    kind: str
    message: str = "scripted failure"
    started: bool = False


def text(content: str) -> Json:
    return {"type": "text", "text": content}


def call(call_id: str, name: str, values: Json) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": values}


def stream_of(reply: Says | Refuses, model: str) -> list[Json]:
    usage = reply.tokens if isinstance(reply, Says) else {"input_tokens": 1, "output_tokens": 1}
    message: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "usage": usage,
    }
    events: list[Json] = [{"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}}]
    if isinstance(reply, Refuses):
        return [*events, {"type": "error", "error": {"type": reply.kind, "message": reply.message}}]
    for index, block in enumerate(reply.blocks):
        events += block_events(index, block)
    if reply.stop:
        delta = {"stop_reason": reply.stop, "stop_sequence": None}
        events += [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]
    return events


def block_events(index: int, block: Json) -> list[Json]:
    if (key := block["type"]) in ("text", "thinking"):
        empty, content = block | {key: ""}, block[key]
    else:
        empty, key, content = block | {"input": {}}, "partial_json", json.dumps(block["input"])
    kind = "input_json_delta" if key == "partial_json" else f"{key}_delta"
    halves = filter(None, (content[: len(content) // 2], content[len(content) // 2 :]))
    deltas = [{"type": "content_block_delta", "index": index, "delta": {"type": kind, key: half}} for half in halves]
    start = {"type": "content_block_start", "index": index, "content_block": empty}
    return [start, *deltas, {"type": "content_block_stop", "index": index}]


class AnthropicServer:
    def __init__(self) -> None:
        self.base_url = ""
        self.script: list[Says | Refuses] = []
        self.requests: list[Json] = []

    @classmethod
    @asynccontextmanager
    async def start(cls) -> AsyncIterator["AnthropicServer"]:
        server = cls()
        app = web.Application()
        app.router.add_post("/v1/messages", server._respond)
        async with TestServer(app) as running:
            server.base_url = str(running.make_url("")).rstrip("/")
            yield server

    async def _respond(self, http: web.Request) -> web.Response:
        body = await http.json()
        self.requests.append(body)
        granted = http.headers.get("x-api-key") == KEY and "anthropic-version" in http.headers
        reply = self.script.pop(0) if granted else Refuses(401, "authentication_error", "invalid key")
        if isinstance(reply, Refuses) and not reply.started:
            error = {"type": "error", "error": {"type": reply.kind, "message": reply.message}}
            return web.json_response(error, status=reply.status, headers={"retry-after": "3"})
        lines = (f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in stream_of(reply, body["model"]))
        return web.Response(text="".join(lines), content_type="text/event-stream")
