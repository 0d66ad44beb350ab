"""Turns gateway events into notifications in the order of arrival.

discord.py starts event handlers as tasks, so an edit can overtake its message there. Instead, `Client.dispatch` calls
`GatewayListener.on` synchronously, while the event is parsed; it puts the event into its channel's queue. If an event
has to wait (for a download, earlier lines, a lookup), later events of the channel wait, too.
"""

import asyncio
import dataclasses
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import discord

from memory.queue.notifications import Notification
from memory.store.logs import Log
from memory.store.recent_values import RecentValues
from memory.store.records import replace
from sources.base import Deliver, PlaceKind, UnknownPerson, deletion
from sources.discord import admission_and_answer_rules, conversion
from sources.discord.admission_and_answer_rules import Author, DiscordMessage
from sources.discord.channel_lookup import UNREAD_LINES, ChannelLookup
from sources.discord.conversion import MessageContext, Reaction, author_of, heard_of, offered_of, said_by_a_person
from sources.discord.places import NAME, ChannelInfo, channel_info, direct_place, person_id, place_of
from sources.discord.settings import Mode
from sources.discord.shared_state import SharedState, Spawn
from sources.names import flatten

Job: TypeAlias = Callable[[], Awaitable[None]]

AGAIN: tuple[float, ...] = (1.0, 5.0)
"""Seconds before each retry of a failed job; its queue waits as long."""


class ChannelQueues:
    """Jobs of one queue run one after another, in order; queues do not wait for each other.

    A failed job is retried; `gave_up` gets the channel of a job that failed every time.

    While held, nothing new runs: later jobs wait. `release` runs the given jobs first, each in its queue, then the
    waiting ones; it names the hold that it ends, so that it cannot end a later one.
    """

    def __init__(self, spawn: Spawn, gave_up: Callable[[int], Awaitable[None]]) -> None:
        self._spawn = spawn
        self._gave_up = gave_up
        self._queues: dict[int, deque[Job]] = {}
        self._held: dict[int, deque[Job]] | None = None
        self._holds = 0

    @property
    def held(self) -> int:
        """The number of the current hold; 0 without one."""
        return self._holds if self._held is not None else 0

    def hold(self) -> None:
        self._holds += 1
        if self._held is None:
            self._held = {}

    def put(self, channel: int, job: Job) -> None:
        if self._held is not None:
            self._held.setdefault(channel, deque()).append(job)
        else:
            self._enter(channel, job)

    def release(self, first: Mapping[int, Job], hold: int) -> None:
        if hold != self.held:
            return
        waited, self._held = self._held or {}, None
        for channel, job in first.items():
            self._enter(channel, job)
        for channel, jobs in waited.items():
            for job in jobs:
                self._enter(channel, job)

    def _enter(self, channel: int, job: Job) -> None:
        if (queue := self._queues.get(channel)) is not None:
            queue.append(job)
        else:
            self._queues[channel] = deque([job])
            self._spawn(self._drain(channel))

    async def _drain(self, channel: int) -> None:
        queue = self._queues[channel]
        try:
            while queue:
                if not await _done(queue.popleft(), channel):
                    await self._gave_up(channel)
        finally:
            del self._queues[channel]


async def _done(job: Job, channel: int) -> bool:
    """Run a job with retries; returns whether it succeeded."""
    for pause in (0.0, *AGAIN):
        if pause:
            await asyncio.sleep(pause)
        try:
            await job()
        except Exception:
            log.exception("event_not_handled", channel=channel)
        else:
            return True
    return False


log = Log(__name__)

KEEP_PEOPLE = 10


