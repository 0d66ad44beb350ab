"""Makes one tool call: checked, permitted or submitted for approval, carried out once, its result stored.

A call that needs approval is not made: the request is stored with its result, which says that it waits. With an
approval, the call is made in the transaction that uses it up.
"""

import asyncio
import functools
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

import msgspec

from bot.agents import turn_events, turn_log
from bot.agents.context.history import foreign_words
from bot.agents.context.prompt import HISTORY_ROWS, PromptInputs
from bot.agents.context.quotes import passage
from bot.agents.context.working_memory import TOOL, fitted
from bot.agents.next_step import CallTool
from bot.agents.permissions import approval_card_text, calls_needing_approval
from bot.agents.permissions.approval_card_text import ApprovalCall
from bot.agents.tool_rules import Rules
from bot.agents.tools.base import (
    Arguments,
    Assignment,
    DirectReply,
    MemberTool,
    Outcome,
    ReadTool,
    StoreTool,
    Tool,
    ToolContext,
)
from bot.agents.turn_deps import TurnDeps
from bot.errors import ToolError
from bot.models.base import Call
from memory import group_runs
from memory.knowledge.working_memory import By
from memory.people.audience import OWNER, PUBLIC, Trust
from memory.permission_requests import ApprovalNeeded, Permit, require
from memory.queue import messages, turns
from memory.queue.steps import CallDone, CallFailed, CallStarted, CallWaits, ModelAnswer, Step
from memory.queue.turns import TurnMoved
from memory.search.vector_similarity import Meaning
from memory.store.database import Database, Rows, Tx
from memory.store.errors import StoreError
from memory.store.faults import call_point, commit_point, outside
from memory.store.ids import BlockId, TurnId
from memory.store.records import replace
from texts import packed, reason_of

_TOOL = commit_point("turn.tool")
_TOOL_BEGIN = commit_point("turn.tool_begin")
_TOOL_END = commit_point("turn.tool_end")
_ASK = commit_point("turn.ask")
_HAND = commit_point("turn.hand")
_OUTSIDE = call_point("tool.outside")
_KNOWN = (OWNER, PUBLIC)
"""Audiences whose messages every approver may know."""

_INTERRUPTED = (
    "The call was interrupted and nobody knows whether it took effect. Do not repeat it blindly: find out first, "
    "or tell the person."
)


RunPart: TypeAlias = Callable[[TurnId, float], Awaitable[bool]]
"""Runs a member's turn to its end, in at most so many seconds; False if it was stopped before."""


