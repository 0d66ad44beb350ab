"""Who gives a command, and what an answer that only they see may use."""

from typing import Any

import discord

from bot.desk import Asker
from bot.policy import Approver, role_identity
from memory.audience import OWNER, Audience, Scope, channel_audience, person_audience
from sources.discord.places import person_id, place_id, place_of, spot_of
from sources.discord.settings import DiscordSettings
from sources.text import flatten

_BARRED = (
    "You were shut out here. Of my commands only `/privacy` answers you: it shows and erases what I keep about you."
)


async def asker_of(interaction: discord.Interaction[Any], settings: DiscordSettings) -> Asker:
    """An ephemeral answer is heard by one person, who also knows what is known in the place of the command."""
    user = interaction.user.id
    person = person_id(user)
    own = frozenset(settings.decided.alone(person))
    if user == settings.owner_id:
        return Asker(person, Scope(OWNER, own), is_owner=True)
    if interaction.guild_id is not None and interaction.guild is None:
        # Installed by the person, used where the bot is no member: what is known elsewhere stays elsewhere.
        return Asker(person, Scope(channel_audience(place_id(interaction.channel_id or 0))))
    return Asker(person, Scope(person_audience(person), _known_here(interaction, settings) | own))


def scope_here(interaction: discord.Interaction[Any], settings: DiscordSettings) -> Scope:
    """Those who hear an answer that is given in this place for all to see: what an agent may use there."""
    person = person_id(interaction.user.id)
    if interaction.guild_id is not None and interaction.guild is None:
        return Scope(channel_audience(place_id(interaction.channel_id or 0)))
    if interaction.channel is None:
        return Scope(person_audience(person))
    spot = spot_of(interaction.channel, interaction.user.id)
    place = place_of(spot, settings)
    if place.audience == OWNER and interaction.user.id != settings.owner_id:
        return Scope(person_audience(person))  # somebody else can read a place that is configured as the owner's
    own = settings.decided.alone(person) if spot.direct else ()
    return Scope(place.audience, frozenset({*place.within, *own}))


def _known_here(interaction: discord.Interaction[Any], settings: DiscordSettings) -> frozenset[Audience]:
    if interaction.channel is None or interaction.guild_id is None:
        return frozenset()
    place = place_of(spot_of(interaction.channel, interaction.user.id), settings)
    if place.audience == OWNER:  # somebody else can read a place that is configured as the owner's
        return frozenset()
    return frozenset({place.audience, *place.within})


def barred(interaction: discord.Interaction[Any], settings: DiscordSettings) -> str:
    """Words for somebody who was shut out, in answer to any command but what everybody may do with their own data."""
    user, guild = interaction.user, interaction.guild_id
    name = interaction.data.get("name") if interaction.data else None
    if user.id == settings.owner_id or name == "privacy":
        return ""
    roles = [role.id for role in user.roles] if isinstance(user, discord.Member) and guild is not None else []
    return _BARRED if settings.shuts_out(user.id, roles, guild) else ""


def approver_of(interaction: discord.Interaction[Any], door: str) -> Approver:
    """Who it is, with the roles that count here: those in this guild, as Discord says with the interaction itself."""
    user, guild = interaction.user, interaction.guild_id
    roles = user.roles if isinstance(user, discord.Member) and guild is not None else ()
    identities = frozenset(role_identity(guild or 0, role.id) for role in roles)
    return Approver(person_id(user.id), flatten(user.display_name), identities, door)
