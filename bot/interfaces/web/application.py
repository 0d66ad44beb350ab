"""The web application: all routes, behind the checks of `request_checks.py`."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias, cast

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from bot.interfaces.web import (
    chat_pages,
    mcp_over_http,
    memory_pages,
    message_pages,
    monitoring,
    openai_api,
    pages,
    rest,
    webhooks,
)
from bot.interfaces.web.refusals import FOR_PROGRAMS, Refusal
from bot.interfaces.web.render import STATIC
from bot.interfaces.web.request import FAILURES, Context
from bot.interfaces.web.request_checks import AccessMiddleware
from bot.interfaces.web.server import WebServer
from bot.interfaces.web.sign_in_pages import from_discord, login, logout, with_discord
from scheduler.times_in_words import clock_words
from texts import _, error_text, show_times


class QuietServer(uvicorn.Server):
    """A uvicorn server that leaves signals to the service."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


IDLE_SECONDS = 30.0


class IdleTimeoutConnection(H11Protocol):
    """Closes connections that stay idle: uvicorn waits forever for a request to begin, and each connection holds a file
    descriptor."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self._look = self.loop.call_later(IDLE_SECONDS, self._close_idle, None)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._look.cancel()

    def _close_idle(self, last: object) -> None:
        """Close the connection if it has served no request since `last`."""
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self.cycle is last:
            self.transport.close()
        else:
            self._look = self.loop.call_later(IDLE_SECONDS, self._close_idle, self.cycle if idle else self)


Handler: TypeAlias = Callable[[Context], Awaitable[Response]]

PAGES: tuple[tuple[str, Handler], ...] = (
    *pages.ROUTES,
    *memory_pages.ROUTES,
    *message_pages.ROUTES,
    *chat_pages.ROUTES,
)
PROGRAMS: tuple[tuple[str, str, Handler], ...] = (
    *openai_api.ROUTES,
    *rest.ROUTES,
    *webhooks.ROUTES,
    *mcp_over_http.ROUTES,
)


def application(web: WebServer) -> ASGIApp:
    def served(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            ctx = Context(web, request)
            try:
                return await handler(ctx)
            except Refusal as refusal:
                if refusal.status == 404 and not request.url.path.startswith(FOR_PROGRAMS):
                    return failed(request, 404, _("Not found"), refusal.words)
                return refusal.response(request.url.path)
            except FAILURES as error:
                return failed(request, 400, _("This did not work"), error_text(error))

        return respond

    def page(path: str, handler: Handler) -> Route:
        return Route(path, served(partial(_on_their_clocks, handler)), methods=["GET", "POST"])

    def failed(request: Request, status: int, title: str, words: str) -> Response:
        path = request.url.path
        if request.state.key is None or path.startswith(FOR_PROGRAMS):
            return Refusal(status, words).response(path)
        return Context(web, request).page("error.html", status, title=title, words=words)

    async def lost(request: Request, error: Exception) -> Response:
        match error.status_code if isinstance(error, HTTPException) else 500:
            case 404:
                return failed(request, 404, _("Not found"), _("There is nothing at this address."))
            case 405:
                return failed(request, 405, _("Not found"), _("This address does not accept such requests."))
        words = _("Something went wrong. The person who runs me can find the reason in my log.")
        return failed(request, 500, _("This did not work"), words)

    routes = [
        Route("/healthz", monitoring.alive),
        Route("/readyz", served(monitoring.ready)),
        Route("/metrics", served(partial(monitoring.metrics, monitoring.Durations(web.clock())))),
        Route("/login", served(login), methods=["GET", "POST"]),
        Route("/login/discord", served(with_discord)),
        Route("/login/discord/back", served(from_discord)),
        page("/logout", logout),
        Route("/favicon.ico", _favicon),
        Mount("/static", StaticFiles(directory=STATIC)),
        *(Route(path, served(handler), methods=[method]) for method, path, handler in PROGRAMS),
        *(page(path, handler) for path, handler in PAGES),
    ]
    app = Starlette(routes=routes, exception_handlers={404: lost, 405: lost, 500: lost})
    return AccessMiddleware(app, web.access, web.config.web.server.public_url)


async def _on_their_clocks(handler: Handler, ctx: Context) -> Response:
    """Show the times of a page in the viewer's time zone."""
    if ctx.key is not None:
        show_times(partial(clock_words, zone=(await ctx.web.services.registry.plain(ctx.caller())).zone))
    return await handler(ctx)


async def _favicon(_request: Request) -> Response:
    return RedirectResponse("/static/carina.svg", 301)
