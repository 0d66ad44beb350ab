"""One call of the model for a turn: wait for the answer, or cancel it for additions, and record its cost.

A failed call is retried by the model itself (`bot.models.retry_and_fallback`).

Most people write a thought in several messages. Waiting for the next one would delay every answer, so a turn begins
with the first message, and the others join it as long as nothing was done or shown: the model is called again.

All workers of one turn share its `TurnControl`, so that they stop or start over together.
"""

import asyncio
import time
from asyncio import FIRST_COMPLETED
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct, field

from bot.agents import turn_events
from bot.agents.answer_messages import without_our_lines
from bot.agents.budgets import Allowance, BudgetLevel, cost_of
from bot.agents.context.prompt import PromptInputs
from bot.agents.next_step import MAX_EDITS_TOLD, MAX_RESTARTS
from bot.agents.turn_deps import TurnDeps
from bot.agents.turn_end import arrivals
from bot.config.values import OFFLINE
from bot.models.base import Answer, AnswerRestarted, Model, Request, TextDelta, Usage
from memory import spending
from memory.queue.steps import MessagesJoined, has_effect
from memory.spending import record
from memory.store.database import Database, Rows, Tx
from memory.store.faults import call_point, commit_point, outside
from memory.store.records import replace

MOST_INTERRUPTIONS = 2
"""How often a turn's model call is restarted for additions; later ones join at the next step."""
MOST_CHANGES = MAX_RESTARTS + MAX_EDITS_TOLD
"""How often a turn's model calls are canceled because messages were edited or deleted; then they are read later."""
HOLD_SECONDS = 1.5
"""How long an answer is held back in total while its reader is typing."""


def may_interrupt(material: PromptInputs, *, shown: bool) -> bool:
    """Whether a model call may be restarted: its turn did and showed nothing, and was not interrupted too often."""
    if shown or material.part is not None:
        return False
    joined = [step for step in material.steps if isinstance(step.body, MessagesJoined)]
    return len(joined) <= MOST_INTERRUPTIONS and not any(has_effect(step.body) for step in material.steps)


