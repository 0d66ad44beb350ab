"""The server's calls: XRPC over HTTP, with sessions, pages, refusals, and faults that a test orders."""

import asyncio
import base64
import hashlib
import itertools
import json
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

from aiohttp import web

from tests.wire import PATIENCE
from tests.wire.bluesky.chat import Chat
from tests.wire.bluesky.jetstream import METHOD
from tests.wire.bluesky.world import Invalid, Json, Post, User, World

_SERIAL = itertools.count(1)


class BlueskyServer(World):
    """A server with everybody's account on it. `url` is what BLUESKY_SERVICE names."""

    def __init__(self) -> None:
        super().__init__()
        self.url = ""
        self.chat = Chat()
        self.calls: list[str] = []
        """Every call that was answered or refused, by its method."""
        self.faults: dict[str, deque[int | str]] = {}
        """By method: statuses to answer instead, "after" to do it and break the connection, "hang" to say nothing."""
        self.headers: dict[str, dict[str, str]] = {}
        """Headers of faulty answers, by method."""
        self.page = 50
        self.limits: list[int] = []
        """How many notifications were asked for, each time."""
        self.revoked: set[str] = set()
        self.expired: set[str] = set()
        self.problems: list[str] = []
        self._tokens: dict[str, tuple[str, str]] = {}
        self._changed = asyncio.Condition()

    @classmethod
    @asynccontextmanager
    async def start(cls) -> AsyncIterator[Self]:
        server = cls()
        app = web.Application()
        app.router.add_get(f"/xrpc/{METHOD}", server.jetstream.answer)
        app.router.add_route("*", "/xrpc/{method}", server._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield server
        finally:
            await server.jetstream.cut()
            await runner.cleanup()

    def fail(self, method: str, *outcomes: int | str, headers: dict[str, str] | None = None) -> None:
        """Answer the next calls of a method so."""
        self.faults.setdefault(method, deque()).extend(outcomes)
        self.headers[method] = headers or {}

    def count(self, method: str) -> int:
        return Counter(self.calls)[method]

    async def until(self, true: Callable[[], object], within: float = PATIENCE) -> None:
        """Wait until something holds, looking after every call."""
        async with asyncio.timeout(within), self._changed:
            await self._changed.wait_for(lambda: bool(true()))

    async def wait_for_post(self, author: User, after: int = 0, within: float = PATIENCE) -> Post:
        """The post of somebody that comes after so many."""
        await self.until(lambda: len(author.posts) > after, within)
        return author.posts[after]

    # ------------------------------------------------------------------ calls

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        faults = self.faults.get(method)
        fault = faults.popleft() if faults else None
        try:
            if fault == "hang":
                await asyncio.sleep(60)
            if isinstance(fault, int):
                body = {"error": "Ordered", "message": "as the test ordered"}
                return web.json_response(body, status=fault, headers=self.headers.get(method))
            data = await self._done(method, request)
            if fault == "after":
                assert request.transport is not None
                request.transport.abort()
            return web.json_response(data)
        except Invalid as why:
            return web.json_response({"error": why.error, "message": str(why)}, status=why.status)
        finally:
            async with self._changed:
                self.calls.append(method)
                self._changed.notify_all()

    async def _done(self, method: str, request: web.Request) -> Json:
        if method == "com.atproto.repo.uploadBlob":
            return self.upload_blob(self._who(_bearer(request)), await request.read(), request.content_type)
        if method.startswith("chat.bsky.convo."):
            given = await request.json() if request.method == "POST" else _query(request)
            proxy = request.headers.get("atproto-proxy", "")
            return self.chat.answer(self, method, self._who(_bearer(request)), given, proxy)
        handler = _CALLS.get(method)
        if handler is None:
            self.problems.append(f"nobody answers {method}")
            raise Invalid("MethodNotImplemented", "Method Not Implemented", 501)
        body = await request.json() if request.method == "POST" and request.can_read_body else {}
        if body and request.content_type != "application/json":
            raise Invalid("InvalidRequest", "Request encoding (Content-Type) required but not provided")
        if method.startswith("com.atproto.server."):
            return handler(self, None, {"token": _bearer(request), **body})
        return handler(self, self._who(_bearer(request)), body or _query(request))

    def _who(self, token: str) -> User:
        did, kind = self._tokens.get(token, ("", ""))
        if kind != "access":
            raise Invalid("AuthMissing", "Authentication Required", 401)
        if token in self.expired:
            raise Invalid("ExpiredToken", "Token has expired")
        return self.users[did]

    def session(self, user: User) -> Json:
        tokens = {kind: _token(user.did, kind) for kind in ("access", "refresh")}
        self._tokens |= {token: (user.did, kind) for kind, token in tokens.items()}
        return {
            "did": user.did,
            "handle": user.handle,
            "accessJwt": tokens["access"],
            "refreshJwt": tokens["refresh"],
            "active": True,
        }

    def expire(self) -> None:
        """Let every access token that was given run out."""
        self.expired |= {token for token, (_, kind) in self._tokens.items() if kind == "access"}

    def revoke(self) -> None:
        """Take every session back."""
        self.expire()
        self.revoked |= set(self._tokens)

    def create_session(self, _user: User | None, data: Json) -> Json:
        found = next((u for u in self.users.values() if data["identifier"] in (u.handle, u.did)), None)
        if found is None or found.password != data["password"]:
            raise Invalid("AuthenticationRequired", "Invalid identifier or password", 401)
        if found.taken_down:
            raise Invalid("AccountTakedown", "Account has been taken down", 401)
        return self.session(found)

    def refresh_session(self, _user: User | None, data: Json) -> Json:
        did, kind = self._tokens.get(data["token"], ("", ""))
        if kind != "refresh" or data["token"] in self.revoked:
            raise Invalid("ExpiredToken", "Token has been revoked")
        self.revoked.add(data["token"])
        return self.session(self.users[did])

    def list_notifications(self, user: User, data: Json) -> Json:
        reasons = set(data.get("reasons", ()))
        found = [each for each in self.notifications(user) if not reasons or each["reason"] in reasons]
        self.limits.append(int(data["limit"][0]))
        limit, start = min(int(data["limit"][0]), self.page), int(data.get("cursor", ["0"])[0])
        page = {"notifications": found[start : start + limit]}
        return {**page, "cursor": str(start + limit)} if len(found) > start + limit else page

    def get_thread(self, user: User, data: Json) -> Json:
        post = self.posts.get(data["uri"][0])
        if post is None:
            raise Invalid("NotFound", "Post not found")
        depth, height = int(data["depth"][0]), int(data["parentHeight"][0])
        return {"thread": self.thread_view(post, user, depth, height)}

    def get_posts(self, user: User, data: Json) -> Json:
        found = [self.posts[uri] for uri in data["uris"] if uri in self.posts]
        return {"posts": [self.post_view(each, user) for each in found]}

    def create_record(self, user: User, data: Json) -> Json:
        post = self.create(self.named(data["repo"]), data["collection"], data["rkey"], data["record"])
        if post.author is not user:
            raise Invalid("InvalidRequest", "not your repo", 403)
        return post.reference

    def upload_blob(self, user: User, content: bytes, content_type: str) -> Json:
        link = "bafk" + hashlib.sha256(content).hexdigest()[:48]
        user.blobs[link] = content
        return {"blob": {"$type": "blob", "ref": {"$link": link}, "mimeType": content_type, "size": len(content)}}

    def put_record(self, user: User, data: Json) -> Json:
        user.records.pop((data["collection"], data["rkey"]), None)
        return self.create(user, data["collection"], data["rkey"], data["record"]).reference

    def get_record(self, user: User, data: Json) -> Json:
        owner = self.named(data["repo"][0])
        found = owner.records.get((data["collection"][0], data["rkey"][0]))
        if found is None:
            raise Invalid("RecordNotFound", "Could not locate record")
        return found

    def delete_record(self, user: User, data: Json) -> Json:
        post = self.posts.get(f"at://{user.did}/{data['collection']}/{data['rkey']}")
        if post is not None:
            post.delete()
        user.records.pop((data["collection"], data["rkey"]), None)
        return {}

    def resolve_handle(self, _user: User, data: Json) -> Json:
        return {"did": self.named(data["handle"][0]).did}

    def get_profile(self, user: User, data: Json) -> Json:
        return self.author_view(self.named(data["actor"][0]), user)

    def get_list(self, user: User, data: Json) -> Json:
        members, start = self.lists[data["list"][0]], int(data.get("cursor", ["0"])[0])
        shown = members[start : start + self.page]
        page: Json = {"items": [{"subject": self.author_view(each, user)} for each in shown]}
        return {**page, "cursor": str(start + self.page)} if len(members) > start + self.page else page

    def get_feed(self, user: User, data: Json) -> Json:
        """What a feed shows: of everybody, of a list's members, of one account, or of those who are followed."""
        authors = set(self.users)
        if "list" in data:
            authors = {each.did for each in self.lists[data["list"][0]]}
        elif "actor" in data:
            authors = {self.named(data["actor"][0]).did}
        elif "feed" not in data:
            follows = [each["value"] for (kind, _), each in user.records.items() if kind == "app.bsky.graph.follow"]
            authors = {each["subject"] for each in follows}
        found = [each for each in self.posts.values() if each.author.did in authors]
        newest = list(reversed(found))[: int(data["limit"][0])]
        return {"feed": [{"post": self.post_view(each, user)} for each in newest]}

    def search_posts(self, user: User, data: Json) -> Json:
        words = data["q"][0].casefold()
        found = [each for each in self.posts.values() if words in each.text.casefold()]
        newest = list(reversed(found))[: int(data["limit"][0])]
        return {"posts": [self.post_view(each, user) for each in newest]}


_CALLS: dict[str, Callable[..., Json]] = {
    "com.atproto.server.createSession": BlueskyServer.create_session,
    "com.atproto.server.refreshSession": BlueskyServer.refresh_session,
    "app.bsky.notification.listNotifications": BlueskyServer.list_notifications,
    "app.bsky.feed.getPostThread": BlueskyServer.get_thread,
    "app.bsky.feed.getPosts": BlueskyServer.get_posts,
    "app.bsky.feed.searchPosts": BlueskyServer.search_posts,
    "app.bsky.feed.getFeed": BlueskyServer.get_feed,
    "app.bsky.feed.getListFeed": BlueskyServer.get_feed,
    "app.bsky.feed.getAuthorFeed": BlueskyServer.get_feed,
    "app.bsky.feed.getTimeline": BlueskyServer.get_feed,
    "app.bsky.graph.getList": BlueskyServer.get_list,
    "app.bsky.actor.getProfile": BlueskyServer.get_profile,
    "com.atproto.repo.createRecord": BlueskyServer.create_record,
    "com.atproto.repo.putRecord": BlueskyServer.put_record,
    "com.atproto.repo.getRecord": BlueskyServer.get_record,
    "com.atproto.repo.deleteRecord": BlueskyServer.delete_record,
    "com.atproto.identity.resolveHandle": BlueskyServer.resolve_handle,
}


def _query(request: web.Request) -> Json:
    return {key: request.query.getall(key) for key in request.query}


def _bearer(request: web.Request) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def _token(did: str, kind: str) -> str:
    """What looks like a token of the real server, so that the library can read when it runs out."""
    claims: dict[str, Any] = {"sub": did, "scope": f"com.atproto.{kind}", "jti": str(next(_SERIAL))}
    claims |= {"iat": int(time.time()), "exp": int(time.time()) + 7_200}
    parts = [{"alg": "none", "typ": "JWT"}, claims]
    return ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts), "c2ln"]
    )
