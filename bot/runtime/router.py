"""From notification to constellation: what is heard is stored in the constellation of its place, and answered there.

`receive` takes a notification at once and in order. The intake makes whole batches durable, then the conversations
concerned are woken (`bot.runtime.constellation`). A constellation that is not open is opened for it.
"""

import asyncio
import functools
from collections.abc import Collection, Sequence
from contextlib import suppress

import structlog

from bot.runtime.constellation import Surroundings
from bot.runtime.open_constellations import OpenConstellations
from bot.runtime.supervision import Supervisor
from memory.store.constellation import Constellations
from memory.store.ids import ConstellationId, TurnId
from sources.base import Kind, Notification

_BATCH = 64  # notifications that share one durable commit at most
LOOK_SECONDS = 1.0
"""Between looks at deliveries that wait for a later time."""

_log = structlog.get_logger("bot.runtime.router")


class Router:
    """Takes notifications in and sees to it that somebody answers and somebody delivers."""

    def __init__(
        self,
        constellations: Constellations,
        opened: OpenConstellations,
        default: ConstellationId,
        surroundings: Surroundings,
    ) -> None:
        self._constellations = constellations
        self.opened = opened
        self._default = default
        self._gate, self._intake = surroundings.gate, surroundings.intake
        self.workers = surroundings.workers
        self._gate.halt.on_stop(self.workers.halt)

    def receive(self, notification: Notification, constellation: ConstellationId | None = None) -> None:
        """Take a notification; it is durable a moment later, in this order, in the constellation of its place."""
        self._gate.halt.hear(notification)
        self._intake.put_nowait((notification, constellation))

    async def start(self, supervisor: Supervisor) -> None:
        """Take up what was left by the last run, then begin to take in."""
        self.workers.start(supervisor)
        await self.opened.begin()
        self.workers.spawn("intake", self._take_in, halts=False)
        self.workers.spawn("deliveries that wait long", self._ring, halts=False)
        self.workers.spawn("idle constellations", self.opened.run, halts=False)

    def release(self) -> None:
        """The halt is over: go on with what was stopped, and with what arrived meanwhile."""
        for runtime in self.opened:
            runtime.resume()

    def resume(self, constellation: ConstellationId) -> None:
        """Something was queued by other hands than a turn's: see to whatever waits there."""
        if (runtime := self.opened.get(constellation)) is not None:
            runtime.resume()
        else:
            self.workers.spawn(f"open {constellation}", functools.partial(self._open, constellation), halts=False)

    async def _open(self, constellation: ConstellationId) -> None:
        """Opening takes up whatever waits."""
        async with self.opened.use(constellation):
            return

    async def drain(self, seconds: float) -> None:
        """Store what was heard, let turns come to a stored step, deliver what is ready; for at most `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._intake.join()
                self.workers.begin_no_turns()
                for runtime in self.opened:
                    runtime.stop_turns()
                while any(runtime.unfinished for runtime in self.opened):
                    await self.workers.settled.wait()
        except TimeoutError:
            _log.warning("drain_timed_out", seconds=seconds)

    def stop(self) -> None:
        """End what still waits for a later time; its rows are taken up at the next start."""
        self.workers.stop()

    @property
    def busy(self) -> bool:
        """Whether anybody is being answered."""
        return self.workers.busy

    async def taken_in(self, seconds: float) -> None:
        """Wait until what was heard so far is stored; for at most `seconds`, while the database refuses."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._intake.join()

    def moved(self, constellation: ConstellationId, turns: Collection[TurnId]) -> None:
        """Other hands ended these turns or began them again: they look again, and so does whatever waits."""
        if (runtime := self.opened.get(constellation)) is not None:
            runtime.moved(turns)

    # ------------------------------------------------------------------ intake

    async def _take_in(self) -> None:
        while True:
            batch = [await self._intake.get()]
            while len(batch) < _BATCH and not self._intake.empty():
                batch.append(self._intake.get_nowait())
            try:
                await self._store(batch)
            finally:
                for _each in batch:
                    self._intake.task_done()

    async def _store(self, batch: Sequence[tuple[Notification, ConstellationId | None]]) -> None:
        try:
            await self._gate.halt.keep()
        except Exception:
            _log.exception("not_kept_first")  # words that wait are stored all the same
        found: dict[ConstellationId, list[Notification]] = {}
        for notification, said in batch:
            for identifier in self._of(notification, said):
                found.setdefault(identifier, []).append(notification)
        for identifier, notifications in found.items():
            try:
                await self._accept(identifier, notifications)
            except Exception:
                _log.exception("constellation_not_opened", constellation=identifier)
                again = functools.partial(self._accept, identifier, notifications)
                self.workers.spawn(f"open {identifier} for {notifications[0].external_id}", again, halts=False)

    def _of(self, notification: Notification, said: ConstellationId | None) -> set[ConstellationId]:
        """The constellation of its place; of an edit or a deletion also those to which the place belonged before."""
        bindings = notification.place.bindings
        found = said or self._constellations.of_place(bindings, self._default)
        if not self._constellations.has(found):  # it was deleted a moment ago
            found = self._default
        changes = notification.kind in (Kind.EDIT, Kind.DELETE)
        return {found, *(self._constellations.formerly_of(bindings) if changes else ())}

    async def _accept(self, constellation: ConstellationId, notifications: Sequence[Notification]) -> None:
        async with self.opened.use(constellation) as runtime:
            await runtime.accept(notifications)

    async def _ring(self) -> None:
        """Look at each place again for which something had to wait long; a clock that is moved is noticed soon."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for runtime in self.opened:
                runtime.ring()
