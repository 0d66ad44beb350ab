"""Notices of the service to its owner: each sent once, durably, where the owner can be reached."""

from contextlib import AbstractContextManager
from datetime import datetime

from msgspec import Struct

from bot.config import Config
from memory.people.audience import OWNER
from memory.queue import outbox
from memory.queue.outbox import PressButtons, TextDetail
from memory.store.database import Rows, Tx
from memory.store.ids import PersonId, PlaceId, place_source
from sources.terminal import PLACE, SOURCE
from texts import reading


def own_place(person: PersonId) -> PlaceId:
    """The place of a person's direct messages."""
    source, _, name = person.partition(":")
    return PLACE.id if source == SOURCE else PlaceId(f"{source}:user:{name}")


class Notices(Struct, frozen=True):
    """Where the owner gets notices."""

    place: PlaceId

    def reading(self) -> AbstractContextManager[None]:
        """Within the context, texts are written for the place of the notices."""
        return reading(place_source(self.place), to_owner=True)

    def told_since(self, rows: Rows, prefix: str, since: datetime) -> bool:
        """Whether a notice with that key prefix was queued after that time."""
        return any(each.created_at > since for each in outbox.of_prefix(rows, f"notice/{prefix}"))

    def tell_owner(self, tx: Tx, key: str, text: str, now: datetime, press: PressButtons | None = None) -> None:
        """Queue a notice in the same transaction as its cause; the same key is sent once."""
        outbox.add(tx, outbox.NewRow(f"notice/{key}", self.place, text, OWNER, detail=TextDetail(press=press)), now)


def owner_notices(config: Config) -> Notices:
    """The owner gets notices on Discord if it is connected and knows the owner, else at the terminal."""
    if config.discord_token is not None and config.discord_owner:
        return Notices(PlaceId(f"discord:user:{config.discord_owner}"))
    return Notices(PLACE.id)
