"""Making one tool call: checked, permitted or asked for, performed once, its result stored.

A call that needs somebody's yes is not made: its question is stored together with its result, which says that
it waits. With a yes it is made in the transaction that uses the yes up.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeAlias

from bot import cards, events, policy
from bot.broker import Asking
from bot.errors import ToolError
from bot.models.base import Call
from bot.rules import Rules
from bot.tools.base import Arguments, Handed, Outcome, Told, Tool, ToolContext
from bot.turns import happenings
from bot.turns.context import Material
from bot.turns.inventory import TOOL
from bot.turns.kit import Kit
from bot.turns.moves import Use, versions_shown
from bot.turns.results import fitted
from memory import groups, turns
from memory.database import Database, Tx
from memory.errors import StoreError
from memory.faults import call_point, commit_point, outside
from memory.ids import TurnId
from memory.requests import ApprovalNeeded, Permit, require
from memory.search import Nearness
from memory.turns import TurnMoved
from memory.working import By

_TOOL = commit_point("turn.tool")
_TOOL_BEGIN = commit_point("turn.tool_begin")
_TOOL_END = commit_point("turn.tool_end")
_ASK = commit_point("turn.ask")
_HAND = commit_point("turn.hand")
_OUTSIDE = call_point("tool.outside")

_INTERRUPTED = (
    "The call was interrupted and nobody knows whether it took effect. Do not repeat it blindly: find out first, "
    "or tell the person."
)


RunPart: TypeAlias = Callable[[TurnId, float], Awaitable[bool]]
"""Runs a member's turn to its end, in so many seconds at most; False when it was stopped before."""


