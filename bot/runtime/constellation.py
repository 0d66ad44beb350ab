"""The runtime of one open constellation: its database, routing, workers and background work.

Nothing here can reach another constellation. It is created by composition, started when it is opened, and closed when
it has nothing left to do (`bot.runtime.open_constellations`).
"""

import asyncio
import functools
from collections.abc import Collection

from bot.agents.patrols import is_patrol
from bot.agents.turn_deps import TurnDeps
from bot.agents.turn_end import queue_preview
from bot.runtime.conversation import ConversationWorker, OpenPlaces, Written
from bot.runtime.erasure_follow_ups import follow
from bot.runtime.group_routing import GroupRouting
from bot.runtime.intake import ConstellationIntake, SharedParts
from bot.runtime.outbox_delivery import DeliveryDeps, DeliveryWorker
from bot.runtime.supervision import Work
from bot.storage_retry import until_stored
from memory import group_runs
from memory.queue import inbox, outbox
from memory.store.constellations import Constellation
from memory.store.database import Database
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, GroupId, PlaceId, TurnId, place_source
from memory.store.logs import Log

_PREVIEW = commit_point("outbox.preview")
_RELEASE = commit_point("outbox.release")

_FOLLOW_SECONDS = 1.0  # between checks for retries that are due

_log = Log("bot.runtime.constellation")


