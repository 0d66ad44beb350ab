"""The transactions that end a turn, restart it, or extend what it answers."""

from collections.abc import Sequence
from datetime import datetime

from bot.agents import learning, patrols, transcript, turn_log
from bot.agents.context import recovery
from bot.agents.context.prompt import PromptInputs
from bot.agents.groups.member_turns import end_part
from bot.agents.groups.team import is_observer
from bot.agents.patrols import is_patrol, is_silence
from bot.agents.permissions.broker import Broker
from bot.agents.turn_deps import TurnDeps
from memory import groups
from memory.groups import RunOutcome
from memory.knowledge import unfinished_work
from memory.people.audience import Trust
from memory.queue import agent_messages, inbox, outbox, turns
from memory.queue.inbox import InRow
from memory.queue.payloads import Extras
from memory.queue.steps import CallEnded
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from memory.store.ids import PlaceId, TurnId, place_source


def answer_place(turn_deps: TurnDeps, turn: Turn) -> PlaceId:
    """The place where a turn's answer is sent: for a patrol, the owner's."""
    return turn_deps.owner.place if is_patrol(turn.place) else turn.place


def end_turn(tx: Tx, turn_deps: TurnDeps, material: PromptInputs, text: str, now: datetime) -> None:
    """Send the answer, or pass on a member's result, in the transaction that checked and closed the turn."""
    turn, patrol = material.turn, is_patrol(material.turn.place)
    if not patrol:  # a patrol every half hour would fill everybody's logs
        turn_log.write(tx, material, now, turn_deps.checkpoints, turn_deps.names)
    if material.part is not None:
        end_part(tx, material, material.part, text, now)
        return
    place = answer_place(turn_deps, turn)
    if patrol and turn.trust > Trust.WEB:  # words from the web stay apart from the owner's conversation
        place = inbox.conversation_place(tx, place)
    heard = all(isinstance(each.payload, Extras) for each in material.asked)  # an observer hears only of events
    silent = (not heard and is_observer(tx, turn)) or (patrol and is_silence(text))
    said = "" if silent or ":" not in place else text  # nobody is spoken to in "bluesky" as a whole
    pieces = turn_deps.package(place_source(place), said, "")
    transcript.write(tx, transcript.TurnResult(material, said, place, tuple(pieces)), now)
    if patrol:
        patrols.note(tx, turn.place, material.steps, said)
    finish(tx, turn_deps, material, now)
    if any(isinstance(step.body, CallEnded) for step in material.steps):  # it may have given tasks
        groups.forget_parts(tx, turn.id)


def finish(tx: Tx, turn_deps: TurnDeps, material: PromptInputs, now: datetime) -> None:
    """Learn from a turn whose answer is queued, and mark its messages as answered."""
    learning.learn(tx, material, turn_deps.tools, now)
    if material.recovery != "":
        unfinished_work.clear(tx, material.turn)
    inbox.finish(tx, material.turn.id, now)


def abandon(tx: Tx, broker: Broker, turn: TurnId, now: datetime) -> None:
    """End a turn, alone or of a group, without an answer; whoever waits for its result continues without."""
    broker.withdraw(tx, turn, now)
    outbox.withdraw_pending(tx, turn)
    agent_messages.withdraw(tx, turn, now)
    groups.drop_parts(tx, turn)
    groups.end_part(tx, turn, "failed", "", now)
    groups.end_run(tx, turn, RunOutcome(), now)
    inbox.finish(tx, turn, now)
    turns.end(tx, turn, "cancelled", now)


def cancel(tx: Tx, broker: Broker, turn: TurnId, now: datetime) -> None:
    """End a turn whose answer nobody wants any more; the agent's next turn in this place is told what was done."""
    recovery.store_progress(tx, turn, "cancelled", now)
    abandon(tx, broker, turn, now)


def begin_again(tx: Tx, broker: Broker, material: PromptInputs, now: datetime) -> None:
    """The messages changed, and nothing irrevocable was done: forget all steps and parts."""
    broker.withdraw(tx, material.turn.id, now)
    turns.require_current(tx, material.turn)
    groups.drop_parts(tx, material.turn.id)
    turns.restart(tx, material.turn, [asked.message.id for asked in material.asked])


def arrivals(rows: Rows, claimed: Sequence[InRow]) -> list[InRow]:
    """Later messages of the turn's speaker that no turn has claimed yet."""
    return inbox.joinable(rows, claimed[-1]) if claimed and not claimed[0].alone else []


def join_arrivals(tx: Tx, turn: Turn, now: datetime) -> bool:
    """Add later messages of the same speaker to the turn; returns whether there were any."""
    joined = arrivals(tx, inbox.of_turn(tx, turn.id))
    if not joined:
        return False
    inbox.claim(tx, joined, turn.id)
    said = [row.message for row in joined if row.message is not None]
    turns.add_joined(tx, turn, said, now)
    for part in groups.parts(tx, turn.id):
        if part.kind == "observe" and (listening := turns.get(tx, part.turn)) is not None:
            turns.add_joined(tx, listening, said, now)
    turn_log.note_asked(tx, turn, joined, now)
    return True
