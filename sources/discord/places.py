"""Discord's channels as places, with their audiences by the table of the memory specification."""

from typing import Any

import discord
from msgspec import Struct

from memory.people.audience import OWNER, Audience, channel_audience, guild_audience, person_audience
from memory.queue.notifications import Place
from memory.store.ids import GuildId, PersonId, PlaceId
from sources.base import PlaceKind
from sources.discord.settings import DiscordSettings
from sources.names import flatten
from sources.text import MAX_LINE, one_line

NAME = "discord"


def place_id(channel: int) -> PlaceId:
    return PlaceId(f"{NAME}:{channel}")


def person_id(user: int) -> PersonId:
    return PersonId(f"{NAME}:{user}")


def guild_id(guild: int) -> GuildId:
    return GuildId(f"{NAME}:{guild}")


def direct_place(user: int) -> PlaceId:
    """A person's direct messages before their channel is known: it is opened on sending."""
    return PlaceId(f"{NAME}:user:{user}")


def channel_number(place: PlaceId) -> int | None:
    """The channel a place id names; None when it names something else."""
    source, _, rest = place.partition(":")
    return int(rest) if source == NAME and rest.isdecimal() else None


def user_number(identifier: str) -> int | None:
    """The user that "discord:<id>" (a person) or "discord:user:<id>" (a place) names."""
    rest = identifier.removeprefix(f"{NAME}:").removeprefix("user:")
    return int(rest) if identifier.startswith(f"{NAME}:") and rest.isdecimal() else None


def shortened(text: str, limit: int = MAX_LINE) -> str:
    """A text on one line; if it is cut, the line says how long it is."""
    whole = one_line(text, len(text) + 1)
    return whole if len(whole) <= limit else f"{one_line(text, limit)} (cut: it has {len(whole):,} characters)"


class ChannelInfo(Struct, frozen=True):
    """A channel as plain values, as it is at this moment.

    `chain` are the ids by which configuration names it, narrowest first: itself, parent, category, guild.
    `everyone` says that everybody in the guild can read it (for a thread: can read its parent).
    """

    id: int
    kind: PlaceKind
    name: str = ""
    topic: str = ""
    chain: tuple[int, ...] = ()
    guild: int | None = None
    guild_name: str = ""
    parent: int | None = None
    everyone: bool = False
    private: bool = False
    ours: bool = False
    """Whether it is a thread that the bot takes part in."""
    person: int | None = None
    """Whose direct messages these are."""

    @property
    def direct(self) -> bool:
        return self.kind is PlaceKind.DIRECT


def place_of(info: ChannelInfo, settings: DiscordSettings, shared: tuple[int, ...] = ()) -> Place:
    """The place, with its audience; `shared` are guilds in which a direct messages' person was just seen."""
    audience, within = _audience(info, settings, shared)
    return Place(
        id=place_id(info.id),
        kind=info.kind,
        audience=audience,
        name=_title(info),
        within=within,
        bindings=bindings_of(info),
    )


def bindings_of(info: ChannelInfo) -> tuple[str, ...]:
    """The names by which a place is assigned to a group or constellation, narrowest first."""
    kinds = {info.guild: "guild:", info.person if info.direct else None: "user:"}
    return tuple(f"{NAME}:{kinds.get(one, '')}{one}" for one in (info.chain or (info.id,)))


def _audience(
    info: ChannelInfo, settings: DiscordSettings, shared: tuple[int, ...]
) -> tuple[Audience, tuple[Audience, ...]]:
    if settings.owner_places & {info.id, info.parent}:
        return OWNER, ()
    own = channel_audience(place_id(info.id))
    if info.direct:
        if info.person is None:
            return own, ()
        if info.person == settings.owner_id:
            return OWNER, ()
        return person_audience(person_id(info.person)), tuple(guild_audience(guild_id(one)) for one in shared)
    if info.guild is None:
        return own, ()
    guild = guild_audience(guild_id(info.guild))
    if info.everyone and not info.private:
        return guild, ()
    if info.parent is not None and not info.everyone:
        return own, (channel_audience(place_id(info.parent)), guild)
    return own, (guild,)


