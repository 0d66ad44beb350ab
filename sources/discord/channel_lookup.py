"""Lookups that a message needs before it can be understood: its channel, earlier lines, a thread for the answer.

`memberships.py` knows which servers somebody is in.
"""

import asyncio
from typing import Any

import discord

from memory.store.faults import call_point, outside
from memory.store.logs import Log
from memory.store.recent_values import RecentValues
from sources.discord.conversion import heard_of, readable, said_by_a_person
from sources.discord.memberships import Memberships
from sources.discord.places import ChannelInfo
from sources.discord.send_failures import REFUSED
from sources.discord.shared_state import SharedState
from sources.names import flatten

log = Log(__name__)

CHANNEL = call_point("discord.channel")
LINES = call_point("discord.lines")
THREAD = call_point("discord.thread")

SECONDS = 5.0
LINES_SECONDS = 3.0
REMEMBER_SECONDS = 60.0
ALREADY_A_THREAD = 160004

LINES_AROUND = 5
"""Lines that are read for a reply to an older message: that one, and those around it."""
UNREAD_LINES = "(what was said here before could not be read)"


class ChannelLookup:
    """Answers from the cache at once; misses are fetched, and then cached for a minute."""

    def __init__(self, client: discord.Client, state: SharedState, memberships: Memberships) -> None:
        self._client = client
        self._state = state
        self.memberships = memberships
        self._settings = state.settings
        self._channels: RecentValues[int, tuple[float, Any]] = RecentValues(500)

    def partial(self, channel: int, guild: int | None) -> Any:
        return self._client.get_channel(channel) or self._client.get_partial_messageable(channel, guild_id=guild)

    async def locate(self, channel: Any, person: int | None) -> tuple[ChannelInfo, tuple[int, ...]]:
        """The channel in its current form, and the guilds shared with the person."""
        try:
            channel = await self.resolve(channel)
        except (*REFUSED, discord.InvalidData):
            log.warning("channel_not_found", channel=channel.id)
            self._channels.put(channel.id, (self._now(), channel))
        info = self.memberships.place(channel, person)
        return info, await self.memberships.shared(info)

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
