"""One ordered queue per channel: what needs no waiting happens at once, what follows a wait waits its turn."""

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeAlias

from memory.store.logs import Log

log = Log(__name__)

Job: TypeAlias = Callable[[], Awaitable[None] | None]
"""Does its work at once and gives None, or gives what to wait for until it is done."""

Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class ChannelQueues:
    """Jobs of one queue run one after another, in the order they were put; queues do not wait for each other.

    While held, nothing new runs: what arrives waits behind the hold. `release` runs the given jobs first, each
    in its queue, then what waited; it names the hold it ends, so that it does not end a later one.
    """

    def __init__(self, spawn: Spawn) -> None:
        self._spawn = spawn
        self._queues: dict[int, deque[Job]] = {}
        self._held: dict[int, deque[Job]] | None = None
        self._holds = 0

    @property
    def held(self) -> int:
        """The number of the present hold; 0 when there is none."""
        return self._holds if self._held is not None else 0

    def hold(self) -> None:
        self._holds += 1
        if self._held is None:
            self._held = {}

    def put(self, channel: int, job: Job) -> None:
        if self._held is not None:
            self._held.setdefault(channel, deque()).append(job)
        else:
            self._enter(channel, job)

    def release(self, first: Mapping[int, Job], hold: int) -> None:
        """End this hold: `first`, then what waited, queue by queue."""
        if hold != self.held:
            return
        waited, self._held = self._held or {}, None
        for channel, job in first.items():
            self._enter(channel, job)
        for channel, jobs in waited.items():
            for job in jobs:
                self._enter(channel, job)

    def _enter(self, channel: int, job: Job) -> None:
        if (queue := self._queues.get(channel)) is not None:
            queue.append(job)
            return
        waiting = _run(job)
        if waiting is not None:
            self._queues[channel] = deque()
            # a task that is cancelled before its first step never comes to what it was to wait for
            self._spawn(self._drain(channel, waiting)).add_done_callback(lambda _: _let_go(waiting))

    async def _drain(self, channel: int, waiting: Awaitable[None] | None) -> None:
        queue = self._queues[channel]
        try:
            while True:
                if waiting is not None:
                    await _finish(waiting)
                if not queue:
                    return
                waiting = _run(queue.popleft())
        finally:
            if self._queues.get(channel) is queue:
                del self._queues[channel]


def _run(job: Job) -> Awaitable[None] | None:
    try:
        result = job()
    except Exception:
        log.exception("an event could not be handled")
        return None
    return result if inspect.isawaitable(result) else None


def _let_go(waiting: Awaitable[None]) -> None:
    if inspect.iscoroutine(waiting):
        waiting.close()


async def _finish(waiting: Awaitable[None]) -> None:
    try:
        await waiting
    except Exception:
        log.exception("an event could not be handled")
