"""Waiting for something to become true, without sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Changes:
    """Wakes everyone who waits whenever anything in the server has changed."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def notify(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def until(self, find: Callable[[], T | None], timeout: float, what: str) -> T:
        """The first true thing `find` returns; TimeoutError naming `what` if none comes."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while not (found := find()):
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.add(future)
            try:
                async with asyncio.timeout_at(deadline):
                    await future
            except TimeoutError:
                raise TimeoutError(f"after {timeout} s still waiting for {what}") from None
            finally:
                self._waiting.discard(future)
        return found
