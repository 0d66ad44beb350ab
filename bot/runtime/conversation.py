"""Answers the messages to one group in one place, in order, one turn at a time. A turn that a crash cut off is resumed
here (`_take_up`).

This is one of the three places where any exception is caught: a failed turn's error is written to its inbox rows, which
are retried later and finally given up with a notice to the owner.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import TypeAlias

from msgspec import Struct

from bot.agents import turn_events
from bot.agents.context import interrupted_work
from bot.agents.groups.orchestrator import run_turn
from bot.agents.groups.team import Team, team
from bot.agents.groups.who_answers import member_similarity
from bot.agents.model_call import HOLD_SECONDS, TurnControl
from bot.agents.patrols import waits_until
from bot.agents.rate_limits import refuse
from bot.agents.turn import run_part
from bot.agents.turn_deps import TurnDeps
from bot.runtime.turn_retries import GIVE_UP, POSTPONE, SEPARATE_AFTER, RetryPolicy, TurnRetries
from bot.runtime.turn_start import TurnStart, begin_turn, is_unattended
from memory import agent_groups, group_runs
from memory.people.audience import Audience
from memory.queue import inbox, place_settings, turns
from memory.queue.inbox import InRow
from memory.store.database import Database, Rows, Tx
from memory.store.errors import DatabaseBusy, DatabaseFull, DatabaseRefused
from memory.store.faults import commit_point
from memory.store.ids import GroupId, InboxId, PersonId, PlaceId, TurnId, place_source
from memory.store.logs import Log
from memory.store.row_mapper import UnreadableRow
from sources.base import Memberships
from texts import gettext_noop

_BEGIN = commit_point("turn.begin")
_ATTEMPT = commit_point("turn.attempt")
_SPARE = commit_point("turn.spare")

_ENDED = gettext_noop("the service stopped during every attempt")
_COMPARES = "dynamic"  # the pattern of groups that may choose by members' knowledge (`member_similarity`)
_CHECKED = timedelta(minutes=5)  # of what was checked when a message arrived
_LISTEN_SECONDS = 300.0  # how long a listening member may keep the conversation busy

_log = Log("bot.runtime.conversation")


OpenPlaces: TypeAlias = Sequence[tuple[str, PlaceId]]
"""Source and id of the places with rows to send."""
Written: TypeAlias = Sequence[tuple[PlaceId, GroupId]]
"""Conversations with waiting messages by agents."""


class _Backlog(Struct, frozen=True):
    """What waits: the oldest row of the conversation, work for others, and whether to compare meanings."""

    head: InRow | None
    places: OpenPlaces = ()
    conversations: Written = ()
    compare: bool = False
    listening: TurnId | None = None
    """The turn of a member that still has to listen; only set if nobody waits for an answer."""
    begun: TurnStart | None = None
    """The row's turn, if it was begun in the same commit."""


