"""Members' turns in a group's run: begun, finished with a result, or given up."""

from datetime import datetime

from bot.agents import turn_events
from bot.agents.context.prompt import PromptInputs
from bot.agents.groups.votes_and_pipelines import MemberRequest
from bot.agents.initial_blocks import ensure_blocks
from bot.config.values import OFFLINE
from memory import agents, group_runs
from memory.group_runs import Part, PartDetail, Status
from memory.knowledge import working_memory
from memory.queue import inbox, turns
from memory.queue.steps import ModelAnswer, forgets, is_lasting
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from memory.store.ids import TurnId
from memory.store.records import replace
from texts import _

REQUIRED_PARTS = ("stage", "task")
"""Kinds of parts whose result others need: if one fails, so do they."""


def begin_part(tx: Tx, asking: Turn, run: TurnId, wanted: MemberRequest, now: datetime, *, call: str = "") -> TurnId:
    """Begin a member's turn: it gets the messages of the run, with the same audience, and its task."""
    asked = [row.message for row in inbox.of_turn(tx, run) if row.message is not None]
    heard, lowest = turns.as_worded(tx, asked)
    turn = replace(asking, id=turns.new_turn_id(), agent=wanted.agent, parent=asking.id, heard=heard)
    turn = replace(turn, trust=min(turn.trust, lowest), restarts=0, started_at=now, away_since=None)
    ensure_blocks(tx, agents.agent(tx, turn.agent), turn.scope.audience, turn.person, now)
    turns.begin(tx, turn)
    by = turn.id, run, asking.id, turn.agent
    group_runs.add_part(tx, Part(*by, wanted.kind, wanted.stage, wanted.attempt, wanted.task, call), turn, now)
    return turn.id


def member_of(rows: Rows, turn_id: TurnId) -> turn_events.AgentStarted:
    """The member behind a turn, for watchers. Raises KeyError if there is no such part."""
    part, turn = group_runs.part(rows, turn_id), turns.get(rows, turn_id)
    if part is None or turn is None:
        raise KeyError(turn_id)
    return turn_events.AgentStarted(part.run, turn.place, agents.agent(rows, turn.agent).name)


def end_part(tx: Tx, material: PromptInputs, part: Part, text: str, now: datetime) -> None:
    """Store a member's result, inside the transaction that ends its turn. An empty result can be an answer."""
    fresh = group_runs.part(tx, part.turn)
    status: Status = "done"
    undecided = part.is_one_call and (fresh is None or fresh.detail == PartDetail())
    if undecided or (part.kind in REQUIRED_PARTS and not text.strip()):
        models = [step.body.model for step in material.steps if isinstance(step.body, ModelAnswer)]
        given = _("cast no valid ballot") if undecided else _("gave no answer")
        status, text = "failed", _("got no answer from its model") if models[-1:] == [OFFLINE] else given
    group_runs.end_part(tx, part.turn, status, "" if part.kind == "observe" else text, now)
    turns.pass_on_uses(tx, part.turn, part.asked_by)
    mine, asking = turns.get(tx, part.turn), turns.get(tx, part.asked_by)
    if mine is not None and asking is not None and part.kind != "observe":
        turns.lower_trust(tx, asking, mine.trust)  # its result contains what it read
    if any(is_lasting(step.body) for step in material.steps):
        group_runs.note_acted(tx, part.turn)
    if forgets(material.steps):
        working_memory.forget_turn(tx, part.turn)


def give_up_part(tx: Tx, turn_id: TurnId, status: Status, why: str, now: datetime) -> None:
    """End a part whose turn failed or took too long; what it had done stays."""
    turn = turns.get(tx, turn_id)
    group_runs.end_part(tx, turn_id, status, why, now)
    if turn is not None and turn.status == "running":
        turns.end(tx, turn_id, "failed", now, why)
