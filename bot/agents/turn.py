"""Runs one turn: read the store, take one step, store the result, read again.

Every model answer and every tool result is committed as it arrives. A tool that writes memory commits its effect and
its result together. The last transaction writes the outbox rows, checks that nothing arrived or changed meanwhile, and
marks the inbox rows done: nothing is sent before it, and nothing is asked again after it.
"""

import asyncio
import functools
from datetime import datetime
from typing import TypeAlias, assert_never

from bot.agents import turn_events
from bot.agents.answer_messages import too_long
from bot.agents.budgets import Allowance, BudgetLevel, cost_of
from bot.agents.context import prompt
from bot.agents.context.history import foreign_rows
from bot.agents.context.prompt import PromptInputs
from bot.agents.groups.member_turns import REQUIRED_PARTS, give_up_part, member_of
from bot.agents.groups.team import acting
from bot.agents.model_call import ModelCall, TurnControl
from bot.agents.model_failure_notices import said_of, tell_owner, trouble_of
from bot.agents.next_step import (
    CallModel,
    CallTool,
    Cancel,
    Finish,
    NextStep,
    Restart,
    changed,
    next_step,
    open_call,
    wordings,
)
from bot.agents.tool_calls import ToolCaller
from bot.agents.tool_rules import Rules
from bot.agents.tools.aliases import unaliased
from bot.agents.tools.more_tools import Offer, offer
from bot.agents.turn_deps import TurnDeps
from bot.agents.turn_end import answer_place, arrivals, begin_again, cancel, end_turn, join_arrivals
from bot.config.values import OFFLINE
from bot.errors import ToolError
from bot.models.base import Answer, ContextTooLong, Request
from memory import coordination, spending
from memory.agents import Agent
from memory.group_runs import Status
from memory.knowledge import facts, items
from memory.people.audience import Trust
from memory.queue import outbox, turns
from memory.queue.payloads import NewsEvent
from memory.queue.steps import MissingCalls, ModelAnswer, Note, Step, StepBody, ToolCall, Wordings
from memory.queue.turns import Turn, TurnMoved
from memory.spending import record
from memory.store.database import Database, Rows, Tx
from memory.store.errors import DatabaseBusy, DatabaseFull
from memory.store.faults import Point, commit_point
from memory.store.ids import InboxId, TurnId
from memory.store.logs import Log
from memory.store.records import replace

_JOIN = commit_point("turn.join")
_RESTART = commit_point("turn.restart")
_RAN = commit_point("turn.ran")
_TELL = commit_point("turn.tell")
_ANSWER = commit_point("turn.answer")
_RESERVE = commit_point("budget.reserve")
_FINISH = commit_point("turn.finish")
_CANCEL = commit_point("turn.cancel")
_GIVE_UP = commit_point("turn.give_up_part")
_MOST_CALLS = 64  # of one answer: a model that repeats itself would send somebody a hundred messages
_MOST_REASONING = 20_000  # characters of an answer's reasoning that are stored

_log = Log("bot.agents.turn")

Ending: TypeAlias = bool
"""True if the turn is over, False if it must be read again."""
TurnState: TypeAlias = tuple[PromptInputs, NextStep, bool]
"""A turn's inputs, its next step, and whether the same speaker has written more."""


def load_state(rows: Rows, identifier: TurnId, max_steps: int, agent: Agent | None = None) -> TurnState:
    """The state of a turn and its next step; `agent` if it was read just before.

    Raises KeyError when there is no turn of that id.
    """
    turn = turns.get(rows, identifier)
    if turn is None:
        raise KeyError(identifier)
    material = prompt.read_turn(rows, turn, agent or acting(rows, turn))
    more = material.part is None and bool(arrivals(rows, material.claimed))
    return material, _move(rows, material, max_steps), more


def _move(rows: Rows, material: PromptInputs, max_steps: int) -> NextStep:
    untouched = not changed(material) and any(asked.message.deleted_at is None for asked in material.asked)
    said = not untouched and outbox.anything_said(rows, material.turn.id)  # only matters if the messages changed
    return next_step(material, said=said, max_steps=max_steps)


