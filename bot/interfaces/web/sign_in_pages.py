"""Sign-in with a one-time link or a Discord account, and sign-out.

`bot.services.people.sign_in_links` creates the links, accepts each code once, decides who gets the dashboard and who
only their own page, and starts the session. `bot.interfaces.web.request_checks` checks every later request.
"""

import importlib
import re
from typing import Any

from starlette.responses import HTMLResponse, RedirectResponse, Response

from bot.interfaces.web.refusals import Refusal
from bot.interfaces.web.render import render
from bot.interfaces.web.request import FAILURES, Context, on_own_page
from bot.interfaces.web.request_checks import COOKIE, client_of
from bot.logs import log
from bot.services.people.privacy import PersonCounts
from memory.people.web_sessions_and_tokens import SESSION_LIFE, Kind, WebKey
from memory.store.ids import PersonId
from texts import _

_BROWSERS = ("Edg", "OPR", "Firefox", "Chrome", "Safari", "curl")
_NAMES = {"Edg": "Edge", "OPR": "Opera"}
_ATTEMPT, _ATTEMPT_SECONDS = "carina_attempt", 600
_BACK = "/login/discord/back"
_APPLE = ("iPhone", "iPad", "Macintosh")
_SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Macintosh", "Linux")


async def login(ctx: Context) -> Response:
    """Say what a link opens, and start a session when the page's form is sent, so that link previews do not use it up.

    A script submits it immediately if only the owner can have the link and nobody else is signed in.

    The last page links onward because a strict cookie is not sent with a redirect.
    """
    form = await ctx.form()
    code, attempts, client = (
        form.get("code", ctx.query("code")),
        ctx.request.state.attempts,
        client_of(ctx.request.scope),
    )
    key: WebKey | None = ctx.request.state.key
    if not code:
        return _page(ctx, signed_in=key is not None)
    link, secret = await ctx.web.links.of_code(code), None
    if link is not None:
        other = key if key is not None and key.kind is Kind.SESSION and key.person != link.person else None
        # A browser coming from another site does not send its session until it posts the form.
        if form.get("ends") != (other.id if other else ""):
            return _page(ctx, link=link, other=other, code=code)
        secret = await ctx.web.links.sign_in(code, _browser(ctx))
        if secret is not None and other is not None:
            await ctx.web.access.drop(other.id)
    if secret is None:
        attempts.refuse_after_many(client, _("Too many wrong codes came from this address; wait five minutes."))
        attempts.note(client)
        log.warning("web_sign_in_failed", client=client)
        return _page(ctx, wrong=True, status=403)
    return _signed_in(ctx, secret)


async def with_discord(ctx: Context) -> Response:
    """Redirect the browser to Discord, with a cookie that later proves it is the same browser."""
    discord, application = _discord(ctx)
    attempt = discord.Attempt.new()
    leading = RedirectResponse(attempt.address(application), 303)
    # Lax, because the browser returns from Discord's page. The cookie alone grants nothing.
    leading.set_cookie(
        _ATTEMPT, attempt.secret, max_age=_ATTEMPT_SECONDS, path="/login/discord", secure=_secure(ctx), httponly=True,
        samesite="lax",
    )  # fmt: skip
    return leading


async def from_discord(ctx: Context) -> Response:
    """Handle the return from Discord: the owner gets the dashboard, a known person their own page, others nothing.

    A request from another site does not carry the session of whoever is signed in; `login` checks that.
    """
    discord, application = _discord(ctx)
    attempts, code = ctx.request.state.attempts, ctx.query("code")
    attempt = discord.Attempt(ctx.request.cookies.get(_ATTEMPT, ""))
    if not attempt.is_of(ctx.query("state")):  # any web page can send a browser here, so this is no attempt
        return _page(ctx, refused=_("Discord did not sign you in. Try again."), status=403)
    client = f"{client_of(ctx.request.scope)} by Discord"
    attempts.refuse_after_many(client, _("Too many attempts came from this address; wait five minutes."))
    page, person = _page(ctx, refused=_("Discord did not sign you in. Try again."), status=403), None
    try:
        if code:
            person = await discord.account(application, attempt, code)
    except discord.SignInRefused:
        log.info("discord_sign_in_refused", client=client)
    except discord.SignInFailed as failed:
        log.warning("discord_sign_in_failed", reason=str(failed))
        page = _page(ctx, refused=_("Carina could not ask Discord who you are. Try again later."), status=502)
    if person is not None:
        opened = await ctx.web.links.code_for(person, known=await _is_known(ctx, person))
        page = (
            _page(ctx, refused=_("Nothing is kept about this Discord account, so there is no page for it."), status=403)
            if opened is None
            else _page(ctx, link=await ctx.web.links.of_code(opened), other=None, code=opened)
        )
    if page.status_code == 403:
        attempts.note(client)
    page.delete_cookie(_ATTEMPT, path="/login/discord", secure=_secure(ctx), httponly=True, samesite="lax")
    return page


def _discord(ctx: Context) -> tuple[Any, Any]:
    """The Discord client and application. Raises Refusal if none is configured."""
    config = ctx.web.config
    if config.discord_client_secret is None:
        raise Refusal(404, _("There is nothing at this address."))
    asking = importlib.import_module("sources.discord.sign_in")  # nothing else needs the libraries that it loads
    back, secret = f"{ctx.web.parts.listening.address}{_BACK}", config.discord_client_secret.get_secret_value()
    return asking, asking.Application(config.discord_client, secret, back)


async def _is_known(ctx: Context, person: PersonId) -> bool:
    """Whether anything is stored about them that they could see."""
    try:
        found = await ctx.web.services.registry.call("privacy.see", on_own_page(person, ()), {})
    except FAILURES:
        return False
    return isinstance(found, PersonCounts) and found.known


def _secure(ctx: Context) -> bool:
    return ctx.web.config.web.server.public_url.startswith("https:")


def _signed_in(ctx: Context, secret: str) -> Response:
    page, age = _page(ctx, signed_in=True), int(SESSION_LIFE.total_seconds())
    page.set_cookie(COOKIE, secret, max_age=age, secure=_secure(ctx), httponly=True, samesite="strict")
    return page


async def logout(ctx: Context) -> Response:
    if ctx.request.method != "POST":
        raise Refusal(405, _("Sign out with the button."))
    await ctx.web.access.drop(ctx.request.state.key.id)
    page = _page(ctx, signed_out=True)
    page.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return page


def _page(ctx: Context, *, status: int = 200, **told: Any) -> Response:
    usual: dict[str, Any] = {"signed_in": False, "signed_out": False, "wrong": False, "refused": "", "link": None}
    usual["discord"] = ctx.web.config.discord_client_secret is not None
    values = {"constellation": ctx.web.config.constellation.name, **usual, **told}
    return HTMLResponse(render("login.html", **values), status)


def _browser(ctx: Context) -> str:
    agent = ctx.request.headers.get("user-agent", "")
    system = next((each for each in _SYSTEMS if each in agent), "")
    name = next((_NAMES.get(each, each) for each in _BROWSERS if re.search(rf"\b{each}/", agent)), "")
    if not name or (name == "Safari" and system not in _APPLE):  # other browsers use this name as well
        name = _("A browser")
    return _("{browser} on {system}", browser=name, system=system) if system else name
