"""The constellations open in this process: opened on demand, closed when idle for a while or when too many are open."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from bot.runtime.constellation import ConstellationRuntime
from bot.runtime.supervision import Supervisor
from memory.store.ids import ConstellationId
from memory.store.logs import Log

_LOOK_SECONDS = 15.0
_REST_SECONDS = 300.0
_log = Log("bot.runtime.open_constellations")

Make: TypeAlias = Callable[[ConstellationId], AbstractAsyncContextManager[ConstellationRuntime]]
"""Creates the runtime of a constellation, which lasts until the context ends."""


_Opening: TypeAlias = Callable[[], AbstractAsyncContextManager[ConstellationRuntime]]


class _Slot:
    """One constellation; the lock keeps two tasks from opening or closing it at once."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._stack = AsyncExitStack()
        self.users = 0
        self.runtime: ConstellationRuntime | None = None
        self.used = 0.0
        """The time of its last use."""
        self.closed = -math.inf

    @property
    def idle(self) -> bool:
        return self.runtime is not None and self.users == 0 and self.runtime.idle

    @asynccontextmanager
    async def use(self, opening: _Opening) -> AsyncIterator[ConstellationRuntime]:
        self.users += 1
        try:
            async with self._lock:
                if self.runtime is None:
                    async with AsyncExitStack() as stack:
                        opened = await stack.enter_async_context(opening())
                        self.runtime, self._stack = opened, stack.pop_all()
                runtime = self.runtime
            yield runtime
        finally:
            self.users -= 1
            self.used = time.monotonic()

    async def close(self, *, idle: bool) -> bool:
        """Close it, with `idle` only if it is still idle; returns whether it is closed."""
        async with self._lock:
            if self.runtime is not None and (self.idle or not idle):
                self.runtime, self.closed = None, time.monotonic()
                await self._stack.aclose()
            return self.runtime is None


@dataclass
class OpenConstellations:
    """At most `most` idle ones stay open, each for `seconds`; a busy one is never closed."""

    make: Make
    supervisor: Supervisor
    most: int = 32
    seconds: float = 600.0
    _slots: dict[ConstellationId, _Slot] = field(default_factory=dict, init=False)

    def __iter__(self) -> Iterator[ConstellationRuntime]:
        return iter([slot.runtime for slot in self._slots.values() if slot.runtime is not None])

    def get(self, identifier: ConstellationId) -> ConstellationRuntime | None:
        slot = self._slots.get(identifier)
        return None if slot is None else slot.runtime

    def rested(self, identifier: ConstellationId) -> float:
        """Seconds for which a constellation is not reopened for work that failed while it was open."""
        slot = self._slots.get(identifier)
        return 0.0 if slot is None else max(slot.closed + _REST_SECONDS - time.monotonic(), 0.0)

    async def shut(self, identifier: ConstellationId) -> bool:
        """Close a constellation, ending its turns, unless it is in use right now; returns whether it is closed."""
        slot = self._slots.get(identifier)
        return slot is None or (slot.users == 0 and await slot.close(idle=False))

    @asynccontextmanager
    async def use(self, identifier: ConstellationId) -> AsyncIterator[ConstellationRuntime]:
        """A constellation, opened if necessary and kept open within the context."""
        slot = self._slots.setdefault(identifier, _Slot())
        try:
            async with slot.use(partial(self._opened, identifier)) as runtime:
                yield runtime
        finally:
            await self.close_idle()

    @asynccontextmanager
    async def _opened(self, identifier: ConstellationId) -> AsyncIterator[ConstellationRuntime]:
        async with self.make(identifier) as runtime:
            try:
                if self.supervisor.started:
                    await runtime.begin()
                    _log.info("constellation_opened", constellation=runtime.constellation.name)
                yield runtime
            finally:
                await runtime.close()
                if self.supervisor.started:
                    _log.info("constellation_closed", constellation=runtime.constellation.name)

    async def begin(self) -> None:
        """Start the work of those that are open already: the service starts."""
        for runtime in self:
            await runtime.begin()

    async def run(self) -> None:
        """Close idle ones until canceled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await self.close_idle()

    async def close_idle(self) -> None:
        """Close those that were idle for long, and the least recently used ones if there are too many."""
        idle = sorted((slot for slot in self._slots.values() if slot.idle), key=lambda slot: slot.used)
        old, spare = time.monotonic() - self.seconds, len(list(self)) - self.most
        for number, slot in enumerate(idle):
            if number < spare or slot.used < old:
                await slot.close(idle=True)

    async def close(self) -> None:
        """Close all: the service ends."""
        for slot in self._slots.values():
            await slot.close(idle=False)
