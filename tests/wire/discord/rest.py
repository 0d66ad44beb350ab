"""The REST side: every route, and the way each request goes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any, assert_never

from aiohttp import web

from tests.wire import UNSERVED
from tests.wire.discord import routes
from tests.wire.discord.calls import Answer, Reply, Request, read
from tests.wire.discord.checker import Checker
from tests.wire.discord.errors import DiscordError, refuse
from tests.wire.discord.faults import Delay, Effect, Failure, Faults, Hang, Odd, RateLimit, Unanswered
from tests.wire.discord.world import World

Route = Callable[[World, Request], Answer]

_CHANNEL = "/channels/{channel_id}"
_MESSAGE = _CHANNEL + "/messages/{message_id}"
_APP = "/applications/{application_id}"
_HOOK = "/webhooks/{webhook_id}/{webhook_token}"

ROUTES: list[tuple[str, str, Route]] = [
    ("GET", "/gateway", routes.gateway),
    ("GET", "/gateway/bot", routes.gateway_bot),
    ("GET", "/applications/@me", routes.application),
    ("GET", "/oauth2/applications/@me", routes.application),
    ("GET", "/users/@me", routes.me),
    ("GET", "/users/@me/guilds", routes.my_guilds),
    ("POST", "/users/@me/channels", routes.open_direct),
    ("GET", "/users/{user_id}", routes.user),
    ("GET", "/guilds/{guild_id}/members/{user_id}", routes.member),
    ("GET", _CHANNEL, routes.channel),
    ("POST", _CHANNEL + "/typing", routes.typing),
    ("GET", _CHANNEL + "/messages", routes.history),
    ("POST", _CHANNEL + "/messages", routes.create_message),
    ("GET", _MESSAGE, routes.get_message),
    ("PATCH", _MESSAGE, routes.edit_message),
    ("DELETE", _MESSAGE, routes.delete_message),
    ("POST", _MESSAGE + "/threads", routes.thread_from_message),
    ("GET", _CHANNEL + "/webhooks", routes.webhooks_of),
    ("POST", _CHANNEL + "/webhooks", routes.create_webhook),
    ("POST", _HOOK, routes.execute),
    ("PATCH", _HOOK + "/messages/@original", routes.edit_original),
    ("PATCH", _HOOK + "/messages/{message_id}", routes.edit_by_webhook),
    ("DELETE", _HOOK + "/messages/{message_id}", routes.delete_by_webhook),
    ("PUT", _APP + "/commands", routes.set_commands),
    ("POST", "/interactions/{interaction_id}/{interaction_token}/callback", routes.callback),
]


class Rest:
    """Serves the routes, with faults in front and the checks around."""

    def __init__(self, world: World, token: str, checker: Checker | None) -> None:
        self.world = world
        self.token = token
        self.checker = checker
        self.faults: Faults | None = None
        self.requests: list[Request] = []
        self.unserved: list[str] = []

    def application(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        for method, template, route in ROUTES:
            app.router.add_route(method, "/api/v10" + template, self._serve(template, route))
        app.router.add_route("GET", "/cdn/attachments/{channel_id}/{attachment_id}/{filename}", self._file)
        app.router.add_route("*", "/{rest:.*}", self._unknown)
        return app

    def _serve(self, template: str, route: Route) -> Callable[[web.Request], Any]:
        async def serve(request: web.Request) -> web.StreamResponse:
            call = await read(request, template)
            self.requests.append(call)
            self.world.changes.notify()
            effect = self.faults.take(call.method, call.path) if self.faults else None
            early = None if _applies(effect) else await self._refrain(request, effect)
            if early is not None:
                call.status = early.status
                self.world.changes.notify()
                return early
            reply = await self._apply(call, route)
            call.status, call.answer = reply.status, reply.json
            self.world.changes.notify()
            await self._after(request, effect)
            return _json(200, {}, request.path) if isinstance(effect, Odd) else _respond(call, reply)

        return serve

    async def _apply(self, call: Request, route: Route) -> Reply:
        try:
            self._authorize(call)
            await self._check(call, None)
            answer = route(self.world, call)
            reply = answer if isinstance(answer, Reply) else Reply(200, answer)
        except DiscordError as error:
            return Reply(error.status, error.body())
        except Exception as error:
            self._lack(f"{call.method} {call.path}: {error!r}")
            raise
        await self._check(call, reply)
        return Reply(reply.status, json.loads(json.dumps(reply.json)))

    async def _check(self, call: Request, reply: Reply | None) -> None:
        """All commands are too much to check before others are answered: a bot listens while it registers them."""
        if self.checker is None:
            return
        check = partial(self.checker.check_answer, call, reply) if reply else partial(self.checker.check_request, call)
        if call.method == "PUT" and call.template.endswith("/commands"):
            await asyncio.to_thread(check)
        else:
            check()

    def _authorize(self, call: Request) -> None:
        tokened = call.template.startswith((_HOOK, "/interactions/"))
        if not tokened and call.token != f"Bot {self.token}":
            raise refuse(0)

    async def _refrain(self, request: web.Request, effect: Effect | None) -> web.Response | None:
        """The effects that come instead of, or before, doing what was asked."""
        match effect:
            case RateLimit():
                return _limited(effect)
            case Failure(status, code):
                return _json(status, {"code": code, "message": f"{status}: injected"}, request.path)
            case Odd():
                return _json(200, {}, request.path)
            case Unanswered():
                _cut(request)
                return web.Response(status=500)
            case Delay(seconds):
                await asyncio.sleep(seconds)
            case Hang():
                await self._hang()
            case None:
                pass
            case _:
                assert_never(effect)
        return None

    async def _after(self, request: web.Request, effect: Effect | None) -> None:
        """The effects that come after doing what was asked."""
        match effect:
            case Unanswered(applied=True):
                _cut(request)
            case Hang(applied=True):
                await self._hang()

    async def _hang(self) -> None:
        if self.faults is not None:
            await self.faults.released()

    async def _file(self, request: web.Request) -> web.StreamResponse:
        """An attachment's bytes."""
        found = self.world.files.get(int(request.match_info["attachment_id"]))
        if found is None:
            return web.Response(status=404)
        await asyncio.sleep(found.delay)
        kind = found.content_type or "application/octet-stream"
        body = found.data if found.status == 200 else b""
        return web.Response(status=found.status, body=body, headers={"Content-Type": kind})

    def _lack(self, asked: str) -> None:
        self.unserved.append(asked)
        if "/xrpc/" not in asked:  # a Bluesky client of another test, at a port that its own server gave back
            UNSERVED.append(asked)
            self.world.changes.notify()

    async def _unknown(self, request: web.Request) -> web.StreamResponse:
        self._lack(f"{request.method} {request.path}")
        return _json(404, {"code": 0, "message": "404: Not Found"}, request.path)


