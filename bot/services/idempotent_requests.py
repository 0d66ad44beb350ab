"""Idempotent requests of programs: each is carried out once, and its response is stored to be sent again."""

import functools
import hashlib
from datetime import datetime, timedelta

from msgspec import Struct

from memory import idempotent_requests
from memory.idempotent_requests import RequestState
from memory.store.clock import Clock
from memory.store.database import Database
from memory.store.faults import commit_point
from memory.store.recent_values import RecentValues

_WRITE = commit_point("web.request")

_HELD, _MOST_HELD = timedelta(minutes=10), 100


class IdempotentRequest(Struct, frozen=True):
    """An idempotent request: the sender (token or session), its key, and its content."""

    key: str
    given: bytes
    asks: bytes

    @classmethod
    def of(cls, key: str, given: str, asks: bytes) -> "IdempotentRequest":
        return cls(key, *(hashlib.blake2b(each, digest_size=32).digest() for each in (given.encode(), asks)))


class StoredResponse(Struct, frozen=True):
    status: int
    body: bytes
    at: datetime


class IdempotentRequests:
    def __init__(self, registry: Database, clock: Clock) -> None:
        self._registry, self._clock = registry, clock
        self._held: RecentValues[IdempotentRequest, StoredResponse] = RecentValues(_MOST_HELD)

    async def begin(self, request: IdempotentRequest) -> RequestState | StoredResponse:
        """Return the request's state; a new request is in progress from now on."""
        now = self._clock()
        work = functools.partial(
            idempotent_requests.begin, key=request.key, given=request.given, request=request.asks, now=now
        )
        known = await self._registry.write(_WRITE, work, durable=True)
        held = self._held.get(request)
        return held if known is RequestState.BEFORE and held is not None and now - held.at < _HELD else known

    async def end(self, request: IdempotentRequest, answer: tuple[int, bytes] | None) -> None:
        """Store the response. None means that nothing was done, so the request can be repeated."""
        if answer is not None:
            self._held.put(request, StoredResponse(*answer, self._clock()))
            return
        work = functools.partial(idempotent_requests.forget, key=request.key, given=request.given)
        await self._registry.write(_WRITE, work, durable=True)
