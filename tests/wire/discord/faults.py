"""What a test can make go wrong, at run time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from aiohttp import web

from tests.wire import bound
from tests.wire.discord.gateway import Gateway, Handshake, Session


@dataclass(frozen=True)
class RateLimit:
    """Answer 429 without doing anything."""

    retry_after: float
    scope: Literal["user", "shared"] = "user"


@dataclass(frozen=True)
class Failure:
    """Answer with an error without doing anything."""

    status: int
    code: int = 0


@dataclass(frozen=True)
class Unanswered:
    """Cut the connection, before or after doing what was asked."""

    applied: bool


@dataclass(frozen=True)
class Delay:
    """Wait before doing what was asked."""

    seconds: float


@dataclass(frozen=True)
class Hang:
    """Give no answer until the client gives up or the faults are cleared."""

    applied: bool


@dataclass(frozen=True)
class Odd:
    """Answer 200 with what no description allows, having done what was asked or not."""

    applied: bool


Effect = RateLimit | Failure | Unanswered | Delay | Hang | Odd


@dataclass
class Rule:
    """An effect on the next requests that match."""

    method: str
    path: str
    effect: Effect
    times: int
    hits: int = 0

    def take(self, method: str, path: str) -> bool:
        if self.hits >= self.times or not (self.method in ("*", method) and fnmatchcase(path, self.path)):
            return False
        self.hits += 1
        return True


class Listener:
    """An aiohttp application on one port of 127.0.0.1 that can be closed and opened again."""

    def __init__(self, app: web.Application) -> None:
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        self._server: asyncio.Server | None = None
        self._waiting = bound(0)
        self.port: int = self._waiting.getsockname()[1]

    async def start(self) -> None:
        await self._runner.setup()
        await self.open()

    async def open(self) -> None:
        """Listen, on the same port as before if there was one."""
        if self._server is None:
            assert self._runner.server is not None
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(self._runner.server, sock=self._waiting, backlog=128)

    async def shut(self) -> None:
        """Refuse new connections; present ones live on."""
        if self._server is not None:
            self._server.close()
            self._server = None
            self._waiting = bound(self.port)

    def drop(self) -> None:
        """Break the present connections."""
        for protocol in list(self._runner.server.connections if self._runner.server else []):
            if protocol.transport is not None:
                protocol.transport.abort()

    async def stop(self) -> None:
        await self.shut()
        self._waiting.close()
        self.drop()
        await self._runner.cleanup()


class Faults:
    """Failures of REST requests and of the gateway.

    Paths are written without /api/v10 and may hold wildcards: "/channels/*/messages". Each rule works
    on the next `times` matching requests, and counts its `hits`.
    """

    def __init__(self, gateway: Gateway, gateway_door: Listener, rest_door: Listener) -> None:
        self._gateway = gateway
        self._gateway_door = gateway_door
        self._rest_door = rest_door
        self._released = asyncio.Event()
        self.rules: list[Rule] = []

    def rate_limit(
        self, method: str, path: str, retry_after: float = 0.2, *, shared: bool = False, times: int = 1
    ) -> Rule:
        """429 for a route."""
        return self._add(Rule(method, path, RateLimit(retry_after, "shared" if shared else "user"), times))

    def fail(self, method: str, path: str, status: int = 502, *, code: int = 0, times: int = 1) -> Rule:
        """An error answer: 500, 502, 503, 403 with code 50013, ..."""
        return self._add(Rule(method, path, Failure(status, code), times))

    def answer_oddly(self, method: str, path: str, *, applied: bool = False, times: int = 1) -> Rule:
        """200 with nothing, as no client expects it."""
        return self._add(Rule(method, path, Odd(applied), times))

    def cut_after_applying(self, method: str, path: str, *, times: int = 1) -> Rule:
        """Do what is asked, then break the connection instead of answering."""
        return self._add(Rule(method, path, Unanswered(applied=True), times))

    def cut_before_applying(self, method: str, path: str, *, times: int = 1) -> Rule:
        """Break the connection without having done anything."""
        return self._add(Rule(method, path, Unanswered(applied=False), times))

    def delay(self, method: str, path: str, seconds: float, *, times: int = 1) -> Rule:
        """Do what is asked late, and answer then."""
        return self._add(Rule(method, path, Delay(seconds), times))

    def hang(self, method: str, path: str, *, applied: bool = False, times: int = 1) -> Rule:
        """Do not answer, until `clear`."""
        return self._add(Rule(method, path, Hang(applied), times))

    def clear(self) -> None:
        """Forget all rules and let go of everything that hangs."""
        self.rules.clear()
        self._released.set()
        self._released = asyncio.Event()

    def _add(self, rule: Rule) -> Rule:
        self.rules.append(rule)
        return rule

    def take(self, method: str, path: str) -> Effect | None:
        """The effect for this request; used by the server."""
        return next((rule.effect for rule in self.rules if rule.take(method, path)), None)

    async def released(self) -> None:
        await self._released.wait()

    def reconnect(self) -> None:
        """Op 7: ask every connection to come back."""
        self._each(lambda session: _send(session, {"op": 7, "d": None}))

    def invalidate(self) -> None:
        """Op 9: declare every session invalid for good."""

        def tell(session: Session) -> None:
            _send(session, {"op": 9, "d": False})
            del self._gateway.sessions[session.id]

        self._each(tell)

    def close(self, code: int = 4000) -> None:
        """Close every connection with this code; a fatal one also ends the session."""

        def shut(session: Session) -> None:
            if session.connection is not None:
                session.connection.close(code)
            if code in (4004, 4010, 4011, 4012, 4013, 4014):
                del self._gateway.sessions[session.id]

        self._each(shut)

    def cut(self) -> None:
        """Break every gateway connection on the TCP level."""
        for connection in list(self._gateway.connections):
            connection.cut()

    def forget_sessions(self) -> None:
        """Let every RESUME from now on fail, until `keep_sessions`: what is missed meanwhile stays missed."""
        self._gateway.refuse_resume = True

    def keep_sessions(self) -> None:
        self._gateway.refuse_resume = False

    def hold_events(self) -> None:
        """Keep events back on living connections, until `release_events` sends them in one burst."""
        self._each(_hold)

    def release_events(self) -> None:
        for session in self._gateway.sessions.values():
            session.held = False
            session.flush()

    async def refuse_gateway(self) -> None:
        """Accept no new gateway connection (the port is closed), until `accept_gateway`."""
        await self._gateway_door.shut()

    async def accept_gateway(self) -> None:
        await self._gateway_door.open()

    def meet(self, handshake: Handshake) -> None:
        """Meet every new gateway connection like this, until it is "good" again."""
        self._gateway.handshake = handshake

    async def refuse_rest(self) -> None:
        """Close the REST port and every connection to it, until `accept_rest`."""
        await self._rest_door.shut()
        self._rest_door.drop()

    async def accept_rest(self) -> None:
        await self._rest_door.open()

    def _each(self, do: Callable[[Session], None]) -> None:
        for session in self._gateway.live:
            do(session)


def _send(session: Session, packet: dict[str, object]) -> None:
    if session.connection is not None:
        session.connection.send(packet)


def _hold(session: Session) -> None:
    session.held = True
