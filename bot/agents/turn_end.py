"""The transactions that end a turn, restart it, or extend the messages it answers.

At its end, a turn's steps become messages, and its answer becomes outbox rows.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property

from msgspec import Struct

from bot.agents import patrols, turn_learning, turn_log
from bot.agents.answer_messages import Piece, package, queue
from bot.agents.context import interrupted_work
from bot.agents.context.prompt import PromptInputs
from bot.agents.groups.member_turns import end_part
from bot.agents.groups.team import acting, is_observer
from bot.agents.patrols import is_patrol, is_silence
from bot.agents.permissions.approval_requests import Broker
from bot.agents.turn_deps import TurnDeps
from memory import activity, group_runs
from memory.group_runs import RunOutcome
from memory.knowledge import interrupted_work as stored_work
from memory.knowledge import working_memory
from memory.people.audience import Trust
from memory.queue import agent_messages, inbox, messages, outbox, turns
from memory.queue.inbox import InRow
from memory.queue.payloads import DecisionEvent, EditEvent, Extras
from memory.queue.steps import CallDone, CallEnded, ModelAnswer, Step, forgets
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from memory.store.ids import MessageId, OutboxId, PlaceId, TurnId, place_source
from memory.store.records import replace
from sources.names import place_title
from texts import gettext_lazy


def answer_place(turn_deps: TurnDeps, turn: Turn) -> PlaceId:
    """The place where a turn's answer is sent: for a patrol, the owner's."""
    return turn_deps.notices.place if is_patrol(turn.place) else turn.place


def end_turn(tx: Tx, turn_deps: TurnDeps, material: PromptInputs, text: str, now: datetime) -> None:
    """Send the answer, or pass on a member's result, in the transaction that checked and closed the turn."""
    turn, patrol = material.turn, is_patrol(material.turn.place)
    if not patrol:  # a patrol every half hour would fill everybody's logs
        turn_log.write(tx, material, now, turn_deps.checkpoints, turn_deps.tools)
    if material.part is not None:
        end_part(tx, material, material.part, text, now)
        return
    place = answer_place(turn_deps, turn)
    if patrol and turn.trust > Trust.WEB:  # text from the web stays separate from the owner's conversation
        place = inbox.conversation_place(tx, place)
    heard = all(isinstance(each.payload, Extras) for each in material.asked)  # an observer hears only of events
    silent = (not heard and is_observer(tx, turn)) or (patrol and is_silence(text))
    said = "" if silent or ":" not in place else text  # "bluesky" as a whole has no reader
    pieces = package(said, turn_deps.endpoint_at(place))
    _write(tx, _TurnResult(material, said, place, tuple(pieces)), now)
    if patrol:
        patrols.note(tx, turn.place, material.steps, said)
    finish(tx, turn_deps, material, now)
    if any(isinstance(step.body, CallEnded) for step in material.steps):  # it may have delegated tasks
        group_runs.forget_parts(tx, turn.id)


def finish(tx: Tx, turn_deps: TurnDeps, material: PromptInputs, now: datetime) -> None:
    """Learn from a turn whose answer is queued, and mark its messages as answered."""
    turn_learning.learn(tx, material, turn_deps.tools, now)
    if material.recovery != "":
        stored_work.clear(tx, material.turn)
    inbox.finish(tx, material.turn.id, now)


def abandon(tx: Tx, broker: Broker, turn: TurnId, now: datetime) -> None:
    """End a turn, alone or of a group, without an answer; whoever waits for its result continues without it."""
    broker.withdraw(tx, turn, now)
    outbox.withdraw_pending(tx, turn)
    agent_messages.withdraw(tx, turn, now)
    group_runs.drop_parts(tx, turn)
    group_runs.end_part(tx, turn, "failed", "", now)
    group_runs.end_run(tx, turn, RunOutcome(), now)
    inbox.finish(tx, turn, now)
    turns.end(tx, turn, "cancelled", now)


def cancel(tx: Tx, broker: Broker, turn: TurnId, now: datetime) -> None:
    """Cancel a turn whose answer nobody wants any more; the agent's next turn in this place is told of its progress."""
    interrupted_work.store_progress(tx, turn, "cancelled", now)
    abandon(tx, broker, turn, now)


def begin_again(tx: Tx, broker: Broker, material: PromptInputs, now: datetime) -> None:
    """Restart a turn whose messages changed before anything irrevocable was done: delete all steps and parts."""
    broker.withdraw(tx, material.turn.id, now)
    turns.require_current(tx, material.turn)
    group_runs.drop_parts(tx, material.turn.id)
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
    for part in group_runs.parts(tx, turn.id):
        if part.kind == "observe" and (listening := turns.get(tx, part.turn)) is not None:
            turns.add_joined(tx, listening, said, now)
    turn_log.note_asked(tx, turn, joined, now)
    return True


class _TurnResult(Struct, frozen=True, dict=True):
    """A turn's result, and where to send it. `pieces` is empty if the agent stays silent."""

    material: PromptInputs
    text: str
    place: PlaceId
    pieces: tuple[Piece, ...]

    @property
    def source(self) -> str:
        return place_source(self.place)

    @cached_property
    def kept(self) -> bool:
        """Whether arguments and results of the turn's tools are kept: not if somebody asked to forget."""
        return not forgets(self.material.steps)


