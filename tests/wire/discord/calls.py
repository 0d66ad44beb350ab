"""One REST request on its way in, and the answers a route can give."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

from aiohttp import BodyPartReader, MultipartReader, web

from tests.wire.discord.errors import refuse
from tests.wire.discord.messages import Json


@dataclass(frozen=True)
class SentFile:
    field: str
    filename: str
    data: bytes


@dataclass(eq=False)
class Request:
    """A request as it is kept for tests: `path` without /api/v10, `status` once answered."""

    method: str
    path: str
    template: str
    query: dict[str, str]
    params: dict[str, str]
    json: Any = None
    files: list[SentFile] = field(default_factory=list)
    token: str | None = None
    status: int | None = None
    answer: Any = None
    at: float = field(default_factory=time.monotonic)

    def id(self, name: str) -> int:
        text = self.params[name]
        if not text.isdecimal():
            raise refuse(10003 if name == "channel_id" else 10008 if name == "message_id" else 10015)
        return int(text)

    @property
    def body(self) -> Json:
        return self.json if isinstance(self.json, dict) else {}


@dataclass(frozen=True)
class Reply:
    """An answer with a status other than 200."""

    status: int
    json: Any = None


NO_CONTENT = Reply(204)

Answer = Json | list[Json] | Reply


async def read(request: web.Request, template: str) -> Request:
    """The request with its body, JSON or multipart."""
    call = Request(
        method=request.method,
        path=request.path.removeprefix("/api/v10"),
        template=template,
        query=dict(request.query),
        params=dict(request.match_info),
        token=request.headers.get("Authorization"),
    )
    if request.content_type == "multipart/form-data":
        await _read_parts(call, await request.multipart())
    elif request.can_read_body and (text := await request.text()):
        call.json = json.loads(text)
    return call


async def _read_parts(call: Request, reader: MultipartReader) -> None:
    async for part in reader:
        assert isinstance(part, BodyPartReader)
        data = bytes(await part.read())
        if part.name == "payload_json":
            call.json = json.loads(data)
        else:
            call.files.append(SentFile(part.name or "", part.filename or "", data))