class ConstellationRuntime:
    """`origin` is the constellation's id, unless it is the configured one."""

    def __init__(
        self,
        constellation: Constellation,
        database: Database,
        routing: GroupRouting,
        turn_deps: TurnDeps,
        shared: SharedParts,
        origin: str = "",
    ) -> None:
        self.constellation = constellation
        self.database = database
        self.turn_deps, self._endpoints = turn_deps, turn_deps.endpoints
        self.conversations: dict[tuple[PlaceId, GroupId], ConversationWorker] = {}
        self._deliveries: dict[PlaceId, DeliveryWorker] = {}
        self._shared, self._origin = shared, origin
        self._gate, self._supervisor = shared.gate, shared.supervisor
        self.intake = ConstellationIntake(database, routing, turn_deps, shared, self)
        self._background: dict[str, Work] = {}
        self._following = False
        """Whether a follow-up of an edit or deletion is being retried."""
        self._working: set[asyncio.Task[None]] = set()
        self._lasting: set[asyncio.Task[None]] = set()

    @property
    def id(self) -> ConstellationId:
        return self.constellation.id

    # ------------------------------------------------------------------ lifecycle

    def keep(self, name: str, work: Work) -> None:
        """Run work in the background while the constellation is open, from `begin` on."""
        self._background[name] = work

    async def begin(self) -> None:
        """Resume the last run's unfinished work, and start the background work."""
        for name, work in self._background.items():
            self._spawn(name, work, self._lasting, halts=False)
        await self.follow(started=True)
        await self._take_up()

    async def close(self) -> None:
        """Stop everything here; unfinished rows are resumed when it is opened again."""
        ending = (*self._working, *self._lasting)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    @property
    def idle(self) -> bool:
        """Whether closing would interrupt nothing."""
        return not self._working

    @property
    def unfinished(self) -> bool:
        """Whether a turn or a delivery is in progress."""
        return bool(self.conversations) or any(not delivery.waiting for delivery in self._deliveries.values())

    def stop_turns(self) -> None:
        """Make each turn return at its next stored step."""
        for conversation in self.conversations.values():
            conversation.stop()

    # ------------------------------------------------------------------ calls from outside

    def resume(self) -> None:
        """Something other than a turn queued work: handle whatever waits."""
        self._spawn(f"take up {self.id}", self._take_up)

    def answer(self, place: PlaceId, group: GroupId) -> None:
        if (place, group) in self.conversations:
            self.conversations[place, group].arrived()
        elif not (self._supervisor.stopping or self._halted or self._gate.paused(place_source(place))):
            run = functools.partial(self._run_conversation, place, group)
            self._spawn(f"conversation {self.id} {place} {group}", run)

    def moved(self, turns: Collection[TurnId]) -> None:
        """These turns were ended or restarted from outside: make them reload, and handle whatever waits."""
        for conversation in self.conversations.values():
            for turn in turns:
                conversation.changed(turn)

    async def delivered(self, place: PlaceId) -> None:
        """Wait until nothing is left to send to a place, or the rest has to wait."""
        while found := await self.database.read(lambda rows: outbox.for_delivery(rows, place)[0]):
            delivery, due = self._deliveries.get(place), found[0].next_attempt_at
            if (delivery is not None and delivery.waiting) or (due is not None and due > self.turn_deps.clock()):
                return
            if delivery is None:
                self._deliver(place, place_source(place))
            await self._supervisor.settled.wait()

    async def showing(self, turn: TurnId, place: PlaceId) -> bool:
        """The text of a turn's answer is about to be shown; False if it must not be."""
        found = [conversation for (of, _group), conversation in self.conversations.items() if of == place]
        return any([await each.showing(turn) for each in found])

    async def preview(self, turn: TurnId, place: PlaceId, text: str, progress: bool = False) -> str:
        """Show the beginning of an answer, or a group's progress; returns the message's id, empty if that failed."""
        if not any(of == place for of, _group in self.conversations):
            return ""
        now = self.turn_deps.clock()
        row = await self.database.write(_PREVIEW, lambda tx: queue_preview(tx, turn, text, now, progress))
        if row is None:
            return ""
        while True:
            found = await self.database.read(lambda rows: outbox.get(rows, row))
            if found is None or found.status not in (outbox.Status.PENDING, outbox.Status.SENDING):
                return found.external_id if found is not None else ""
            self._deliver(place, place_source(place))
            await self._supervisor.settled.wait()

    async def source_reachable(self, source: str) -> None:
        """All places of a source are reachable again."""

        async def release() -> None:
            for held, place in await self.database.read(outbox.open_places):
                if held == source:
                    await self.reachable(place)

        await until_stored(f"deliveries to {source}", release, self._supervisor.unstored)

    async def reachable(self, place: PlaceId) -> None:
        """An unreachable place is reachable again: send what waits for it."""
        await self.database.write(_RELEASE, lambda tx: outbox.release(tx, place))
        self._deliver(place, place_source(place))

    # ------------------------------------------------------------------ edits and deletions

    async def follow(self, *, started: bool = False) -> None:
        """Handle the follow-ups of edits and deletions; failures are retried in the background."""
        try:
            waits = await follow(self.database, self.turn_deps, started=started)
        except Exception:
            _log.warning("follow_ups_delayed", exc_info=True)
            waits = True
        if waits and not self._following:
            self._following = True
            again = functools.partial(self._follow_later, started=started)
            self._spawn(f"follow-ups {self.id}", again, halts=False)
        self.resume()

    async def _follow_later(self, *, started: bool) -> None:
        try:
            self._following = True  # it may be a restart
            while await follow(self.database, self.turn_deps, started=started):
                started = False
                self.resume()
                await asyncio.sleep(_FOLLOW_SECONDS)
        finally:
            self._following = False

    # ------------------------------------------------------------------ conversations and deliveries

    @property
    def _halted(self) -> bool:
        return self._gate.halt.halted

    def _spawn(
        self, name: str, work: Work, among: set[asyncio.Task[None]] | None = None, *, halts: bool = True
    ) -> None:
        task, kept = self._supervisor.keep(name, work, halts=halts), self._working if among is None else among
        if task is not None:
            kept.add(task)
            task.add_done_callback(kept.discard)

    async def _take_up(self) -> None:
        conversations = await self.database.read(
            lambda rows: inbox.open_conversations(rows) + group_runs.listening_conversations(rows)
        )
        places = await self.database.read(outbox.open_places)
        for place, group in conversations:
            if place_source(place) in self._endpoints or is_patrol(place):
                self.answer(place, group)
            else:
                _log.warning("place_without_front_end", place=place, hint="its front end is no longer configured")
        self._see_to(places, ())

    async def _run_conversation(self, place: PlaceId, group: GroupId) -> None:
        if (place, group) in self.conversations:  # another task was faster
            self.conversations[place, group].arrived()
            return
        conversation = ConversationWorker(
            self.database, (place, group), self.turn_deps, self._shared.retry_policy(place_source(place)), self._see_to
        )
        self.conversations[place, group] = conversation
        self._supervisor.conversations.add(conversation)
        try:
            await until_stored(f"conversation {place}", conversation.run, self._supervisor.unstored)
        except Exception:
            self.resume()  # rows that it stored may wait for delivery
            raise
        finally:
            del self.conversations[place, group]
            self._supervisor.conversations.discard(conversation)
            self._supervisor.settle()
        if conversation.woken.is_set() and not self._supervisor.stopping:
            self.answer(place, group)

    def _see_to(self, places: OpenPlaces, conversations: Written) -> None:
        """Wake the deliveries and conversations with waiting rows: a turn may leave both."""
        for source, place in places:
            self._deliver(place, source)
        for place, group in conversations:
            self.answer(place, group)

    def _deliver(self, place: PlaceId, source: str) -> None:
        if place in self._deliveries:
            self._deliveries[place].wake()
        elif source in self._endpoints and not self._halted:
            run = functools.partial(self._run_delivery, place, source)
            self._spawn(f"delivery {self.id} {place}", run)

    async def _run_delivery(self, place: PlaceId, source: str) -> None:
        if place in self._deliveries:
            self._deliveries[place].wake()
            return
        made = self.turn_deps
        woken = self._supervisor.settle, self.resume
        deps = DeliveryDeps(made.clock, made.notices, *woken, made.broker, self._origin)
        delivery = DeliveryWorker(self.database, place, self._endpoints[source], deps)
        self._deliveries[place] = delivery
        try:
            await until_stored(f"delivery {place}", delivery.run, self._supervisor.unstored)
        finally:
            del self._deliveries[place]
            self._supervisor.settle()
