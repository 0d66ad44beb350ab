"""A lane: one group in one place. Its rows are answered in order, one turn at a time.

This is one of the three borders where any exception is caught: whatever goes wrong in a turn is written to its
inbox rows and tried again, later, and at last given up with a word to the owner.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias

import structlog

from bot import broker, events
from bot.groups.beginning import beginning
from bot.groups.conducting import look_alone, run_turn
from bot.groups.likeness import likeness, may_compare
from bot.groups.writing import STATUS as WRITTEN
from bot.notices import Notices
from bot.patrolling import is_patrol, waits_until
from bot.seeding import ensure_blocks
from bot.turns import happenings, recovery
from bot.turns.kit import Kit
from bot.turns.rates import refuse
from bot.turns.reins import Reins
from bot.turns.spaces import reference_blocks
from bot.turns.turn import Standing, run_part
from bot.unattended import unattended
from memory import agent_messages, agents, groups, inbox, outbox, presence, tries, turns
from memory.audience import OWNER, Audience, Scope, Trust
from memory.called import place_named
from memory.database import Database, Rows, Tx
from memory.errors import DatabaseBusy, DatabaseFull, StoreError
from memory.faults import commit_point
from memory.ids import GroupId, PlaceId, TurnId
from memory.inbox import InRow
from memory.turns import Turn

_BEGIN = commit_point("turn.begin")
_ATTEMPT = commit_point("turn.attempt")
_POSTPONE = commit_point("turn.postpone")
_BURY = commit_point("turn.bury")
_SPARE = commit_point("turn.spare")

_LISTEN_SECONDS = 300.0  # a member that listens keeps the lane from nobody for longer

_log = structlog.get_logger("bot.lane")


@dataclass(frozen=True)
class Patience:
    """How often a row is tried and how long between: seconds by attempt, the last one repeated.

    `merge` is the silence in seconds that ends a burst of one person, `merge_most` the longest wait for it.
    """

    attempts: int = 5
    apart_after: int = 2
    waits: tuple[float, ...] = (1, 5, 20, 60)
    merge: float = 0.5
    merge_most: float = 5


OpenPlaces: TypeAlias = Sequence[tuple[str, PlaceId]]
"""Source and id of the places in which something waits to be said."""
Written: TypeAlias = Sequence[tuple[PlaceId, GroupId]]
"""Lanes in which something waits that agents wrote."""


@dataclass(frozen=True)
class _Ahead:
    """What waits: the oldest row of the lane, what there is for others to do, and whether to compare."""

    head: InRow | None
    places: OpenPlaces
    lanes: Written
    compare: bool


@dataclass(frozen=True)
class _Begun:
    """A turn to run, and how it stood when it was begun, if it was begun just now and one agent answers."""

    turn: TurnId
    seen: Standing | None = None


class Lane:
    """Runs the turns of one lane while rows wait in it; `run` returns when none does."""

    def __init__(
        self,
        database: Database,
        lane: tuple[PlaceId, GroupId],
        kit: Kit,
        patience: Patience,
        notices: Notices,
        deliver: Callable[[OpenPlaces, Written], None],
    ) -> None:
        self._db = database
        self._place, self._group = lane
        self._deliver = deliver
        self._kit = kit
        self._patience = patience
        self._notices = notices
        self._reins: Reins | None = None
        self._turn: TurnId | None = None
        self._counted: TurnId | None = None
        """A turn whose try was counted and came to nothing because the database took no writes."""
        self._woken = asyncio.Event()
        self._stopping = False

    def arrived(self) -> None:
        """A row arrived in the lane."""
        self._woken.set()

    def changed(self, turn: TurnId) -> None:
        """Words that a turn answers were edited or deleted."""
        if self._reins is not None and self._turn == turn:
            self._reins.interrupt()

    def stop(self) -> None:
        """Return at the next stored step."""
        self._stopping = True
        self._woken.set()
        if self._reins is not None:
            self._reins.stopping = True

    async def run(self) -> None:
        """Answer what waits; `deliver` is told after every turn what there is to do elsewhere."""
        ahead = await self._db.read(self._ahead)
        while not self._stopping:
            if (head := ahead.head) is not None:
                await self._until_due(head)
                if head.turn is None and not head.alone:
                    await self._until_quiet(head)
                if self._stopping:
                    return
                begun = await self._begin(head, compare=ahead.compare)
                if begun is not None:
                    await self._try(begun)
            elif not await self._listen():
                return
            ahead = await self._db.read(self._ahead)
            self._deliver(ahead.places, ahead.lanes)

    def _ahead(self, rows: Rows) -> _Ahead:
        head = inbox.head(rows, self._place, self._group)
        compare = head is not None and head.turn is None and may_compare(rows, self._group)
        return _Ahead(head, outbox.open_places(rows), agent_messages.lanes(rows), compare)

    async def _listen(self) -> bool:
        """When nobody waits for an answer, let a member who only listens hear what was answered; False for none."""
        turn = await self._db.read(lambda rows: groups.listening(rows, self._place, self._group))
        if turn is None:
            return False
        reins = Reins()
        self._reins, self._turn = reins, turn
        reins.stopping = self._stopping
        try:
            return await run_part(self._db, self._kit, turn, _LISTEN_SECONDS, reins)
        finally:
            self._reins = self._turn = None

    async def _until_due(self, head: InRow) -> None:
        if head.next_attempt_at is None:
            return
        while not self._stopping and (wait := (head.next_attempt_at - self._kit.clock()).total_seconds()) > 0:
            await self._sleep(wait)

    async def _until_quiet(self, head: InRow) -> None:
        """Let a burst of messages come to its end before it is answered as one."""
        quiet, longest = self._patience.merge, timedelta(seconds=self._patience.merge_most)
        last = head
        while quiet > 0 and not self._stopping:
            now = self._kit.clock()
            end = min(last.received_at + timedelta(seconds=quiet), head.received_at + longest)
            if now >= end:
                return
            await self._sleep((end - now).total_seconds())
            last = await self._db.read(lambda rows: (inbox.joinable(rows, head) or [head])[-1])

    async def _sleep(self, seconds: float) -> None:
        self._woken.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _begin(self, head: InRow, *, compare: bool) -> _Begun | None:
        """Make a turn of the waiting rows, or take up the one that was begun before; None when it cannot be."""
        turn = head.turn
        try:
            if turn is None:
                near = await likeness(self._db, head, self._kit.meaning) if compare else {}
                begun = await self._db.write(_BEGIN, lambda tx: self._begin_new(tx, head, near))
                if begun is None:  # set aside: who waits for an answer waits no longer
                    self._kit.watch(events.Complete(TurnId(head.id), self._place))
                return begun
        except StoreError:
            raise
        except Exception as error:
            _log.exception("turn_not_begun", inbox=head.id, place=self._place)
            await self._not_begun(head, self._words(error))
            return None
        error_text = head.last_error or "the service died at every try"
        counted = self._counted == turn
        if head.attempts >= self._patience.attempts and not counted:  # every try so far ended with the process
            await self._db.write(_BURY, lambda tx: self._bury(tx, turn, error_text, self._kit.clock()))
            self._kit.watch(events.Failed(turn, self._place, again=False))
            return None
        # Also where nothing is counted: while the database takes no writes, no model is asked.
        goes_on = await self._db.write(
            _ATTEMPT, lambda tx: self._attempt(tx, head, turn, "" if counted else error_text)
        )
        self._counted = None
        return _Begun(turn) if goes_on else None

    def _attempt(self, tx: Tx, head: InRow, turn: TurnId, error: str) -> bool:
        """Count another try at a turn, `error` being what became of the one before; without one it was none.

        False when its rows were taken apart instead, as after any two failures.
        """
        now = self._kit.clock()
        if error and head.attempts >= self._patience.apart_after and len(inbox.of_turn(tx, turn)) > 1:
            self._take_apart(tx, turn, error, now)
            return False
        if error:
            tries.count_attempt(tx, turn)
        recovery.take_up(tx, turn, now)
        return True

    def _begin_new(self, tx: Tx, head: InRow, near: Mapping[str, float]) -> _Begun | None:
        """A turn of the waiting rows of one speaker; None when that speaker is over a rate limit, or nothing waits."""
        now, fresh = self._kit.clock(), inbox.get(tx, head.id)
        if fresh is None or fresh.status is not inbox.Status.RECEIVED:
            return None  # taken back, or its person erased, since it was looked at
        rows = [head] if head.alone else [head, *inbox.joinable(tx, head)]
        if (until := waits_until(tx, head, self._kit.owner.quiet, now)) is not None:
            inbox.put_off(tx, head.id, until)
            return None
        refused = refuse(tx, self._kit.rates, rows, self._kit.broker.terms.people.selves, now)
        if refused or unattended(tx, rows, self._notices, now):
            return None
        turn = begin_turn(tx, rows, now, near)
        return _Begun(turn, look_alone(tx, self._kit, turn))

    async def _not_begun(self, head: InRow, error: str) -> None:
        """No turn could even be made of a row: it is tried like any other failure."""
        now, dead = self._kit.clock(), head.attempts + 1 >= self._patience.attempts
        due = now + timedelta(seconds=self._wait(head.attempts + 1))

        def work(tx: Tx) -> None:
            tries.not_begun(tx, head.id, error, due, dead=dead, now=now)
            if dead:
                self._notices.tell_owner(tx, f"dead/inbox/{head.id}", self._epitaph(tx, error, head.audience), now)

        await self._db.write(_POSTPONE, work)
        if dead:  # who waits for an answer waits no longer
            self._kit.watch(events.Failed(TurnId(head.id), self._place, again=False))

    def _words(self, error: Exception) -> str:
        return f"{type(error).__name__}: {self._kit.redact(str(error))}"[:500]

    def _wait(self, attempts: int) -> float:
        waits = self._patience.waits
        return waits[min(attempts, len(waits)) - 1]

    async def _try(self, begun: _Begun) -> None:
        """One try. What is wrong with it is kept with its rows; only a cancelled task passes on."""
        turn, reins = begun.turn, Reins()
        self._reins, self._turn = reins, turn
        reins.stopping = self._stopping
        self._kit.watch(events.Started(turn, self._place))
        try:
            if not await run_turn(self._db, self._kit, turn, reins, begun.seen):
                await self._spare(turn)
        except (DatabaseBusy, DatabaseFull):
            self._counted = turn
            raise  # not the turn's fault: it goes on when the database takes writes again
        except asyncio.CancelledError:
            self._kit.watch(events.Failed(turn, self._place, again=True))  # halted, or the service ends
            await self._spare(turn)
            raise
        except Exception as error:
            _log.exception("turn_failed", turn=turn, place=self._place)
            await self._failed(turn, self._words(error))
        finally:
            self._reins = self._turn = None

    async def _spare(self, turn: TurnId) -> None:
        """A try that was stopped in good order, by a halt or the end of the service, was none."""
        await self._db.write(_SPARE, lambda tx: tries.uncount_attempt(tx, turn))

    async def _failed(self, turn: TurnId, error: str) -> None:
        now = self._kit.clock()
        rows = await self._db.read(lambda rows: inbox.of_turn(rows, turn))
        attempts = max((row.attempts for row in rows), default=0)
        again = attempts < self._patience.attempts
        if again:
            due = now + timedelta(seconds=self._wait(attempts))
            apart = len(rows) > 1 and attempts >= self._patience.apart_after
            await self._db.write(_POSTPONE, lambda tx: self._postpone(tx, turn, error, due, apart=apart, now=now))
        else:
            await self._db.write(_BURY, lambda tx: self._bury(tx, turn, error, now))
        self._kit.watch(events.Failed(turn, self._place, again))

    def _postpone(self, tx: Tx, turn: TurnId, error: str, due: datetime, *, apart: bool, now: datetime) -> None:
        tries.postpone(tx, turn, error, due)
        if apart:
            self._take_apart(tx, turn, error, now)

    def _take_apart(self, tx: Tx, turn: TurnId, error: str, now: datetime) -> None:
        """End a turn of several rows; each gets one of its own, so that one bad row fails alone."""
        recovery.keep(tx, turn, "failed", now)
        tries.separate(tx, turn)
        turns.end(tx, turn, "failed", now, error)
        outbox.withdraw_pending(tx, turn)
        self._kit.broker.withdraw(tx, turn, now)

    def _bury(self, tx: Tx, turn: TurnId, error: str, now: datetime) -> None:
        """Give up the rows of a turn that had all their tries; what joined it later has more."""
        recovery.keep(tx, turn, "failed", now)
        tries.separate(tx, turn, self._patience.attempts)
        tries.bury(tx, turn, error, now)
        turns.end(tx, turn, "failed", now, error)
        self._kit.broker.withdraw(tx, turn, now)
        audience = found.scope.audience if (found := turns.get(tx, turn)) else OWNER
        self._notices.tell_owner(tx, f"dead/{turn}", self._epitaph(tx, error, audience), now)

    def _epitaph(self, rows: Rows, error: str, audience: Audience) -> str:
        """Words for the owner; those of an error may quote what was said, which is not always for the owner."""
        if not Scope(OWNER).may_use(audience):
            error = error.partition(":")[0]
        place = place_named(rows, self._place, Scope(OWNER))
        return (
            f"I could not answer a message in {place} after {self._patience.attempts} tries: {error}. "
            "See it with `carina inbox list --dead`; `carina inbox retry` tries again."
        )


def begin_turn(tx: Tx, rows: list[InRow], now: datetime, near: Mapping[str, float]) -> TurnId:
    """Give the waiting rows of one speaker to a new turn of the group's agent, with the blocks they refer to.

    `near` is how like the words are to what members know (`bot.groups.likeness`).
    """
    head = rows[0]
    identifier = turns.new_turn_id()
    begun = beginning(tx, rows, identifier, now, near)
    decided = broker.decided(tx, head)
    place = inbox.place(tx, head.place)
    within = frozenset(place.within) if place is not None else frozenset()
    turn = Turn(
        id=identifier,
        agent=begun.plan.agent if decided is None else decided.agent,
        group=begun.team.group.id,
        place=head.place,
        person=head.person,
        scope=Scope(head.audience, within),
        trust=Trust.SYSTEM,
        blocks=(),
        restarts=0,
        started_at=now,
    )
    turn = replace(turn, away_since=presence.last_active(tx, turn.agent, turn.scope))
    ensure_blocks(tx, agents.agent(tx, turn.agent), turn.scope.audience, turn.person, now)
    asking = turns.get(tx, decided.turn) if decided is not None else None
    turn = replace(turn, blocks=asking.blocks if asking is not None else reference_blocks(tx, turn, rows, now))
    turns.begin(tx, turn)
    inbox.claim(tx, rows, turn.id)
    tries.count_attempt(tx, turn.id)
    turns.add_joined(tx, turn, [row.message for row in rows if row.message is not None], now)
    if not is_patrol(turn.place):  # who goes on patrol is away from people all the same
        presence.came(tx, turn, now)
        happenings.note_asked(tx, turn, rows, now)
    if decided is not None:
        broker.resume(tx, turn, decided, now)
    else:
        begun.keep(tx, turn, now)
    for wrote in agent_messages.wrote(tx, turn.id) if head.source == WRITTEN else ():
        turns.hand_uses(tx, wrote, turn.id)
    agents.set_group(tx, head.place, begun.team.group.id)
    return turn.id
