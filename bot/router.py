"""From notification to lane: which constellation and group it is for, and who works on it.

`receive` takes a notification at once and in order. The intake makes whole batches durable, then wakes the
lanes concerned. Lanes and couriers exist while there is work and hold their constellation's file open as long.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias

import structlog

from bot import signals
from bot.arriving import ByState, ask_again, no_states, settled, to_arrival, with_reaction, without_secrets
from bot.courier import Courier, Office
from bot.lane import Lane, OpenPlaces, Patience, Written
from bot.notices import Notices
from bot.patrolling import is_patrol
from bot.retrying import Unstored, until_stored
from bot.turns.kit import Kit
from bot.turns.transcript import queue_preview
from memory import groups, inbox, outbox
from memory.constellation import Constellations
from memory.database import Database, Tx
from memory.faults import commit_point
from memory.ids import ConstellationId, GroupId, OutboxId, PersonId, PlaceId, TurnId, place_source
from memory.inbox import Accepted, Arrival
from sources.base import Endpoint, Kind, Notification, Place

_ACCEPT = commit_point("inbox.accept")
_PREVIEW = commit_point("outbox.preview")
_RELEASE = commit_point("outbox.release")

_BATCH = 64  # notifications that share one durable commit at most

_log = structlog.get_logger("bot.router")

ChooseGroup: TypeAlias = Callable[[Place, str], GroupId]
"""Which group answers what is said in a place; the words are empty where nobody said any."""
Queue: TypeAlias = Callable[[Tx, TurnId, str, datetime], OutboxId | None]
"""Makes the outbox row of a running turn that says these words meanwhile, or finds it; None when it is to have none."""


@dataclass(frozen=True)
class House:
    """A constellation as the router knows it."""

    id: ConstellationId
    choose: ChooseGroup
    kit: Kit
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

    lanes: dict[tuple[PlaceId, GroupId], Lane] = field(default_factory=dict)
    couriers: dict[PlaceId, Courier] = field(default_factory=dict)


class Router:
    """Takes notifications in and sees to it that somebody answers and somebody delivers."""

    def __init__(
        self,
        constellations: Constellations,
        houses: Mapping[ConstellationId, House],
        default: ConstellationId,
        endpoints: Mapping[str, Endpoint],
        patience: Callable[[str], Patience],
    ) -> None:
        self._constellations = constellations
        self._houses = houses
        self._default = default
        self._endpoints = endpoints
        self._patience = patience
        self._queue: asyncio.Queue[Notification] = asyncio.Queue()
        self._work: dict[ConstellationId, _Work] = {house: _Work() for house in houses}
        self._tasks: asyncio.TaskGroup | None = None
        self._stopping = False
        self._settled = Pulse()
        self._running: set[asyncio.Task[None]] = set()
        self._intake: asyncio.Task[None] | None = None
        self.on_message: Callable[[Notification], None] = lambda _notification: None
        """Told of everything that is heard, before it is stored."""
        self.withheld: Callable[[PersonId | None], bool] = lambda _person: False
        """Whether nothing that a person says is stored or answered; edits and deletions still follow through."""
        self.before_storing: Callable[[], Awaitable[None]] = _nothing_first
        """Awaited before what was heard is stored, so that what it says to the house itself is kept first."""
        self.deaf: Callable[[str], bool] = lambda _source: False
        """Whether a source is paused: nothing of it is stored or answered."""
        self.heard_by: Callable[[Place], Place] = lambda place: place
        """A place with what its hearers know beside what its source knows of them."""
        self.unstored = Unstored()
        """What waits for a database that takes no writes."""
        self.halted = False
        """Whether nothing is answered and nothing said; what arrives is stored all the same."""

    def receive(self, notification: Notification) -> None:
        """Take a notification; it is durable a moment later, in this order."""
        self.on_message(notification)
        self._queue.put_nowait(notification)

    async def start(self, tasks: asyncio.TaskGroup) -> None:
        """Take up what was left by the last run, then begin to take in."""
        self._tasks = tasks
        for house in self._houses.values():
            await self._take_up(house)
        self._intake = tasks.create_task(self._take_in(), name="intake")

    def halt(self) -> None:
        """Stop every turn and every delivery now. Their rows stay as they are until `release`."""
        self.halted = True
        for task in self._running:
            task.cancel()

    def release(self) -> None:
        """Go on with what was stopped, and with what arrived meanwhile."""
        self.halted = False
        for house in self._houses:
            self.resume(house)

    def resume(self, house: ConstellationId) -> None:
        """Something was queued by other hands than a turn's: see to whatever waits, unless its house is not served."""
        if (served := self._houses.get(house)) is not None:
            self._spawn(functools.partial(self._take_up, served), "take up")

    async def _take_up(self, house: House) -> None:
        async with self._constellations.use(house.id) as database:
            lanes = await database.read(lambda rows: inbox.open_lanes(rows) + groups.listening_lanes(rows))
            places = await database.read(outbox.open_places)
        for place, group in lanes:
            if place_source(place) in self._endpoints or is_patrol(place):
                self._open_lane(house, place, group)
            else:
                _log.warning("waits_for_front_end", place=place, hint="its front end is not configured any more")
        for source, place in places:
            self._open_courier(house, place, source)

    async def drain(self, seconds: float) -> None:
        """Store what was heard, let turns come to a stored step, deliver what is ready; for at most `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._queue.join()
                self._stopping = True
                for work in self._work.values():
                    for lane in work.lanes.values():
                        lane.stop()
                while any(work.lanes or _busy(work.couriers) for work in self._work.values()):
                    await self._settled.wait()
        except TimeoutError:
            _log.warning("drain_timed_out", seconds=seconds)

    def stop(self) -> None:
        """End what still waits for a later time; its rows are taken up at the next start."""
        if self._intake is not None:
            self._intake.cancel()
        for task in self._running:
            task.cancel()

    @property
    def busy(self) -> bool:
        """Whether anybody is being answered."""
        return any(work.lanes for work in self._work.values())

    async def delivered(self, place: PlaceId) -> None:
        """Wait until nothing is left to be sent to a place, or it has to wait for another time."""
        for house in self._houses.values():
            async with self._constellations.use(house.id) as database:
                while found := await database.read(lambda rows: outbox.open_rows(rows, place)):
                    courier, due = self._work[house.id].couriers.get(place), found[0].next_attempt_at
                    if (courier is not None and courier.waiting) or (due is not None and due > house.kit.clock()):
                        return
                    if courier is None:
                        self._open_courier(house, place, place_source(place))
                    await self._settled.wait()

    async def preview(self, turn: TurnId, place: PlaceId, text: str, queue: Queue = queue_preview) -> str:
        """Show the beginning of an answer, or what `queue` makes a row of; the message's id, empty when it failed."""
        house = next((house for house in self._houses.values() if self._lane_of(house, place) is not None), None)
        if house is None:
            return ""
        now = house.kit.clock()
        async with self._constellations.use(house.id) as database:
            row = await database.write(_PREVIEW, lambda tx: queue(tx, turn, text, now))
            if row is None:
                return ""
            while True:
                found = await database.read(lambda rows: outbox.get(rows, row))
                if found is None or found.status not in (outbox.Status.PENDING, outbox.Status.SENDING):
                    return found.external_id if found is not None else ""
                self._open_courier(house, place, place_source(place))
                await self._settled.wait()

    async def reachable(self, place: PlaceId) -> None:
        """A place that could not be reached can be now: send what waits for it."""
        for house in self._houses.values():
            async with self._constellations.use(house.id) as database:
                await database.write(_RELEASE, lambda tx: outbox.release(tx, place))
                open_now = await database.read(lambda rows: [s for s, p in outbox.open_places(rows) if p == place])
            for source in open_now:
                self._open_courier(house, place, source)

    async def taken_in(self, seconds: float) -> None:
        """Wait until what was heard so far is stored; for at most `seconds`, while the database refuses."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._queue.join()

    def moved(self, house: ConstellationId, turns: Collection[TurnId]) -> None:
        """Other hands ended these turns or began them again: they look again, and so does whatever waits."""
        for lane in self._work[house].lanes.values() if house in self._work else ():
            for turn in turns:
                lane.changed(turn)

    def answer(self, house: ConstellationId, place: PlaceId, group: GroupId) -> None:
        """Something waits in a lane."""
        self._open_lane(self._houses[house], place, group)

    # ------------------------------------------------------------------ intake

    async def _take_in(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < _BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            try:
                await self.before_storing()
                await self._store(batch)
            finally:
                for _ in batch:
                    self._queue.task_done()

    async def _store(self, batch: Sequence[Notification]) -> None:
        by_house: dict[ConstellationId, list[Notification]] = {}
        for notification in batch:
            of_place = self._constellations.of_place(notification.place.bindings, self._default)
            by_house.setdefault(of_place if of_place in self._houses else self._default, []).append(notification)
        for identifier, found in by_house.items():
            house = self._houses[identifier]
            async with self._constellations.use(identifier) as database:
                await self._accept(house, database, found)

    async def _accept(self, house: House, database: Database, found: list[Notification]) -> None:
        """Store them, all or none; while the database refuses, keep them and try again."""
        found = [without_secrets(each, house.kit.redact) for each in found]
        heard = [replace(each, place=self.heard_by(each.place)) for each in found]
        arrivals = [to_arrival(notification, house.group_of(notification)) for notification in heard]
        clock, broker = house.kit.clock, house.kit.broker

        def take(tx: Tx, arrivals: list[Arrival]) -> tuple[list[Accepted | None], bool]:
            taken, queued = [], False
            for arrival, notification in zip(arrivals, found, strict=True):
                if arrival.kind == Kind.DELETE:
                    queued |= broker.taken_back(tx, arrival.source, arrival.subject, clock())
                decided = settled(tx, with_reaction(tx, arrival), notification, house.by_state)
                accepted = self._take(tx, decided, clock())
                signals.note_arrival(tx, arrival, accepted, clock())
                queued |= ask_again(tx, arrival, accepted, house.group_of(notification), clock())
                taken.append(accepted)
            return taken, queued

        try:
            accepted, queued = await self.unstored.take_in(
                lambda: len(arrivals) + self._queue.qsize(),
                lambda: database.write(_ACCEPT, lambda tx: take(tx, arrivals), durable=True),
            )
        except Exception:
            # One of them cannot be stored at all: it must not take the others with it.
            if len(arrivals) == 1:
                _log.exception("not_stored", source=found[0].source, external_id=found[0].external_id)
                return
            for notification in found:
                await self._accept(house, database, [notification])
            return
        for row in accepted:
            if row is not None:
                self._wake(house, row)
        if queued:
            self.resume(house.id)

    def _take(self, tx: Tx, arrival: Arrival, now: datetime) -> Accepted | None:
        """Take an arrival in; of somebody who is not to be heard no more than how far the place was read."""
        if arrival.kind in (Kind.MESSAGE, Kind.REACTION):
            if self.deaf(arrival.source):
                return None  # not even how far the place was read: it is read from there when the source is resumed
            if self.withheld(arrival.person):
                inbox.note_place(tx, arrival, now)
                return None
        return inbox.accept(tx, arrival, now)

    def _wake(self, house: House, row: Accepted) -> None:
        if row.turn is not None:
            for (place, _group), lane in self._work[house.id].lanes.items():
                if place == row.place:
                    lane.changed(row.turn)
        if row.group is not None:
            self._open_lane(house, row.place, row.group)

    # ------------------------------------------------------------------ lanes and couriers

    def _spawn(self, work: Callable[[], Awaitable[None]], name: str) -> None:
        """Run it beside everything else; it is begun again while the database refuses."""
        if self._tasks is not None:
            task = self._tasks.create_task(until_stored(name, work, self.unstored), name=name)
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    def _lane_of(self, house: House, place: PlaceId) -> Lane | None:
        return next((lane for (of, _group), lane in self._work[house.id].lanes.items() if of == place), None)

    def _open_lane(self, house: House, place: PlaceId, group: GroupId) -> None:
        lanes = self._work[house.id].lanes
        if (place, group) in lanes:
            lanes[place, group].arrived()
        elif self._tasks is not None and not self._stopping and not (self.halted or self.deaf(place_source(place))):
            self._spawn(functools.partial(self._run_lane, house, place, group), f"lane {place}")

    async def _run_lane(self, house: House, place: PlaceId, group: GroupId) -> None:
        lanes = self._work[house.id].lanes
        async with self._constellations.use(house.id) as database:
            if (place, group) in lanes:  # another task was faster while the file was opened
                lanes[place, group].arrived()
                return
            tell = functools.partial(self._open_others, house)
            lane = Lane(database, (place, group), house.kit, self._patience(place_source(place)), house.notices, tell)
            lanes[place, group] = lane
            try:
                await until_stored(f"lane {place}", lane.run, self.unstored)
            finally:
                del lanes[place, group]
                self._settled.pulse()
            waiting = await database.read(lambda rows: inbox.head(rows, place, group))
        if waiting is not None and not self._stopping:
            self._open_lane(house, place, group)

    def _open_others(self, house: House, places: OpenPlaces, lanes: Written) -> None:
        """Wake a courier wherever something is to be sent, a lane where agents wrote: a turn may do both anywhere."""
        for source, place in places:
            self._open_courier(house, place, source)
        for place, group in lanes:
            self._open_lane(house, place, group)

    def _open_courier(self, house: House, place: PlaceId, source: str) -> None:
        couriers = self._work[house.id].couriers
        if place in couriers:
            couriers[place].wake()
        elif self._tasks is not None and source in self._endpoints and not self.halted:
            self._spawn(functools.partial(self._run_courier, house, place, source), f"courier {place}")

    async def _run_courier(self, house: House, place: PlaceId, source: str) -> None:
        couriers = self._work[house.id].couriers
        async with self._constellations.use(house.id) as database:
            if place in couriers:
                couriers[place].wake()
                return
            tell, broker = functools.partial(self.resume, house.id), house.kit.broker
            office = Office(house.kit.clock, house.notices, self._settled.pulse, tell, broker.lost, broker.sent)
            courier = Courier(database, place, self._endpoints[source], office)
            couriers[place] = courier
            try:
                await until_stored(f"courier {place}", courier.run, self.unstored)
            finally:
                del couriers[place]
                self._settled.pulse()


async def _nothing_first() -> None:
    """What was heard is stored at once."""


class Pulse:
    """Wakes all who wait at the moment."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def pulse(self) -> None:
        self._event.set()
        self._event.clear()

    async def wait(self) -> None:
        await self._event.wait()


def _busy(couriers: Mapping[PlaceId, Courier]) -> bool:
    return any(not courier.waiting for courier in couriers.values())
