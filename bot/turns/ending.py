"""The last unit of a turn: what it says, where, and that it is over."""

from datetime import datetime

from bot import patrolling
from bot.groups.parting import end_part
from bot.groups.team import is_observer
from bot.patrolling import is_patrol, is_silence
from bot.turns import happenings, learning, recovery, transcript
from bot.turns.context import Material
from bot.turns.kit import Kit
from memory import groups, inbox, turns
from memory.database import Tx
from memory.ids import PlaceId, place_source
from memory.turns import Turn


def heard_at(kit: Kit, turn: Turn) -> PlaceId:
    """Where a turn's answer is heard: what a patrol found is told the owner."""
    return kit.owner.place if is_patrol(turn.place) else turn.place


def end_turn(tx: Tx, kit: Kit, material: Material, text: str, now: datetime) -> None:
    """Say the answer, or hand a part's result on; whatever the turn stands on is as it is in this unit."""
    turn, patrol = material.turn, is_patrol(material.turn.place)
    if not patrol:  # nobody's logs are to be full of what happens every half hour
        happenings.write(tx, material, now, kit.checkpoints, kit.names(material.agent))
    if material.part is not None:
        end_part(tx, material, material.part, text, now)
        return
    place = heard_at(kit, turn)
    said = "" if is_observer(tx, turn) or (patrol and is_silence(text)) else text
    pieces = kit.package(place_source(place), said)
    transcript.write(tx, transcript.Ended(material, said, place, tuple(pieces)), now)
    learning.learn(tx, material, kit.tools, now)
    recovery.over(tx, turn)
    if patrol:
        patrolling.note(tx, turn.place, material.steps, said)
    groups.end(tx, turn.id, {"agents": [turn.agent] if said.strip() else []}, now)
    inbox.finish(tx, turn.id, now)
    turns.end(tx, turn.id, "done", now)
