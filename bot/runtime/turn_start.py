"""Begins a turn: assigns waiting rows to an agent of the group, in one transaction. `bot.agents.turn_end` ends it.

If no agent of the group is active, the rows are given up, and people are told.
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
from memory.store.database import Rows, Tx
from memory.store.ids import TurnId, code, place_source
from memory.store.records import replace
from sources.names import place_title
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
    """Whether no agent of the team can answer these rows, which are then given up.

    The person is told, in a channel once a day, and never in public; the owner is told once a day what to do.
    """
    now, notices, row = deps.clock(), deps.notices, rows[0]
    if isinstance(row.payload, PatrolEvent):  # nobody takes over another's patrol
        agent = row.payload.agent
        gone = agents.statuses(tx, [agent]).get(agent) != "active"
        if gone:
            inbox.set_aside(tx, rows, "its agent is not active", now)
        return gone
    if found.candidates or found.observers:
        return False
    for each in rows:
        turns.not_begun(tx, each.id, inbox.NOBODY, now, dead=True, now=now)
    to_owner = row.place == notices.place
    private = row.audience == OWNER or row.audience.startswith("person:")
    key = f"unattended/{found.group.id}/{row.place}"
    today = f"{key}/{now:%Y-%m-%d}"
    here = f"{key}/{row.id}" if private else today
    notices.tell_owner(tx, here if to_owner else today, _notice(tx, row, found.group, notices), now)
    if not to_owner and row.source == place_source(row.place) and row.audience != PUBLIC:
        with deps.speaking_to(row.person):
            text = _("No agent is answering here at the moment. Please ask again later.")
        outbox.add(tx, outbox.NewRow(here, row.place, text, row.audience, person=row.person), now)
    return True


def _notice(rows: Rows, row: InRow, group: Group, notices: Notices) -> str:
    with notices.reading():
        text = _(
            "No agent is answering in {place}: every agent in the group “{group_name}” is archived or "
            "hibernated. Wake one with `carina agent wake`, or restore one with `carina agent restore`. Then "
            "`carina inbox retry {id}` answers the message; `carina inbox list --dead` shows others.",
            place=place_title(place_named(rows, row.place, Scope(OWNER))),
            group_name=group.name,
            id=code(row.id),
        )
        return f"{text} {_('`/admin route` there lets another group answer.')}" if row.source == "discord" else text
