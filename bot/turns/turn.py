"""Running one turn: look at the store, make one move, store what came of it, look again.

Every model answer and every tool result is committed as it arrives. A tool that writes memory commits its
effect and its result together. The last transaction writes the outbox rows, checks that nothing arrived or
changed meanwhile, and marks the inbox rows done: before it nothing is said, after it nothing is asked again.
"""

import asyncio
import functools
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

import structlog

from bot import events
from bot.budgets import Allowed, Rung
from bot.errors import ToolError
from bot.groups.parting import give_up_part, member_of
from bot.groups.team import acting
from bot.models.base import Answer, ContextTooLong, Model, Request, Restarted, TextDelta, Usage
from bot.rules import Rules
from bot.spending import spent
from bot.tools.aliases import unaliased
from bot.turns import context, recovery
from bot.turns.calling import Caller
from bot.turns.context import Material
from bot.turns.ending import end_turn, heard_at
from bot.turns.joining import arrivals, join_arrivals
from bot.turns.kit import Kit
from bot.turns.moves import Cancel, Finish, Move, Remind, Restart, Tell, Think, Use, next_move, open_call, wordings
from bot.turns.reins import Reins
from memory import agent_messages, budgets, coordination, facts, groups, inbox, outbox, projects, turns
from memory.audience import Trust
from memory.database import Database, Rows, Tx
from memory.errors import DatabaseBusy, DatabaseFull
from memory.faults import Point, call_point, commit_point, outside
from memory.groups import Status
from memory.ids import TurnId, place_source
from memory.turns import Turn, TurnMoved
from memory.usage import record

_JOIN = commit_point("turn.join")
_RESTART = commit_point("turn.restart")
_TELL = commit_point("turn.tell")
_ANSWER = commit_point("turn.answer")
_RESERVE = commit_point("budget.reserve")
_RELEASE = commit_point("budget.release")
_FINISH = commit_point("turn.finish")
_CANCEL = commit_point("turn.cancel")
_GIVE_UP = commit_point("turn.give_up_part")
_MODEL = call_point("model.complete")

_log = structlog.get_logger("bot.turns.turn")

Ending: TypeAlias = bool
"""True when the turn is over, False when it is to be looked at again."""
Standing: TypeAlias = tuple[Material, Move, bool]
"""What a turn stands on; what it does next; whether the same speaker said more."""


def standing(rows: Rows, identifier: TurnId, max_steps: int) -> Standing:
    """How a turn stands, and what it does next. Raises KeyError when there is none of that id."""
    turn = turns.get(rows, identifier)
    if turn is None:
        raise KeyError(identifier)
    material = context.look(rows, turn, acting(rows, turn))
    said = outbox.anything_said(rows, turn.id)
    move = next_move(material, said=said, max_steps=max_steps)
    return material, move, bool(arrivals(rows, turn))


