"""Checks every HTTP request (host, origin, body size, session, token) and sets the security headers of the response.

`sign_in_pages.py` begins sessions; `memory/people/web_sessions_and_tokens.py` stores their keys and scopes. Addresses
that send too many wrong codes or tokens are refused.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import re
import time
from collections import defaultdict, deque
from functools import partial
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct, field
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.interfaces.web.refusals import FOR_PROGRAMS, Refusal
from bot.services.people.web_access import WebAccess
from memory.people.web_sessions_and_tokens import KeyScope, Kind, WebKey
from sources.terminal import PERSON
from texts import LANGUAGES, _, gettext_noop, read_on, speak, speaking

COOKIE = "carina_session"
MOST_BYTES, MOST_WITH_FILES = 1_000_000, 10_000_000
MOST_FROM_STRANGERS = 32_000_000
READ_SECONDS = 30.0
_SURE_SECONDS = 1.0  # for which a valid key is cached
_WITHDRAWN = gettext_noop("This token was revoked, or this browser was signed out.")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with "no-referrer", browsers do not say which site a form comes from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_OPEN = ("/login", "/static/", "/healthz", "/readyz", "/hooks/")
"""Paths that need no key: they reveal nothing or check their own signature."""
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
OWN_PAGE = ("/me", "/me/export")
"""The only page for people other than the owner: the data stored about them."""
_TRIES, _TRY_SECONDS = 10, 300.0
_MOST_CLIENTS = 10_000


class FailedSignIns(Struct):
    """Counts failed sign-ins by address.

    A correct code still works, because any web page can make a browser send wrong codes from its owner's address.
    """

    _failed: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))

    def refuse_after_many(self, client: str, words: str) -> None:
        """Raise Refusal with this message if the address failed too often in the last five minutes."""
        failed = self._failed.get(client)
        while failed and failed[0] < time.monotonic() - _TRY_SECONDS:
            failed.popleft()
        if failed is not None and len(failed) >= _TRIES:
            raise Refusal(429, words)

    def note(self, client: str) -> None:
        if len(self._failed) >= _MOST_CLIENTS:
            self._failed.clear()
        self._failed[client].append(time.monotonic())


def csrf_of(secret: str) -> str:
    """The CSRF token of a session's forms, derived from the secret, which no other site can read."""
    return hmac.new(secret.encode(), b"csrf", hashlib.sha256).hexdigest()[:40]


def preferred_language(wanted: str) -> str:
    """The best of a browser's languages that has a catalog; else English."""
    named = re.findall(r"(?:^|,)\s*([a-z]{2,3})\b[^,;]*(?:;\s*q=(\d(?:\.\d+)?))?", wanted.lower())
    known = [(float(weight or 1), code) for code, weight in named if code in ("en", *LANGUAGES)]
    return max((each for each in known if each[0]), key=lambda each: each[0], default=(0, "en"))[1]