def _applies(effect: Effect | None) -> bool:
    """Whether the effect lets the request happen before it strikes."""
    return effect is None or (isinstance(effect, Unanswered | Hang | Odd) and effect.applied)


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _respond(call: Request, reply: Reply) -> web.Response:
    if reply.status == 204:
        return web.Response(status=204, headers=_bucket(call.template))
    return _json(reply.status, reply.json, call.template)


def _json(status: int, body: Any, template: str) -> web.Response:
    headers = _bucket(template) | {"Content-Type": "application/json"}
    return web.Response(status=status, body=json.dumps(body).encode(), headers=headers)


def _bucket(template: str) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": "1000",
        "X-RateLimit-Remaining": "999",
        "X-RateLimit-Reset": f"{time.time() + 1:.3f}",
        "X-RateLimit-Reset-After": "1.000",
        "X-RateLimit-Bucket": f"{hash(template) & 0xFFFFFFFF:08x}",
    }


def _limited(effect: RateLimit) -> web.Response:
    seconds = round(effect.retry_after, 3)
    headers = {
        "Content-Type": "application/json",
        "Retry-After": str(max(1, round(seconds))),
        "Via": "1.1 test",
        "X-RateLimit-Scope": effect.scope,
        "X-RateLimit-Limit": "5",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": f"{time.time() + seconds:.3f}",
        "X-RateLimit-Reset-After": str(seconds),
    }
    body = {"message": "You are being rate limited.", "retry_after": seconds, "global": False}
    return web.Response(status=429, body=json.dumps(body).encode(), headers=headers)
