"""The account's session with its server: as few logins as possible, and every call with a time limit.

The session is stored in a file for the owner only, encrypted with the app password, so a restart needs no login; the
library renews its tokens before they expire. If the server says that a token has expired anyway (its clock differs,
or somebody revoked it), the session is renewed, and only if that fails is the password used again: logins are scarce
(30 in 5 minutes, 300 a day), so at most one is made in `LOGIN_PAUSE` seconds.
"""

import asyncio
import base64
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import httpx
from atproto_client import AsyncClient, Session, SessionEvent
from atproto_client.exceptions import RateLimitExceededError, RequestErrorBase
from atproto_client.models.common import XrpcError
from atproto_client.models.dot_dict import DotDict
from atproto_client.request import AsyncRequest, Response
from atproto_core.exceptions import AtProtocolError
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from memory.store.data_folder import private_file
from memory.store.faults import Point, call_point, outside
from memory.store.logs import Log
from sources.base import SourceRefused
from sources.bluesky.answer_rules import OwnAccount
from sources.bluesky.failures import CallFailed, CallRefused, NoAnswer, RateLimited, ServerUnreachable
from sources.bluesky.settings import BlueskySettings, Wiring
from texts import _, gettext_lazy

_LOGIN = call_point("bluesky.login")
_ASK = call_point("bluesky.ask")

SECONDS = 15.0
CONNECT_SECONDS = 5.0
LOGIN_PAUSE = 20.0
"""Seconds between two logins: 15 in 5 minutes; `_MOST_LOGINS` a day are under the 100 that some servers allow."""
_MOST_LOGINS = 60
_DAY = 86_400.0
_RUN_OUT = frozenset({"ExpiredToken", "InvalidToken", "AuthMissing", "AuthenticationRequired"})
_LONGEST_WAIT = 86_400.0
_SALT_BYTES = 16

log = Log(__name__)


