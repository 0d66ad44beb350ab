"""Signing in with a one-time link, and out."""

import re

from starlette.responses import HTMLResponse, Response

from bot.interfaces.web.context import Context
from bot.interfaces.web.render import render
from bot.interfaces.web.security import Refusal, client_of, session_cookie
from bot.logs import log

_BROWSERS = ("Edg", "OPR", "Firefox", "Chrome", "Safari", "curl")
_NAMES = {"Edg": "Edge", "OPR": "Opera"}
_SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Macintosh", "Linux")


async def login(ctx: Context) -> Response:
    """Use a code up for a session. The page then leads on: a cookie of this kind does not come with a redirect."""
    code, attempts, client = ctx.query("code"), ctx.request.state.attempts, client_of(ctx.request.scope)
    if not code:
        return _page(ctx, signed_in=ctx.request.state.key is not None)
    secret = await ctx.web.access.sign_in(code, _browser(ctx.request.headers.get("user-agent", "")))
    if secret is None and attempts.blocked(client):
        return Refusal(429, "Too many wrong codes came from this address; wait five minutes.").response("/login")
    if secret is None:
        attempts.note(client)
        log.warning("web_sign_in_failed", client=client)
        return _page(ctx, wrong=True, status=403)
    page = _page(ctx, signed_in=True)
    secure = ctx.web.config.web.server.public_url.startswith("https:")
    page.headers["set-cookie"] = session_cookie(secret, secure=secure)
    return page


async def logout(ctx: Context) -> Response:
    """End this session, here and in the store."""
    if ctx.request.method != "POST":
        raise Refusal(405, "Sign out with the button.")
    await ctx.web.access.drop(ctx.request.state.key.id)
    page = _page(ctx, signed_out=True)
    page.headers["set-cookie"] = session_cookie("", secure=False)
    return page


def _page(
    ctx: Context, *, signed_in: bool = False, signed_out: bool = False, wrong: bool = False, status: int = 200
) -> Response:
    told = {"signed_in": signed_in, "signed_out": signed_out, "wrong": wrong}
    return HTMLResponse(render("login.html", constellation=ctx.web.config.constellation.name, **told), status)


def _browser(agent: str) -> str:
    """What a browser is called in the list of sessions."""
    name = next((_NAMES.get(each, each) for each in _BROWSERS if re.search(rf"\b{each}/", agent)), "A browser")
    system = next((each for each in _SYSTEMS if each in agent), "")
    return f"{name} on {system}" if system else name
