"""Makes the `Caller` of an operation from an interaction: a command, a component or a form."""

from collections.abc import Callable
from typing import Any

import discord

from bot.agents.permissions.roles_and_rights import Approver, role_identity
from bot.interfaces.discord.responses import Interaction
from bot.services.caller import IGNORED, Caller, Location, PlaceScope, Via
from memory.people.audience import OWNER, Audience, Scope, channel_audience, guild_audience, person_audience
from memory.store.ids import PersonId, PlaceId
from sources.base import PlaceKind
from sources.discord import admission_and_answer_rules
from sources.discord.admission_and_answer_rules import trust_of
from sources.discord.conversion import author_of
from sources.discord.places import NAME, ChannelInfo, channel_info, guild_id, person_id, place_id, place_of
from sources.discord.settings import DiscordSettings
from sources.names import flatten
from texts import _, gettext_noop

_BARRED = gettext_noop(
    "You are blocked here. Only `/privacy` works for you: it shows and erases what I keep about you."
)
_NOT_LET_IN = gettext_noop(
    "You aren't allowed to talk to me here, so I keep nothing you say. The person who runs me can change that."
)
_KEEPING = {"chat agent", "chat group"}
"""Handwritten commands, and forms by their ids, that store words of the person who uses them."""
_GROUPS = {discord.AppCommandOptionType.subcommand.value, discord.AppCommandOptionType.subcommand_group.value}


def is_elsewhere(interaction: discord.Interaction[Any]) -> bool:
    """Whether the person installed the bot, which is no member of this server or of this conversation of others.

    For the server, discord.py makes up a guild object; the conversation looks like direct messages with the other.
    """
    if interaction.guild_id is None:
        return interaction.context.private_channel
    return interaction.client.get_guild(interaction.guild_id) is None


async def _scope_of(interaction: discord.Interaction[Any], settings: DiscordSettings) -> Scope:
    """The scope of an ephemeral answer: one person, who may also know everything known where they use the command.

    In direct messages, it is the scope of an answer to a message of theirs.
    """
    user = interaction.user.id
    person = person_id(user)
    own = frozenset(settings.decided.alone(person))
    if user == settings.owner_id:
        return Scope(OWNER, own)
    if is_elsewhere(interaction):  # knowledge of other places stays there
        return Scope(channel_audience(place_id(interaction.channel_id or 0)))
    return Scope(person_audience(person), await _known_here(interaction, settings) | own)


async def scope_here(interaction: discord.Interaction[Any], settings: DiscordSettings) -> Scope:
    """The scope of a public answer here: what an agent may use for it."""
    person = person_id(interaction.user.id)
    if is_elsewhere(interaction):
        return Scope(channel_audience(place_id(interaction.channel_id or 0)))
    if interaction.channel is None:
        return Scope(person_audience(person))
    info = channel_info(interaction.channel, interaction.user.id)
    place = place_of(info, settings, await _shared(interaction))
    if place.audience == OWNER and interaction.user.id != settings.owner_id:
        return Scope(person_audience(person))  # somebody else can read a place that is configured as the owner's
    own = settings.decided.alone(person) if info.direct else ()
    return Scope(place.audience, frozenset({*place.within, *own}))


async def _known_here(interaction: discord.Interaction[Any], settings: DiscordSettings) -> frozenset[Audience]:
    if interaction.channel is None:
        return frozenset()
    if interaction.guild_id is None:
        return frozenset(guild_audience(guild_id(one)) for one in await _shared(interaction))
    place = place_of(channel_info(interaction.channel, interaction.user.id), settings)
    if place.audience == OWNER:  # somebody else can read a place that is configured as the owner's
        return frozenset()
    return frozenset({place.audience, *place.within})


async def _shared(interaction: discord.Interaction[Any]) -> tuple[int, ...]:
    """In direct messages with the bot: the guilds that it shares with the person and where it answers them."""
    if interaction.guild_id is not None or not interaction.context.dm_channel:
        return ()
    shared: tuple[int, ...] = await interaction.client.memberships.shared_with(interaction.channel, interaction.user)
    return shared


