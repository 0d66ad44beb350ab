"""From notification to conversation: which constellation and group it is for, and who works on it.

`receive` takes a notification at once and in order. The intake makes whole batches durable, then wakes the
conversations concerned. Both exist while there is work and hold their constellation's file open as long.
"""

import asyncio
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias

import structlog

from bot.agents import feedback
from bot.agents.deps import TurnDeps
from bot.agents.notices import Notices
from bot.agents.patrols import is_patrol
from bot.agents.transcript import queue_preview
from bot.runtime.arrivals import ByState, no_states, settled, to_arrival, with_reaction, without_secrets
from bot.runtime.conversation import ConversationWorker, OpenPlaces, Patience, Written
from bot.runtime.delivery import DeliveryDeps, DeliveryWorker, Pulse
from bot.runtime.follow_ups import follow, followed, take_up_follow_ups
from bot.runtime.intake import Gate
from bot.runtime.late_arrivals import LateArrivals, tell_lost
from bot.runtime.supervision import Supervisor, Work
from bot.storage_retry import Unstored, until_stored
from memory import groups
from memory.queue import inbox, outbox
from memory.queue.inbox import Accepted, Arrival
from memory.store.constellation import Constellations
from memory.store.database import Database, Tx
from memory.store.errors import DatabaseRefused
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, GroupId, OutboxId, PlaceId, TurnId, place_source
from sources.base import Endpoint, Kind, Notification, Place

_ACCEPT = commit_point("inbox.accept")
_PREVIEW = commit_point("outbox.preview")
_RELEASE = commit_point("outbox.release")

LOOK_SECONDS = 15.0
"""Between looks at deliveries that wait for a later time."""
_STORE_AGAIN = (1.0, 5.0, 20.0)  # seconds before each further try to store what could not be stored
_FOLLOW_SECONDS = 1.0  # between looks at what is to be tried again
_BATCH = 64  # notifications that share one durable commit at most

_log = structlog.get_logger("bot.runtime.router")

ChooseGroup: TypeAlias = Callable[[Place, str], GroupId]
"""Which group answers what is said in a place; the words are empty where nobody said any."""
Queue: TypeAlias = Callable[[Tx, TurnId, str, datetime], OutboxId | None]
"""Makes the outbox row of a running turn that says these words meanwhile, or finds it; None when it is to have none."""


@dataclass(frozen=True)
class House:
    """A constellation as the router knows it."""

    id: ConstellationId
    choose: ChooseGroup
    turn_deps: TurnDeps
    notices: Notices
    by_state: ByState = no_states

    def group_of(self, notification: Notification) -> GroupId:
        """Who is to answer: the group that is talked to by name, else the one of the place."""
        if notification.to:
            return GroupId(notification.to)
        return self.choose(notification.place, notification.text if notification.kind == Kind.MESSAGE else "")


@dataclass
class _Work:
    """What runs for one constellation at the moment."""

    conversations: dict[tuple[PlaceId, GroupId], ConversationWorker] = field(default_factory=dict)
    deliveries: dict[PlaceId, DeliveryWorker] = field(default_factory=dict)


