"""Begins a turn: assigns waiting rows to an agent of the group, in one transaction. `bot.agents.turn_end` ends it.

If no agent of the group is active, the rows wait for one, and people are told once.
"""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from bot.agents import turn_log
from bot.agents.context import prompt
from bot.agents.groups.team import Team
from bot.agents.groups.who_answers import plan_turn
from bot.agents.initial_blocks import ensure_blocks
from bot.agents.next_step import CallModel, next_step
from bot.agents.owner_notices import Notices
from bot.agents.patrols import is_patrol
from bot.agents.permissions import approval_requests
from bot.agents.turn import TurnState, load_state
from bot.agents.turn_deps import TurnDeps
from memory import activity, agents
from memory.agent_groups import Group
from memory.blocks import CONSTELLATION_OWNER, NewBlock, Permission
from memory.people.audience import OWNER, PUBLIC, Scope, Trust
from memory.people.identities import place_named
from memory.permission_requests import Request
from memory.queue import agent_messages, inbox, messages, outbox, place_settings, turns
from memory.queue.inbox import InRow, Status
from memory.queue.payloads import PAYLOAD, Extras, PatrolEvent
from memory.queue.steps import MessagesJoined, Step
from memory.queue.turns import Turn
from memory.store.database import Tx
from memory.store.ids import TurnId, place_source
from memory.store.records import replace
from sources.names import place_title
from sources.terminal import SOURCE
from texts import _


class TurnStart(Struct, frozen=True):
    """A turn to run, and its state if it was just begun with a single agent.

    `first`: none of its rows was tried before, and a model is called next.
    """

    turn: TurnId
    seen: TurnState | None = None
    first: bool = False


def begin_turn(
    tx: Tx, rows: list[InRow], found: Team, now: datetime, near: Mapping[str, float], max_steps: int
) -> TurnStart:
    """Assign the waiting rows of one speaker to a new turn of an agent, with the blocks they refer to.

    `near` is the similarity of the messages to members' knowledge (`bot.agents.groups.who_answers`). Raises
    RowUnreadable.
    """
    head = rows[0]
    PAYLOAD.require(head.payload)
    identifier = turns.new_turn_id()
    plan = plan_turn(tx, rows, found, identifier, now, near)
    request = approval_requests.decided(tx, head)
    alone = request is None and not plan.conducted
    first = alone and not any(row.attempts for row in rows)
    there = place_settings.at_place(tx, head.place)
    scope = Scope(head.audience, there.within)
    heard = messages.by_ids(tx, [row.message for row in rows if row.message is not None], scope)
    turn = Turn(
        id=identifier,
        agent=plan.agent if request is None else request.agent,
        group=found.group.id,
        place=head.place,
        person=head.person,
        scope=scope,
        trust=Trust.SYSTEM,
        blocks=(),
        restarts=0,
        started_at=now,
        heard=tuple((message.id, message.revision) for message in heard),
    )
    turn = _with_blocks(tx, turn, rows, found, request, now)
    turn = replace(turn, trust=min((message.trust for message in heard), default=turn.trust))
    turns.begin(tx, turn)
    turns.claim(tx, rows, turn.id, first=first)
    if request is not None:
        approval_requests.resume(tx, turn, request, now)
    else:
        plan.keep(tx, found, turn, now)
    for wrote in agent_messages.wrote(tx, turn.id) if head.source == agent_messages.SOURCE else ():
        turns.pass_on_uses(tx, wrote, turn.id)
    if not alone:
        return TurnStart(turn.id, None if request is None else load_state(tx, turn.id, max_steps))
    claimed = [replace(row, status=Status.CLAIMED, turn=turn.id) for row in rows]
    agent = found.acting(turn.agent)
    agent = replace(agent, model=there.model or agent.model)
    material = prompt.inputs(
        tx, turn, agent, prompt.TurnRows(claimed, heard, [Step(1, MessagesJoined(turn.heard), now)])
    )
    move = next_step(material, said=False, max_steps=max_steps)
    if first and isinstance(move, CallModel):  # read in this transaction, to save a hop to another thread
        material = prompt.add_inputs(tx, material)
    return TurnStart(turn.id, (material, move, False), first)


