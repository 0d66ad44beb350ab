"""A server of embeddings over a real socket, which answers by a script."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aiohttp import web

Answer: TypeAlias = Callable[[list[str]], web.Response] | None
"""Made of the texts that were sent; None never answers."""


def numbers(texts: Sequence[str], dimension: int = 4) -> list[list[float]]:
    return [[float(len(text)), 1.0, *([0.0] * (dimension - 2))] for text in texts]


def openai(texts: list[str], dimension: int = 4) -> web.Response:
    rows = [{"index": at, "embedding": each} for at, each in enumerate(numbers(texts, dimension))]
    return web.json_response({"data": rows[::-1]})  # in another order: the index counts


def saying(text: str, status: int = 200, **headers: str) -> Callable[[list[str]], web.Response]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _texts: web.Response(text=text, status=status, headers=named)


def giving(*rows: Any) -> Callable[[list[str]], web.Response]:
    """OpenAI's form, with these as the vectors."""
    data = [{"index": at, "embedding": each} for at, each in enumerate(rows)]
    return lambda _texts: web.Response(text=json.dumps({"data": data}), content_type="application/json")


@dataclass
class EmbeddingServer:
    """`script` is used up first, then `usual` answers."""

    url: str = ""
    usual: Answer = openai
    script: list[Answer] = field(default_factory=list)
    asked: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)
    """Path, body and Authorization of each request."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.asked.append((request.path, body, request.headers.get("Authorization", "")))
        chosen = self.script.pop(0) if self.script else self.usual
        if chosen is None:
            await asyncio.Event().wait()
            raise AssertionError("nobody sets it")
        return chosen(body["input"])


@asynccontextmanager
async def serving() -> AsyncIterator[EmbeddingServer]:
    server, app = EmbeddingServer(), web.Application()
    app.router.add_post("/{path:.*}", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        server.url = f"http://{host}:{port}"
        yield server
    finally:
        await runner.cleanup()
