"""Who gives a command or presses a button, as operations know them."""

from typing import Any

from bot.interfaces.discord.askers import approver_of, asker_of, scope_here
from bot.interfaces.discord.responses import Interaction
from bot.services.caller import Caller, Location, Spoken, Via
from bot.services.slash_names import slash_names
from memory.people.audience import OWNER, Scope, person_audience
from memory.store.ids import PlaceId
from sources.discord.notifications import trust_of
from sources.discord.payloads import author_of
from sources.discord.places import NAME, place_id, place_of, spot_of
from sources.discord.settings import DiscordSettings


async def caller_of(interaction: Interaction, settings: DiscordSettings, door: str = "command") -> Caller:
    """An answer is seen by them alone; what they write down is known where they are answered alone."""
    approver, asker = approver_of(interaction, door), await asker_of(interaction, settings)
    own = OWNER if asker.is_owner else person_audience(approver.person)
    here = None
    if interaction.channel_id is not None and interaction.guild is not None:
        here = Spoken(place_id(interaction.channel_id), await scope_here(interaction, settings))
    return Caller(
        approver,
        Via.DISCORD,
        asker.scope,
        Spoken(PlaceId(f"discord:user:{interaction.user.id}"), Scope(own)),
        trust_of(author_of(interaction.user), settings),
        here,
        location=location_of(interaction.channel, settings, interaction.user.id),
        locale=str(interaction.locale),
        commands=slash_names(),
    )


def location_of(channel: Any, settings: DiscordSettings, person: int) -> Location | None:
    """A channel as settings name it."""
    if channel is None:
        return None
    spot = spot_of(channel, person)
    place = place_of(spot, settings)
    return Location(
        place.id,
        place.audience,
        tuple(f"{NAME}:{one}" for one in spot.chain),
        place.bindings,
        parent="" if spot.parent is None else f"{NAME}:{spot.parent}",
        guild="" if spot.guild is None else f"{NAME}:{spot.guild}",
        direct=spot.direct,
    )