class TurnRunner:
    """One try at one turn; `seen` is how it stands, where that was read just before."""

    def __init__(self, database: Database, kit: Kit, turn: TurnId, reins: Reins, seen: Standing | None = None) -> None:
        self._db = database
        self._kit = kit
        self._caller = Caller(database, kit, self._run_part)
        self._turn = turn
        self._call: asyncio.Task[Answer] | None = None
        self._seen = seen  # how the turn stood when it was read last: spares a look
        self._reins = reins

    def _interrupt(self) -> None:
        """Words of the turn changed: stop listening to the model and look again."""
        if self._call is not None:
            self._call.cancel()

    async def run(self) -> bool:
        """Go on until the turn is over (True) or the reins say stop and a step is stored (False)."""
        with self._reins.held(self._interrupt):
            return await self._run()

    async def _run_part(self, turn: TurnId, seconds: float) -> bool:
        return await run_part(self._db, self._kit, turn, seconds, self._reins)

    async def _run(self) -> bool:
        over = False
        while not over:
            if (seen := self._seen) is None:
                seen = await self._db.read(self._look)
            (material, move, more), self._seen = seen, None
            if self._reins.stopping and not isinstance(move, Finish):  # what is answered already is said before the end
                break
            if material.turn.status != "running":
                over = True  # ended by other hands: its person was erased
                break
            try:
                if more and open_call(material) is None and await self._join(material):
                    continue
                over = await self._make(move, material)
            except TurnMoved:
                continue  # nothing of it was stored
        if over:
            self._kit.watch(events.Complete(self._turn, material.turn.place))
        return over

    def _look(self, rows: Rows) -> Standing:
        return standing(rows, self._turn, self._kit.limits.max_steps)

    async def _join(self, material: Material) -> bool:
        """Take what was said meanwhile into the turn, unless it has come to its last step."""
        if sum(step.kind == "answer" for step in material.steps) >= self._kit.limits.max_steps:
            return False
        now = self._kit.clock()
        return await self._db.write(_JOIN, lambda tx: join_arrivals(tx, material.turn, now))

    async def _make(self, move: Any, material: Material) -> Ending:
        match move:
            case Think():
                return await self._think(material, move)
            case Use():
                await self._caller.make(move, material)
                return False
            case Finish(text):
                return await self._finish(text, material)
            case Restart():
                return await self._restart(material)
            case Tell(text):
                await self._step(_TELL, material.turn, "note", {"text": text, "messages": wordings(material)})
                return False
            case Remind(text, force):
                note = {"text": text, "messages": wordings(material), "demands": True, "force": force}
                await self._step(_TELL, material.turn, "note", note)
                return False
            case Cancel():
                await self._cancel(material)
                return True
            case _:
                raise AssertionError(move)

    # ------------------------------------------------------------------ thinking

    async def _think(self, material: Material, move: Think) -> Ending:
        await self._kit.ready(material.agent, "")
        tools = self._kit.tools(material.agent)
        if missing := Rules.of(material.agent).missing(tools.tools):
            raise ToolError(f"{material.agent.name} cannot work without {', '.join(missing)}, which is not there")
        # What only a model needs (memory, history) is read only now.
        meaning = await self._kit.meaning(context.asked_words(material))
        gather = functools.partial(context.gather, material=material, meaning=meaning)
        specs = () if move.last else tools.specs()

        async def ask(*, compactable: bool) -> Ending:
            found = await self._db.read(gather)
            request = context.render(found, specs, last_step=move.last)
            request = replace(request, force_tool=move.force, compactable=compactable and bool(found.history))
            return await self._ask_within_budget(request, found)

        try:
            return await ask(compactable=True)
        except ContextTooLong as error:
            compacted = await self._kit.shrink(self._db, material)
            _log.warning("prompt_too_long", turn=material.turn.id, reason=error.reason, compacted=compacted)
            return await ask(compactable=False)

    async def _ask_within_budget(self, request: Request, material: Material) -> Ending:
        """Ask the model as far as may be spent, and store what it answers."""
        allowed = await self._allow(material, request)
        try:
            answer = await self._ask(allowed, request, material)
            if answer is not None:
                return await self._store_answer(answer, material, allowed.reservation)
        except BaseException:
            await self._release(allowed)
            raise
        await self._release(allowed)
        return False

    async def _allow(self, material: Material, request: Request) -> Allowed:
        """What may be spent on this call, with that reserved."""
        kept, now, turn = self._kit.budgets, self._kit.clock(), material.turn
        if not kept.concerns(material.agent):
            return Allowed(Rung.FULL, material.agent)
        return await self._db.write(_RESERVE, lambda tx: kept.allow(tx, turn, material.agent, request, now))

    async def _release(self, allowed: Allowed) -> None:
        """The call came to nothing; should this not be stored, the next start or the time sees to it."""
        if (reserved := allowed.reservation) is not None:
            await asyncio.shield(self._db.write(_RELEASE, lambda tx: budgets.release(tx, reserved)))

    async def _ask(self, allowed: Allowed, request: Request, material: Material) -> Answer | None:
        """The model's answer, or words instead of one; None when it was interrupted: the words changed."""
        if allowed.rung is Rung.REFUSED:
            return Answer(allowed.words, (), Usage(), model="")
        model = await self._kit.model(allowed.agent)
        listening = self._listen(model, allowed.request(request), material.turn)
        answering = outside(_MODEL, listening, self._kit.limits.model_seconds)
        self._call = asyncio.create_task(answering, name=f"model of turn {material.turn.id}")
        try:
            return await self._call
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is None or current.cancelling():
                raise
            return None
        finally:
            self._call.cancel()
            self._call = None

    async def _listen(self, model: Model, request: Request, turn: Turn) -> Answer:
        text = ""
        async for event in model.complete(request):
            match event:
                case TextDelta(piece):
                    text += piece
                case Restarted():
                    text = ""
                case Answer():
                    return event
            self._kit.watch(events.TextChunk(turn.id, turn.place, self._kit.redact(text)))
        raise AssertionError("a model ended without an answer")

    async def _store_answer(self, answer: Answer, material: Material, reservation: int | None) -> Ending:
        turn, redact, now = material.turn, self._kit.redact, self._kit.clock()
        cost = spent(answer.model, answer.usage)

        used = {call["id"] for step in material.steps if step.kind == "answer" for call in step.body["calls"]}
        calls = []
        tools = self._kit.tools(material.agent).tools
        for number, given in enumerate(answer.calls):
            call = unaliased(given, tools)
            # The model's own id, unless it is empty or was used before: a result must find its call.
            own = call.id if call.id and call.id not in used else f"call_{turn.id}_{len(used)}_{number}"
            used.add(own)
            calls.append({"id": own, "name": call.name, "arguments": redact(call.arguments)})
        body: dict[str, Any] = {"text": redact(_explained(answer)), "calls": calls, "model": answer.model}
        body |= {"finish": answer.finish, "shown": context.shown_versions(material)}

        def work(tx: Tx) -> Standing | None:
            if any(each.trust is Trust.WEB for each in material.history):  # what was read is still before its eyes
                turns.lower_trust(tx, turn, Trust.WEB)
            turns.add_step(tx, turn, "answer", body, now)
            recalled = [entry.id for entry in material.recalled]
            turns.note_shown(tx, turn, context.shown_blocks(material), recalled)
            facts.note_shown(tx, turn, material.known.ids)
            projects.note_shown(tx, turn, material.known.projects.ids)
            voting = material.part is not None and material.part.kind in ("ballot", "choice")
            if material.around is not None and not voting:  # who only votes has not acted on them
                coordination.mark_read(tx, turn, [note.id for note in material.around.handoffs], now)
            if answer.model:
                record(tx, turn, cost, now)
            if reservation is not None:
                budgets.release(tx, reservation)
            return self._finished_or_standing(tx, now)

        self._seen = await self._db.write(_ANSWER, work)
        return self._seen is None

    def _finished_or_standing(self, tx: Tx, now: datetime) -> Standing | None:
        """None when the answer that was just stored ended the turn, in the same unit; or how it stands now."""
        seen = self._look(tx)
        material, move, more = seen
        if more or not isinstance(move, Finish) or self._to_shorten(move.text, material):
            return seen
        end_turn(tx, self._kit, material, move.text, now)
        return None

    # ------------------------------------------------------------------ ending

    def _to_shorten(self, text: str, material: Material) -> str:
        """Why the model is to say it shorter; empty when it is short enough, or was asked already."""
        place = heard_at(self._kit, material.turn)
        return "" if _was_shortened(material) else self._kit.too_long(place_source(place), text)

    async def _finish(self, text: str, material: Material) -> Ending:
        turn, now = material.turn, self._kit.clock()
        if words := self._to_shorten(text, material):
            note = {"text": f"{words} Give it again, shorter. It was:\n{text}", "messages": wordings(material)}
            await self._step(_TELL, turn, "note", note | {"shorten": True})
            return False

        def work(tx: Tx) -> Ending:
            turns.require_current(tx, turn)
            fresh = context.look(tx, turn, material.agent)
            if wordings(fresh) != wordings(material):
                return False  # changed in the last moment: the next look decides
            answers = sum(step.kind == "answer" for step in material.steps)
            if answers < self._kit.limits.max_steps and join_arrivals(tx, turn, now):
                return False
            end_turn(tx, self._kit, material, text, now)
            return True

        return await self._db.write(_FINISH, work)

    async def _restart(self, material: Material) -> Ending:
        turn, now = material.turn, self._kit.clock()

        def work(tx: Tx) -> None:
            self._kit.broker.withdraw(tx, turn.id, now)
            turns.require_current(tx, turn)
            groups.drop_parts(tx, turn.id)
            begun_again = turns.restart(tx, turn)
            turns.add_step(tx, begun_again, "joined", {"messages": wordings(material)}, now)

        await self._db.write(_RESTART, work)
        return False

    async def _cancel(self, material: Material) -> None:
        turn, now = material.turn, self._kit.clock()

        def work(tx: Tx) -> None:
            self._kit.broker.withdraw(tx, turn.id, now)
            outbox.withdraw_pending(tx, turn.id)
            agent_messages.withdraw(tx, turn.id, now)
            recovery.keep(tx, turn.id, "cancelled", now)
            inbox.finish(tx, turn.id, now)
            groups.drop_parts(tx, turn.id)
            groups.end_part(tx, turn.id, "failed", "nobody wants it any more", now)
            turns.end(tx, turn.id, "cancelled", now)

        await self._db.write(_CANCEL, work)

    async def _step(self, point: Point, turn: Turn, kind: turns.StepKind, body: dict[str, Any]) -> None:
        now = self._kit.clock()
        await self._db.write(point, lambda tx: turns.add_step(tx, turn, kind, body, now))