def _title(info: ChannelInfo) -> str:
    if info.direct or info.kind is PlaceKind.GROUP:
        return info.name
    return f"#{info.name} in {info.guild_name}" if info.guild_name else f"#{info.name}"


def channel_info(channel: Any, person: int | None = None) -> ChannelInfo:
    """Read a discord.py channel; one that is not cached gets the narrowest audience.

    `person` is the author, for direct messages whose channel object does not know its recipient.
    """
    match channel:
        case discord.Thread():
            return _thread(channel)
        case discord.DMChannel():
            recipient = channel.recipient.id if channel.recipient else person
            name = flatten(channel.recipient.display_name) if channel.recipient else ""
            return ChannelInfo(
                channel.id,
                PlaceKind.DIRECT,
                name=f"direct messages with {name}" if name else "direct messages",
                chain=(channel.id,) if recipient is None else (channel.id, recipient),
                person=recipient,
            )
        case discord.GroupChannel():
            name = flatten(channel.name or "")
            return ChannelInfo(channel.id, PlaceKind.GROUP, name=name or "group conversation", chain=(channel.id,))
        case discord.abc.GuildChannel():
            return ChannelInfo(
                channel.id,
                PlaceKind.GUILD,
                name=flatten(channel.name),
                topic=shortened(getattr(channel, "topic", None) or ""),
                chain=_chain(channel.id, channel.category_id, channel.guild.id),
                guild=channel.guild.id,
                guild_name=flatten(channel.guild.name),
                everyone=everyone_reads(channel),
            )
        case _:
            guild = getattr(channel, "guild_id", None)
            kind = PlaceKind.GUILD if guild else PlaceKind.GROUP
            return ChannelInfo(channel.id, kind, name=str(channel.id), chain=_chain(channel.id, guild), guild=guild)


def _thread(thread: discord.Thread) -> ChannelInfo:
    parent, me = thread.parent, thread.guild.me
    topic = (getattr(parent, "topic", None) or "") if parent else ""
    return ChannelInfo(
        thread.id,
        PlaceKind.THREAD,
        name=flatten(thread.name),
        topic=shortened(topic),
        chain=_chain(thread.id, thread.parent_id, parent.category_id if parent else None, thread.guild.id),
        guild=thread.guild.id,
        guild_name=flatten(thread.guild.name),
        parent=thread.parent_id,
        everyone=parent is not None and everyone_reads(parent),
        private=thread.is_private(),
        ours=thread.me is not None or (me is not None and thread.owner_id == me.id),
    )


def _chain(*ids: int | None) -> tuple[int, ...]:
    return tuple(one for one in ids if one is not None)


def everyone_reads(channel: discord.abc.GuildChannel) -> bool:
    """Whether the guild's @everyone can see the channel (and join it, for the text of a voice channel)."""
    everyone = channel.guild.get_role(channel.guild.id)
    if channel.guild.unavailable or everyone is None:
        return False
    allowed = channel.permissions_for(everyone)
    spoken = isinstance(channel, discord.VoiceChannel | discord.StageChannel)
    return allowed.view_channel and (allowed.connect or not spoken)


def history_readable(channel: Any) -> bool:
    """Whether the history can be read; if not, Discord returns no messages instead of an error."""
    if isinstance(channel, discord.DMChannel | discord.GroupChannel):
        return True
    if isinstance(channel, discord.Thread) and channel.parent is None:
        return False
    if not isinstance(channel, discord.Thread | discord.abc.GuildChannel) or channel.guild.me is None:
        return False
    allowed = channel.permissions_for(channel.guild.me)
    return allowed.view_channel and allowed.read_message_history
