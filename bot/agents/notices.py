"""Words of the service itself to its owner: each said once, durably, where the owner can be reached."""

from dataclasses import dataclass
from datetime import datetime

from bot.config import Config
from memory.people.audience import OWNER
from memory.queue import outbox
from memory.queue.outbox import PressButtons, TextDetail
from memory.store.database import Tx
from memory.store.ids import PersonId, PlaceId
from sources.terminal import PLACE, SOURCE


def own_place(person: PersonId) -> PlaceId:
    """Where words reach somebody alone."""
    source, _, name = person.partition(":")
    return PLACE.id if source == SOURCE else PlaceId(f"{source}:user:{name}")


@dataclass(frozen=True)
class Notices:
    """Where the owner is told things: a place and its source."""

    place: PlaceId
    source: str

    def tell_owner(self, tx: Tx, key: str, text: str, now: datetime, press: PressButtons | None = None) -> None:
        """Queue a notice in the same transaction as what it is about; the same key is told once."""
        row = outbox.NewRow(f"notice/{key}", self.place, self.source, text, OWNER, detail=TextDetail(press=press))
        outbox.add(tx, row, now)


def owner_notices(config: Config) -> Notices:
    """The owner is told things in Discord when that is connected and the owner is known there, else at the terminal."""
    if config.discord_token is not None and config.discord_owner:
        return Notices(PlaceId(f"discord:user:{config.discord_owner}"), "discord")
    return Notices(PLACE.id, SOURCE)
