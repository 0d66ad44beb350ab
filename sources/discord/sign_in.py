"""Signing in with a Discord account: OAuth 2 with a code, PKCE and a state, for who somebody is and nothing else."""

import base64
import hashlib
import hmac
import json
import secrets
from typing import Any
from urllib.parse import urlencode

import aiohttp
from msgspec import Struct

from memory.store.ids import PersonId

AUTHORIZE = "https://discord.com/oauth2/authorize"
API = "https://discord.com/api/v10"
_SCOPE = "identify"
_SECONDS, _MOST_BYTES = 10.0, 64_000


class SignInRefused(Exception):
    """Discord rejects the code: it was used, is too old, or was made for somebody else."""


class SignInFailed(Exception):
    """Discord could not be asked, or its answer makes no sense; the text says why, for the log."""


class Application(Struct, frozen=True):
    """The application that asks, and the URL to which Discord sends people back."""

    id: str
    secret: str
    back_to: str


class Attempt(Struct, frozen=True):
    """One attempt to sign in, derived from a secret that only the browser that began it holds."""

    secret: str

    @classmethod
    def new(cls) -> "Attempt":
        return cls(secrets.token_urlsafe(32))

    @property
    def state(self) -> str:
        return self._made("state")

    @property
    def verifier(self) -> str:
        return self._made("verifier")

    def address(self, application: Application) -> str:
        """The URL at which Discord asks its user for consent."""
        query = {
            "response_type": "code",
            "client_id": application.id,
            "scope": _SCOPE,
            "redirect_uri": application.back_to,
            "state": self.state,
            "code_challenge": _text(hashlib.sha256(self.verifier.encode()).digest()),
            "code_challenge_method": "S256",
        }
        return f"{AUTHORIZE}?{urlencode(query)}"

    def is_of(self, state: str) -> bool:
        """Whether a response belongs to this attempt."""
        return bool(self.secret) and hmac.compare_digest(self.state.encode(), state.encode())

    def _made(self, what: str) -> str:
        return _text(hmac.new(self.secret.encode(), what.encode(), hashlib.sha256).digest())


async def account(application: Application, attempt: Attempt, code: str) -> PersonId:
    """The account for which the code was issued. Raises SignInRefused, SignInFailed."""
    form = {
        "client_id": application.id,
        "client_secret": application.secret,
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": application.back_to,
        "code_verifier": attempt.verifier,
    }
    limit = aiohttp.ClientTimeout(total=_SECONDS)
    try:
        async with aiohttp.ClientSession(timeout=limit, cookie_jar=aiohttp.DummyCookieJar()) as session:
            async with session.post(f"{API}/oauth2/token", data=form, allow_redirects=False) as answer:
                granted = await _said(answer)
            token = granted.get("access_token")
            if not isinstance(token, str) or _SCOPE not in str(granted.get("scope")).split():
                raise SignInFailed("Discord gave no token for the scope identify")
            bearer = {"Authorization": f"Bearer {token}"}
            async with session.get(f"{API}/users/@me", headers=bearer, allow_redirects=False) as answer:
                user = str((await _said(answer)).get("id"))
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError, RecursionError) as error:
        raise SignInFailed(f"{type(error).__name__} while asking Discord") from error
    if not user.isdecimal() or len(user) > 20:
        raise SignInFailed("Discord named nobody")
    return PersonId(f"discord:{user}")


async def _said(answer: aiohttp.ClientResponse) -> dict[str, Any]:
    """The JSON object of an answer. Raises SignInRefused, SignInFailed, ValueError."""
    body = bytearray()
    async for chunk in answer.content.iter_chunked(8_192):
        body += chunk
        if len(body) > _MOST_BYTES:
            raise SignInFailed("Discord's answer is too long")
    if answer.status in (400, 401):
        told = json.loads(body)
        if isinstance(told, dict) and told.get("error") == "invalid_grant":
            raise SignInRefused
    if answer.status != 200:
        raise SignInFailed(f"Discord answered with the status {answer.status}")
    found = json.loads(body)
    if not isinstance(found, dict):
        raise SignInFailed("Discord did not answer with an object")
    return found


def _text(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
