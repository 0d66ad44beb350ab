"""The ephemeral working blocks of a notification: made when its turn begins, referred to by that turn."""

from datetime import datetime

from memory import blocks
from memory.blocks import CONSTELLATION_OWNER, NewBlock, Permission
from memory.blocks.document import SYSTEM
from memory.queue.inbox import InRow
from memory.queue.payloads import Brought
from memory.queue.turns import Turn
from memory.store.database import Tx
from memory.store.ids import BlockId


def reference_blocks(tx: Tx, turn: Turn, rows: list[InRow], now: datetime) -> tuple[BlockId, ...]:
    """Bring the blocks that came with these rows up to date; gives their ids, each once, in order.

    They belong to the constellation, so that every agent finds the same notes, and have the audience of the
    place: notes about a person made in one guild are not read in another.
    """
    found: dict[BlockId, None] = {}
    for row in rows:
        for spec in row.payload.blocks if isinstance(row.payload, Brought) else ():
            block = NewBlock(
                owner=CONSTELLATION_OWNER,
                label=spec.label,
                description=spec.description,
                audience=turn.scope.audience,
                trust=turn.trust,
                permission=Permission.READ_WRITE,
                about=spec.about or None,
                profile=spec.profile,
            )
            found[blocks.ensure_block(tx, block, SYSTEM, now).id] = None
    return tuple(found)
