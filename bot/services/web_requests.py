"""Requests that a program sends under a key of their own (`Idempotency-Key`): each is done once, and answered the same.

That it was done is stored. What it was answered is held in memory for a while, since it can be anybody's words.
"""

import functools
import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.people import web_keys
from memory.people.web_keys import Known
from memory.store.clock import Clock
from memory.store.database import Database
from memory.store.faults import commit_point

_BEGIN = commit_point("web.begin_request")
_END = commit_point("web.end_request")
_HELD, _MOST_HELD = timedelta(minutes=10), 100


@dataclass(frozen=True)
class OnceRequest:
    """One of them: who asks, by the id of their token or session, under what key, for what."""

    key: str
    given: bytes
    asks: bytes

    @classmethod
    def of(cls, key: str, given: str, asks: bytes) -> "OnceRequest":
        return cls(key, *(hashlib.blake2b(each, digest_size=32).digest() for each in (given.encode(), asks)))


@dataclass(frozen=True)
class Answered:
    """How it was answered."""

    status: int
    body: bytes
    at: datetime


class OnceRequests:
    """Those of one data folder."""

    def __init__(self, registry: Database, clock: Clock) -> None:
        self._registry, self._clock = registry, clock
        self._held: OrderedDict[OnceRequest, Answered] = OrderedDict()

    async def begin(self, request: OnceRequest) -> Known | Answered:
        """How it stands; what is new is under way from now on."""
        now = self._clock()
        work = functools.partial(
            web_keys.begin_request, key=request.key, given=request.given, request=request.asks, now=now
        )
        known = await self._registry.write(_BEGIN, work, durable=True)
        held = self._held.get(request)
        return held if known is Known.DONE and held is not None and now - held.at < _HELD else known

    async def end(self, request: OnceRequest, answer: tuple[int, bytes] | None) -> None:
        """It was answered so; None: nothing was done, and it can be sent again."""
        done, now = answer is not None, self._clock()
        work = functools.partial(web_keys.end_request, key=request.key, given=request.given, done=done)
        await self._registry.write(_END, work, durable=True)
        if answer is not None:
            self._held[request] = Answered(*answer, now)
        while self._held and (len(self._held) > _MOST_HELD or now - next(iter(self._held.values())).at >= _HELD):
            self._held.popitem(last=False)
