"""Runs a turn that a group answers by asking several members.

Like a turn it reads the store, takes one step, stores the result, and reads again. Members' parts are turns of their
own; nothing of them is sent before the last transaction, which sends everything and marks the messages as done.
"""

import asyncio
import functools
from collections.abc import Sequence
from datetime import datetime

from bot.agents import turn_events
from bot.agents.answer_messages import package, queue
from bot.agents.context import prompt
from bot.agents.context.prompt import PromptInputs
from bot.agents.groups.member_turns import begin_part
from bot.agents.groups.team import Team, team
from bot.agents.groups.votes_and_pipelines import MemberRequest, NoMemberAnswer, RunAnswer, RunState, Step, next_step
from bot.agents.model_call import TurnControl
from bot.agents.next_step import MAX_RESTARTS, changed
from bot.agents.turn import TurnRunner, TurnState, load_state, run_part
from bot.agents.turn_deps import TurnDeps
from bot.agents.turn_end import answer_row, answers, begin_again, cancel, finish, words_of
from memory import agents, group_runs
from memory.group_runs import Part
from memory.queue import messages, outbox, turns
from memory.queue.turns import Turn, TurnMoved
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import TurnId
from memory.store.records import replace
from sources.base import Endpoint
from texts import TextError


def _write(tx: Tx, material: PromptInputs, words: RunAnswer, team: Team, endpoint: Endpoint, now: datetime) -> None:
    """Store the run's batch and queue its messages: each member's under its name, the group's under its own."""
    turn, asked, after = material.turn, [each.message.id for each in material.asked], ""
    messages.join_batch(tx, asked, turn.id)
    said = ((agent, text) for agent, text in words.words if text.strip())
    for number, (identifier, text) in enumerate(said):
        agent = None if identifier is None else agents.agent(tx, identifier)
        speaker, by = team.group.name if agent is None else agent.name, identifier or turn.agent
        row = replace(words_of(turn, speaker, text, now), agent=by, sequence=len(asked) + number + 1)
        answer = answer_row(turn, turn.place, messages.add(tx, row))
        detail = outbox.TextDetail(
            reply_to=answers(material),
            after=after,
            mentions=(turn.person,) if turn.person else (),
            speaker=speaker,
            avatar="" if agent is None else agent.config.avatar,
        )
        pieces = package(text, endpoint, speaker if len(words.words) > 1 else "")
        after = queue(tx, replace(answer, key=f"turn/{turn.id}/{number}", agent=by), detail, pieces, now)


_ASK = commit_point("group.ask")
_SAY = commit_point("group.say")
_AGAIN = commit_point("group.again")
_CANCEL = commit_point("group.cancel")


class GroupFailed(TextError):
    """No member gave a result; the text is for the operator."""


def read_alone(rows: Rows, turn_deps: TurnDeps, turn: TurnId) -> TurnState | None:
    """The state of a turn that a single agent answers; None if a group's pattern makes the answer."""
    run = group_runs.run(rows, turn)
    return None if run is not None and run.conducted else load_state(rows, turn, turn_deps.limits.max_steps)


async def run_turn(
    database: Database, turn_deps: TurnDeps, turn: TurnId, control: TurnControl, seen: TurnState | None = None
) -> bool:
    """Run a turn alone or as a group; False if it was stopped before its end.

    `seen` is the result of `read_alone`, if it was called just before.
    """
    if seen is None:
        seen = await database.read(lambda rows: read_alone(rows, turn_deps, turn))
    if seen is None:
        return await Orchestrator(database, turn_deps, turn, control).run()
    return await TurnRunner(database, turn_deps, turn, control, seen).run()


