"""Reads missed messages: after a start, and after a reconnect that could not resume.

A place that cannot be read at that time becomes a gap, recorded before any live message of the place is accepted, since
that moves the place's cursor. Gaps are retried with growing pauses until they are read or given up. Direct messages of
people who never wrote have no cursor and are in no list of Discord's: each is such a gap from the start, and is opened
by the person's id.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

import discord

from memory.queue.missed_messages import Span
from memory.store.errors import StoreError
from memory.store.faults import call_point, outside
from memory.store.ids import PlaceId, text_mark
from memory.store.logs import Log
from sources.discord.conversion import heard_of, readable, said_by_a_person
from sources.discord.listener import GatewayListener, Job
from sources.discord.places import channel_info, channel_number, direct_place, history_readable, place_id, user_number
from sources.discord.send_failures import REFUSED, WORDS
from sources.discord.settings import Mode
from sources.discord.shared_state import SharedState, StoredMessage
from texts import gettext_lazy

log = Log(__name__)

HISTORY = call_point("discord.history")
DIRECT = call_point("discord.open_unread")

SECONDS = 20.0
ASK_SECONDS = 30.0
AT_ONCE = 4
MAX_FIRST = 150
"""Places that are read before newer messages: each needs a database query while everything else waits."""
MAX_DIRECT = 100
DIRECT_EVERY = 1.0
"""Seconds between two direct channels that are opened: Discord takes many at once for spam."""
IDLE_SECONDS, AGAIN_SECONDS = 3600.0, 5.0
MOST_UNDECIDED = 3
CLOCK_MARGIN = timedelta(minutes=1)
"""How far our clock may be behind Discord's."""

GONE = frozenset({10003, 10004, 10013, 50001, 50007, 50013, 50033})
"""Errors after which retries are useless, by Discord's codes."""


class PlaceUnreadable(Exception):
    """A place cannot be read, for now or for good."""

    def __init__(self, reason: str, *, for_good: bool) -> None:
        super().__init__(reason)
        self.for_good = for_good