class ToolCaller:
    def __init__(self, database: Database, turn_deps: TurnDeps, run_part: RunPart) -> None:
        self._db = database
        self._deps = turn_deps
        self._run_part = run_part

    async def make(self, use: CallTool, material: PromptInputs) -> None:
        """Make a call that has no result yet; afterward it has one in any case."""
        turn, call, watch, begun = material.turn, use.call, self._deps.watch, self._deps.clock()
        watch(turn_events.ToolCallStarted(turn.id, turn.place, call.name))
        refused = Rules.of(material.agent).refusal(call, material.steps, material.used, self._deps.clock())
        if refused is not None and not use.begun and use.permit is None:
            await self._fail(call, material, begun, refused.text, refused.rule)
            return
        try:
            await self._deps.ready(material.agent, call.name)
            tool, arguments = self._deps.tools(material.agent).resolve(call)
            # Another agent's turn has its own limit.
            seconds = None if isinstance(tool, MemberTool) else self._deps.limits.tool_seconds
            async with asyncio.timeout(seconds):
                made = await self._permitted(tool, arguments, use, material)
        except TimeoutError:
            text = f"{call.name} took longer than {self._deps.limits.tool_seconds:g} seconds and was stopped."
            await self._fail(call, material, begun, text)
        except (ToolError, StoreError) as error:
            await self._fail(call, material, begun, reason_of(error))
        else:
            watch(turn_events.ToolCallCompleted(turn.id, turn.place, call.name, ok=made))

    async def _permitted(self, tool: Tool, arguments: Arguments, use: CallTool, material: PromptInputs) -> bool:
        """Carry out a call; if it needs approval, request it, unless a grant covers it. False while it waits."""
        permit, question = use.permit, arguments.question()
        meaning, expected_meaning = [
            await self._deps.meaning(text) if text else None for text in (question, arguments.question_with_expected())
        ]
        apart: Mapping[str, Meaning] = {}
        if question and (path := arguments.searched_path()) is not None:
            apart = await self._deps.of_folders(question, material.agent.id, material.turn.scope, path)
        doubted = material.turn.trust < max(tool.caution.trusted, Trust.APPROVED)
        source = await self._db.read(functools.partial(_source, material)) if doubted else ""
        while True:
            about = self._about(material, permit, meaning)
            about = replace(about, expected_meaning=expected_meaning, source=source, of_folders=apart)
            consent = material.agent.consent
            need = calls_needing_approval.call_needs(material.turn, use.call.name, consent, tool.caution, source)
            try:
                if need is not None:
                    require(need, permit)
                await self._perform(tool, arguments, use, about)
                return True
            except ApprovalNeeded as missing:
                permit = await self._ask(missing, tool, use, material, permit)
                if permit is None:
                    return False

    async def _ask(
        self, missing: ApprovalNeeded, tool: Tool, use: CallTool, material: PromptInputs, permit: Permit | None
    ) -> Permit | None:
        """The permit under which the call may be retried; None if approval was requested instead."""
        turn, now = material.turn, self._deps.clock()
        speaker = next((asked.message.speaker for asked in reversed(material.asked) if asked.message.speaker), "")
        shown = _versions_shown(material.steps)
        said = self._deps.redact(_said_with(material, use.call))
        asking = ApprovalCall(turn, material.agent.name, speaker, use.call, permit, tool.caution.bound, shown, said)

        def work(tx: Tx) -> Permit | None:
            found = self._deps.broker.ask(tx, asking, missing.need, now)
            if isinstance(found, Permit):
                return found
            text = approval_card_text.waiting(found)
            turns.add_step(tx, turn, CallWaits(use.call.id, use.call.name, text, found.id), now)
            return None

        return await self._db.write(_ASK, work)

    def _about(self, material: PromptInputs, permit: Permit | None, meaning: Meaning | None) -> ToolContext:
        live = [asked.origin for asked in material.asked if asked.message.deleted_at is None]
        message = live[-1] if live else None
        now, checkpoints = self._deps.clock(), self._deps.checkpoints
        shown = _versions_shown(material.steps)
        return ToolContext(material.turn, material.agent, message, now, self._db, permit, meaning, checkpoints, shown)

    async def _perform(self, tool: Tool, arguments: Arguments, use: CallTool, about: ToolContext) -> None:
        call = use.call
        if isinstance(tool, StoreTool):

            def work(tx: Tx) -> None:
                self._spend(tx, call, about)
                self._add_result(tx, about, call, tool.work(tx, about, arguments), effect=True)

            await self._db.write(_TOOL, work)
            return
        if isinstance(tool, MemberTool):
            await self._hand(lambda tx: tool.hand(tx, about, call, arguments), use, about)
            return
        if isinstance(tool, ReadTool):
            outcome = await self._db.read(lambda rows: tool.read(rows, about, arguments))
            await self._store(outcome, use, about, effect=False, spend=True)
            return
        if use.begun and not tool.idempotent:
            raise ToolError(_INTERRUPTED)
        effect = not tool.idempotent  # from here on, it may have had an effect
        if not use.begun:
            await self._db.write(_TOOL_BEGIN, lambda tx: self._begin(tx, call, about, effect=effect))
        outcome = await outside(_OUTSIDE, tool.run(about, arguments), self._deps.limits.tool_seconds)
        await self._store(outcome, use, about, effect=effect, spend=False)

    async def _hand(self, hand: Callable[[Tx], Assignment | DirectReply], use: CallTool, about: ToolContext) -> None:
        """Let another agent do it, and store that agent's result."""
        turn, call = about.turn, use.call

        def begin(tx: Tx) -> Assignment | DirectReply:
            handed = hand(tx)
            if isinstance(handed, DirectReply):
                self._spend(tx, call, about)
                self._add_result(tx, about, call, Outcome(passage(handed.text)), effect=handed.ok, ok=handed.ok)
            elif not use.begun:
                self._begin(tx, call, about, effect=True)
            return handed

        handed = await self._db.write(_HAND, begin)
        if isinstance(handed, DirectReply):
            return
        if not await self._run_part(handed.turn, handed.seconds):
            raise TurnMoved("stopped while another agent works")

        def end(tx: Tx) -> None:
            part = group_runs.part(tx, handed.turn)
            done = part is not None and part.status == "done"
            said = part.output if part is not None else ""
            text = said if done else f"It was not done: {said or 'it was stopped'}. Do it yourself, or say so."
            theirs = turns.get(tx, handed.turn)  # an untrusted source of its turn lowers this turn's trust, too
            trust = turn.trust if theirs is None else theirs.trust
            self._add_result(tx, about, call, Outcome(passage(text), trust=trust), effect=True, ok=done)

        await self._db.write(_TOOL_END, end)

    def _spend(self, tx: Tx, call: Call, about: ToolContext) -> None:
        if about.permit is not None:
            self._deps.broker.spend(tx, about.permit, call, about.turn, about.now)

    def _begin(self, tx: Tx, call: Call, about: ToolContext, *, effect: bool) -> None:
        self._spend(tx, call, about)
        turns.add_step(tx, about.turn, CallStarted(call.id, call.name, effect), about.now)

    async def _store(self, outcome: Outcome, use: CallTool, about: ToolContext, *, effect: bool, spend: bool) -> None:
        def work(tx: Tx) -> None:
            if spend:
                self._spend(tx, use.call, about)
            self._add_result(tx, about, use.call, outcome, effect=effect)

        await self._db.write(_TOOL_END, work)

    def _add_result(
        self, tx: Tx, about: ToolContext, call: Call, outcome: Outcome, *, effect: bool, ok: bool = True
    ) -> None:
        turn, ok = about.turn, ok and outcome.ok
        for kind, row_id in outcome.uses:
            turns.note_use(tx, turn, kind, row_id)
        turns.lower_trust(tx, turn, outcome.trust)
        by = By.in_turn(tx, replace(turn, trust=min(turn.trust, outcome.trust)), about.message, about.now)
        text = fitted(tx, by, call.name, self._deps.redact(outcome.text), readable=TOOL in about.agent.tools)
        data = json.loads(self._deps.redact(json.dumps(outcome.data, default=msgspec.to_builtins)))
        done = CallDone(call.id, call.name, text, ok, data, outcome.trust, effect, outcome.forgets, shown=outcome.shown)
        turns.add_step(tx, turn, done, about.now)
        use = turn_log.Use(call, outcome.ok, (self._deps.clock() - about.now).total_seconds())
        if not (outcome.ok and (outcome.noted or outcome.folders)):  # else the activity log has a better entry
            turn_log.note_tool(tx, turn, self._deps.tools(about.agent).tools, use, about.now)
        turn_log.note_folders(tx, turn, outcome.folders, use, about.now)

    async def _fail(self, call: Call, material: PromptInputs, begun: datetime, text: str, rule: str = "") -> None:
        turn, message = material.turn, packed(text)
        reason = "" if message == text else self._deps.redact(message)
        failed = CallFailed(call.id, call.name, passage(self._deps.redact(text)), rule, reason)
        now = self._deps.clock()

        def work(tx: Tx) -> bool:
            if turns.has_result(tx, turn, call.id):  # the result came just as the call was given up
                return True
            turns.add_step(tx, turn, failed, now)
            use = turn_log.Use(call, worked=False, seconds=(now - begun).total_seconds())
            turn_log.note_tool(tx, turn, self._deps.tools(material.agent).tools, use, now)
            return False

        ok = await self._db.write(_TOOL_END, work)
        self._deps.watch(turn_events.ToolCallCompleted(turn.id, turn.place, call.name, ok=ok))


def _said_with(material: PromptInputs, call: Call) -> str:
    """The agent's words in the answer that makes the call."""
    answers = (step.body for step in material.steps if isinstance(step.body, ModelAnswer))
    return next((each.text for each in answers if any(call.id == made.id for made in each.calls)), "")


def _source(material: PromptInputs, rows: Rows) -> str:
    """The sources that lower the turn's trust, in words for the approver."""
    turn = material.turn
    history, exact = messages.conversation(rows, turn.place, turn.scope, HISTORY_ROWS), turn.scope.audience in _KNOWN
    return foreign_words(history, material.steps, turn.agent, exact=exact)


def _versions_shown(steps: Sequence[Step]) -> dict[BlockId, int]:
    """The versions of blocks that the model had seen, in prompts and results, when it gave its newest answer.

    Changes by the calls of that answer count only from its next answer on.
    """
    newest = max((step.seq for step in steps if isinstance(step.body, ModelAnswer)), default=0)
    shown: dict[BlockId, int] = {}
    for step in steps:
        if step.seq <= newest and isinstance(step.body, ModelAnswer | CallDone):
            shown.update(step.body.shown)
    return shown