class Router:
    """Takes notifications in and sees to it that somebody answers and somebody delivers."""

    def __init__(
        self,
        constellations: Constellations,
        houses: Mapping[ConstellationId, House],
        default: ConstellationId,
        endpoints: Mapping[str, Endpoint],
        patience: Callable[[str], Patience],
        gate: Gate,
    ) -> None:
        self._constellations = constellations
        self._houses = houses
        self._default = default
        self._endpoints = endpoints
        self._patience = patience
        self._gate = gate
        self._queue: asyncio.Queue[Notification] = asyncio.Queue()
        self._work: dict[ConstellationId, _Work] = {house: _Work() for house in houses}
        self._supervisor: Supervisor | None = None
        self._later: dict[tuple[ConstellationId, PlaceId], tuple[datetime, str]] = {}
        """What waits for so long that nobody stands by: when each place is to be looked at again, and its source."""
        self._sooner = asyncio.Event()
        self._stopping = False
        self._settled = Pulse()
        self._running: set[asyncio.Task[None]] = set()
        self._storing: set[asyncio.Task[None]] = set()
        """What a halt does not stop."""
        self._listening: list[asyncio.Task[None]] = []
        self.unstored = Unstored()
        """What waits for a database that takes no writes."""
        self._late = LateArrivals()
        self._following: set[ConstellationId] = set()
        """Constellations in which something that follows an edit or a deletion is tried again."""
        gate.halt.on_stop(self._stop_all)

    @property
    def halted(self) -> bool:
        """Whether nothing is answered and nothing said; what arrives is stored all the same."""
        return self._gate.halt.halted

    def receive(self, notification: Notification) -> None:
        """Take a notification; it is durable a moment later, in this order."""
        self._gate.halt.hear(notification)
        self._queue.put_nowait(notification)

    async def start(self, supervisor: Supervisor) -> None:
        """Take up what was left by the last run, then begin to take in."""
        self._supervisor = supervisor
        for house in self._houses.values():
            async with self._constellations.use(house.id) as database:
                await self._follow(house, database, started=True)
            await self._take_up(house)
        self._listening = [
            supervisor.keep("intake", self._take_in),
            supervisor.keep("deliveries that wait long", self._ring),
        ]

    def _stop_all(self) -> None:
        """Stop every turn and every delivery now. Their rows stay as they are until `release`."""
        for task in self._running:
            task.cancel()

    def release(self) -> None:
        """The halt is over: go on with what was stopped, and with what arrived meanwhile."""
        for house in self._houses:
            self.resume(house)

    def resume(self, house: ConstellationId) -> None:
        """Something was queued by other hands than a turn's: see to whatever waits, unless its house is not served."""
        if (served := self._houses.get(house)) is not None:
            self._spawn(functools.partial(self._take_up, served), f"take up {house}")

    async def _take_up(self, house: House) -> None:
        async with self._constellations.use(house.id) as database:
            conversations = await database.read(
                lambda rows: inbox.open_conversations(rows) + groups.listening_conversations(rows)
            )
            places = await database.read(outbox.open_places)
        for place, group in conversations:
            if place_source(place) in self._endpoints or is_patrol(place):
                self._open_conversation(house, place, group)
            else:
                _log.warning("waits_for_front_end", place=place, hint="its front end is not configured any more")
        for source, place in places:
            self._open_delivery(house, place, source)

    async def drain(self, seconds: float) -> None:
        """Store what was heard, let turns come to a stored step, deliver what is ready; for at most `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._queue.join()
                self._stopping = True
                for work in self._work.values():
                    for conversation in work.conversations.values():
                        conversation.stop()
                while any(w.conversations or _busy(w.deliveries) for w in self._work.values()):
                    await self._settled.wait()
        except TimeoutError:
            _log.warning("drain_timed_out", seconds=seconds)

    def stop(self) -> None:
        """End what still waits for a later time; its rows are taken up at the next start."""
        for task in (*self._listening, *self._running, *self._storing):
            task.cancel()

    @property
    def busy(self) -> bool:
        """Whether anybody is being answered."""
        return any(
            not conversation.resting for work in self._work.values() for conversation in work.conversations.values()
        )

    async def delivered(self, place: PlaceId) -> None:
        """Wait until nothing is left to be sent to a place, or it has to wait for another time."""
        for house in self._houses.values():
            async with self._constellations.use(house.id) as database:
                while found := await database.read(lambda rows: outbox.open_rows(rows, place)):
                    delivery, due = self._work[house.id].deliveries.get(place), found[0].next_attempt_at
                    later = due is not None and due > house.turn_deps.clock()
                    if later or (delivery is not None and delivery.waiting):
                        return
                    if delivery is None:
                        self._open_delivery(house, place, place_source(place))
                    await self._settled.wait()

    async def showing(self, turn: TurnId, place: PlaceId) -> bool:
        """Words of a turn's answer are about to be shown there; False when they are not to be."""
        found = (self._conversation_of(house, place) for house in self._houses.values())
        return any([await each.showing(turn) for each in found if each is not None])

    async def preview(self, turn: TurnId, place: PlaceId, text: str, queue: Queue = queue_preview) -> str:
        """Show the beginning of an answer, or what `queue` makes a row of; the message's id, empty when it failed."""
        served = [house for house in self._houses.values() if self._conversation_of(house, place) is not None]
        if not served:
            return ""
        house = served[0]
        now = house.turn_deps.clock()
        async with self._constellations.use(house.id) as database:
            row = await database.write(_PREVIEW, lambda tx: queue(tx, turn, text, now))
            if row is None:
                return ""
            while True:
                found = await database.read(lambda rows: outbox.get(rows, row))
                if found is None or found.status not in (outbox.Status.PENDING, outbox.Status.SENDING):
                    return found.external_id if found is not None else ""
                self._open_delivery(house, place, place_source(place))
                await self._settled.wait()

    async def reachable(self, place: PlaceId) -> None:
        """A place that could not be reached can be now: send what waits for it."""
        for house in self._houses.values():
            async with self._constellations.use(house.id) as database:
                await database.write(_RELEASE, lambda tx: outbox.release(tx, place))
                open_now = await database.read(lambda rows: [s for s, p in outbox.open_places(rows) if p == place])
            for source in open_now:
                self._open_delivery(house, place, source)

    async def taken_in(self, seconds: float) -> None:
        """Wait until what was heard so far is stored; for at most `seconds`, while the database refuses."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._queue.join()

    def moved(self, house: ConstellationId, turns: Collection[TurnId]) -> None:
        """Other hands ended these turns or began them again: they look again, and so does whatever waits."""
        for conversation in self._work[house].conversations.values() if house in self._work else ():
            for turn in turns:
                conversation.changed(turn)

    def answer(self, house: ConstellationId, place: PlaceId, group: GroupId) -> None:
        """Something waits in a conversation."""
        self._open_conversation(self._houses[house], place, group)

    # ------------------------------------------------------------------ intake

    async def _take_in(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < _BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            try:
                await self._store(batch)
            finally:
                for _ in batch:
                    self._queue.task_done()

    async def _store(self, batch: Sequence[Notification]) -> None:
        try:
            await self._gate.halt.keep()
        except Exception:
            _log.exception("not_kept_first")  # words that wait are stored all the same
        by_house: dict[ConstellationId, list[Notification]] = {}
        for notification in batch:
            of_place = self._constellations.of_place(notification.place.bindings, self._default)
            by_house.setdefault(of_place if of_place in self._houses else self._default, []).append(notification)
        for identifier, found in by_house.items():
            await self._accept_or_park(self._houses[identifier], found)

    async def _accept_or_park(self, house: House, found: list[Notification]) -> None:
        """Store them, all or none. What cannot be stored is tried again by itself, also where the file is shut."""
        if not (found := [each for each in found if not self._late.follows(house.id, each)]):
            return
        try:
            async with self._constellations.use(house.id) as database:
                await self._accept(house, database, found)
        except Exception:
            if len(found) > 1:
                for notification in found:
                    await self._accept_or_park(house, [notification])
                self.resume(house.id)  # some may have been stored by the first try, and then wait
                return
            _log.exception("not_stored", source=found[0].source, external_id=found[0].external_id)
            self._late.add(house.id, found[0])
            again = functools.partial(self._accept_later, house, found[0])
            self._spawn(again, f"notification {house.id} {found[0].external_id}", self._storing)

    async def _accept_later(self, house: House, notification: Notification) -> None:
        """Try one that could not be stored some more times, or give it up; then take in what changed it meanwhile."""
        if not await self._stored_at_last(house, notification):
            async with self._constellations.use(house.id) as database:
                await tell_lost(database, house.notices, notification, house.turn_deps.clock())
            self.resume(house.id)
        await self._accept_or_park(house, self._late.pop(house.id, notification))

    async def _stored_at_last(self, house: House, notification: Notification) -> bool:
        for pause in _STORE_AGAIN:
            await asyncio.sleep(pause)
            try:
                async with self._constellations.use(house.id) as database:
                    await self._accept(house, database, [notification])
            except DatabaseRefused:
                raise
            except Exception:
                _log.exception("not_stored", source=notification.source, external_id=notification.external_id)
            else:
                return True
        return False

    async def _accept(self, house: House, database: Database, found: list[Notification]) -> None:
        """Store them; while the database refuses, keep them and try again. Whatever else is wrong passes on."""
        found = [without_secrets(each, house.turn_deps.redact) for each in found]
        heard = [replace(each, place=self._gate.heard_by(each.place)) for each in found]
        arrivals = [to_arrival(notification, house.group_of(notification)) for notification in heard]
        clock, broker = house.turn_deps.clock, house.turn_deps.broker

        def take(tx: Tx, arrivals: list[Arrival]) -> tuple[list[Accepted | None], bool]:
            taken, queued = [], False
            for arrival, notification in zip(arrivals, found, strict=True):
                if arrival.kind == Kind.DELETE:
                    queued |= broker.taken_back(tx, arrival.source, arrival.subject, clock())
                decided = settled(tx, with_reaction(tx, arrival), notification, house.by_state)
                accepted = self._take(tx, decided, clock())
                feedback.note_arrival(tx, arrival, accepted, clock())
                taken.append(accepted)
            return taken, queued

        accepted, queued = await self.unstored.take_in(
            lambda: len(arrivals) + self._queue.qsize(),
            lambda: database.write(_ACCEPT, lambda tx: take(tx, arrivals), durable=True),
        )
        if any(arrival.kind in (Kind.EDIT, Kind.DELETE) for arrival in arrivals):
            await self._follow(house, database)
        for row in accepted:
            if row is not None:
                self._wake(house, row)
        if queued:
            self.resume(house.id)

    async def _follow(self, house: House, database: Database, *, started: bool = False) -> None:
        """Do what follows edits and deletions; what fails is tried again beside everything else."""
        deps = house.turn_deps
        done = await followed(database, deps.clock, deps.redact, house.notices, started=started)
        if not done and house.id not in self._following:
            self._following.add(house.id)
            again = functools.partial(self._follow_later, house, started=started)
            self._spawn(again, f"follow-ups {house.id}", self._storing)
        self.resume(house.id)

    async def _follow_later(self, house: House, *, started: bool) -> None:
        try:
            self._following.add(house.id)  # it may have been begun again
            async with self._constellations.use(house.id) as database:
                if started:
                    await take_up_follow_ups(database, house.turn_deps.clock())
                while await follow(database, house.turn_deps.clock, house.turn_deps.redact, house.notices):
                    self.resume(house.id)
                    await asyncio.sleep(_FOLLOW_SECONDS)
        finally:
            self._following.discard(house.id)

    def _take(self, tx: Tx, arrival: Arrival, now: datetime) -> Accepted | None:
        """Take an arrival in; of somebody who is not to be heard no more than how far the place was read."""
        if arrival.kind in (Kind.MESSAGE, Kind.REACTION):
            if self._gate.deaf(arrival.source):
                return None  # not even how far the place was read: it is read from there when the source is resumed
            if self._gate.withheld(arrival.person):
                inbox.note_place(tx, arrival, now)
                return None
        return inbox.accept(tx, arrival, now)

    def _wake(self, house: House, row: Accepted) -> None:
        if row.turn is not None:
            for (place, _group), conversation in self._work[house.id].conversations.items():
                if place == row.place:
                    conversation.changed(row.turn)
        if row.group is not None:
            self._open_conversation(house, row.place, row.group)

    # ------------------------------------------------------------------ conversations and deliveries

    def _spawn(self, work: Work, name: str, among: set[asyncio.Task[None]] | None = None) -> None:
        """Run it beside everything else; it is begun again while the database refuses, and whenever it fails.

        A name is of one constellation: what rests there keeps nothing from being begun in another.
        """
        if self._supervisor is not None and not self._supervisor.rests(name):
            task = self._supervisor.keep(name, work)
            kept = self._running if among is None else among
            kept.add(task)
            task.add_done_callback(kept.discard)

    def _conversation_of(self, house: House, place: PlaceId) -> ConversationWorker | None:
        return next((found for (of, _), found in self._work[house.id].conversations.items() if of == place), None)

    def _open_conversation(self, house: House, place: PlaceId, group: GroupId) -> None:
        conversations = self._work[house.id].conversations
        if (place, group) in conversations:
            conversations[place, group].arrived()
        elif (
            self._supervisor is not None
            and not self._stopping
            and not (self.halted or self._gate.deaf(place_source(place)))
        ):
            run = functools.partial(self._run_conversation, house, place, group)
            self._spawn(run, f"conversation {house.id} {place} {group}")

    async def _run_conversation(self, house: House, place: PlaceId, group: GroupId) -> None:
        conversations = self._work[house.id].conversations
        async with self._constellations.use(house.id) as database:
            if (place, group) in conversations:  # another task was faster while the file was opened
                conversations[place, group].arrived()
                return
            tell = functools.partial(self._open_others, house)
            conversation = ConversationWorker(
                database, (place, group), house.turn_deps, self._patience(place_source(place)), house.notices, tell
            )
            conversations[place, group] = conversation
            try:
                await until_stored(f"conversation {place}", conversation.run, self.unstored)
            except Exception:
                self.resume(house.id)  # what it had stored may wait to be delivered
                raise
            finally:
                del conversations[place, group]
                self._settled.pulse()
            waiting = await database.read(lambda rows: inbox.head(rows, place, group, house.turn_deps.clock()))
        if waiting is not None and not self._stopping:
            self._open_conversation(house, place, group)

    def _open_others(self, house: House, places: OpenPlaces, conversations: Written) -> None:
        """Wake a delivery where something is to be sent, a conversation where agents wrote: a turn may do both."""
        for source, place in places:
            self._open_delivery(house, place, source)
        for place, group in conversations:
            self._open_conversation(house, place, group)

    def _open_delivery(self, house: House, place: PlaceId, source: str) -> None:
        deliveries = self._work[house.id].deliveries
        if place in deliveries:
            deliveries[place].wake()
        elif self._supervisor is not None and source in self._endpoints and not self.halted:
            self._spawn(functools.partial(self._run_delivery, house, place, source), f"delivery {house.id} {place}")

    async def _run_delivery(self, house: House, place: PlaceId, source: str) -> None:
        deliveries = self._work[house.id].deliveries
        async with self._constellations.use(house.id) as database:
            if place in deliveries:
                deliveries[place].wake()
                return
            tell, broker = functools.partial(self.resume, house.id), house.turn_deps.broker
            office = DeliveryDeps(
                house.turn_deps.clock, house.notices, self._settled.pulse, tell, broker.lost, broker.sent
            )
            delivery = DeliveryWorker(database, place, self._endpoints[source], office)
            deliveries[place] = delivery
            try:
                await self._deliver((house.id, place), source, delivery)
            finally:
                del deliveries[place]
                self._settled.pulse()

    async def _deliver(self, where: tuple[ConstellationId, PlaceId], source: str, delivery: DeliveryWorker) -> None:
        """Have it deliver; what must wait for long is looked at again when its time has come."""

        async def run() -> None:
            if (due := await delivery.run()) is not None:
                self._later[where] = due, source
                self._sooner.set()

        await until_stored(f"delivery {where[1]}", run, self.unstored)

    async def _ring(self) -> None:
        """Look at each place again for which something had to wait long; a clock that is moved is noticed soon."""
        while True:
            self._sooner.clear()
            for (identifier, place), (due, source) in list(self._later.items()):
                if due <= self._houses[identifier].turn_deps.clock():
                    del self._later[identifier, place]
                    self._open_delivery(self._houses[identifier], place, source)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._sooner.wait()


def _busy(deliveries: Mapping[PlaceId, DeliveryWorker]) -> bool:
    return any(not delivery.waiting for delivery in deliveries.values())