class BlueskySession:
    """Calls the account's server; logs in when necessary."""

    def __init__(self, settings: BlueskySettings) -> None:
        self._settings = settings
        self._client = self._made()
        self._closed = False
        self._one = asyncio.Lock()
        self._logins: list[float] = []
        self._session: Session | None = None
        self._storing = threading.Lock()  # of threads: the task of one that writes can be cancelled before it is done

    @property
    def did(self) -> str:
        """The account's DID; empty before the first login."""
        return self._session.did if self._session is not None else ""

    @property
    def handle(self) -> str:
        return self._session.handle if self._session is not None else self._settings.handle

    async def open(self) -> None:
        """Get a session: the stored one, else a new one. Raises CallFailed, SourceRefused."""
        async with self._one:
            if self._closed:
                self._client, self._closed = self._made(), False
            if self._session is None and not await self._take_up():
                await self._log_in()

    async def query(self, method: str, params: Mapping[str, Any], *, proxy: str = "") -> dict[str, Any]:
        """Call a method that changes nothing; `proxy` is the service that the server asks for us. Raises CallFailed."""
        given: dict[str, Any] = {"params": DotDict({key: value for key, value in params.items() if value != ""})}
        given |= _proxied(proxy)
        return await self._call(_ASK, lambda: self._client.invoke_query(method, **given))

    async def record(self, uri: str) -> dict[str, Any]:
        """A record, from the account's own server. Raises CallFailed, which is CallRefused if there is none."""
        _, _, did, collection, key = uri.split("/")
        asked = {"repo": did, "collection": collection, "rkey": key}
        return await self.query("com.atproto.repo.getRecord", asked)

    async def procedure(self, method: str, data: Mapping[str, Any], point: Point, *, proxy: str = "") -> dict[str, Any]:
        """Call a method that writes. Raises CallFailed: `NoAnswer` if nobody knows whether it was carried out."""
        given: dict[str, Any] = {"data": DotDict(dict(data)), "input_encoding": "application/json"}
        given |= _proxied(proxy)
        return await self._call(point, lambda: self._client.invoke_procedure(method, **given))

    async def upload(self, content: bytes, content_type: str, point: Point) -> dict[str, Any]:
        """Upload a file, which the server keeps once a record names it; returns its reference. Raises CallFailed."""
        given: dict[str, Any] = {"content": content, "input_encoding": content_type}
        answer = await self._call(point, lambda: self._client.invoke_procedure("com.atproto.repo.uploadBlob", **given))
        blob = answer.get("blob")
        if not isinstance(blob, dict):
            raise NoAnswer(gettext_lazy("Bluesky's answer contains no file"))
        return blob

    async def close(self) -> None:
        """Close the connection; the next call opens another."""
        self._closed, self._session = True, None
        with suppress(TimeoutError):
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._client.request.close()

    def _made(self) -> AsyncClient:
        timeout = httpx.Timeout(SECONDS, connect=CONNECT_SECONDS)
        client = AsyncClient(base_url=self._settings.service, request=AsyncRequest(timeout=timeout))
        client.on_session_change(self._changed)
        return client

    # ------------------------------------------------------------------ calls

    async def _call(self, point: Point, ask: Callable[[], Awaitable[Response]]) -> dict[str, Any]:
        await self.open()
        before = self._session.access_jwt if self._session is not None else ""
        try:
            return await self._asked(point, ask)
        except CallRefused as why:
            if why.error not in _RUN_OUT:
                raise
        await self._renew(before)
        return await self._asked(point, ask)

    async def _asked(self, point: Point, ask: Callable[[], Awaitable[Response]]) -> dict[str, Any]:
        with _translated():
            answer = await outside(point, ask(), SECONDS + CONNECT_SECONDS)
        return answer.content if isinstance(answer.content, dict) else {}

    # ------------------------------------------------------------------ the session

    async def _take_up(self) -> bool:
        """Use the stored session, if there is one of this account."""
        try:
            stored = await asyncio.to_thread(self._stored)
            found = Session.decode(stored)
        except (OSError, ValueError, InvalidToken):
            return False
        asked_for = self._settings.handle.casefold().removeprefix("@")
        if asked_for not in (found.handle.casefold(), found.did.casefold()):
            return False
        try:
            await self._client.login(session_string=stored, fetch_bsky_profile=False)
        except (AtProtocolError, ValueError):
            return False
        return True

    async def _renew(self, before: str) -> None:
        """A token was rejected: renew the session, or log in again."""
        async with self._one:
            session = self._session
            if session is None or session.access_jwt != before:
                return  # another task was faster
            try:
                with _translated():
                    refresh = {"Authorization": f"Bearer {session.refresh_jwt}"}
                    call = self._client.com.atproto.server.refresh_session(headers=refresh, ignore_session_check=True)
                    fresh = await outside(_LOGIN, call, SECONDS)
                    renewed = Session(
                        fresh.handle, fresh.did, fresh.access_jwt, fresh.refresh_jwt, session.pds_endpoint
                    )
                    await self._client.login(session_string=renewed.encode(), fetch_bsky_profile=False)
            except CallRefused as why:
                log.info("bluesky_session_lost", reason=why.reason)
                await self._log_in()

    async def _log_in(self) -> None:
        now = time.monotonic()
        self._logins = [each for each in self._logins if each > now - _DAY]
        wait = self._logins[-1] + LOGIN_PAUSE - now if self._logins else 0.0
        if len(self._logins) >= _MOST_LOGINS:
            wait = self._logins[0] + _DAY - now
        if wait > 0:
            reason = gettext_lazy(
                "the next login is in {seconds} s, because servers allow only a few", seconds=round(wait)
            )
            raise RateLimited(wait, reason)
        self._logins.append(now)
        self._client.update_base_url(self._settings.service)
        name = self._settings.handle.removeprefix("@")
        call = self._client.login(name, self._settings.password.get_secret_value(), fetch_bsky_profile=False)
        try:
            with _translated():
                await outside(_LOGIN, call, SECONDS)
        except CallRefused as why:
            service = self._settings.service
            if why.error == "AccountTakedown":
                raise SourceRefused(
                    _(
                        "{service} says that the account {handle} was taken down. Ask its operators why, or set "
                        "BLUESKY_HANDLE to another account.",
                        service=service,
                        handle=name,
                    )
                ) from why
            if why.error == "AuthenticationRequired" or (why.status == 401 and why.error):
                raise SourceRefused(
                    _(
                        "{service} refused the login for {handle}. Check BLUESKY_HANDLE, and create a new "
                        "app password for BLUESKY_APP_PASSWORD in the account's settings, under Privacy and "
                        "security, App passwords.",
                        service=service,
                        handle=name,
                    )
                ) from why
            if not why.error:  # a server with this protocol names a reason
                raise self._no_session(f"HTTP {why.status}") from why
            raise
        except ServerUnreachable:  # this was no login
            self._logins.pop()
            raise
        except NoAnswer as why:
            raise self._no_session(why.reason) from why

    def _no_session(self, what: str) -> NoAnswer:
        return NoAnswer(
            gettext_lazy(
                "{service} did not open a session ({what}). If this continues, check BLUESKY_SERVICE.",
                service=self._settings.service,
                what=what,
            )
        )

    async def _changed(self, _event: SessionEvent, session: Session) -> None:
        """Store the session: refresh tokens work only once."""
        self._session = session
        await asyncio.to_thread(self._store)

    def _stored(self) -> str:
        content = self._settings.session_file.read_bytes()
        return self._cipher(content[:_SALT_BYTES]).decrypt(content[_SALT_BYTES:]).decode()

    def _cipher(self, salt: bytes) -> Fernet:
        """Slow, so that the file is no help in guessing the password."""
        key = Scrypt(salt, 32, n=2**14, r=8, p=1).derive(self._settings.password.get_secret_value().encode())
        return Fernet(base64.urlsafe_b64encode(key))

    def _store(self) -> None:
        salt = os.urandom(_SALT_BYTES)
        try:
            with self._storing:
                if (newest := self._session) is None:
                    return
                fresh = private_file(self._settings.session_file.with_suffix(".new"))
                fresh.write_bytes(salt + self._cipher(salt).encrypt(newest.encode().encode()))
                fresh.replace(self._settings.session_file)
        except OSError as error:
            log.warning(
                "bluesky_session_not_kept", reason=error.strerror, hint="Carina logs in again at the next start"
            )


