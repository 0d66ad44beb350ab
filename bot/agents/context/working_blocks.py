"""The ephemeral working blocks of a notification: made when its turn begins, referred to by that turn."""

from collections.abc import Iterable

from memory.blocks import CONSTELLATION_OWNER, NewBlock, Permission
from memory.queue.inbox import InRow
from memory.queue.payloads import Brought
from memory.queue.turns import Turn


def brought_blocks(turn: Turn, rows: Iterable[InRow]) -> list[NewBlock]:
    """The blocks that came with these rows, as they are now.

    They belong to the constellation, so that every agent finds the same notes, and have the audience of the
    place: notes about a person made in one guild are not read in another.
    """
    specs = [spec for row in rows if isinstance(row.payload, Brought) for spec in row.payload.blocks]
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
        for spec in specs
    ]
