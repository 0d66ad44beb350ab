"""What is said while a turn runs joins it, when it is the same person's."""

from datetime import datetime

from bot.turns import happenings
from memory import groups, inbox, turns
from memory.database import Rows, Tx
from memory.inbox import InRow
from memory.turns import Turn


def arrivals(rows: Rows, turn: Turn) -> list[InRow]:
    """What the same speaker said since, and no turn has claimed yet."""
    claimed = inbox.of_turn(rows, turn.id)
    return inbox.joinable(rows, claimed[-1]) if claimed and not claimed[0].alone else []


def join_arrivals(tx: Tx, turn: Turn, now: datetime) -> bool:
    """Take what the same speaker said meanwhile into the turn; whether there was anything."""
    joined = arrivals(tx, turn)
    if not joined:
        return False
    inbox.claim(tx, joined, turn.id)
    said = [row.message for row in joined if row.message is not None]
    turns.add_joined(tx, turn, said, now)
    for part in groups.parts(tx, turn.id):
        if part.kind == "observe" and (listening := turns.get(tx, part.turn)) is not None:
            turns.add_joined(tx, listening, said, now)
    happenings.note_asked(tx, turn, joined, now)
    return True