class SharedState:
    """What receiving and sending share: the settings, the session, and what composition passed."""

    def __init__(self, settings: BlueskySettings, wiring: Wiring) -> None:
        self.settings, self.wiring, self.session = settings, wiring, BlueskySession(settings)

    @property
    def us(self) -> OwnAccount:
        return OwnAccount(self.session.did, self.wiring.ignored, self.wiring.denied, self.settings.filters)


def _proxied(service: str) -> dict[str, Any]:
    return {"headers": {"atproto-proxy": service}} if service else {}


@contextmanager
def _translated() -> Iterator[None]:
    """Translates the library's exceptions to ours."""
    try:
        yield
    except (AtProtocolError, httpx.HTTPError, TimeoutError, ValueError) as why:
        raise translated(why) from why


def _server(why: httpx.RequestError) -> str:
    """The server that was asked, without the path."""
    try:
        url = why.request.url
    except RuntimeError:  # the library did not say
        return "Bluesky"
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def translated(why: Exception) -> CallFailed:
    cause = why if isinstance(why, httpx.HTTPError) else why.__cause__
    if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout):
        return ServerUnreachable(
            gettext_lazy("{server} cannot be reached. Check the network and BLUESKY_SERVICE.", server=_server(cause))
        )
    if isinstance(why, RateLimitExceededError):
        return RateLimited(_wait(why))
    response = why.response if isinstance(why, RequestErrorBase) else None
    if response is None:
        if isinstance(why, TimeoutError):
            return NoAnswer(gettext_lazy("{name} did not answer in time", name="Bluesky"))
        return NoAnswer(gettext_lazy("Bluesky gave no valid answer ({error})", error=type(why).__name__))
    error, message = _named(response)
    if 400 <= response.status_code < 500:
        return CallRefused(response.status_code, error, message)
    return NoAnswer(gettext_lazy("Bluesky answered {status}", status=f"{response.status_code} {error}".rstrip()))


def _named(response: Response) -> tuple[str, str]:
    content = response.content
    return (content.error or "", content.message or "") if isinstance(content, XrpcError) else ("", "")


def _wait(why: RateLimitExceededError) -> float:
    """How long the server asks to wait: from `ratelimit-reset`, else `retry-after`, else a minute."""
    seconds = why.retry_after
    if why.reset_at is not None:
        seconds = why.reset_at.timestamp() - time.time()
    return min(max(seconds if seconds is not None else 60.0, 1.0), _LONGEST_WAIT)
