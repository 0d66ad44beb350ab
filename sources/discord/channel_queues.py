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

Begun: TypeAlias = Awaitable[None] | bool
"""What a job that was begun waits for; True where it is done already, False where it failed."""

Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]

AGAIN: tuple[float, ...] = (1.0, 5.0)
"""Seconds before each further try at a job that failed; its queue waits as long."""


class ChannelQueues:
    """Jobs of one queue run one after another, in the order they were put; queues do not wait for each other.

    A job that fails is tried again; `gave_up` is told of the channel whose job failed at every try.

    While held, nothing new runs: what arrives waits behind the hold. `release` runs the given jobs first, each
    in its queue, then what waited; it names the hold it ends, so that it does not end a later one.
    """

    def __init__(self, spawn: Spawn, gave_up: Callable[[int], Awaitable[None]]) -> None:
        self._spawn = spawn
        self._gave_up = gave_up
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
        begun = _begin(job, channel)
        if begun is not True:
            self._queues[channel] = deque()
            # a task that is cancelled before its first step never comes to what it was to wait for
            self._spawn(self._drain(channel, job, begun)).add_done_callback(lambda _: _let_go(begun))

    async def _drain(self, channel: int, job: Job, begun: Begun) -> None:
        queue = self._queues[channel]
        try:
            while True:
                if not await _finished(begun, channel) and not await _done_again(job, channel):
                    await self._gave_up(channel)
                if not queue:
                    return
                job = queue.popleft()
                begun = _begin(job, channel)
        finally:
            if self._queues.get(channel) is queue:
                del self._queues[channel]


def _begin(job: Job, channel: int) -> Begun:
    try:
        result = job()
    except Exception:
        log.exception("event_not_handled", channel=channel)
        return False
    return True if result is None else result


def _let_go(begun: Begun) -> None:
    if inspect.iscoroutine(begun):
        begun.close()


async def _finished(begun: Begun, channel: int) -> bool:
    """Wait for what was begun; whether it came to its end."""
    if isinstance(begun, bool):
        return begun
    try:
        await begun
    except Exception:
        log.exception("event_not_handled", channel=channel)
        return False
    return True


async def _done_again(job: Job, channel: int) -> bool:
    """Do it again after a while, some times; whether it was done at last."""
    for pause in AGAIN:
        await asyncio.sleep(pause)
        if await _finished(_begin(job, channel), channel):
            return True
    return False