class Orchestrator:
    """One attempt at one run whose answer consists of parts."""

    def __init__(self, database: Database, turn_deps: TurnDeps, turn: TurnId, control: TurnControl) -> None:
        self._db = database
        self._deps = turn_deps
        self._turn = turn
        self._control = control

    async def run(self) -> bool:
        """Continue until the run is over (True) or it is told to stop and a step is stored (False)."""
        over = False
        while not over:
            material, now = await self._db.read(self._look)
            if material.turn.status != "running":
                break  # ended from outside: stopped, or its person was erased
            if not any(asked.message.deleted_at is None for asked in material.asked):
                nobody = functools.partial(cancel, broker=self._deps.broker, turn=self._turn, now=self._deps.clock())
                await self._db.write(_CANCEL, nobody)
                break
            running = [part for part in now.parts if part.status == "running"]
            step = [] if running else await self._next(now)
            if self._control.stopping and not isinstance(step, RunAnswer):
                return False
            try:
                if isinstance(step, RunAnswer):
                    over = await self._say(step, material, now.team)
                elif running:
                    await self._wait(now, running)
                else:
                    await self._ask(step, material.turn)
            except TurnMoved:
                continue  # nothing of it was stored
        self._deps.watch(turn_events.TurnCompleted(self._turn, material.turn.place))
        return True

    def _look(self, rows: Rows) -> tuple[PromptInputs, RunState]:
        turn, run = turns.get(rows, self._turn), group_runs.run(rows, self._turn)
        if turn is None or run is None:
            raise KeyError(self._turn)
        material = prompt.read_turn(rows, turn, agents.agent(rows, turn.agent))
        live = [each.message.text for each in material.asked if each.message.deleted_at is None]
        # Delegated tasks belong to the part that gave them, not to the run's own steps.
        own = tuple(part for part in group_runs.parts(rows, turn.id) if part.asked_by == run.id)
        return material, RunState(run, team(rows, run.group), "\n".join(live), own)

    async def _next(self, now: RunState) -> Step:
        """The next step. Without any result, the list of asked members is dropped, so that the next attempt asks
        again."""
        try:
            return next_step(now)
        except NoMemberAnswer as error:
            at = self._deps.clock()

            def forget(tx: Tx) -> None:
                self._deps.broker.withdraw(tx, self._turn, at)
                group_runs.drop_parts(tx, self._turn)

            await self._db.write(_AGAIN, forget)
            name = now.team.group.name
            raise GroupFailed("nobody in the group “{group}” answered: {why}", group=name, why=error) from None

    async def _ask(self, wanted: Sequence[MemberRequest], turn: Turn) -> None:
        now = self._deps.clock()

        def work(tx: Tx) -> None:
            turns.require_current(tx, turn)
            for each in wanted:
                begin_part(tx, turn, turn.id, each, now)

        await self._db.write(_ASK, work)

    async def _wait(self, now: RunState, running: Sequence[Part]) -> None:
        """Run the begun parts in parallel, each to its end or its time limit."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for part in running:
                    seconds = now.team.seconds(now.settings, part)
                    work = run_part(self._db, self._deps, part.turn, seconds, self._control)
                    tasks.create_task(work, name=f"part {part.turn} of run {part.run}")
        except ExceptionGroup as several:  # of the store: a member's errors are stored with its part
            raise several.exceptions[0] from several

    async def _say(self, say: RunAnswer, material: PromptInputs, team: Team) -> bool:
        """Queue all messages and mark the inbox rows as answered, in one transaction."""
        turn, now = material.turn, self._deps.clock()

        def work(tx: Tx) -> bool:
            turns.require_current(tx, turn)
            fresh = prompt.read_turn(tx, turn, material.agent)
            again = turn.restarts < MAX_RESTARTS and not group_runs.acted(tx, turn.id)
            if changed(fresh) and again:  # members worked on the old messages
                begin_again(tx, self._deps.broker, fresh, now)
                return False
            _write(tx, fresh, say, team, self._deps.endpoint_at(turn.place), now)
            finish(tx, self._deps, fresh, now)
            group_runs.end_run(tx, turn.id, say.outcome, now)
            turns.end(tx, turn.id, "done", now)
            return True

        return await self._db.write(_SAY, work)
