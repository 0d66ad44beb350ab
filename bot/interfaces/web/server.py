"""The HTTP server, run under the supervisor.

No HTTP library is loaded until somebody connects. If the server cannot start, for example because the port is in use,
the log and the status say so and it retries; the service keeps running.
"""

import asyncio
import importlib
import ipaddress
import socket
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from msgspec import Struct, field

from bot.config import Config
from bot.errors import UserError
from bot.interfaces.web import recent_logs
from bot.interfaces.web.conversations import Talk
from bot.services.idempotent_requests import IdempotentRequests
from bot.services.people.sign_in_links import SignInLinks
from bot.services.people.web_access import WebAccess
from bot.services.served_constellations import Services
from memory.people.audience import Audience
from memory.queue import telemetry
from memory.store.clock import Clock
from memory.store.database import Database
from memory.store.ids import PersonId
from memory.store.logs import Log
from sources.api import ApiEndpoint, ApiSource
from sources.base import Front
from sources.terminal import PERSON, local_name
from texts import _, gettext_lazy, gettext_noop


class PageMarks(Struct):
    """Change marks of page topics; read at most every two seconds, however many clients ask."""

    database: Database
    seconds: float = 2.0
    _marks: dict[str, str] = field(default_factory=dict)
    _read_at: float = float("-inf")
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def current(self) -> dict[str, str]:
        """The marks by topic, and the number of waiting requests under "waiting"."""
        async with self._lock:
            if time.monotonic() - self._read_at >= self.seconds / 2:
                self._marks = await self.database.read(telemetry.marks)
                self._read_at = time.monotonic()
            return dict(self._marks)


_AGAIN_SECONDS = 30.0
_DASHBOARD = gettext_noop("dashboard")
_OFF = gettext_noop("off (listen in [web.server] is empty)")
_NOT_WANTED = gettext_noop("off: only a chat is running; `carina run` starts it")
_log = Log("carina.web")


class WebState(Struct):
    """The address the server is configured for and the one it listens on; `problem` says why it does not."""

    wanted: str
    address: str = ""
    problem: str = ""
    tried: asyncio.Event = field(default_factory=asyncio.Event)

    def words(self) -> str:
        return self.address or (_(self.problem) if self.problem else _("starting"))


class WebParts(Struct, frozen=True):
    """The parts of the web interface that are made first: conversations and the address."""

    front: Front
    source: ApiSource
    listening: WebState

    @classmethod
    def open(cls, config: Config, clock: Clock, *, wanted: bool) -> "WebParts":
        listen = config.web.server.listen
        listening = WebState(listen, problem="" if listen else _OFF) if wanted else WebState("", problem=_NOT_WANTED)
        source = ApiSource(PERSON, config.constellation.owner or local_name(), clock)
        return cls(Front(source, ApiEndpoint(), None, None, words={_DASHBOARD: listening.words}), source, listening)


class WebServer(Struct, frozen=True):
    """The dashboard and the API of one constellation."""

    config: Config
    parts: WebParts
    links: SignInLinks
    access: WebAccess
    talk: Talk
    services: Services
    clock: Clock
    marks: PageMarks
    once: IdempotentRequests
    other_audiences: Callable[[PersonId], tuple[Audience, ...]]
    """The audiences of direct messages with a person's other accounts."""

    async def run(self) -> None:
        """Serve until cancelled; wait if there is no address."""
        listening = self.parts.listening
        while listen := listening.wanted:
            try:
                bound = bind(listen)
            except OSError as error:
                words = gettext_lazy("cannot listen on {listen}: {error}", listen=listen, error=error.strerror or error)
                if words != listening.problem:
                    _log.warning("web_not_listening", address=listen, reason=error.strerror, again_in=_AGAIN_SECONDS)
                listening.problem = words
                listening.tried.set()
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            with closing(bound):
                await self._serve(bound)
        await asyncio.Event().wait()

    async def first_link(self) -> str:
        """A sign-in link once the dashboard is up, or None if somebody has signed in before.

        Raises UserError if the dashboard has no address.
        """
        listening = self.parts.listening
        await listening.tried.wait()
        if not listening.address:
            raise UserError(
                "The dashboard is off: {problem}. Set listen in [web.server] to another address.",
                problem=listening.words(),
            )
        return await self.links.first_link()

    async def _serve(self, bound: socket.socket) -> None:
        recent_logs.attach()
        host, port = bound.getsockname()[:2]
        everywhere = ipaddress.ip_address(host).is_unspecified
        shown = "127.0.0.1" if everywhere else f"[{host}]" if ":" in host else host
        settings, listening = self.config.web.server, self.parts.listening
        listening.address = settings.public_url or f"http://{shown}:{port}"
        listening.tried.set()
        _log.info("web_ready", address=listening.address)
        try:
            await _asked(bound)
            # In a thread, because loading the HTTP libraries takes a while, and 4 MB.
            module = await asyncio.to_thread(importlib.import_module, "bot.interfaces.web.application")
            await self._answer(module, bound)
        finally:
            listening.tried.clear()
            listening.address, listening.problem = "", "stopped"

    async def _answer(self, module: Any, bound: socket.socket) -> None:
        settings = self.config.web.server
        options = module.uvicorn.Config(
            module.application(self), http=module.IdleTimeoutConnection, log_config=None, access_log=False,
            lifespan="off", ws="none", server_header=False, h11_max_incomplete_event_size=64_000,
            limit_concurrency=1_000, timeout_keep_alive=30, timeout_graceful_shutdown=1,
            proxy_headers=bool(settings.trusted_proxies), forwarded_allow_ips=list(settings.trusted_proxies),
        )  # fmt: skip
        server = module.QuietServer(options)
        try:
            await server.serve(sockets=[bound])
        finally:
            server.should_exit = server.force_exit = True
            if server.started:
                await server.shutdown(sockets=[bound])


async def _asked(bound: socket.socket) -> None:
    """Wait for the first connection without loading the HTTP libraries: many people never open the dashboard."""
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(bound, asked.set)
    except NotImplementedError:  # Windows
        return
    try:
        await asked.wait()
    finally:
        loop.remove_reader(bound)


def bind(listen: str) -> socket.socket:
    """Bind a listening socket. Raises OSError."""
    host, _, port = listen.rpartition(":")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Without an explicit protocol, asyncio leaves Nagle's algorithm on, and each answer waits 40 ms for the other side.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host.strip("[]"), int(port)))
        bound.listen(128)
    except OSError:
        bound.close()
        raise
    return bound