class TurnControl(Struct, eq=False):
    """Passed from a conversation to the worker of a turn, and on to the workers of its parts.

    `added` is set when something arrives in the conversation; `streams`: people see the answer while it is written.
    `ending` is called while an answer is stored, so that its delivery is claimed in the same commit; `over` in the unit
    that ends the turn.
    """

    added: asyncio.Event
    ending: Callable[[], None]
    over: Callable[[Rows], None]
    streams: bool = False
    stopping: bool = False
    """Return at the next stored step."""
    ran: bool = False
    """Whether it is stored that the attempt reached a model or tool call."""
    first: bool = False
    """Whether that will be stored with the first answer."""
    shown: bool = False
    """Whether people saw any of the answer."""
    _changes: int = 0
    _held_since: float | None = None
    _interrupts: list[Callable[[], None]] = field(default_factory=list)

    def interrupt(self) -> None:
        """The turn's input changed: cancel model calls and look again."""
        self._changes += 1
        for interrupt in tuple(self._interrupts) if self._changes <= MOST_CHANGES else ():
            interrupt()

    def hold_left(self, seconds: float) -> float:
        """The rest of the seconds for holding an answer back, counted from the first call of this method."""
        now = time.monotonic()
        if self._held_since is None:
            self._held_since = now
        return max(self._held_since + seconds - now, 0.0)

    @contextmanager
    def held(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Receive interruptions within the context."""
        self._interrupts.append(interrupt)
        try:
            yield
        finally:
            self._interrupts.remove(interrupt)


_RELEASE = commit_point("budget.release")
_IN_VAIN = commit_point("turn.call_in_vain")
_MODEL = call_point("model.complete")


class ModelCall:
    """Created for each call; `allowed` says what may be spent on it."""

    def __init__(
        self, database: Database, turn_deps: TurnDeps, control: TurnControl, material: PromptInputs, allowed: Allowance
    ) -> None:
        self._db = database
        self._deps = turn_deps
        self._control = control
        self._material = material
        self._turn = material.turn
        self._allowed = allowed
        self._request: Request | None = None
        self._name = OFFLINE
        self._answering: asyncio.Task[Answer] | None = None
        self._given = False
        """Whether its answer was returned, with its cost."""
        self._written = ""

    def interrupt(self) -> None:
        """Cancel the call: the input changed."""
        if self._answering is not None:
            self._answering.cancel()

    async def answer(self, request: Request) -> Answer | None:
        """The model's answer, or a text in its place; None if it was interrupted or must be called again."""
        if self._allowed.level is BudgetLevel.REFUSED:
            return Answer(self._allowed.words, (), Usage(), model="")
        model = await self._deps.model(self._allowed.agent)
        self._name, self._request = model.name, self._allowed.request(request)
        if model.name != OFFLINE:
            self._deps.watch(turn_events.ModelAsked(self._turn.id, self._turn.place, model.name))
        answering = self._in_time(model, self._request)
        self._answering = call = asyncio.create_task(answering, name=f"model of turn {self._turn.id}")
        try:
            if not await self._added_to(call):
                answer = await call
                self._given = True
                return answer
            if self._written:
                self._deps.watch(turn_events.TextChunk(self._turn.id, self._turn.place, ""))
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is None or current.cancelling():
                raise
        finally:
            call.cancel()
        return None

    async def abandon(self) -> None:
        """The call is given up: release the reservation, and record the cost of a canceled call."""
        reserved, call, now = self._allowed.reservation, self._answering, self._deps.clock()
        whole = call is not None and call.done() and not call.cancelled()
        failed = whole and call is not None and call.exception() is not None
        if call is None or self._request is None or self._given or failed or self._name == OFFLINE:
            if reserved is not None:  # if this cannot be stored, the next start or the expiry releases it
                await self._db.write(_RELEASE, lambda tx: spending.release(tx, reserved))
            return
        made = call.result() if whole else Answer(self._written, (), Usage(cost_usd=None), self._name)
        cost = cost_of(made, self._request)

        def work(tx: Tx) -> None:
            if reserved is not None:
                spending.release(tx, reserved)
            record(tx, self._turn, cost, now)

        await self._db.write(_IN_VAIN, work)

    async def _added_to(self, call: asyncio.Task[Answer]) -> bool:
        """Wait for the answer, and a moment longer while its reader is typing; returns whether there are additions."""
        control = self._control
        while may_interrupt(self._material, shown=control.shown):
            hold = self._seconds_to_hold(call) if call.done() else None
            if hold == 0 and not control.added.is_set():
                break
            added = asyncio.create_task(control.added.wait())
            try:
                watched = {added} if call.done() else {call, added}
                await asyncio.wait(watched, timeout=hold, return_when=FIRST_COMPLETED)
            finally:
                added.cancel()
            if control.added.is_set():
                control.added.clear()
                more = await self._db.read(lambda rows: bool(arrivals(rows, self._material.claimed)))
                if more and may_interrupt(self._material, shown=control.shown):
                    return True
        return False

    def _seconds_to_hold(self, call: asyncio.Task[Answer]) -> float:
        """Seconds for which a finished answer is still held back."""
        well = not call.cancelled() and call.exception() is None
        typing = well and self._deps.typing.is_typing(self._turn.place, self._turn.person)
        return self._control.hold_left(HOLD_SECONDS) if typing else 0

    async def _in_time(self, model: Model, request: Request) -> Answer:
        return await outside(_MODEL, self._listen(model, request), self._deps.limits.model_seconds)

    async def _listen(self, model: Model, request: Request) -> Answer:
        answer: Answer | None = None
        async for event in model.complete(request):  # to its end: one left early is closed by other tasks
            match event:
                case TextDelta(piece):
                    self._written += piece
                case AnswerRestarted():
                    self._written = ""
                case Answer():
                    answer = replace(event, text=without_our_lines(event.text))
                    continue
            self._control.shown |= self._control.streams and bool(self._written)
            text = self._deps.redact(without_our_lines(self._written, whole=False))
            self._deps.watch(turn_events.TextChunk(self._turn.id, self._turn.place, text))
        if answer is None:
            raise AssertionError("a model ended without an answer")
        return answer