class CatchUp:
    """Reads missed messages place by place, each in its queue before newer ones."""

    def __init__(
        self,
        client: discord.Client,
        state: SharedState,
        listens_from: int | None,
        paused: Callable[[], bool],
        listener: GatewayListener,
    ) -> None:
        self._client = client
        self._state, self._wiring, self._settings = state, state.wiring, state.settings
        self._listens_from = listens_from
        self._paused = paused
        self._listener, self._queues, self._lookup = listener, listener.queues, listener.lookup
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._noted = asyncio.Event()
        self._found = False
        """Whether it is known where to read."""

    async def run(self) -> None:
        """Decide where to read, queue that, and then release the held messages in any case.

        While the database refuses, new messages stay held: they would move cursors that were not read yet. A slow
        database is not waited for without limit: then only the places found so far are read, if any.
        """
        first: dict[int, Job] = {}
        hold, failures = self._queues.held, 0
        try:
            while True:
                try:
                    async with asyncio.timeout(ASK_SECONDS):
                        await self._decide(first)
                    break
                except StoreError as why:
                    log.warning("history_check_delayed", reason=str(why))
                except Exception as why:
                    failures += 1
                    log.exception("history_check_failed", failures=failures)
                    stuck = isinstance(why, TimeoutError) and not self._found  # nothing could be stored either
                    if failures >= MOST_UNDECIDED and not stuck:  # receiving is better than holding forever
                        break
                await asyncio.sleep(AGAIN_SECONDS)
        finally:
            self._queues.release(first, hold)

    async def _decide(self, first: dict[int, Job]) -> None:
        """Find what to read before newer messages, by channel; the rest is recorded, to be read later.

        Results go into `first` at once, so that nothing is lost when the time is over.
        """
        wiring = self._wiring
        now = wiring.clock()
        floor = discord.utils.time_snowflake(now - timedelta(days=self._settings.read_back_days))
        until = str(discord.utils.time_snowflake(now + CLOCK_MARGIN))
        seen = _numbers(await wiring.cursors())
        self._found = True
        self._listener.heard_up_to(seen, self._listens_from)
        newest = max(seen.values(), default=self._listens_from)
        if newest is None:
            return
        places = self._worth(seen, newest, floor)
        spans = {channel: Span(place_id(channel), str(max(last, floor)), until) for channel, last in places[:MAX_FIRST]}
        for channel, last in places[:MAX_FIRST]:
            if self._moved(channel, last):
                first.setdefault(channel, partial(self._read_first, channel, spans[channel], {}))
        later = [Span(place_id(one), str(max(last, floor)), until) for one, last in places[MAX_FIRST:]]
        for person, let_in in list((await wiring.never_wrote()).items())[:MAX_DIRECT]:
            after = max(newest, floor, 0 if let_in is None else discord.utils.time_snowflake(let_in))
            later.append(Span(direct_place(user_number(person) or 0), str(after), until))
        await self._owe(later, "it was not read yet")
        for channel, span in spans.items():
            if known := _marks(await wiring.recent(span.place), floor):
                first[channel] = partial(self._read_first, channel, span, known)

    async def keep_reading(self) -> None:
        """Read gaps when they are due, as long as the connection lasts."""
        while True:
            self._noted.clear()  # gaps recorded from here on may not be among the due ones
            seconds = AGAIN_SECONDS
            try:
                seconds = await self._read_due()
            except StoreError as error:
                log.warning("gaps_not_read", reason=str(error))
            except Exception:
                log.exception("gaps_not_read")
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._noted.wait()

    async def _read_due(self) -> float:
        """Read due gaps; returns the seconds until the next."""
        if self._paused():
            return AGAIN_SECONDS
        for gap in await self._wiring.gaps.due():
            await self._read_gap(gap.span)
        wait = await self._wiring.gaps.wait()
        return IDLE_SECONDS if wait is None else min(max(wait, 1.0), IDLE_SECONDS)

    async def _owe(self, spans: Sequence[Span], reason: str, *, at_once: bool = True) -> None:
        await self._wiring.gaps.note(spans, reason, at_once=at_once)
        self._noted.set()

    def _worth(self, seen: Mapping[int, int], newest: int, floor: int) -> list[tuple[int, int]]:
        """The channels to read, and after which message; the most recently active channels first.

        Channels without a cursor are read if they contain something newer than everything seen so far or, if nothing
        was ever seen, newer than `floor`.
        """
        places = [(channel, last) for channel, last in seen.items() if last > floor or self._moved(channel, last)]
        for guild in self._client.guilds:
            channels: list[Any] = [*guild.text_channels, *guild.voice_channels, *guild.threads]
            for found in channels:
                on = self._settings.mode(channel_info(found).chain) is not Mode.OFF
                if on and found.id not in seen and (found.last_message_id or 0) > max(newest, floor):
                    places.append((found.id, newest))
        return sorted(places, key=lambda one: -max(one[1], self._latest(one[0])))

    def _latest(self, channel: int) -> int:
        return getattr(self._client.get_channel(channel), "last_message_id", None) or 0

    def _moved(self, channel: int, last: int) -> bool:
        return self._client.get_channel(channel) is None or self._latest(channel) > last

    async def _read_first(self, channel: int, span: Span, known: Mapping[int, str]) -> None:
        """Read a place in its queue, or record a gap before anything else of the queue is accepted."""
        try:
            found = await self._messages(channel, span, known)
        except PlaceUnreadable as why:
            if why.for_good:
                await self._wiring.gaps.close(span, str(why))
            else:
                await self._owe([span], str(why), at_once=False)
            return
        await self._hear(channel, span, found, known)

    async def _read_gap(self, span: Span) -> None:
        """Read a gap. The channel's queue does not wait for the request, only for the rest."""
        gaps = self._wiring.gaps
        try:
            channel = channel_number(span.place) or await self._open(user_number(span.place))
            recent = await self._wiring.recent(place_id(channel))
            known = {one: mark for one, mark in _marks(recent, 0).items() if one < int(span.before)}
            found = await self._messages(channel, span, known)
        except PlaceUnreadable as why:
            await (gaps.close(span, str(why)) if why.for_good else gaps.failed(span, str(why)))
            return
        heard = asyncio.Event()

        async def hear() -> None:
            try:
                await self._hear(channel, span, found, known)
            finally:
                heard.set()

        self._queues.put(channel, hear)
        await heard.wait()
        if not self._paused():  # else it was not accepted, and is read again
            await gaps.fill(span)

    async def _open(self, person: int | None) -> int:
        """The channel of a person's direct messages. Raises PlaceUnreadable."""
        if person is None:
            raise PlaceUnreadable(gettext_lazy("it does not name a place on Discord"), for_good=True)
        await asyncio.sleep(DIRECT_EVERY)
        opening = self._client.create_dm(discord.Object(person))
        return int((await _asked(outside(DIRECT, opening, SECONDS))).id)

    async def _messages(self, channel: int, span: Span, known: Mapping[int, str]) -> list[discord.Message]:
        """The newest messages of the span and of the known ones, oldest first: up to the limit, and one more.

        Raises PlaceUnreadable.
        """
        start = min([int(span.after), *(one - 1 for one in known)])
        async with self._gate:
            place = await _asked(self._lookup.resolve(discord.Object(channel)))
            if not history_readable(place):
                why = gettext_lazy("the bot cannot read the channel's history")
                raise PlaceUnreadable(why, for_good=not _unavailable(place))
            reading = outside(HISTORY, self._history(place, start, int(span.before)), SECONDS)
            found: list[discord.Message] = await _asked(reading)
            return found

    async def _history(self, place: Any, after: int, before: int) -> list[discord.Message]:
        limit = self._settings.read_back_messages + 1
        since, until = discord.Object(after), discord.Object(before)
        lines = place.history(limit=limit, after=since, before=until, oldest_first=False)
        return [message async for message in lines][::-1]

    async def _hear(self, channel: int, span: Span, found: Sequence[discord.Message], known: Mapping[int, str]) -> None:
        limit = self._settings.read_back_messages
        messages = found[-limit:]
        if messages:
            self._state.saw(channel, messages[-1].id)
        await self._compare(channel, messages, known)
        for message in messages:
            if message.id > int(span.after) and said_by_a_person(message):
                try:
                    if (author := await self._lookup.memberships.author(message)) is not None:
                        await self._listener.hear(message, author)
                except Exception:
                    log.exception("missed_message_left_out", channel=channel, message=message.id)
        if len(found) > limit and found[0].id > int(span.after):
            await self._wiring.gaps.close(span, f"only the newest {limit} missed messages were read")

    async def _compare(self, channel: int, messages: Sequence[discord.Message], known: Mapping[int, str]) -> None:
        """Deliver edits and deletions that were missed, as far as was read."""
        standing = {message.id: message for message in messages}
        full = len(messages) >= self._settings.read_back_messages
        since = messages[0].id if full else 0
        for one, mark in sorted(known.items()):
            message = standing.get(one)
            if message is None:
                if one >= since:
                    await self._listener.hear_deletion(one, channel, None)
            elif message.edited_at and text_mark(readable(heard_of(message, self._state), self._state.me)) != mark:
                author = await self._lookup.memberships.author(message)
                if author is not None:
                    await self._listener.hear_edit(message, author)


