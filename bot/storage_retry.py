"""Retries writes that a database refuses, and reports them in the meantime."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from msgspec import Struct

from memory.store.clock import Clock, utc_now
from memory.store.errors import DatabaseRefused
from memory.store.logs import Log
from texts import _, ngettext, reason_of

T = TypeVar("T")

_LOGGED_EVERY = 60  # attempts
RETRY_SECONDS = 1.0

_log = Log("bot.storage_retry")


class _Refusal(Struct, frozen=True):
    since: datetime
    reason: str
    arrivals: int = 0


class StorageRetry:
    """The writes that a database currently refuses, for the operator."""

    def __init__(self, clock: Clock = utc_now) -> None:
        self._clock = clock
        self._refused: dict[str, _Refusal] = {}

    def words(self) -> str:
        """Since when and why a database refuses, and how many messages wait; empty if none does."""
        if not self._refused:
            return ""
        first = min(self._refused.values(), key=lambda refusal: refusal.since)
        arrivals = sum(refusal.arrivals for refusal in self._refused.values())
        kept = _("Answers wait until it does.")
        if arrivals:
            kept = ngettext(
                "{count} new message is only in memory, and a restart would lose it.",
                "{count} new messages are only in memory, and a restart would lose them.",
                arrivals,
            )
        return _(
            "The database has not accepted writes since {at} ({reason}). {kept}",
            at=first.since,
            reason=first.reason,
            kept=kept,
        )

    def note(self, what: str, error: DatabaseRefused, arrivals: int = 0) -> None:
        """Record a refusal; `arrivals` is how many received messages wait for it."""
        since = self._refused[what].since if what in self._refused else self._clock()
        self._refused[what] = _Refusal(since, reason_of(error), arrivals)

    def over(self, what: str) -> None:
        self._refused.pop(what, None)


async def until_stored(
    what: str,
    work: Callable[[], Awaitable[T]],
    unstored: StorageRetry | None = None,
    arrivals: Callable[[], int] = lambda: 0,
) -> T:
    """Do the work; while the database refuses, note and log that `what` waits, and retry. Other errors are raised.

    The work must be repeatable. `arrivals` says how many received messages wait for it.
    """
    noted, attempts = unstored or StorageRetry(), 0
    try:
        while True:
            try:
                return await work()
            except DatabaseRefused as error:
                if attempts % _LOGGED_EVERY == 0:
                    _log.error("waiting_for_database", what=what, attempts=attempts + 1, reason=str(error))
                attempts += 1
                noted.note(what, error, arrivals())
                await asyncio.sleep(RETRY_SECONDS)
    finally:
        noted.over(what)


async def repeat(what: str, look: Callable[[], Awaitable[None]], seconds: float) -> None:
    """Look at once and at these intervals, until canceled; while the database refuses, as `until_stored` does."""
    while True:
        await until_stored(what, look)
        await asyncio.sleep(seconds)
