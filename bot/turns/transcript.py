"""A finished turn as rows: its steps become messages, its answer becomes outbox rows."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bot.groups.team import acting
from bot.packaging import Piece
from bot.turns.context import Asked, Material
from memory import activity, messages, outbox, turns, working
from memory.audience import Trust
from memory.database import Tx
from memory.ids import MessageId, OutboxId, PlaceId, TurnId, place_source
from memory.turns import Step, Turn


@dataclass(frozen=True)
class Ended:
    """What a turn came to, and where it is said. `pieces` is empty when the agent stays silent."""

    material: Material
    text: str
    place: PlaceId
    pieces: tuple[Piece, ...]

    @property
    def source(self) -> str:
        return place_source(self.place)


def write(tx: Tx, ended: Ended, now: datetime) -> None:
    """Store the turn's batch and queue its answer; inside the transaction that ends the turn."""
    material = ended.material
    asked = [asked.message.id for asked in material.asked]
    messages.join_batch(tx, asked, material.turn.id)
    sequence = len(asked)
    final = max((step.seq for step in material.steps if step.kind == "answer"), default=0)
    message: MessageId | None = None
    for step in material.steps:
        for said in _rows(step, ended, final=step.seq == final, now=now):
            sequence += 1
            stored = messages.add_said(tx, said(sequence))
            if step.seq == final:
                message = stored
    if not _kept(ended):
        working.forget_turn(tx, material.turn.id)
    _queue(tx, ended, message, now)
    if ended.pieces:
        sent = activity.of_turn(material.turn, activity.Kind.SENT, "answered", {"messages": 1}, message)
        activity.note(tx, sent, now)


def _kept(ended: Ended) -> bool:
    """Whether what the turn's tools were told and gave is kept: not where somebody asked to forget."""
    return not any(step.body.get("forgets") for step in ended.material.steps)


def _rows(step: Step, ended: Ended, *, final: bool, now: datetime) -> list[Any]:
    """Builders of the rows of one step; each takes its position in the batch."""
    body = step.body
    kept = _kept(ended)
    if step.kind == "tool_result":
        text = body["text"] if kept else ""
        made = _said(ended, now, role="tool", text=text, call=(body["call"], body["name"], None))
        trust = Trust(min(Trust.AGENT, body.get("trust", Trust.AGENT)))  # it stays in view of later turns
        return [lambda sequence: replace(made(sequence), trust=trust)]
    if step.kind != "answer":
        return []
    if final:
        return _last(ended, now) if ended.text else []
    rows = []
    if body["calls"]:  # a final answer that was overtaken was never said
        if body["text"]:
            rows.append(_said(ended, now, role="assistant", text=body["text"]))
        for call in body["calls"]:
            made = (call["id"], call["name"], call["arguments"] if kept else "{}")
            rows.append(_said(ended, now, role="assistant", text="", call=made))
    return rows


def _last(ended: Ended, now: datetime) -> list[Any]:
    """What is said at last, in the place where it is; elsewhere than the turn was, with where it comes from."""
    turn = ended.material.turn
    rows = [_said(ended, now, role="assistant", text=ended.text)]
    if ended.place != turn.place:
        text = f"From {turn.place}, which is not shown here, you said this of your own accord:"
        rows.insert(0, _said(ended, now, role="system", text=text))
    return [lambda sequence, made=made: replace(made(sequence), place=ended.place) for made in rows]


def _said(
    ended: Ended,
    now: datetime,
    *,
    role: messages.Role,
    text: str,
    call: tuple[str | None, str | None, str | None] = (None, None, None),
) -> Any:
    turn = ended.material.turn

    def build(sequence: int) -> messages.Said:
        return messages.Said(
            turn=turn.id,
            sequence=sequence,
            place=turn.place,
            agent=turn.agent,
            person=turn.person,
            speaker=ended.material.agent.name,
            role=role,
            text=text,
            source=ended.source,
            audience=turn.scope.audience,
            trust=Trust.AGENT,
            at=now,
            tool_call_id=call[0],
            tool_name=call[1],
            tool_args=call[2],
        )

    return build


def _queue(tx: Tx, ended: Ended, message: MessageId | None, now: datetime) -> None:
    turn = ended.material.turn
    newest = next((asked for asked in reversed(ended.material.asked) if asked.message.deleted_at is None), None)
    shared = {
        "reply_to": answered_id(newest) if newest is not None else "",
        "mentions": [turn.person] if turn.person else [],
        **ended.material.agent.face,
    }
    for number, piece in enumerate(ended.pieces):
        detail: dict[str, Any] = dict(shared) if number == 0 else {**shared, "reply_to": ""}
        if number == 0:
            detail["preview"] = preview_key(turn.id)
        else:
            detail["after"] = f"turn/{turn.id}/{number - 1}"
        if piece.file_name:
            detail["files"] = [[piece.file_name, piece.file_text]]
        outbox.add(
            tx,
            outbox.NewRow(
                key=f"turn/{turn.id}/{number}",
                place=ended.place,
                source=ended.source,
                content=piece.text,
                audience=turn.scope.audience,
                turn=turn.id,
                message=message,
                person=turn.person,
                agent=turn.agent,
                detail=detail,
            ),
            now,
        )


def answered_id(asked: Asked) -> str:
    """The platform's id of the message that an answer refers to; an event of our own names one, or none."""
    if asked.message.role == "system":
        return str(asked.payload.get("reply_to", ""))
    return asked.message.external_id or ""


def queue_preview(tx: Tx, turn_id: TurnId, text: str, now: datetime) -> OutboxId | None:
    """Make the preview row of a running turn, or find the one it has.

    None when the turn is over, and when the answer is to be said under the agent's own name: the account's message
    could not become it.
    """
    turn = turns.get(tx, turn_id)
    if turn is None or turn.status != "running" or acting(tx, turn).config.get("show_name"):
        return None
    return _shown_meanwhile(tx, turn, preview_key(turn.id), text, now)


def queue_progress(tx: Tx, turn_id: TurnId, text: str, now: datetime) -> OutboxId | None:
    """Make the row that shows how far a group has come, or find the one it has; None when the turn is over.

    No answer takes its place: as a preview whose turn is over it is taken away after the answer.
    """
    turn = turns.get(tx, turn_id)
    if turn is None or turn.status != "running":
        return None
    return _shown_meanwhile(tx, turn, progress_key(turn.id), text, now)


def _shown_meanwhile(tx: Tx, turn: Turn, key: str, text: str, now: datetime) -> OutboxId | None:
    row = outbox.NewRow(
        key=key,
        place=turn.place,
        source=place_source(turn.place),
        content=text,
        audience=turn.scope.audience,
        kind="preview",
        turn=turn.id,
        person=turn.person,
        agent=turn.agent,
    )
    outbox.add(tx, row, now)
    found = outbox.of_key(tx, key)
    return found.id if found is not None else None


def preview_key(turn: int) -> str:
    """The key of the outbox row that shows a turn's answer while it is written."""
    return f"preview/{turn}"


def progress_key(turn: int) -> str:
    """The key of the outbox row that shows how far a group has come."""
    return f"progress/{turn}"