class TurnRunner:
    """One attempt at one turn; `seen` is its state if it was read just before."""

    def __init__(
        self, database: Database, turn_deps: TurnDeps, turn: TurnId, control: TurnControl, seen: TurnState | None = None
    ) -> None:
        self._db = database
        self._deps = turn_deps
        # A local function, not a method: a bound method would form a reference cycle that keeps the whole prompt alive.
        self._caller = ToolCaller(
            database, turn_deps, functools.partial(run_part, database, turn_deps, control=control)
        )
        self._turn = turn
        self._call: ModelCall | None = None
        self._seen = seen  # the state as last read; saves a read
        self._control = control

    def _interrupt(self) -> None:
        """The turn's input changed: cancel the model call and look again."""
        if self._call is not None:
            self._call.interrupt()

    async def run(self) -> bool:
        """Continue until the turn is over (True) or it is told to stop and a step is stored (False)."""
        with self._control.held(self._interrupt):
            return await self._run()

    async def _run(self) -> bool:
        over = False
        while not over:
            if (seen := self._seen) is None:
                seen = await self._db.read(self._look)
            (material, move, more), self._seen = seen, None
            if self._control.stopping and not isinstance(move, Finish):  # a complete answer is sent before stopping
                break
            if material.turn.status != "running":
                over = True  # ended from outside: its person was erased
                break
            try:
                if more and open_call(material) is None and await self._join(material):
                    continue
                over = await self._make(move, material)
            except TurnMoved:
                continue  # nothing of it was stored
        if over:
            compacts = material.agent.config.compaction is not None
            self._deps.watch(turn_events.TurnCompleted(self._turn, material.turn.place, compacts))
        return over

    async def _note_ran(self, material: PromptInputs) -> None:
        """Record the attempt, which counts from here on, even if the process ends during it."""
        if self._control.ran or self._control.first:
            return
        self._control.ran = True
        run, now = material.turn.id if material.part is None else material.part.run, self._deps.clock()
        await self._db.write(_RAN, lambda tx: turns.note_ran(tx, run, now))

    def _look(self, rows: Rows) -> TurnState:
        return load_state(rows, self._turn, self._deps.limits.max_steps)

    async def _join(self, material: PromptInputs) -> bool:
        """Add the speaker's later messages to the turn, unless it is at its last step."""
        if sum(isinstance(step.body, ModelAnswer) for step in material.steps) >= self._deps.limits.max_steps:
            return False
        now = self._deps.clock()
        return await self._db.write(_JOIN, lambda tx: join_arrivals(tx, material.turn, now))

    async def _make(self, move: NextStep, material: PromptInputs) -> Ending:
        now = self._deps.clock()
        match move:
            case CallModel():
                return await self._ask_model(material, move)
            case CallTool():
                await self._note_ran(material)
                await self._caller.make(move, material)
                return False
            case Finish(text):
                return await self._finish(text, material)
            case Restart():
                await self._db.write(_RESTART, lambda tx: begin_again(tx, self._deps.broker, material, now))
                return False
            case Note() | MissingCalls():
                await self._step(_TELL, material.turn, move)
                return False
            case Cancel():
                await self._db.write(_CANCEL, lambda tx: cancel(tx, self._deps.broker, material.turn.id, now))
                return True
            case _:
                assert_never(move)

    # ------------------------------------------------------------------ model call

    async def _ask_model(self, material: PromptInputs, move: CallModel) -> Ending:
        commits = self._db.commits
        await self._deps.ready(material.agent, "")
        if self._db.commits != commits:  # what was read before may have been deleted since
            material = replace(material, gathered=False)
        tools = self._deps.tools(material.agent)
        if material.agent.rules and (missing := Rules.of(material.agent).missing(tools.tools)):
            raise ToolError(f"{material.agent.name} cannot work without {', '.join(missing)}, which is not there")

        async def ask(material: PromptInputs, *, compactable: bool) -> Ending:
            await self._note_ran(material)
            found = await self._add_inputs(material, may_be_cut=not compactable)
            offered = Offer(()) if move.last else offer(tools, found, move.force)
            request = prompt.render(found, offered.shown, last_step=move.last)
            request = replace(request, named_tools=offered.named, force_tool=move.force)
            request = replace(request, compactable=compactable and bool(found.history))
            return await self._ask_within_budget(request, found)

        try:
            return await ask(material, compactable=True)
        except ContextTooLong as error:
            shrink = self._deps.shrink
            compacted = shrink is not None and await shrink(material)
            _log.warning("prompt_too_long", turn=material.turn.id, reason=error.reason, compacted=compacted)
            return await ask(replace(material, gathered=False), compactable=False)

    async def _add_inputs(self, material: PromptInputs, *, may_be_cut: bool) -> PromptInputs:
        """Read the inputs that only a model needs, unless they were read; embed the question if that helps."""
        if not material.gathered:
            gather = functools.partial(prompt.add_inputs, material=material, may_be_cut=may_be_cut)
            material = await self._db.read(gather)
        if not (words := prompt.recall_texts(material)):
            return material
        meaning = await self._deps.meaning(words)
        return await self._db.read(functools.partial(prompt.add_recalled, material=material, meaning=meaning))

    async def _ask_within_budget(self, request: Request, material: PromptInputs) -> Ending:
        """Ask the model within the budget, and store its answer."""
        allowed = await self._allow(material, request)
        self._call = call = ModelCall(self._db, self._deps, self._control, material, allowed)
        try:
            answer = await call.answer(request)
            if answer is not None:
                return await self._store_answer(answer, material, allowed, request)
        except BaseException:
            await asyncio.shield(call.abandon())
            raise
        await call.abandon()
        return False

    async def _allow(self, material: PromptInputs, request: Request) -> Allowance:
        """The allowance for this call, whose cost is reserved."""
        kept, now, turn = self._deps.budgets, self._deps.clock(), material.turn
        if not kept.concerns(material.agent):
            return Allowance(BudgetLevel.FULL, material.agent)
        news = any(isinstance(each.payload, NewsEvent) for each in material.asked)
        if news:  # unlike a patrol, it needs no tools
            turn = replace(turn, place=answer_place(self._deps, turn))
        return await self._db.write(_RESERVE, lambda tx: kept.allow(tx, turn, material.agent, request, now, news=news))

    async def _store_answer(
        self, answer: Answer, material: PromptInputs, allowed: Allowance, request: Request
    ) -> Ending:
        turn, redact, now = material.turn, self._deps.redact, self._deps.clock()
        cost = cost_of(answer, request)

        failed = _is_given_up(answer, material, allowed)
        calls = [] if failed else self._calls(answer, material)
        trouble = None if calls or failed else trouble_of(answer, material)
        text = "" if failed else said_of(self._deps, trouble, answer, material)
        shown, thought = prompt.shown_versions(material), redact(answer.reasoning)[:_MOST_REASONING]
        body = ModelAnswer(redact(text), tuple(calls), answer.model, answer.finish, shown, thought, request.sizes)

        web = any(foreign_rows(material.history, material.agent.id))  # text from such sources is still in its prompt
        lowered = replace(material, turn=replace(turn, trust=min(turn.trust, Trust.WEB))) if web else material

        def work(tx: Tx) -> TurnState | None:
            if web:
                turns.lower_trust(tx, turn, Trust.WEB)
            recalled = [each.entry.id for each in material.recalled]
            turns.note_shown(tx, turn, prompt.shown_blocks(material), recalled)
            facts.note_shown(tx, turn, material.known.ids)
            items.note_shown(tx, turn, material.known.projects.ids)
            voting = material.part is not None and material.part.is_one_call
            if material.situation is not None and not voting:  # a voter has not acted on them
                coordination.mark_read(tx, turn, [note.id for note in material.situation.handoffs], now)
            if answer.model:
                record(tx, turn, cost, now)
            if allowed.reservation is not None:
                spending.release(tx, allowed.reservation)
            if trouble:
                tell_owner(self._deps, tx, trouble, body.text, now)
            seen = self._finished_or_state(tx, lowered, body, now)
            if seen is not None and self._control.first:
                turns.note_ran(tx, turn.id, now)
            return seen

        stored = self._db.write(_ANSWER, work)
        if not calls and material.part is None:
            self._control.ending()
        self._seen = await stored
        if self._control.first:
            self._control.first, self._control.ran = False, True
        return self._seen is None

    def _calls(self, answer: Answer, material: PromptInputs) -> list[ToolCall]:
        """The calls of an answer as they are stored and made."""
        turn, tools, calls = material.turn, self._deps.tools(material.agent).tools, list[ToolCall]()
        used = {call.id for step in material.steps if isinstance(step.body, ModelAnswer) for call in step.body.calls}
        for number, given in enumerate(answer.calls[:_MOST_CALLS]):
            call = unaliased(given, tools)
            # The model's own id, unless it is empty or was used before: a result must find its call.
            own = call.id if call.id and call.id not in used else f"call_{turn.id}_{len(used)}_{number}"
            used.add(own)
            calls.append(ToolCall(own, call.name, self._deps.redact(call.arguments)))
        if left := len(answer.calls) - len(calls):
            _log.warning("too_many_calls", turn=turn.id, model=answer.model, left_out=left)
        return calls

    def _finished_or_state(self, tx: Tx, material: PromptInputs, body: ModelAnswer, now: datetime) -> TurnState | None:
        """None if the answer ended the turn in this transaction; else the turn's new state, with the answer as a
        step."""
        most, turn = self._deps.limits.max_steps, material.turn
        step = Step(max((each.seq for each in material.steps), default=0) + 1, body, now)
        # Not gathered: the next call is shown the data of that time.
        material = replace(material, gathered=False, steps=(*material.steps, step))
        move = _move(tx, material, most)
        text = move.text if isinstance(move, Finish) else None
        if text is not None and not self._to_shorten(text, material) and self._ended(tx, material, text, now):
            if material.part is None:
                self._control.over(tx)
            return None
        turns.add_step(tx, turn, body, now)
        undisturbed = turns.undisturbed(tx, turn, *self._answered(material))
        return (material, move, False) if undisturbed else load_state(tx, turn.id, most, material.agent)

    def _ended(self, tx: Tx, material: PromptInputs, text: str, now: datetime) -> bool:
        """End the turn with this answer unless its messages changed or, before the last step, more joined them."""
        if over := turns.end_undisturbed(tx, material.turn, *self._answered(material), now):
            end_turn(tx, self._deps, material, text, now)
        return over

    def _answered(self, material: PromptInputs) -> tuple[Wordings, InboxId | None]:
        """The rows that the turn answers; and the row after which others may join it, if they may."""
        answers = sum(isinstance(step.body, ModelAnswer) for step in material.steps)
        joins = material.part is None and answers < self._deps.limits.max_steps
        last = material.claimed[-1].id if joins and material.claimed and not material.claimed[0].alone else None
        return wordings(material), last

    # ------------------------------------------------------------------ ending

    def _to_shorten(self, text: str, material: PromptInputs) -> str:
        """Why the model must shorten its answer; empty if it is short enough, or was asked before."""
        place = answer_place(self._deps, material.turn)
        return "" if _was_shortened(material) else too_long(text, self._deps.endpoint_at(place))

    async def _finish(self, text: str, material: PromptInputs) -> Ending:
        turn, now = material.turn, self._deps.clock()
        if words := self._to_shorten(text, material):
            told = f"{words} Give it again, shorter. It was:\n{text}"
            await self._step(_TELL, turn, Note(told, wordings(material), shorten=True))
            return False
        return await self._db.write(_FINISH, lambda tx: self._ended(tx, material, text, now))

    async def _step(self, point: Point, turn: Turn, body: StepBody) -> None:
        now = self._deps.clock()
        await self._db.write(point, lambda tx: turns.add_step(tx, turn, body, now))