class Caller:
    """Makes the calls of turns."""

    def __init__(self, database: Database, kit: Kit, run_part: RunPart) -> None:
        self._db = database
        self._kit = kit
        self._run_part = run_part

    async def make(self, use: Use, material: Material) -> None:
        """Make a call that has no result yet; afterwards it has one, whatever it is."""
        turn, call, watch = material.turn, use.call, self._kit.watch
        watch(events.ToolCallStarted(turn.id, turn.place, call.name))
        refused = Rules.of(material.agent).refusal(call, material.steps, material.used, self._kit.clock())
        if refused is not None and not use.begun and use.permit is None:
            await self._fail(call, material, refused.text, refused.rule)
            return
        try:
            await self._kit.ready(material.agent, call.name)
            tool, arguments = self._kit.tools(material.agent).resolve(call)
            # Another agent's turn has its own limit.
            seconds = None if hasattr(tool, "hand") else self._kit.limits.tool_seconds
            async with asyncio.timeout(seconds):
                made = await self._permitted(tool, arguments, use, material)
        except TimeoutError:
            text = f"{call.name} took longer than {self._kit.limits.tool_seconds:g} seconds and was given up."
            await self._fail(call, material, text)
        except (ToolError, StoreError) as error:
            await self._fail(call, material, str(error))
        else:
            watch(events.ToolCallCompleted(turn.id, turn.place, call.name, ok=made))

    async def _permitted(self, tool: Tool, arguments: Arguments, use: Use, material: Material) -> bool:
        """Perform it; what it needs a yes for is asked for, unless a grant gives it. False when it waits for one."""
        permit, question = use.permit, arguments.question()
        meaning = await self._kit.meaning(question) if question else None
        while True:
            about = self._about(material, permit, meaning)
            need = policy.call_needs(material.turn, use.call.name, material.agent.consent, tool.caution)
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
        self, missing: ApprovalNeeded, tool: Tool, use: Use, material: Material, permit: Permit | None
    ) -> Permit | None:
        """The permit under which the call may be tried again; None when somebody was asked instead."""
        turn, now = material.turn, self._kit.clock()
        speaker = next((asked.message.speaker for asked in reversed(material.asked) if asked.message.speaker), "")
        shown = versions_shown(material.steps)
        asking = Asking(turn, material.agent.name, speaker, use.call, permit, tool.caution.bound, shown)

        def work(tx: Tx) -> Permit | None:
            found = self._kit.broker.ask(tx, asking, missing.need, now)
            if isinstance(found, Permit):
                return found
            text = cards.waiting(found)
            body = {"call": use.call.id, "name": use.call.name, "text": text, "ok": False, "effect": False}
            turns.add_step(tx, turn, "tool_result", {**body, "data": {"waiting": str(found.id)}}, now)
            return None

        return await self._db.write(_ASK, work)

    def _about(self, material: Material, permit: Permit | None, meaning: Nearness | None) -> ToolContext:
        live = [asked.origin for asked in material.asked if asked.message.deleted_at is None]
        message = live[-1] if live else None
        now, checkpoints = self._kit.clock(), self._kit.checkpoints
        shown = versions_shown(material.steps)
        return ToolContext(material.turn, material.agent, message, now, self._db, permit, meaning, checkpoints, shown)

    async def _perform(self, tool: Tool, arguments: Arguments, use: Use, about: ToolContext) -> None:
        call = use.call
        if hasattr(tool, "work"):

            def work(tx: Tx) -> None:
                self._spend(tx, call, about)
                self._add_result(tx, about, call, tool.work(tx, about, arguments), effect=True)

            await self._db.write(_TOOL, work)
            return
        if hasattr(tool, "hand"):
            await self._hand(lambda tx: tool.hand(tx, about, call, arguments), use, about)
            return
        if hasattr(tool, "read"):
            outcome = await self._db.read(lambda rows: tool.read(rows, about, arguments), indexed=True)
            await self._store(outcome, use, about, effect=False, spend=True)
            return
        if use.begun and not tool.idempotent:
            raise ToolError(_INTERRUPTED)
        effect = not tool.idempotent  # from here on nobody can say that it had none
        if not use.begun:
            await self._db.write(_TOOL_BEGIN, lambda tx: self._begin(tx, call, about, effect=effect))
        outcome = await outside(_OUTSIDE, tool.run(about, arguments), self._kit.limits.tool_seconds)
        await self._store(outcome, use, about, effect=effect, spend=False)

    async def _hand(self, hand: Callable[[Tx], Handed | Told], use: Use, about: ToolContext) -> None:
        """Let another agent do it, and store what it gave as the result."""
        turn, call = about.turn, use.call

        def begin(tx: Tx) -> Handed | Told:
            handed = hand(tx)
            if isinstance(handed, Told):
                self._spend(tx, call, about)
                self._add_result(tx, about, call, Outcome(handed.text), effect=handed.ok, ok=handed.ok)
            elif not use.begun:
                self._begin(tx, call, about, effect=True)
            return handed

        handed = await self._db.write(_HAND, begin)
        if isinstance(handed, Told):
            return
        if not await self._run_part(handed.turn, handed.seconds):
            raise TurnMoved("stopped while another agent works")

        def end(tx: Tx) -> None:
            part = groups.part(tx, handed.turn)
            done = part is not None and part.status == "done"
            said = part.output if part is not None else ""
            text = said if done else f"It was not done: {said or 'it was stopped'}. Do it yourself, or say so."
            theirs = turns.get(tx, handed.turn)  # who read what is not to be trusted hands on no more trust than that
            trust = turn.trust if theirs is None else theirs.trust
            self._add_result(tx, about, call, Outcome(text, trust=trust), effect=True, ok=done)

        await self._db.write(_TOOL_END, end)

    def _spend(self, tx: Tx, call: Call, about: ToolContext) -> None:
        if about.permit is not None:
            self._kit.broker.spend(tx, about.permit, call, about.turn, about.now)

    def _begin(self, tx: Tx, call: Call, about: ToolContext, *, effect: bool) -> None:
        self._spend(tx, call, about)
        body = {"call": call.id, "name": call.name, "effect": effect}
        turns.add_step(tx, about.turn, "tool_started", body, about.now)

    async def _store(self, outcome: Outcome, use: Use, about: ToolContext, *, effect: bool, spend: bool) -> None:
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
        by = By.of_turn(tx, replace(turn, trust=min(turn.trust, outcome.trust)), about.message, about.now)
        text = fitted(tx, by, call.name, self._kit.redact(outcome.text), readable=TOOL in about.agent.tools)
        body: dict[str, Any] = {"call": call.id, "name": call.name, "text": text, "ok": ok}
        data = json.loads(self._kit.redact(json.dumps(outcome.data)))
        body |= {"data": data, "effect": effect, "forgets": outcome.forgets, "trust": int(outcome.trust)}
        body |= {"shown": dict(outcome.shown)} if outcome.shown else {}
        turns.add_step(tx, turn, "tool_result", body, about.now)
        happenings.note_tool(tx, turn, self._kit.names(about.agent), call, about.now, worked=outcome.ok)
        happenings.note_folders(tx, turn, outcome.folders, call, about.now)

    async def _fail(self, call: Call, material: Material, text: str, rule: str = "") -> None:
        turn = material.turn
        body = {"call": call.id, "name": call.name, "text": self._kit.redact(text), "ok": False, "effect": False}
        if rule:
            body["rule"] = rule
        now = self._kit.clock()

        def work(tx: Tx) -> bool:
            if turns.has_result(tx, turn, call.id):  # it came after all, in the moment in which it was given up
                return True
            turns.add_step(tx, turn, "tool_result", body, now)
            happenings.note_tool(tx, turn, self._kit.names(material.agent), call, now, worked=False)
            return False

        ok = await self._db.write(_TOOL_END, work)
        self._kit.watch(events.ToolCallCompleted(turn.id, turn.place, call.name, ok=ok))
