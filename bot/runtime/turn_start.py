"""The beginning of a turn: waiting rows of one speaker are given to an agent of the group, in one unit of work."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from bot.agents import turn_log
from bot.agents.context import prompt
from bot.agents.context.working_blocks import brought_blocks
from bot.agents.groups.speaker import beginning
from bot.agents.groups.team import Team
from bot.agents.patrols import is_patrol
from bot.agents.permissions import broker
from bot.agents.seeds import ensure_blocks
from bot.agents.steps import next_step
from bot.agents.turn import Standing, standing
from memory import activity, agents
from memory.people.audience import Audience, Scope, Trust
from memory.queue import agent_messages, attempts, messages, turns
from memory.queue.inbox import InRow, Status
from memory.queue.payloads import PAYLOAD
from memory.queue.steps import Joined, Step
from memory.queue.turns import Turn
from memory.requests import Request
from memory.store.database import Tx
from memory.store.ids import TurnId


@dataclass(frozen=True)
class Begun:
    """A turn to run, and how it stands, if it was begun just now and one agent answers.

    `first`: nobody tried any of its rows, and a model is asked next.
    """

    turn: TurnId
    seen: Standing | None = None
    first: bool = False


def begin_turn(
    tx: Tx, rows: list[InRow], found: Team, now: datetime, near: Mapping[str, float], max_steps: int
) -> Begun:
    """Give the waiting rows of one speaker to a new turn of an agent of the group, with the blocks they refer to.

    `near` is how like the words are to what members know (`bot.agents.groups.speaker`). Raises RowUnreadable.
    """
    head = rows[0]
    PAYLOAD.require(head.payload)
    identifier = turns.new_turn_id()
    begun = beginning(tx, rows, found, identifier, now, near)
    request = broker.decided(tx, head)
    alone = request is None and not (begun.plan.conducted and not begun.alone)
    first = alone and not any(row.attempts for row in rows)
    scope = Scope(head.audience, frozenset(map(Audience, agents.set_group(tx, head.place, begun.team.group.id))))
    heard = messages.by_ids(tx, [row.message for row in rows if row.message is not None], scope)
    turn = Turn(
        id=identifier,
        agent=begun.plan.agent if request is None else request.agent,
        group=begun.team.group.id,
        place=head.place,
        person=head.person,
        scope=scope,
        trust=Trust.SYSTEM,
        blocks=(),
        restarts=0,
        started_at=now,
    )
    turn = _with_surroundings(tx, turn, rows, begun.team, request, now)
    turn = replace(turn, trust=min((message.trust for message in heard), default=turn.trust))
    joined = Joined(tuple((message.id, message.revision) for message in heard))
    turns.begin(tx, turn)
    turns.put_step(tx, turn, 1, joined, now)
    attempts.begin(tx, rows, turn.id, first=first)
    if request is not None:
        broker.resume(tx, turn, request, now)
    else:
        begun.keep(tx, turn, now)
    for wrote in agent_messages.wrote(tx, turn.id) if head.source == agent_messages.SOURCE else ():
        turns.hand_uses(tx, wrote, turn.id)
    if not alone:
        conducted = begun.plan.conducted and request is None
        return Begun(turn.id, None if conducted else standing(tx, turn.id, max_steps))
    claimed = [replace(row, status=Status.CLAIMED, turn=turn.id) for row in rows]
    agent = begun.team.acting(turn.agent)
    material = prompt.inputs(tx, turn, agent, prompt.TurnRows(claimed, heard, [Step(1, joined, now)]))
    return Begun(turn.id, (material, next_step(material, said=False, max_steps=max_steps), False), first)


def _with_surroundings(
    tx: Tx, turn: Turn, rows: list[InRow], found: Team, request: Request | None, now: datetime
) -> Turn:
    """The turn with the blocks that it refers to, made where they are missing; its agent is active from now on."""
    agent = found.agents.get(turn.agent) or agents.agent(tx, turn.agent)
    asking = turns.get(tx, request.turn) if request is not None else None
    brought = [] if asking is not None else brought_blocks(turn, rows)
    made = ensure_blocks(tx, agent, turn.scope.audience, turn.person, now, brought)
    seen = activity.seen(tx, turn.agent, turn.scope)
    newest = max((at for at, _ in seen.values()), default=None)
    turn = replace(turn, away_since=newest, blocks=made if asking is None else asking.blocks)
    if not is_patrol(turn.place):  # who goes on patrol is away from people all the same
        activity.came(tx, turn, seen.get(turn.scope.audience), now)
        turn_log.note_asked(tx, turn, rows, now)
    return turn