def _write(tx: Tx, ended: _TurnResult, now: datetime) -> None:
    """Store the turn's batch and queue its answer, inside the transaction that ends the turn."""
    material = ended.material
    asked = [asked.message.id for asked in material.asked]
    messages.join_batch(tx, asked, material.turn.id)
    sequence = len(asked)
    final = max((step.seq for step in material.steps if isinstance(step.body, ModelAnswer)), default=0)
    message: MessageId | None = None
    for step in material.steps:
        for said in _rows(step, ended, final=step.seq == final, now=now):
            sequence += 1
            stored = messages.add(tx, replace(said, sequence=sequence))
            if step.seq == final:
                message = stored
    if not ended.kept:
        working_memory.forget_turn(tx, material.turn.id)
    _queue(tx, ended, message, now)
    if ended.pieces:
        sent = activity.MessageSent(1)
        activity.note_of_turn(tx, material.turn, sent, gettext_lazy("replied"), now, message)


def _rows(step: Step, ended: _TurnResult, *, final: bool, now: datetime) -> list[messages.NewMessage]:
    body, kept = step.body, ended.kept
    if isinstance(body, CallEnded):
        given = body.trust if isinstance(body, CallDone) else Trust.AGENT
        trust = Trust(min(Trust.AGENT, given))  # later turns see it
        made = replace(_said(ended, "tool", body.text if kept else "", now), trust=trust)
        return [replace(made, tool_call_id=body.call, tool_name=body.name)]
    if not isinstance(body, ModelAnswer):
        return []
    if final:
        return _with_thought(_last(ended, now), step, kept=kept) if ended.text else []
    if not body.calls:  # a final answer that was overtaken was never sent
        return []
    rows = [_said(ended, "assistant", body.text, now)] if body.text else []
    silent = _said(ended, "assistant", "", now)
    for call in body.calls:
        arguments = call.arguments if kept else "{}"
        rows.append(replace(silent, tool_call_id=call.id, tool_name=call.name, tool_args=arguments))
    return _with_thought(rows, step, kept=kept)


def _with_thought(rows: list[messages.NewMessage], step: Step, *, kept: bool) -> list[messages.NewMessage]:
    """The rows of an answer; the last one has the model's reasoning and the size of its prompt."""
    if not isinstance(step.body, ModelAnswer) or not step.body.model or not rows:
        return rows
    thought = messages.Reasoning(step.at, step.body.reasoning if kept else "", step.body.sizes)
    return [*rows[:-1], replace(rows[-1], thought=messages.THOUGHT.dump(thought))]


def _last(ended: _TurnResult, now: datetime) -> list[messages.NewMessage]:
    """The final answer in its place; if that is not the turn's place, with its origin."""
    turn = ended.material.turn
    rows = [_said(ended, "assistant", ended.text, now)]
    if ended.place != turn.place:
        text = f"From {place_title(turn.place)}, which is not shown here, you said this of your own accord:"
        rows.insert(0, _said(ended, "system", text, now))
    return [replace(each, place=ended.place) for each in rows]


def _said(ended: _TurnResult, role: messages.Role, text: str, now: datetime) -> messages.NewMessage:
    said = words_of(ended.material.turn, ended.material.agent.name, text, now)
    return replace(said, role=role, source=ended.source)


def words_of(turn: Turn, speaker: str, text: str, now: datetime) -> messages.NewMessage:
    """A text by a turn's agent, as a row of its batch."""
    return messages.NewMessage(
        turn.place, turn.person, speaker, text, place_source(turn.place), None, turn.scope.audience, Trust.AGENT, now,
        "assistant", turn.agent, turn.id, 0,
    )  # fmt: skip


def answer_row(turn: Turn, place: PlaceId, message: MessageId | None) -> outbox.NewRow:
    """The row of a turn's answer, without text yet."""
    return replace(outbox.NewRow.of_turn(turn, f"turn/{turn.id}", place), message=message)


def _queue(tx: Tx, ended: _TurnResult, message: MessageId | None, now: datetime) -> None:
    turn, shown = ended.material.turn, ended.material.agent.config
    mentions = (turn.person,) if turn.person else ()
    detail = outbox.TextDetail(answers(ended.material), mentions, shown.show_name, shown.avatar, preview_key(turn.id))
    queue(tx, answer_row(turn, ended.place, message), detail, ended.pieces, now)


def answers(material: PromptInputs) -> str:
    """The platform's id of the message that an answer replies to; an event of ours names one, or none."""
    newest = next((asked for asked in reversed(material.asked) if asked.message.deleted_at is None), None)
    if newest is None:
        return ""
    if newest.message.role == "system":
        return (newest.payload.reply_to or "") if isinstance(newest.payload, EditEvent | DecisionEvent) else ""
    return newest.message.external_id or ""


def queue_preview(tx: Tx, turn_id: TurnId, text: str, now: datetime, progress: bool = False) -> OutboxId | None:
    """Create or find the preview row of a running turn, or (`progress`) the row with its group's progress.

    None if the turn is over, or if the answer will be sent under the agent's own name, which the account's message
    cannot become. No answer replaces a `progress` row: it is deleted like a preview whose turn is over.
    """
    turn = turns.get(tx, turn_id)
    if turn is None or turn.status != "running":
        return None
    if not progress and acting(tx, turn).config.show_name:
        return None
    key = progress_key(turn.id) if progress else preview_key(turn.id)
    outbox.add(tx, replace(outbox.NewRow.of_turn(turn, key, turn.place, text), kind="preview"), now)
    found = outbox.of_key(tx, key)
    return found.id if found is not None else None


def preview_key(turn: int) -> str:
    """The key of the outbox row that shows a turn's growing answer."""
    return f"preview/{turn}"


def progress_key(turn: int) -> str:
    """The key of the outbox row that shows a group's progress."""
    return f"progress/{turn}"
