"""One ordered queue per channel: what a job has to wait for, the later ones of its channel wait for too."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeAlias

from memory.store.logs import Log

log = Log(__name__)

Job: TypeAlias = Callable[[], Awaitable[None]]

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
        else:
            self._queues[channel] = deque([job])
            self._spawn(self._drain(channel))

    async def _drain(self, channel: int) -> None:
        queue = self._queues[channel]
        try:
            while queue:
                if not await _done(queue.popleft(), channel):
                    await self._gave_up(channel)
        finally:
            del self._queues[channel]


async def _done(job: Job, channel: int) -> bool:
    """Do it, some times over where it fails; whether it was done at last."""
    for pause in (0.0, *AGAIN):
        if pause:
            await asyncio.sleep(pause)
        try:
            await job()
        except Exception:
            log.exception("event_not_handled", channel=channel)
        else:
            return True
    return False
