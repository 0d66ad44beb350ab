"""What was missed: after a start, and after a reconnect that could not resume."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, TypeAlias

import discord
import structlog

from memory.clock import Clock
from memory.faults import call_point, outside
from memory.ids import PlaceId
from sources.discord.hearing import Author, readable, text_mark
from sources.discord.lanes import Job, Lanes
from sources.discord.link import REFUSED, Link
from sources.discord.listening import Ears
from sources.discord.looking import Lookout
from sources.discord.places import channel_number, history_readable, place_id, spot_of
from sources.discord.reading import author_of, heard_of, said_by_a_person
from sources.discord.settings import DiscordSettings, Mode

log = structlog.get_logger(__name__)

HISTORY = call_point("discord.history")

SECONDS = 20.0
ASK_SECONDS = 30.0
AT_ONCE = 4
MAX_PLACES = 100
MAX_NEW_PLACES = 50


@dataclass(frozen=True)
class Known:
    """A stored message of a place: its external id, and `text_mark` of the text as it is stored now."""

    external_id: str
    mark: str


Cursors: TypeAlias = Callable[[], Awaitable[Mapping[PlaceId, str]]]
"""Gives the last seen message id of every Discord place."""

RecentlyStored: TypeAlias = Callable[[PlaceId], Awaitable[Sequence[Known]]]
"""Gives the last few stored messages of persons in a place."""


class Readback:
    """Reads back, place by place, each in its lane before anything that arrived meanwhile."""

    def __init__(self, ears: Ears, lookout: Lookout, lanes: Lanes, link: Link, settings: DiscordSettings) -> None:
        self._ears = ears
        self._lookout = lookout
        self._lanes = lanes
        self._link = link
        self._settings = settings
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def run(
        self, client: discord.Client, cursors: Cursors, recent: RecentlyStored, begun: int | None, clock: Clock
    ) -> None:
        """Decide where to read, queue that, and let go of what was held, whatever happens.

        `begun` is the message id at which the bot began to listen at all, if that is known.
        """
        first: dict[int, Job] = {}
        hold = self._lanes.held
        floor = discord.utils.time_snowflake(clock() - timedelta(days=self._settings.read_back_days))
        try:
            async with asyncio.timeout(ASK_SECONDS):
                seen = _numbers(await cursors())
                newest = max(seen.values(), default=begun)
                for channel, last in self._worth(client, seen, newest, floor):
                    known = _marks(await recent(place_id(channel)), floor)
                    if known or self._moved(client, channel, last):
                        first[channel] = partial(self._read, channel, max(last, floor), known)
        except Exception:
            log.exception("what was seen last could not be had; some places are not read back")
        finally:
            self._lanes.release(first, hold)

    def _worth(
        self, client: discord.Client, seen: Mapping[int, int], newest: int | None, floor: int
    ) -> list[tuple[int, int]]:
        """The channels to read and after which message, those with the newest cursors first.

        Channels without a cursor are read when something newer than everything seen so far stands in them; while
        nothing was ever seen, something newer than the beginning.
        """
        known = sorted(((channel, last) for channel, last in seen.items()), key=lambda one: -one[1])
        chosen = [(channel, last) for channel, last in known if last > floor or self._moved(client, channel, last)]
        if newest is None:
            return []
        places: list[Any] = [
            channel
            for guild in client.guilds
            for channel in (*guild.text_channels, *guild.voice_channels, *guild.threads)
        ]
        fresh = [
            (channel.id, newest)
            for channel in places
            if channel.id not in seen and (channel.last_message_id or 0) > max(newest, floor) and self._on(channel)
        ]
        return chosen[:MAX_PLACES] + fresh[:MAX_NEW_PLACES]

    def _moved(self, client: discord.Client, channel: int, last: int) -> bool:
        found: Any = client.get_channel(channel)
        return found is None or (getattr(found, "last_message_id", None) or 0) > last

    def _on(self, channel: Any) -> bool:
        return self._settings.mode(spot_of(channel).chain) is not Mode.OFF

    async def _read(self, channel: int, after: int, known: Mapping[int, str]) -> None:
        start = min([after, *(one - 1 for one in known)])
        async with self._gate:
            place = await self._lookout.resolve(channel)
            if not history_readable(place):
                log.warning("a place could not be read back", channel=channel, reason="its history is not readable")
                return
            try:
                messages = await outside(HISTORY, self._history(place, start), SECONDS)
            except REFUSED as why:
                log.warning("a place could not be read back", channel=channel, reason=str(why))
                return
        if messages:
            self._link.saw(channel, messages[-1].id)
        await self._compare(channel, messages, known)
        for message in messages:
            if message.id > after and said_by_a_person(message):
                author = await self._author(message)
                if author is not None:
                    await _now(self._ears.hear(message, author))

    async def _history(self, place: Any, after: int) -> list[discord.Message]:
        """The newest messages after one, oldest first."""
        limit = self._settings.read_back_messages
        lines = place.history(limit=limit, after=discord.Object(after), oldest_first=False)
        return [message async for message in lines][::-1]

    async def _compare(self, channel: int, messages: list[discord.Message], known: Mapping[int, str]) -> None:
        """Tell what was edited and deleted while nobody listened, as far as was read."""
        standing = {message.id: message for message in messages}
        full = len(messages) >= self._settings.read_back_messages
        since = messages[0].id if full else 0
        for one, mark in sorted(known.items()):
            message = standing.get(one)
            if message is None:
                if one >= since:
                    await _now(self._ears.hear_deletion(one, channel, None))
            elif message.edited_at and text_mark(readable(heard_of(message, self._link), self._link.me)) != mark:
                author = await self._author(message)
                if author is not None:
                    await _now(self._ears.hear_edit(message, author))

    async def _author(self, message: discord.Message) -> Author | None:
        """History does not say which roles people have; ask where the cache does not know.

        None when a role could have denied them and nobody knows whether they have it.
        """
        member = message.author
        if message.guild is not None and not isinstance(member, discord.Member):
            member = await self._lookout.member(message.guild, member.id) or member
            if not isinstance(member, discord.Member) and self._settings.denies_roles:
                return None
        return author_of(member)


async def _now(waiting: Awaitable[None] | None) -> None:
    if waiting is not None:
        await waiting


def _numbers(cursors: Mapping[PlaceId, str]) -> dict[int, int]:
    pairs = ((channel_number(place), last) for place, last in cursors.items())
    return {channel: int(last) for channel, last in pairs if channel is not None and last.isdecimal()}


def _marks(known: Sequence[Known], floor: int) -> dict[int, str]:
    return {
        int(one.external_id): one.mark for one in known if one.external_id.isdecimal() and int(one.external_id) > floor
    }