async def _asked(asking: Awaitable[Any]) -> Any:
    """Discord's answer. Raises PlaceUnreadable."""
    try:
        return await asking
    except REFUSED as why:
        if isinstance(why, discord.HTTPException) and why.code in GONE:
            raise PlaceUnreadable(WORDS[why.code], for_good=True) from why
        raise PlaceUnreadable(
            str(why) or gettext_lazy("{name} did not answer in time", name="Discord"), for_good=False
        ) from why
    except Exception as why:
        log.exception("discord_answer_not_understood")
        raise PlaceUnreadable(
            gettext_lazy("Discord's answer could not be understood; see the log"), for_good=False
        ) from why


def _unavailable(place: Any) -> bool:
    """Whether the place or its server is unavailable or unknown so far, so that nobody can tell the permissions."""
    guild = None if isinstance(place, discord.PartialMessageable) else getattr(place, "guild", None)
    return guild is None or getattr(guild, "unavailable", False) or getattr(guild, "me", None) is None


def _numbers(cursors: Mapping[PlaceId, str]) -> dict[int, int]:
    pairs = ((channel_number(place), last) for place, last in cursors.items())
    return {channel: int(last) for channel, last in pairs if channel is not None and last.isdecimal()}


def _marks(known: Sequence[StoredMessage], floor: int) -> dict[int, str]:
    return {
        int(one.external_id): one.mark for one in known if one.external_id.isdecimal() and int(one.external_id) > floor
    }