def _was_shortened(material: Material) -> bool:
    """Whether the model was asked to say it shorter, or has no step left for that."""
    return any(step.body.get("shorten") for step in material.steps)


async def run_part(database: Database, kit: Kit, turn: TurnId, seconds: float, reins: Reins) -> bool:
    """Run a member's turn to its end; False when it was stopped before.

    It ends as failed when it takes longer than `seconds` of this process, or fails: what asked for it decides what
    follows.
    """
    member = await database.read(lambda rows: member_of(rows, turn))
    told = replace(kit, watch=functools.partial(_tell_of_part, kit, turn))
    kit.watch(member.started)
    over = await _run_to_end(database, told, turn, seconds, reins)
    if over:
        for event in member.ended(await database.read(lambda rows: groups.part(rows, turn))):
            kit.watch(event)
    return over


async def _run_to_end(database: Database, kit: Kit, turn: TurnId, seconds: float, reins: Reins) -> bool:
    status: Status
    try:
        async with asyncio.timeout(seconds):
            return await TurnRunner(database, kit, turn, reins).run()
    except TimeoutError:
        status, why = "late", f"took longer than {seconds:g} seconds"
    except (DatabaseBusy, DatabaseFull):
        raise
    except Exception as error:
        _log.exception("part_failed", turn=turn)
        status, why = "failed", f"failed ({type(error).__name__})"
    now = kit.clock()

    def give_up(tx: Tx) -> None:
        kit.broker.withdraw(tx, turn, now)
        give_up_part(tx, turn, status, why, now)

    await database.write(_GIVE_UP, give_up)
    return True


def _tell_of_part(kit: Kit, turn: TurnId, event: events.TurnEvent) -> None:
    """Those who watch hear of a member's part as such: nothing of it is an answer to anybody yet."""
    kit.watch(events.OfMember(turn, event.place, event))


def _explained(answer: Answer) -> str:
    """The answer's text, saying so when the provider cut or withheld it."""
    if answer.finish == "filter" and not answer.text and not answer.calls:
        return "The language model's provider withheld the answer to this."
    if answer.finish == "length" and answer.text and not answer.calls:
        return f"{answer.text}\n(The answer ends here because it reached the model's limit.)"
    return answer.text