async def refusal(
    interaction: discord.Interaction[Any],
    settings: DiscordSettings,
    ignored: Callable[[PersonId], bool],
    keeps: Callable[[str, bool], bool],
) -> str:
    """The reason why an interaction is refused; empty if it is not.

    Blocked people can only use `/privacy`. People who opted out (`ignored`) or are not admitted here cannot use what
    stores their words, which `keeps` decides.
    """
    user, guild = interaction.user, interaction.guild_id
    what, given = _asked(interaction)
    if what.startswith("privacy"):
        return ""
    if user.id != settings.owner_id:
        roles = [role.id for role in user.roles] if isinstance(user, discord.Member) and guild is not None else []
        if settings.shuts_out(user.id, roles, guild):
            return _(_BARRED)
    if what not in _KEEPING and not keeps(what, given):
        return ""
    if ignored(person_id(user.id)):
        return _(IGNORED)
    return "" if await _heard(interaction, settings) else _(_NOT_LET_IN)


def _asked(interaction: discord.Interaction[Any]) -> tuple[str, bool]:
    """The words of a command ("privacy erase") or of a component's id, and whether it has options."""
    data: Any = interaction.data or {}
    if "custom_id" in data:
        named = str(data["custom_id"]).removeprefix("carina:")
        if named.startswith(("sure:", "set:", "call:", "form:")):  # these name their operations
            return named.split(":")[1].replace(".", " "), True
        return " ".join(named.split(":")[:2]), True
    words = [str(data.get("name", ""))]
    while below := [part for part in data.get("options", ()) if part.get("type") in _GROUPS]:
        data = below[0]
        words.append(str(data["name"]))
    return " ".join(words), bool(data.get("options"))


async def _heard(interaction: discord.Interaction[Any], settings: DiscordSettings) -> bool:
    """Whether messages of this person are accepted here; if the bot is no member, in direct messages."""
    author = author_of(interaction.user)
    if interaction.guild_id is None or is_elsewhere(interaction):
        info = ChannelInfo(interaction.channel_id or 0, PlaceKind.DIRECT, person=author.id)
        shared = await interaction.client.memberships.shared(info)
        return admission_and_answer_rules.is_admitted(author, info, settings, shares_guild=bool(shared))
    return admission_and_answer_rules.is_admitted(
        author, channel_info(interaction.channel, author.id), settings, shares_guild=True
    )


_INTERFACES = {discord.InteractionType.component: "button", discord.InteractionType.modal_submit: "form"}


def approver_of(interaction: discord.Interaction[Any]) -> Approver:
    """The person, with their roles in this guild, which the interaction contains."""
    user, guild = interaction.user, interaction.guild_id
    roles = user.roles if isinstance(user, discord.Member) and guild is not None else ()
    identities = frozenset(role_identity(guild or 0, role.id) for role in roles)
    interface = _INTERFACES.get(interaction.type, "command")
    return Approver(person_id(user.id), flatten(user.display_name), identities, interface)


async def caller_of(interaction: Interaction, settings: DiscordSettings) -> Caller:
    """The caller of an operation with an ephemeral answer; what they store belongs to their direct messages."""
    approver, scope = approver_of(interaction), await _scope_of(interaction, settings)
    own = OWNER if interaction.user.id == settings.owner_id else person_audience(approver.person)
    here = None
    if interaction.channel_id is not None and interaction.guild_id is not None and not is_elsewhere(interaction):
        here = PlaceScope(place_id(interaction.channel_id), await scope_here(interaction, settings))
    return Caller(
        approver,
        Via.DISCORD,
        scope,
        PlaceScope(PlaceId(f"discord:user:{interaction.user.id}"), Scope(own)),
        trust_of(author_of(interaction.user), settings),
        here,
        location=None
        if interaction.context.private_channel
        else location_of(interaction.channel, settings, interaction.user.id),
        locale=str(interaction.locale),
    )


def location_of(channel: Any, settings: DiscordSettings, person: int) -> Location | None:
    if channel is None:
        return None
    info = channel_info(channel, person)
    place = place_of(info, settings)
    return Location(
        place.id,
        place.audience,
        tuple(f"{NAME}:{one}" for one in info.chain),
        place.bindings,
        parent="" if info.parent is None else f"{NAME}:{info.parent}",
        guild="" if info.guild is None else f"{NAME}:{info.guild}",
        direct=info.direct,
    )
