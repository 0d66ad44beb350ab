"""What people say of answers, noted as it arrives: corrections in words, and thumbs under what we said."""

from datetime import datetime, timedelta

from memory.knowledge import feedback
from memory.knowledge.feedback import NewSignal, Signal
from memory.queue import messages, outbox, turns
from memory.queue.inbox import Accepted, Arrival
from memory.queue.turns import Turn
from memory.store.database import Tx
from sources.base import Kind

_AFTER = timedelta(minutes=30)  # an answer is corrected while it is fresh


def note_arrival(tx: Tx, arrival: Arrival, accepted: Accepted | None, now: datetime) -> None:
    """Note what an arrival says of an answer of ours; inside the transaction that takes it in, so once."""
    if accepted is None or arrival.person is None:
        return
    if arrival.kind == Kind.REACTION:
        _note_thumb(tx, arrival, now)
    elif arrival.kind == Kind.MESSAGE and arrival.group is not None and feedback.corrects(arrival.text):
        _note_correction(tx, arrival, now)


def note_failure(tx: Tx, turn: Turn, tool: str, now: datetime) -> None:
    """Note that a tool failed in a turn; its name alone."""
    place, audience = turn.place, turn.scope.audience
    signal = NewSignal(Signal.FAILURE, turn.agent, place, audience, turn.trust, turn.person, turn.id, tool=tool)
    feedback.note(tx, signal, now)


def _note_thumb(tx: Tx, arrival: Arrival, now: datetime) -> None:
    kind = feedback.thumb(arrival.text)
    said = None if kind is None else outbox.said_by_us(tx, arrival.source, arrival.subject)
    if kind is None or said is None or said.turn is None or said.place != arrival.place.id:
        return
    turn = turns.get(tx, said.turn)
    if turn is not None:
        place = arrival.place
        signal = NewSignal(kind, turn.agent, place.id, place.audience, arrival.trust, arrival.person, turn.id)
        feedback.note(tx, signal, now)


def _note_correction(tx: Tx, arrival: Arrival, now: datetime) -> None:
    place = arrival.place
    answered = feedback.newest_answer(tx, place.id, now - _AFTER)
    heard = messages.by_external(tx, arrival.source, arrival.external_id)
    if answered is None or heard is None:
        return
    agent, turn = answered
    whose = (place.id, place.audience, arrival.trust, arrival.person)
    feedback.note(tx, NewSignal(Signal.CORRECTION, agent, *whose, turn, heard.id), now)