def is_known_host(host: str, public_url: str) -> bool:
    """Whether the host is an IP address, this machine or the public name, none of which another site can have."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        if name == "localhost" or name == (urlsplit(public_url).hostname or " "):
            return True
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class AccessMiddleware:
    """Checks every request before anything else; later handlers find its key in the scope's state."""

    def __init__(self, app: ASGIApp, access: WebAccess, public_url: str) -> None:
        self._app, self._access, self._public_url = app, access, public_url
        self._attempts = FailedSignIns()
        self._from_strangers = 0
        """Total bytes being received from senders without a key."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            with speaking(preferred_language(Headers(scope=scope).get("accept-language", ""))):
                await self._answered(scope, receive, send)

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, path = Headers(scope=scope), str(scope["path"])

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    found[name] = value
                if not path.startswith("/static/"):
                    found["Cache-Control"] = "no-store"
            await send(message)

        try:
            body = await self._checked(scope, headers, receive)
        except Refusal as refusal:
            await refusal.response(path)(scope, receive, sealed)
            return
        key: WebKey | None = scope["state"]["key"]
        if key is not None and (chosen := self._access.spoken(key.person or PERSON)):
            speak(chosen)
        if key is not None and key.person is not None:
            read_on("page")
        given = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Message:
            return given.pop() if given else await receive()

        withdrawn = False

        async def kept(message: Message) -> None:
            nonlocal withdrawn
            if message["type"] == "http.response.start" and await _is_withdrawn(scope):
                withdrawn = True
                await Refusal(401, _(_WITHDRAWN)).response(path)(scope, receive, sealed)
            if not withdrawn:
                await sealed(message)

        await self._app(scope, replayed, kept)

    async def _checked(self, scope: Scope, headers: Headers, receive: Receive) -> bytes:
        """The body, after all checks. Raises Refusal."""
        if not is_known_host(headers.get("host", ""), self._public_url):
            raise Refusal(
                421, _("The dashboard is not configured for this address; set public_url in [web.server] to it.")
            )
        unsafe = scope["method"] not in _SAFE
        origin = headers.get("origin")
        foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if unsafe and (foreign or (origin is not None and not self._is_own(origin, headers))):
            raise Refusal(
                403,
                _("This request came from another site, so it was refused. Open the dashboard and try again there."),
            )
        state = scope.setdefault("state", {})
        state.update(key=None, csrf="", secret="", attempts=self._attempts, begun=time.monotonic())
        path = str(scope["path"])
        open_to_all = path.startswith(_OPEN)
        if not open_to_all or path == "/login":
            await self._identify(scope, headers, required=not open_to_all)
        large = path.startswith("/v1/") or (path.startswith("/chat/") and _kind(headers) == "multipart/form-data")
        try:
            async with asyncio.timeout(READ_SECONDS * (4 if large else 1)):
                body = await self._read(headers, receive, MOST_WITH_FILES if large else MOST_BYTES, state["key"])
        except TimeoutError:
            raise Refusal(408, _("The request arrived too slowly. Send it again.")) from None
        if await _is_withdrawn(scope):
            raise Refusal(401, _(_WITHDRAWN))
        if unsafe and state["csrf"] and not open_to_all:
            given = headers.get("x-csrf-token") or _field(headers, body, "csrf")
            if not hmac.compare_digest(given.encode(), state["csrf"].encode()):
                raise Refusal(403, _("This form is too old, or came from elsewhere. Reload the page."))
        return body

    async def _read(self, headers: Headers, receive: Receive, most: int, key: WebKey | None) -> bytes:
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            raise Refusal(413, _("At most {most_bytes:,} bytes can be sent.", most_bytes=most))
        body, strangers = bytearray(), key is None
        try:
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise Refusal(400, _("The request ended early. Send it again."))
                part = message.get("body", b"")
                body += part
                self._from_strangers += len(part) * strangers
                if len(body) > most:
                    raise Refusal(413, _("At most {most_bytes:,} bytes can be sent.", most_bytes=most))
                if self._from_strangers > MOST_FROM_STRANGERS:
                    raise Refusal(503, _("Too much is being sent at the moment. Send it again later."))
                if not message.get("more_body"):
                    return bytes(body)
        finally:
            self._from_strangers -= len(body) * strangers

    def _is_own(self, origin: str, headers: Headers) -> bool:
        own = {headers.get("host", "").lower()}
        own |= {urlsplit(self._public_url).netloc.lower()} - {""}
        try:
            return urlsplit(origin).netloc.lower() in own
        except ValueError:
            return False

    async def _identify(self, scope: Scope, headers: Headers, *, required: bool) -> None:
        """Identify the sender of a request. Raises Refusal."""
        state, client = scope["state"], client_of(scope)
        kind, _space, token = headers.get("authorization", "").partition(" ")
        if token:
            state["holder"] = partial(self._access.holder, Kind.PROGRAM, token.strip())
            found = await state["holder"]() if kind.lower() == "bearer" else None
            if found is None:
                words = _("Too many wrong tokens came from this address; wait five minutes.")
                self._attempts.refuse_after_many(client, words)
                self._attempts.note(client)
                raise Refusal(401, _("This token is unknown; `carina token list` shows the valid ones."))
            state["key"] = found
        elif secret := Request(scope).cookies.get(COOKIE):
            state["holder"] = partial(self._access.holder, Kind.SESSION, secret)
            state["key"] = await state["holder"]()
            if state["key"] is not None:
                state.update(csrf=csrf_of(secret), secret=secret)
        if required:
            _require_scope(state["key"], str(scope["path"]), str(scope["method"]))


async def _is_withdrawn(scope: Scope) -> bool:
    """Whether the key of a long request has been revoked in the meantime."""
    state = scope["state"]
    sure = time.monotonic() - state["begun"] < _SURE_SECONDS or str(scope["path"]).startswith(_OPEN)
    return not sure and state["key"] is not None and await state["holder"]() is None


def client_of(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _kind(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _field(headers: Headers, body: bytes, name: str) -> str:
    """A field of a form; none for uploads, which come from our script with the token in a header."""
    if _kind(headers) != "application/x-www-form-urlencoded":
        return ""
    return (parse_qs(body.decode("utf-8", "replace")).get(name) or [""])[0]


def _require_scope(key: WebKey | None, path: str, method: str) -> None:
    """Raise Refusal if the key does not cover this path: pages need a session, and each scope covers its part of the
    API."""
    if key is not None and key.scope is KeyScope.OWN:
        if key.kind is not Kind.SESSION or path not in (*OWN_PAGE, "/", "/logout"):
            raise Refusal(404, _("There is nothing at this address."))
        if path == "/":
            raise Refusal(303, _("Your page is at another address."), OWN_PAGE[0])
        return
    if key is None:
        raise Refusal(
            401, _("Sign in first: `carina dashboard` gives you a link, and `carina token create NAME` a token.")
        )
    if not path.startswith(FOR_PROGRAMS) and key.kind is not Kind.SESSION:
        raise Refusal(403, _("Pages are for browsers that are signed in, not for tokens."))
    needed = KeyScope.CHAT if path.startswith("/v1/") else KeyScope.READ
    if path.startswith("/mcp") or (path.startswith("/api/") and method not in _SAFE):
        needed = KeyScope.ADMIN
    if not key.scope.includes(needed):
        words = _(
            "This needs a token with the scope {needed}; {name} has {scope}.",
            needed=needed,
            name=key.name,
            scope=key.scope,
        )
        raise Refusal(403, words)
