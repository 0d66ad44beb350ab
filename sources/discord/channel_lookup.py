"""Lookups that a message needs before it can be understood: channels, memberships, earlier lines."""

import asyncio
from typing import Any

import discord

from memory.store.faults import call_point, outside
from memory.store.logs import Log
from memory.store.recent import RecentValues
from memory.store.records import replace
from sources.base import PlaceKind
from sources.discord.answer_rules import Author, is_admitted
from sources.discord.conversion import author_of, heard_of, readable, said_by_a_person
from sources.discord.places import ChannelInfo, channel_info, person_id
from sources.discord.send_failures import REFUSED
from sources.discord.shared_state import SharedState
from sources.text import flatten

log = Log(__name__)

CHANNEL = call_point("discord.channel")
MEMBER = call_point("discord.member")
LINES = call_point("discord.lines")
THREAD = call_point("discord.thread")

SECONDS = 5.0
LINES_SECONDS = 3.0
REMEMBER_SECONDS = 60.0
MAX_GUILDS = 20
ALREADY_A_THREAD = 160004

LINES_AROUND = 5
"""Lines that are read for a reply to an older message: that one, and those around it."""
UNREAD_LINES = "(what was said here before could not be read)"


class ChannelLookup:
    """Answers from the cache at once; misses are fetched, and then cached for a minute."""

    def __init__(self, client: discord.Client, state: SharedState) -> None:
        self._client = client
        self._state = state
        self._settings = state.settings
        self._channels: RecentValues[int, tuple[float, Any]] = RecentValues(500)
        self._members: RecentValues[tuple[int, int], tuple[float, discord.Member | None]] = RecentValues(5_000)
        self._incomplete = False

    def partial(self, channel: int, guild: int | None) -> Any:
        return self._client.get_channel(channel) or self._client.get_partial_messageable(channel, guild_id=guild)

    async def locate(self, channel: Any, person: int | None) -> tuple[ChannelInfo, tuple[int, ...]]:
        """The channel in its current form, and the guilds shared with the person."""
        try:
            channel = await self.resolve(channel)
        except (*REFUSED, discord.InvalidData):
            log.warning("channel_not_found", channel=channel.id)
            self._channels.put(channel.id, (self._now(), channel))
        info = self._spot(channel, person)
        return info, await self._shared(info)

    async def resolve(self, channel: Any) -> Any:
        """A channel from the cache, else from Discord. Raises the errors of a request to Discord."""
        if (known := self._client.get_channel(channel.id)) is not None:
            return known
        if isinstance(channel, discord.DMChannel):
            return channel
        fetched = self._channels.get(channel.id)
        if fetched is not None and self._now() - fetched[0] < REMEMBER_SECONDS:
            return fetched[1]
        found = await outside(CHANNEL, self._client.fetch_channel(channel.id), SECONDS)
        return self._channels.put(channel.id, (self._now(), found))[1]

    async def shared_with(self, channel: Any, user: discord.abc.User) -> tuple[int, ...]:
        """The guilds shared with a direct messages' person; empty if those messages are not heard."""
        info = self._spot(channel, user.id)
        if not info.direct or info.person != user.id or self._state.wiring.ignored(person_id(user.id)):
            return ()
        shared = await self._shared(info)
        return shared if is_admitted(author_of(user), info, self._settings, shares_guild=bool(shared)) else ()

    def _spot(self, channel: Any, person: int | None) -> ChannelInfo:
        """The channel as plain values; a thread has the id of its first message, which may be ours."""
        info = channel_info(channel, person)
        return replace(info, ours=True) if info.kind is PlaceKind.THREAD and info.id in self._state.sent else info

    async def _shared(self, info: ChannelInfo) -> tuple[int, ...]:
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
            hint = "grant the intent Server Members, and all are known; or let people in by name"
            log.warning("memberships_incomplete", servers=len(counted), asked=MAX_GUILDS, hint=hint)
        members = await asyncio.gather(*(self.member(guild, info.person) for guild in counted[:MAX_GUILDS]))
        return tuple(guild.id for guild, member in zip(counted, members, strict=False) if member is not None)

    async def member(self, guild: discord.Guild, person: int) -> discord.Member | None:
        """A member of a guild, fetched at most once a minute; None if they are not one, or if that is unknown."""
        known = guild.get_member(person) if self._client.intents.members else None
        if known is not None:
            return known
        asked = self._members.get((guild.id, person))
        if asked is not None and self._now() - asked[0] < REMEMBER_SECONDS:
            return asked[1]
        try:
            found = await outside(MEMBER, guild.fetch_member(person), SECONDS)
        except REFUSED:
            found = None
        return self._members.put((guild.id, person), (self._now(), found))[1]

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

    async def earlier(
        self, message: discord.Message, since: int | None, around: int | None
    ) -> list[discord.Message] | None:
        """People's messages before a message, oldest first: the newest after `since`, and those around another.

        None if they cannot be read quickly.
        """
        try:
            return await outside(LINES, self._earlier(message, since, around), LINES_SECONDS)
        except REFUSED:
            log.info("channel_history_unreadable", channel=message.channel.id)
        except Exception:  # a border: the message is heard anyway
            log.exception("channel_history_failed", channel=message.channel.id)
        return None

    async def _earlier(self, message: discord.Message, since: int | None, around: int | None) -> list[discord.Message]:
        found: dict[int, discord.Message] = {}
        read = message.channel.history
        if since is not None:
            limit = self._settings.earlier_lines
            lines = read(limit=limit, before=message, after=discord.Object(since), oldest_first=False)
            found |= {line.id: line async for line in lines}
        if around is not None and around not in found:
            lines = read(limit=LINES_AROUND, around=discord.Object(around))
            found |= {line.id: line async for line in lines if line.id < message.id}
        return [found[one] for one in sorted(found) if said_by_a_person(found[one])]

    async def open_thread(self, message: discord.Message, name: str) -> discord.Thread | None:
        """The thread for a message, opened if necessary; None if that is not possible."""
        if message.thread is not None:
            return message.thread
        title = flatten(readable(heard_of(message, self._state), self._state.me), 60) or f"With {name}"
        try:
            try:
                return await outside(THREAD, message.create_thread(name=title), SECONDS)
            except discord.HTTPException as why:
                if why.code != ALREADY_A_THREAD:
                    raise
                found = await self.resolve(discord.Object(message.id))
                return found if isinstance(found, discord.Thread) else None
        except REFUSED as why:
            log.warning("thread_not_opened", channel=message.channel.id, reason=str(why))
        return None

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
