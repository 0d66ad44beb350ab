"""Passes each notification to the constellation of its place, where it is stored and answered.

Which group answers there is decided by `bot.runtime.group_routing`.

`receive` accepts a notification at once and in order. Batches of them are passed to the intakes of their constellations
(`bot.runtime.intake`), which are opened if necessary. None waits for another, whose file may be locked or damaged.
"""

import asyncio
import functools
from collections import Counter
from collections.abc import Collection
from contextlib import suppress

from bot.runtime.intake import SharedParts
from bot.runtime.open_constellations import OpenConstellations
from bot.runtime.supervision import TellOwner
from memory.queue.notifications import Kind, Notification
from memory.store.constellations import Constellations
from memory.store.ids import ConstellationId, TurnId
from memory.store.logs import Log

_BATCH = 64  # notifications in one durable commit at most

_log = Log("bot.runtime.router")


class Router:
    """Accepts notifications and makes sure that they are answered and delivered."""

    def __init__(
        self, constellations: Constellations, opened: OpenConstellations, default: ConstellationId, shared: SharedParts
    ) -> None:
        self._constellations = constellations
        self.opened = opened
        self._default = default
        self._gate, self.supervisor = shared.gate, shared.supervisor
        self._intake = asyncio.Queue[tuple[Notification, ConstellationId]]()
        """Received notifications, in order."""
        self._unstored = Counter[ConstellationId]()
        """The number of received notifications that are not stored yet."""
        self._waiting: dict[ConstellationId, list[Notification]] = {}
        """Those that are being passed to a constellation, by a task for each."""

    def receive(self, notification: Notification, constellation: ConstellationId | None = None) -> None:
        """Accept a notification; it is durable a moment later, in this order, in its place's constellation."""
        self._gate.halt.hear(notification)
        for identifier in self._of(notification, constellation):
            self._unstored[identifier] += 1
            self._intake.put_nowait((notification, identifier))

    async def start(self, tasks: asyncio.TaskGroup, tell: TellOwner) -> None:
        """Resume the last run's unfinished work, then start the intake."""
        self.supervisor.start(tasks, tell)
        await self.opened.begin()
        self.supervisor.keep("intake", self._pass_on)
        self.supervisor.keep("idle constellations", self.opened.run)

    def release(self) -> None:
        """Resume stopped work after a halt, and handle messages that arrived meanwhile."""
        self.supervisor.once("end of a halt", self._go_on())

    async def _go_on(self) -> None:
        await self.supervisor.halted()
        for runtime in self.opened:
            runtime.resume()

    def reachable(self, source: str) -> None:
        """Send queued messages to a platform that is reachable again."""
        for runtime in self.opened:
            self.supervisor.once(f"deliveries to {source}", runtime.source_reachable(source))

    def resume(self, constellation: ConstellationId) -> None:
        """Handle queued work of a constellation, queued by something other than a turn."""
        if (runtime := self.opened.get(constellation)) is not None:
            runtime.resume()
        else:
            self.supervisor.keep(f"open {constellation}", functools.partial(self._open, constellation))

    async def _open(self, constellation: ConstellationId) -> None:
        """Open a constellation, which resumes its waiting work."""
        async with self.opened.use(constellation):
            return

    async def drain(self, seconds: float) -> None:
        """Store received messages, bring turns to a stored step, deliver what is due; for at most `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self.taken_in(seconds / 2)  # a file that is locked keeps the others from nothing
                self.supervisor.begin_no_turns()
                for runtime in self.opened:
                    runtime.stop_turns()
                while any(runtime.unfinished for runtime in self.opened):
                    await self.supervisor.settled.wait()
        except TimeoutError:
            _log.warning("drain_timed_out", seconds=seconds)

    def stop(self) -> None:
        """Stop work that waits for a later time; its rows are resumed at the next start."""
        self.supervisor.stop()

    async def taken_in(self, seconds: float, constellation: ConstellationId | None = None) -> bool:
        """Wait until everything received, or all for one constellation, is stored; False if it is not in `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._unstored.total() if constellation is None else self._unstored[constellation]:
                    await self.supervisor.settled.wait()
                return True
        return False

    def moved(self, constellation: ConstellationId, turns: Collection[TurnId]) -> None:
        """Reload turns that were ended or restarted from outside, and handle waiting work."""
        if (runtime := self.opened.get(constellation)) is not None:
            runtime.moved(turns)

    # ------------------------------------------------------------------ to the constellations

    async def _pass_on(self) -> None:
        while True:
            arrived = [await self._intake.get()]
            while not self._intake.empty():
                arrived.append(self._intake.get_nowait())
            try:
                await self._gate.halt.keep()
            except Exception:
                _log.exception("halt_not_stored")  # waiting messages are stored anyway
            for notification, identifier in arrived:
                if identifier not in self._waiting:
                    self.supervisor.keep(f"messages to {identifier}", functools.partial(self._store, identifier))
                self._waiting.setdefault(identifier, []).append(notification)

    async def _store(self, constellation: ConstellationId) -> None:
        """Store what waits for a constellation; the entry stays until the end of this, however often it is tried."""
        while waiting := self._waiting[constellation]:
            there = constellation if self._constellations.has(constellation) else self._default  # it was deleted
            async with self.opened.use(there) as runtime:
                while batch := waiting[:_BATCH]:
                    await runtime.intake.accept(batch, lambda: len(waiting))
                    del waiting[: len(batch)]
                    self._unstored[constellation] -= len(batch)
                    self.supervisor.settle()
        del self._waiting[constellation]

    def _of(self, notification: Notification, said: ConstellationId | None) -> set[ConstellationId]:
        """The constellation of the place; for an edit or deletion also those that it belonged to before."""
        bindings = notification.place.bindings
        found = said or self._constellations.of_place(bindings, self._default)
        changes = notification.kind in (Kind.EDIT, Kind.DELETE)
        return {found, *(self._constellations.formerly_of(bindings) if changes else ())}
