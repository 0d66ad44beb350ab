"""Going on when the database takes writes again: for work that nobody waits for and that may be done twice."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from memory.errors import StoreError

RETRY_SECONDS = 1.0

_log = structlog.get_logger("bot.retrying")


async def until_stored(what: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do it; while the database refuses, log that `what` waits and do it again. Other errors pass on."""
    while True:
        try:
            await work()
            return
        except StoreError as error:
            _log.error("waits_for_database", what=what, reason=str(error))
            await asyncio.sleep(RETRY_SECONDS)