def _with_blocks(tx: Tx, turn: Turn, rows: list[InRow], found: Team, request: Request | None, now: datetime) -> Turn:
    """The turn with the blocks that it refers to, created if missing; its agent becomes active."""
    agent = found.agents.get(turn.agent) or agents.agent(tx, turn.agent)
    asking = turns.get(tx, request.turn) if request is not None else None
    brought = [] if asking is not None else _brought_blocks(turn, rows)
    made = ensure_blocks(tx, agent, turn.scope.audience, turn.person, now, brought)
    seen = activity.seen(tx, turn.agent, turn.scope)
    newest = max((at for at, _ in seen.values()), default=None)
    turn = replace(turn, away_since=newest, blocks=made if asking is None else asking.blocks)
    if not is_patrol(turn.place):  # an agent on patrol still counts as away for people
        activity.note_begin(tx, turn, seen.get(turn.scope.audience), now)
        turn_log.note_asked(tx, turn, rows, now)
    return turn


def _brought_blocks(turn: Turn, rows: list[InRow]) -> list[NewBlock]:
    """The ephemeral blocks of these rows, in their current form, for the turn to refer to.

    They belong to the constellation, so that every agent finds the same notes, and have the audience of the place:
    notes about a person made in one guild are not read in another.
    """
    return [
        NewBlock(
            owner=CONSTELLATION_OWNER,
            label=spec.label,
            description=spec.description,
            audience=turn.scope.audience,
            trust=turn.trust,
            permission=Permission.READ_WRITE,
            about=spec.about or None,
            profile=spec.profile,
        )
        for row in rows
        if isinstance(row.payload, Extras)
        for spec in row.payload.blocks
    ]


# ------------------------------------------------------------------------------------------------- no active agent


def is_unattended(tx: Tx, rows: list[InRow], found: Team, deps: TurnDeps) -> bool:
    """Whether no agent of the team can answer these rows, which then wait for one.

    The person is told when the first message of a conversation waits, at the terminal each time, never in public; the
    owner is told once a day.
    """
    now, notices = deps.clock(), deps.notices
    if isinstance(patrol := rows[0].payload, PatrolEvent):  # nobody takes over another's patrol
        agent = patrol.agent
        gone = agents.statuses(tx, [agent]).get(agent) != "active"
        if gone:
            inbox.set_aside(tx, rows, "its agent is not active", now)
        return gone
    if found.candidates or found.observers:
        return False
    told = inbox.keep_for_an_agent(tx, rows, now)
    with deps.speaking_to(None):
        _tell_owner(tx, rows[0], found.group, notices, now, told=told)
    if rows[0].source == place_source(rows[0].place) and not (told or rows[0].audience == PUBLIC):
        with deps.speaking_to(rows[0].person):
            _tell_asker(tx, rows[0], found.group, notices, now)
    return True


def _tell_owner(tx: Tx, row: InRow, group: Group, notices: Notices, now: datetime, *, told: bool) -> None:
    if row.audience == OWNER and not is_patrol(row.place):  # the owner writes, and is told there
        notices = Notices(row.place)
    with notices.reading():
        text = _(
            "No agent is answering in {place}: every agent in the group “{group_name}” is archived or "
            "hibernated. Wake one with `carina agent wake`, or restore one with `carina agent restore`. I'll "
            "then answer the messages of the last {count} days.",
            place=place_title(place_named(tx, row.place, Scope(OWNER))),
            group_name=group.name,
            count=inbox.KEPT.days,
        )
    if row.source == "discord":
        text = f"{text} {_('`/admin route` there lets another group answer.')}"
    here = row.place == notices.place
    if here and told and row.source != SOURCE:
        return
    key = str(row.id) if here else f"{row.place}/{now:%Y-%m-%d}"
    notices.tell_owner(tx, f"unattended/{group.id}/{key}", text, now)


def _tell_asker(tx: Tx, row: InRow, group: Group, notices: Notices, now: datetime) -> None:
    if row.audience == OWNER or row.place == notices.place:
        return
    text = _(
        "No agent is answering here at the moment. I'll keep what you write for {count} days and answer it if "
        "that changes.",
        count=inbox.KEPT.days,
    )
    key = f"unattended/{group.id}/{row.id}"
    outbox.add(tx, outbox.NewRow(key, row.place, text, row.audience, person=row.person), now)
