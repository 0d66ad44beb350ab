"""Which servers somebody shares with the bot, and with which roles: what a direct message may use, and who is let in.

Discord calls servers guilds. What it does not tell by itself is asked, and then known for a minute.
"""

import asyncio
from typing import Any

import discord

from memory.store.faults import call_point, outside
from memory.store.logs import Log
from memory.store.recent_values import RecentValues
from memory.store.records import replace
from sources.base import PlaceKind
from sources.discord.admission_and_answer_rules import Author, is_admitted
from sources.discord.conversion import author_of
from sources.discord.places import ChannelInfo, channel_info, person_id
from sources.discord.send_failures import REFUSED
from sources.discord.shared_state import SharedState

log = Log(__name__)

MEMBER = call_point("discord.member")

SECONDS = 5.0
REMEMBER_SECONDS = 60.0
"""How long it is believed that somebody is, or is not, in a server."""
MAX_GUILDS = 20
"""How many servers are asked about one person."""


class Memberships:
    """Answers from the cache at once; misses are fetched."""

    def __init__(self, client: discord.Client, state: SharedState) -> None:
        self._client = client
        self._state = state
        self._settings = state.settings
        self._members: RecentValues[tuple[int, int], tuple[float, discord.Member | None]] = RecentValues(5_000)
        self._incomplete = False

    async def shared_with(self, channel: Any, user: discord.abc.User) -> tuple[int, ...]:
        """The guilds shared with a direct messages' person; empty if those messages are not heard."""
        info = self.place(channel, user.id)
        if not info.direct or info.person != user.id or self._state.wiring.ignored(person_id(user.id)):
            return ()
        shared = await self.shared(info)
        return shared if is_admitted(author_of(user), info, self._settings, shares_guild=bool(shared)) else ()

    def place(self, channel: Any, person: int | None) -> ChannelInfo:
        """The channel as plain values; a thread has the id of its first message, which may be ours."""
        info = channel_info(channel, person)
        return replace(info, ours=True) if info.kind is PlaceKind.THREAD and info.id in self._state.sent else info

    async def shared(self, info: ChannelInfo) -> tuple[int, ...]:
        """The guilds that a direct messages' person is in."""
        if not info.direct or info.person is None or info.person == self._settings.owner_id:
            return ()
        counted = [guild for guild in self._client.guilds if self._settings.takes_guild(guild.id)]
        if self._client.intents.members:
            seen = tuple(guild.id for guild in counted if guild.get_member(info.person) is not None)
            if seen or all(guild.chunked for guild in counted):
                return seen
        if len(counted) > MAX_GUILDS and not self._incomplete:
            self._incomplete = True
            hint = "turn on the Server Members intent, so that all members are known, or let people in by name"
            log.warning("memberships_incomplete", servers=len(counted), asked=MAX_GUILDS, hint=hint)
        members = await asyncio.gather(*(self.member(guild, info.person) for guild in counted[:MAX_GUILDS]))
        return tuple(guild.id for guild, member in zip(counted, members, strict=False) if member is not None)

    async def member(self, guild: discord.Guild, person: int) -> discord.Member | None:
        """A member of a guild, fetched at most once a minute; None if they are not one, or if that is unknown."""
        known = guild.get_member(person) if self._client.intents.members else None
        if known is not None:
            return known
        asked = self._members.get((guild.id, person))
        if asked is not None and asyncio.get_running_loop().time() - asked[0] < REMEMBER_SECONDS:
            return asked[1]
        try:
            found = await outside(MEMBER, guild.fetch_member(person), SECONDS)
        except REFUSED:
            found = None
        return self._members.put((guild.id, person), (asyncio.get_running_loop().time(), found))[1]

    async def author(self, message: discord.Message, *, always: bool = True) -> Author | None:
        """The author of a message from the history, which lacks roles: these are fetched if they are not cached and
        either `always` is set or they decide something.

        None if a role could have shut the author out and it is unknown whether they have it.
        """
        member, settings = message.author, self._settings
        if message.guild is not None and not isinstance(member, discord.Member) and (always or settings.roles_matter):
            member = await self.member(message.guild, member.id) or member
            if not isinstance(member, discord.Member) and settings.denies_roles:
                why = "the roles of who wrote it are unknown, and some roles are shut out"
                log.warning("missed_message_left_out", channel=message.channel.id, message=message.id, reason=why)
                return None
        return author_of(member)
