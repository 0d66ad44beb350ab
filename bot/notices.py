"""Words of the service itself to its owner: each said once, durably, where the owner can be reached."""

from dataclasses import dataclass
from datetime import datetime

from memory import outbox
from memory.audience import OWNER
from memory.database import Tx
from memory.ids import PlaceId


@dataclass(frozen=True)
class Notices:
    """Where the owner is told things: a place and its source."""

    place: PlaceId
    source: str

    def tell_owner(self, tx: Tx, key: str, text: str, now: datetime) -> None:
        """Queue a notice in the same transaction as what it is about; the same key is told once."""
        row = outbox.NewRow(f"notice/{key}", self.place, self.source, text, OWNER)
        outbox.add(tx, row, now)