def _was_shortened(material: PromptInputs) -> bool:
    """Whether the model was asked to shorten its answer, or has no step left for that."""
    return any(isinstance(step.body, Note) and step.body.shorten for step in material.steps)


async def run_part(database: Database, turn_deps: TurnDeps, turn: TurnId, seconds: float, control: TurnControl) -> bool:
    """Run a member's turn to its end; False if it was stopped before.

    It ends as failed if it fails or takes longer than `seconds` in this process; the requester decides what follows.
    """
    member = await database.read(lambda rows: member_of(rows, turn))
    told = replace(turn_deps, watch=functools.partial(_tell_of_part, turn_deps, turn))
    turn_deps.watch(member)
    over = await _run_to_end(database, told, turn, seconds, control)
    if over:
        turn_deps.watch(turn_events.AgentCompleted(member.turn, member.place))
    return over


async def _run_to_end(
    database: Database, turn_deps: TurnDeps, turn: TurnId, seconds: float, control: TurnControl
) -> bool:
    status: Status
    try:
        async with asyncio.timeout(seconds):
            return await TurnRunner(database, turn_deps, turn, control).run()
    except TimeoutError:
        status, why = "late", f"took longer than {seconds:g} seconds"
    except (DatabaseBusy, DatabaseFull):
        raise
    except Exception as error:
        _log.exception("member_turn_failed", turn=turn)
        status, why = "failed", f"failed ({type(error).__name__})"
    now = turn_deps.clock()

    def give_up(tx: Tx) -> None:
        turn_deps.broker.withdraw(tx, turn, now)
        give_up_part(tx, turn, status, why, now)

    await database.write(_GIVE_UP, give_up)
    return True


def _tell_of_part(turn_deps: TurnDeps, turn: TurnId, event: turn_events.TurnEvent) -> None:
    """Report events of a member's part as such: none of it is an answer to anybody yet."""
    turn_deps.watch(turn_events.OfMember(turn, event.place, event))


def _is_given_up(answer: Answer, material: PromptInputs, allowed: Allowance) -> bool:
    """Whether the offline model replaced a member's own, so that there is no result to pass on."""
    stands_in = answer.degraded or allowed.agent.model != material.agent.model
    in_group = material.part is not None and material.part.kind in REQUIRED_PARTS
    return in_group and answer.model == OFFLINE and bool(stands_in)
