"""A Jetstream server over real websockets: posts as they are made, from a cursor on, for those who are asked for."""

import asyncio
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web

if TYPE_CHECKING:
    from tests.wire.bluesky.world import Post

Json = dict[str, Any]
POSTS = "app.bsky.feed.post"

METHOD = "network.bsky.jetstream.subscribeEvents"


class Jetstream:
    """Everything that was made, by a number, and who reads it now."""

    def __init__(self) -> None:
        self.events: list[Json] = []
        self.asked: list[Json] = []
        """The query of every connection."""
        self.refusals = 0
        """Connections that are refused next with 503."""
        self.floor = 1
        """The oldest number that is kept."""
        self._readers: dict[web.WebSocketResponse, asyncio.Event] = {}

    def note(self, post: "Post") -> None:
        self.send(post.author.did, post.uri.rpartition("/")[2], post.cid, post.record)

    def send(self, did: str, key: str, cid: str, record: Json | None, operation: str = "create") -> None:
        event: Json = {"$type": f"{METHOD}#commit", "did": did, "collection": POSTS, "rkey": key, "cid": cid}
        event |= {
            "record": record,
            "operation": operation,
            "time": datetime.now(UTC).isoformat(),
            "seq": len(self.events) + 1,
        }
        self.events.append(event)
        for news in self._readers.values():
            news.set()

    @property
    def readers(self) -> int:
        return len(self._readers)

    async def cut(self) -> None:
        """Break every connection."""
        for reader in list(self._readers):
            await reader.close(code=1012)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append({key: request.query.getall(key) for key in request.query})
        if self.refusals:
            self.refusals -= 1
            raise web.HTTPServiceUnavailable
        stream = web.WebSocketResponse(protocols=("xrpc.v1.json",))
        await stream.prepare(request)
        assert stream.ws_protocol == "xrpc.v1.json"
        cursor = int(request.query.get("cursor", 0)) or len(self.events) + 1
        if cursor < self.floor:
            await stream.send_json({"$type": "error", "error": "CursorTooOld"})
            await stream.close()
            return stream
        if cursor > len(self.events) + 1:
            await stream.send_json({"$type": "message", "payload": {"$type": f"{METHOD}#info", "name": "FutureCursor"}})
            cursor = len(self.events) + 1
        news = self._readers[stream] = asyncio.Event()
        reading = asyncio.create_task(self._until_closed(stream, news))
        try:
            await self._tell(stream, news, cursor, set(request.query.getall("dids", [])))
        finally:
            del self._readers[stream]
            reading.cancel()
        return stream

    async def _tell(self, stream: web.WebSocketResponse, news: asyncio.Event, cursor: int, dids: set[str]) -> None:
        while not stream.closed:
            for event in self.events[cursor - 1 :]:
                cursor = event["seq"] + 1
                if not dids or event["did"] in dids:
                    await stream.send_str(json.dumps({"$type": "message", "payload": event}))
            await news.wait()
            news.clear()

    async def _until_closed(self, stream: web.WebSocketResponse, news: asyncio.Event) -> None:
        async for frame in stream:
            assert frame.type is not WSMsgType.TEXT, "nobody speaks to this server"
        news.set()
