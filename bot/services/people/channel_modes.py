"""Which messages are answered in each channel, listed and changed outside Discord."""

from typing import Annotated, Literal

from msgspec import Struct
from pydantic import Field

from bot.agents.permissions.policy import Action
from bot.errors import UserError
from bot.services.caller import Caller
from bot.services.people.places import Places
from bot.services.registry import AT_TERMINAL, CHANGES_AT_TERMINAL, Param, operation, suggestions
from bot.services.results import Listing, Row
from bot.services.transactions import reads
from memory.people.identities import place_called
from memory.queue import inbox
from memory.store.database import Database, Rows
from memory.store.ids import PlaceId
from sources.text import place_title
from texts import _, gettext_noop

_Heard = Annotated[
    str, Param("Channel or server, such as discord:1234", example="discord:1234", suggests="places with modes")
]
_Mode = Annotated[Literal["open", "mention", "listen", "off", "configured"], Param("Mode to set")]
_CHANNELS = ("guild", "thread")


class ModeRow(Row):
    """A channel or server of Discord and which messages are answered there."""

    place: str
    name: str
    mode: str = Field(validation_alias="value")
    at: str
    """Where that was said: the place itself, its server, or, empty, nowhere."""
    decided: bool
    """By command, and not in the configuration."""
    phrase = gettext_noop("{place} {name}: {mode}")
    suggested = "name"


class ChannelModes(Struct, frozen=True):
    database: Database
    places: Places

    @operation("mode.list", "Show which messages I respond to in each channel", Action.STEER, AT_TERMINAL)
    @suggestions("places with modes")
    @reads
    def list_modes(self, rows: Rows, caller: Caller) -> Listing[ModeRow]:
        """Of channels that were heard, of their servers, and wherever else it was decided.

        In which category a channel is, only Discord knows: a mode of its category is listed by itself.
        """
        return Listing.of(self._modes(rows, caller).values(), _("No messages from Discord channels yet."))

    @operation("mode.set", "Set which messages I respond to in a channel or server", Action.STEER, CHANGES_AT_TERMINAL)
    async def set_mode(self, caller: Caller, place: _Heard, mode: _Mode) -> str:
        if place not in await self.database.read(lambda rows: self._modes(rows, caller)):
            raise UserError("There is no channel or server {place}. `carina mode list` shows them.", place=place)
        return await self.places.set_mode(place, mode, caller.approver)

    def _modes(self, rows: Rows, caller: Caller) -> dict[str, ModeRow]:
        chains = dict[str, tuple[str, ...]]()
        for place in inbox.known_places(rows, caller.scope):
            if place.kind in _CHANNELS and place.id.startswith("discord:"):
                around = (each.partition(":")[2] for each in sorted((*place.within, place.audience)))
                chains[place.id] = (place.id, *(each for each in around if each.startswith("discord:")))
        servers = {each for chain in chains.values() for each in chain}
        named = {*servers, *self.places.configured.modes, *self.places.accounts.modes}
        found = {}
        for name in (*chains, *sorted(named - chains.keys())):
            held = self.places.mode_of(chains.get(name, (name,)))
            called = place_title(place_called(rows, PlaceId(name), caller.scope))
            found[name] = ModeRow.from_record(held, place=name, name=called, decided=held.setting is not None)
        return found