class GatewayListener:
    """Takes the gateway's events and returns notifications, in order."""

    def __init__(self, state: SharedState, queues: ChannelQueues, lookup: ChannelLookup, deliver: Deliver) -> None:
        self._state, self._settings, self._clock = state, state.settings, state.wiring.clock
        self.queues, self.lookup, self._deliver = queues, lookup, deliver
        self._given: RecentValues[str, None] = RecentValues(10_000)
        self._after: RecentValues[int, int] = RecentValues(5_000)
        """The message per channel up to which everything allowed was heard; missing if unknown."""
        self._listens_from = 0
        self._off: RecentValues[int, int] = RecentValues(5_000)
        """The newest message per channel while it was off: nothing up to there is read."""
        self._all_heard: RecentValues[int, bool] = RecentValues(5_000)
        """Whether no message of a channel was skipped since then."""
        self._people: RecentValues[int, RecentValues[int, str]] = RecentValues(1_000)
        self._reactions: RecentValues[tuple[int, int, str], int] = RecentValues(5_000)

    def on(self, event: str, args: tuple[Any, ...]) -> None:
        """Handle one event of discord.py, by its name and arguments."""
        match event:
            case "connect":
                self.queues.hold()
            case "message":
                self._message(args[0])
            case "raw_message_edit":
                self._edited(args[0])
            case "raw_message_delete":
                self._deleted(args[0].channel_id, args[0].guild_id, [args[0].message_id])
            case "raw_bulk_message_delete":
                self._deleted(args[0].channel_id, args[0].guild_id, sorted(args[0].message_ids))
            case "raw_reaction_add":
                self._reacted(args[0])
            case _:
                pass

    def _message(self, message: discord.Message) -> None:
        if self._state.ours(message):
            return
        self._state.saw(message.channel.id, message.id)
        if said_by_a_person(message):
            self.queues.put(message.channel.id, partial(self.hear, message))

    def _edited(self, event: discord.RawMessageUpdateEvent) -> None:
        unfurled = event.message.edited_at is None
        if not unfurled and said_by_a_person(event.message):
            self.queues.put(event.channel_id, partial(self.hear_edit, event.message))

    def _deleted(self, channel: int, guild: int | None, messages: list[int]) -> None:
        for message in messages:
            if message in self._state.withdrawn:
                continue
            self.queues.put(channel, partial(self.hear_deletion, message, channel, guild))

    def _reacted(self, event: discord.RawReactionActionEvent) -> None:
        ours = event.message_author_id == self._state.me or event.message_id in self._state.sent
        if not ours or event.user_id == self._state.me or (event.member is not None and event.member.bot):
            return
        self.queues.put(event.channel_id, partial(self._hear_reaction, event))

    def heard_up_to(self, seen: Mapping[int, int], listens_from: int | None) -> None:
        """Set how far each channel was read before the start, and the message from which the bot listens at all."""
        self._listens_from = listens_from or 0
        for channel, message in seen.items():
            self._after.put(channel, max(message, self._after.get(channel) or 0))
            self._off.put(channel, message)  # it may have been off until then

    def forget_given(self) -> None:
        """Deliver again what is read again: some was not accepted. The inbox knows what was."""
        self._given.clear()

    async def hear(self, message: discord.Message, author: Author | None = None) -> None:
        """A person's message, live or read back; `author` if more is known of them than it says."""
        if self._state.wiring.paused():
            return
        heard = heard_of(message, self._state, author)
        info, shared = await self.lookup.locate(message.channel, message.author.id)
        if not admission_and_answer_rules.is_admitted(heard.author, info, self._settings, shares_guild=bool(shared)):
            self._note_unknown(heard.author, info, shared)
            return
        answer = admission_and_answer_rules.is_answered(heard, info, self._settings)
        offered = offered_of(message)
        if answer is None:
            self._pass_over(message.id, info, shared)
            return
        if not (heard.addressed or info.direct or heard.content or heard.extras or offered):
            return
        around = self._around(info, shared, heard.author)
        earlier = await self._earlier(message, heard, info) if answer and not info.direct else ()
        lines = (UNREAD_LINES,) if earlier is None else ()
        where = info
        if self._wants_thread(message, heard, info):
            thread = await self.lookup.open_thread(message, heard.author.shown)
            if thread is None:
                lines = (*lines, "(a thread was wanted for this answer, but could not be opened)")
            else:
                where = channel_info(thread)
                around = self._around(where, (), heard.author)
        for line in earlier or ():
            await self._overhear(line, info, where)
        notification = conversion.to_notification(heard, around, answer=answer)
        files = await conversion.fetched(offered)
        images = tuple(each.url for each in files if each.url)
        extras = dataclasses.replace(notification.extras, background=lines, attachments=files, images=images)
        self._give(replace(notification, extras=extras))

    def _pass_over(self, message: int, info: ChannelInfo, shared: tuple[int, ...]) -> None:
        """Skip a message: it is read later if the bot is addressed. In a channel that is off, never."""
        if self._settings.mode(info.chain or (info.id,)) is Mode.OFF:
            self._off.put(info.id, message)
            place = place_of(info, self._settings, shared)
            self._give(conversion.to_passed(message, place, self._clock()))  # it stays skipped after a restart
        else:
            self._all_heard.put(info.id, False)

    async def _earlier(
        self, message: discord.Message, heard: DiscordMessage, info: ChannelInfo
    ) -> Sequence[discord.Message] | None:
        """Messages skipped since the bot was last addressed, and those around the one that this replies to, in order.

        None if they cannot be read quickly.
        """
        if self._settings.earlier_lines == 0:
            return ()
        off = self._off.get(info.id) or 0
        answered = heard.quoted if heard.quoted and not heard.quoted.by_us else None
        since = None if self._all_heard.get(info.id) else max(self._after.get(info.id) or 0, off)
        around = None if answered is None or answered.external_id in self._given else int(answered.external_id)
        found = await self.lookup.earlier(message, since, around)
        if found is None:
            return None
        self._after.put(info.id, message.id)
        self._all_heard.put(info.id, True)
        return [line for line in found if line.id > off]

    async def _overhear(self, message: discord.Message, info: ChannelInfo, where: ChannelInfo) -> None:
        """Deliver a message to others as part of the conversation `where`, unless its author must not be heard."""
        author = await self.lookup.memberships.author(message, always=False)
        if author is None or self._state.wiring.ignored(person_id(author.id)):
            return
        if not admission_and_answer_rules.is_admitted(author, info, self._settings, shares_guild=False):
            return
        heard = heard_of(message, self._state, author)
        if message.id > self._listens_from and admission_and_answer_rules.is_answered(heard, info, self._settings):
            return  # it may be in an unread gap, and is then answered itself
        line = conversion.to_notification(heard, self._around(where, (), author), answer=False)
        if line.text:
            self._give(line)

    def _note_unknown(self, author: Author, info: ChannelInfo, shared: Sequence[int]) -> None:
        """A person who is not let in wrote: pass on only that fact."""
        if admission_and_answer_rules.may_ask_in(author, info, self._settings) and not self._state.wiring.ignored(
            person_id(author.id)
        ):
            guilds = [self._state.client.get_guild(one) for one in shared] if self._state.client else []
            servers = tuple(flatten(guild.name) for guild in guilds if guild is not None)
            stranger = conversion.speaker_of(author, self._settings)
            self._state.wiring.unknown_wrote(UnknownPerson(stranger, direct_place(author.id), servers))

    def _wants_thread(self, message: discord.Message, heard: DiscordMessage, info: ChannelInfo) -> bool:
        public = info.kind is PlaceKind.GUILD and isinstance(message.channel, discord.TextChannel)
        ignored = self._state.wiring.ignored(person_id(heard.author.id))
        return self._settings.auto_thread and heard.calls_us and public and not ignored

    async def hear_edit(self, message: discord.Message, author: Author | None = None) -> None:
        """The new text of a person's message. Edits count in every mode, since the old text may be stored."""
        heard = heard_of(message, self._state, author)
        info, shared = await self.lookup.locate(message.channel, message.author.id)
        if heard.edited_at is None or not admission_and_answer_rules.is_admitted(
            heard.author, info, self._settings, shares_guild=bool(shared)
        ):
            return
        answer = bool(admission_and_answer_rules.is_answered(heard, info, self._settings))
        around = self._around(info, shared, heard.author)
        self._give(conversion.to_edit(heard, heard.edited_at, around, answer=answer))

    async def hear_deletion(self, message: int, channel: int, guild: int | None) -> None:
        info, shared = await self.lookup.locate(self.lookup.partial(channel, guild), None)
        place = place_of(info, self._settings, shared)
        self._give(deletion(NAME, str(message), place, self._clock()))

    async def _hear_reaction(self, event: discord.RawReactionActionEvent) -> None:
        if self._state.wiring.paused():
            return
        user = event.member or (self._state.client.get_user(event.user_id) if self._state.client else None)
        author = author_of(user) if user else Author(event.user_id, "")
        channel = self.lookup.partial(event.channel_id, event.guild_id)
        info, shared = await self.lookup.locate(channel, event.user_id)
        off = not info.direct and self._settings.mode(info.chain) is Mode.OFF
        if off or not admission_and_answer_rules.is_admitted(author, info, self._settings, shares_guild=bool(shared)):
            return
        key = (event.message_id, event.user_id, str(event.emoji))
        count = self._reactions.put(key, (self._reactions.get(key) or 0) + 1)
        reaction = Reaction(event.message_id, author, str(event.emoji), count, self._clock())
        self._give(conversion.to_reaction(reaction, self._around(info, shared, author)))

    def _around(self, info: ChannelInfo, shared: tuple[int, ...], author: Author) -> MessageContext:
        people = self._people.get(info.id) or self._people.put(info.id, RecentValues(KEEP_PEOPLE))
        people.put(author.id, author.shown)
        names = tuple(name for one, name in people.items() if not self._state.wiring.ignored(person_id(one)))
        place = place_of(info, self._settings, shared)
        return MessageContext(self._state.me, info, place, self._settings, names)

    def _give(self, notification: Notification) -> None:
        if notification.external_id not in self._given:
            self._deliver(notification)
            self._given.put(notification.external_id, None)