class ConversationWorker:
    """Runs the turns of one conversation while rows wait in it; `run` returns when none do."""

    def __init__(
        self,
        database: Database,
        conversation: tuple[PlaceId, GroupId],
        turn_deps: TurnDeps,
        retry_policy: RetryPolicy,
        deliver: Callable[[OpenPlaces, Written], None],
    ) -> None:
        self._db = database
        self._place, self._group = conversation
        self._places = ((place_source(self._place), self._place),)
        self._deliver = deliver
        self._deps = turn_deps
        self._retry_policy = retry_policy
        self._retries = TurnRetries(database, self._place, turn_deps, retry_policy)
        self._control: TurnControl | None = None
        self._turn: TurnId | None = None
        self._counted: TurnId | None = None
        """A turn whose counted attempt failed because the database refused writes."""
        self.woken = asyncio.Event()  # a row arrived since the last look
        self._added = asyncio.Event()
        """Set when a row arrives after the current turn began."""
        self._next: _Backlog | None = None
        """What waits, as read when the current turn ended."""
        self._risked: InboxId | None = None
        """A row whose start was counted before its turn begins."""
        self._person: PersonId | None = None
        self._stopping = False
        self.resting = False
        """Whether it only waits for a later time."""

    def arrived(self) -> None:
        self.woken.set()
        self._added.set()

    def changed(self, turn: TurnId) -> None:
        """The text of a message that a turn answers was edited or deleted."""
        if self._control is not None and self._turn == turn:
            self._control.interrupt()

    async def showing(self, turn: TurnId) -> bool:
        """The answer is about to be shown: wait a moment while its reader is typing. False: do not show it, the turn is
        over."""
        if (control := self._control) is None or self._turn != turn:
            return False
        if self._deps.typing.is_typing(self._place, self._person):
            await asyncio.sleep(control.hold_left(HOLD_SECONDS))
        control.shown = True
        return self._control is control

    def stop(self) -> None:
        """Make the turn return at the next stored step."""
        self._stopping = True
        self.woken.set()
        if self._control is not None:
            self._control.stopping = True

    async def run(self) -> None:
        """Answer what waits; after every turn, `deliver` gets the work for others."""
        ahead = await self._look_and_begin()
        while ahead.begun is not None or not self._stopping:
            if (head := ahead.head) is None:
                if ahead.listening is None or not await self._listen(ahead.listening):
                    return
            elif (begun := ahead.begun or await self._begin_when_due(head, compare=ahead.compare)) is not None:
                await self._try(begun, head.person)
                self._say()
            ahead = await self._look()

    async def _look(self) -> _Backlog:
        if (ahead := self._next) is None:
            self.woken.clear()
            ahead = await self._db.read(self._ahead)
        self._next = None
        self._deliver(ahead.places, ahead.conversations)
        return ahead

    def _ending(self) -> None:
        """An answer is being stored: the next look finds everything that arrives from here on."""
        self.woken.clear()
        self._say()

    def _over(self, rows: Rows) -> None:
        self._next = self._ahead(rows)

    def _say(self) -> None:
        self._deliver(self._places, ())

    async def _look_and_begin(self) -> _Backlog:
        """What waits; if possible its turn begins in the same commit, usually the one that stored the row."""
        self.woken.clear()
        self._added.clear()
        try:
            ahead, passed = await self._db.write(_BEGIN, self._at_once)
        except DatabaseRefused:
            raise
        except Exception:  # reported and counted when the turn is begun alone, after the commit
            return await self._db.write(_BEGIN, self._ahead)
        if passed and ahead.head is not None:
            await self._passed(ahead.head)
            return await self._look()
        return ahead

    def _at_once(self, tx: Tx) -> tuple[_Backlog, bool]:
        """What waits, with its turn if one can begin; and whether one could, but was postponed or dropped."""
        waiting = inbox.oldest(tx, self._place, self._group, self._deps.clock())
        head = waiting[0] if waiting else None
        waits = head is None or head.turn is not None or head.next_attempt_at is not None or self._careful(head)
        waits = waits or head is None or self._may_have_left(head)
        found = None if waits or self._retry_policy.merge > 0 else team(tx, self._group)
        if head is None or found is None or found.group.pattern == _COMPARES:
            return self._ahead(tx), False
        begun = self._begin_new(tx, inbox.unclaimed(tx, head) if waiting[1:] else waiting, found, {})
        return _Backlog(head, begun=begun), begun is None

    async def _begin_when_due(self, head: InRow, *, compare: bool) -> TurnStart | None:
        if not await self._until_due(head):
            return None
        if head.turn is None and not head.alone:
            await self._until_quiet(head)
        if self._stopping:
            return None
        self._added.clear()
        return await self._begin(head, compare=compare)

    def _ahead(self, rows: Rows) -> _Backlog:
        found = group_runs.waiting(rows, self._place, self._group)
        head = inbox.oldest(rows, self._place, self._group, self._deps.clock())[0] if found.here else None
        compare = head is not None and head.turn is None and agent_groups.pattern(rows, self._group) == _COMPARES
        return _Backlog(head, found.places, found.conversations, compare, None if head else found.listening)

    async def _listen(self, turn: TurnId) -> bool:
        """When nobody waits for an answer, let a member that only listens read what was answered."""
        control = TurnControl(asyncio.Event(), self._ending, self._over)
        self._control, self._turn = control, turn
        control.stopping = self._stopping
        try:
            return await run_part(self._db, self._deps, turn, _LISTEN_SECONDS, control)
        finally:
            self._control = self._turn = None

    async def _until_due(self, head: InRow) -> bool:
        """Wait until the row is due; False if something that may be handled first arrived meanwhile."""
        if head.next_attempt_at is None or (wait := (head.next_attempt_at - self._deps.clock()).total_seconds()) <= 0:
            return True
        self.resting = True
        try:
            await self._sleep(wait)
        finally:
            self.resting = False
        return self._stopping

    async def _until_quiet(self, head: InRow) -> None:
        """Wait for the end of a burst of messages, to answer them together."""
        quiet, longest = self._retry_policy.merge, timedelta(seconds=self._retry_policy.merge_most)
        last = head
        while quiet > 0 and not self._stopping:
            now = self._deps.clock()
            end = min(last.received_at + timedelta(seconds=quiet), head.received_at + longest)
            if now >= end:
                return
            await self._sleep((end - now).total_seconds())
            last = await self._db.read(lambda rows: (inbox.joinable(rows, head) or [head])[-1])

    async def _sleep(self, seconds: float) -> None:
        self.woken.clear()
        try:
            async with asyncio.timeout(seconds):
                await self.woken.wait()
        except TimeoutError:
            return

    async def _begin(self, head: InRow, *, compare: bool) -> TurnStart | None:
        """Begin a turn for the waiting rows, or resume the one that was begun before; None if that is not possible."""
        turn = head.turn
        try:
            if turn is None:
                if head.starts >= turns.MOST_STARTS:
                    await self._retries.not_begun(head, _ENDED)
                    return None
                if self._careful(head):
                    await self._db.write(_ATTEMPT, lambda tx: turns.count_start(tx, head.id, self._deps.clock()))
                    self._risked = head.id
                near = await member_similarity(self._db, head, self._deps.meaning) if compare else {}
                servers = await self._servers(head) if self._may_have_left(head) else None

                def begin(tx: Tx) -> TurnStart | None:
                    if servers is not None:
                        place_settings.keep_servers(tx, self._place, servers)
                    return self._begin_new(tx, inbox.unclaimed(tx, head), team(tx, self._group), near)

                begun = await self._db.write(_BEGIN, begin)
                if begun is None:
                    await self._passed(head)
                return begun
        except DatabaseRefused:
            raise
        except Exception as error:
            _log.exception("turn_not_begun", inbox=head.id, place=self._place)
            await self._retries.not_begun(head, self._retries.words_of(error))
            return None
        try:
            return await self._take_up(head, turn)
        except DatabaseRefused:
            raise
        except Exception as error:
            _log.exception("turn_not_taken_up", turn=turn, place=self._place)
            await self._db.write(_ATTEMPT, lambda tx: turns.count_attempt(tx, turn))
            await self._retries.failed(turn, self._retries.words_of(error))
            return None

    async def _passed(self, head: InRow) -> None:
        """The caller of this message stops waiting if the row was dropped or given up."""
        if not await self._db.read(lambda rows: _waits(rows, head)):
            self._deps.watch(turn_events.TurnCompleted(TurnId(head.id), self._place))

    async def _take_up(self, head: InRow, turn: TurnId) -> TurnStart | None:
        """Resume a turn; None when it is given up, or its rows were separated."""
        if self._may_have_left(head):
            servers = await self._servers(head)
            if await self._db.write(POSTPONE, lambda tx: self._left(tx, turn, servers)):
                return None
        error_text = head.last_error or _ENDED
        counted = self._counted == turn
        spent = head.attempts - self._retry_policy.attempts  # so far every attempt ended with the process
        if spent >= 0 and not counted and head.ran and spent < len(turns.HEALTHY):
            # Others are answered during the pause.
            due = self._deps.clock() + turns.HEALTHY[spent]
            await self._db.write(POSTPONE, lambda tx: self._retries.retry_separately(tx, turn, _ENDED, due))
            return None
        if not counted and (spent >= 0 if head.ran else head.starts + 1 >= turns.MOST_STARTS):
            await self._db.write(GIVE_UP, lambda tx: self._retries.give_up(tx, turn, error_text, self._deps.clock()))
            self._deps.watch(turn_events.TurnFailed(turn, self._place, again=False))
            return None
        # Even if nothing is counted: while the database refuses writes, no model is asked.
        goes_on = await self._db.write(
            _ATTEMPT, lambda tx: self._attempt(tx, head, turn, "" if counted else error_text)
        )
        self._counted = None
        return TurnStart(turn) if goes_on else None

    def _attempt(self, tx: Tx, head: InRow, turn: TurnId, error: str) -> bool:
        """Count another attempt at a turn; `error` is the last one's, empty if that does not count.

        False if its rows were separated instead, as after any two failures or half of the starts.
        """
        now = self._deps.clock()
        apart = head.attempts >= SEPARATE_AFTER or head.starts >= turns.MOST_STARTS // 2
        if error and apart and len(inbox.of_turn(tx, turn)) > 1:
            self._retries.retry_separately(tx, turn, error)
            return False
        if error:
            turns.count_again(tx, turn, now, ran=head.ran)
        interrupted_work.take_up(tx, turn, now)
        return True

    def _begin_new(self, tx: Tx, waiting: list[InRow], found: Team, near: Mapping[str, float]) -> TurnStart | None:
        """A turn for the waiting rows of one speaker; None if the speaker is over a rate limit, or nothing waits."""
        if not waiting:
            return None  # deleted since the look, or its person erased
        now, head = self._deps.clock(), waiting[0]
        alone = head.starts >= turns.MOST_STARTS // 2
        rows = [row for row in waiting if row.id == head.id or not (alone or isinstance(row.payload, UnreadableRow))]
        if head.id == self._risked:
            turns.uncount_start(tx, head.id)
        if (until := waits_until(tx, head, self._deps.quiet, now)) is not None:
            inbox.put_off(tx, head.id, until)
            return None
        with self._deps.speaking_to(head.person):
            refused = refuse(tx, self._deps.rates, rows, self._deps.broker.terms.people.selves, now)
        if refused:
            return None
        if is_unattended(tx, rows, found, self._deps):
            return None
        return begin_turn(tx, rows, found, now, near, self._deps.limits.max_steps)

    def _may_have_left(self, head: InRow) -> bool:
        """Whether the reader of direct messages may have left servers since their last message there."""
        new = head.kind != "event" and self._deps.clock() - head.received_at < _CHECKED
        return head.audience.startswith("person:") and not new

    async def _servers(self, head: InRow) -> Collection[Audience]:
        """The servers that the person of direct messages is still in, of those they were in when they wrote."""
        known = await self._db.read(lambda rows: inbox.place(rows, self._place))
        servers = [each for each in known.within if each.startswith("guild:")] if known is not None else []
        endpoint = self._deps.endpoints.get(place_source(self._place))
        person = PersonId(head.audience.removeprefix("person:"))
        return await endpoint.still_in(person, servers) if servers and isinstance(endpoint, Memberships) else ()

    def _left(self, tx: Tx, turn: TurnId, servers: Collection[Audience]) -> bool:
        """Whether a reader of a turn has left a server since it began: its rows start over, without what it saw."""
        begun = turns.get(tx, turn)
        left = begun is not None and any(each.startswith("guild:") for each in begun.scope.within - {*servers})
        if left:
            self._retries.retry_separately(tx, turn, "its reader left a server")
        return left

    def _careful(self, head: InRow) -> bool:
        return head.received_at < self._retry_policy.careful_before

    async def _try(self, begun: TurnStart, person: PersonId | None) -> None:
        """Make one attempt. Errors are stored with its rows; only cancellation is raised."""
        self._person = person
        self._deps.typing.took(self._place, person)
        turn = begun.turn
        control = TurnControl(self._added, self._ending, self._over, streams=self._retry_policy.streams)
        self._control, self._turn = control, turn
        control.stopping, control.first = self._stopping, begun.first
        self._deps.watch(turn_events.TurnStarted(turn, self._place))
        try:
            with self._deps.speaking_to(person):
                ended = await run_turn(self._db, self._deps, turn, control, begun.seen)
            if not ended:
                await self._spare(turn)
        except (DatabaseBusy, DatabaseFull):
            self._counted, self._next = turn, None
            raise  # not the turn's fault: it continues when the database accepts writes again
        except asyncio.CancelledError:
            self._deps.watch(turn_events.TurnFailed(turn, self._place, again=True))  # a halt, or the service ends
            await self._spare(turn)
            raise
        except Exception as error:
            self._next = None  # the attempt may be rolled back, and this with it
            _log.exception("turn_failed", turn=turn, place=self._place)
            await self._retries.failed(turn, self._retries.words_of(error))
        finally:
            self._control = self._turn = None

    async def _spare(self, turn: TurnId) -> None:
        """Do not count an attempt that a halt or the end of the service stopped."""
        await self._db.write(_SPARE, lambda tx: turns.uncount_attempt(tx, turn))


def _waits(rows: Rows, row: InRow) -> bool:
    """Whether a row will still be answered, now or later, without manual action."""
    now = inbox.get(rows, row.id)
    return now is not None and now.status is inbox.Status.RECEIVED
