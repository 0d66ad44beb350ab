"""Sends to Discord: one message at a time, never twice, with only the intended notifications."""

import asyncio
import io
import time
from collections.abc import Collection, Container, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import discord
from msgspec import Struct

from memory.people.audience import Audience, guild_audience
from memory.store.faults import call_point, outside
from memory.store.ids import OutboxId, PersonId, PlaceId
from memory.store.logs import Log
from memory.store.recent_values import RecentValues
from sources.base import Activity, Buttons, Delivery, DeliveryFailed, Endpoint, HistoryUnreadable
from sources.discord import send_failures
from sources.discord.cards import card, words_of
from sources.discord.markup import tables_as_code, units
from sources.discord.places import channel_number, guild_id, history_readable, user_number
from sources.discord.send_failures import REFUSED
from sources.discord.shared_state import SharedState
from sources.discord.webhooks import SUPPRESS_EMBEDS, Webhooks, shown_name
from sources.names import flatten
from sources.outgoing_text import outgoing, seen
from sources.text import visible
from sources.text_splitter import split_text
from texts import gettext_lazy

CLOCK_MARGIN = timedelta(seconds=5)
"""How far our clock may be ahead of Discord's."""

MAX_NAME = 32
PREFIX_ROOM = MAX_NAME + len("****: ")


class HistoryMessage(Struct, frozen=True):
    """A message of ours in the history."""

    id: int
    at: datetime
    text: str
    reply_to: str = ""
    files: int = 0


def prefixed(speaker: str, text: str, limit: int) -> str:
    """The text after an agent's name, if the account has to speak for it; without the name if that does not fit."""
    name = flatten(speaker, MAX_NAME)
    named = f"**{name}**: {text}"
    return named if name and units(named) <= limit else text


def matched(
    deliveries: Iterable[Delivery], said: Iterable[HistoryMessage], taken: Container[int], limit: int
) -> dict[OutboxId, str]:
    """Which deliveries are in the history: same text, same reference if any, not older; identical ones in order."""
    left = [one for one in sorted(said, key=lambda one: one.id) if one.id not in taken]
    found: dict[OutboxId, str] = {}
    for delivery in deliveries:
        match = next((one for one in left if _same(delivery, one, limit)), None)
        if match is not None:
            left.remove(match)
            found[delivery.id] = str(match.id)
    return found


def _same(delivery: Delivery, said: HistoryMessage, limit: int) -> bool:
    words = _words(said.text)
    forms = (delivery.text, prefixed(delivery.speaker, delivery.text, limit))
    return (
        said.at >= delivery.created_at - CLOCK_MARGIN
        and words in map(_words, forms)
        and said.reply_to in ("", delivery.reply_to)
        and said.files == len(delivery.files)
    )


def _words(text: str) -> str:
    return " ".join(outgoing(text).split())


log = Log(__name__)

SEND = call_point("discord.send")
OPEN = call_point("discord.open_direct")
EDIT = call_point("discord.edit")
WITHDRAW = call_point("discord.withdraw")
FIND = call_point("discord.find")
LOOK_UP = call_point("discord.look_up")
TYPING = call_point("discord.typing")

SEND_SECONDS = 40.0
SECONDS = 15.0
FIND_SECONDS = 20.0
CONNECT_SECONDS = 15.0

TYPING_EVERY = 8.0
TYPING_AFTER = 0.25
"""Seconds before the typing sign is shown: quick answers need none."""
TYPING_AT_MOST = 900.0
EDIT_EVERY = 1.0
"""Seconds between edits of one message, of previews and of the final answer."""
MAX_MENTIONS = 100
MAX_FOUND = 500

GONE = "gone"
"""The result of `send` if the message was sent earlier and deleted since: sent, but there is nothing to edit."""


def allowed_mentions(persons: Iterable[PersonId]) -> discord.AllowedMentions:
    """Exactly these persons may be notified; never everyone, roles, or the author of a quoted message."""
    numbers = [number for person in persons if (number := user_number(person)) is not None]
    users = [discord.Object(number) for number in dict.fromkeys(numbers)]
    if len(users) > MAX_MENTIONS:
        log.warning("too_many_mentions", mentioned=len(users), woken=MAX_MENTIONS)
        users = users[:MAX_MENTIONS]
    return discord.AllowedMentions(everyone=False, roles=False, users=users or False, replied_user=False)


class DiscordEndpoint(Endpoint):
    max_length = 2000
    has_previews = True
    nonce_seconds = 60.0

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._hooks = Webhooks(state)
        self._done: RecentValues[OutboxId, str] = RecentValues(5_000)
        self._next_edits: RecentValues[str, float] = RecentValues(5_000)
        self._typing: dict[PlaceId, asyncio.TimerHandle | asyncio.Task[None]] = {}

    def split(self, text: str) -> list[str]:
        room = PREFIX_ROOM if self._state.settings.show_names else 0
        return split_text(outgoing(tables_as_code(text)), self.max_length - room, units)

    async def send(self, delivery: Delivery) -> str:
        if (already := self._done.get(delivery.id)) is not None:
            return already
        if not visible(outgoing(delivery.text)) and not delivery.files:
            raise DeliveryFailed(gettext_lazy("there is nothing to say"))
        client = await self._client()
        with send_failures.repeatable():
            channel = await self._channel(client, delivery.place)
        said = await self._say_by_webhook(channel, delivery) if delivery.speaker else None
        return said or await self._say(channel, delivery)

    async def _say(self, channel: Any, delivery: Delivery) -> str:
        text = _shown(delivery.text, delivery.buttons)
        if delivery.speaker:
            text = prefixed(delivery.speaker, text, self.max_length)
        files = [discord.File(io.BytesIO(seen(one.text).encode()), one.name) for one in delivery.files]
        words: dict[str, Any] = {"content": text, "suppress_embeds": "://" in text}
        if delivery.is_card:
            words = {"view": card(text, delivery.buttons, [file.filename for file in files])}
        began = time.monotonic()
        call = channel.send(
            nonce=str(delivery.id),
            allowed_mentions=allowed_mentions(delivery.may_mention),
            files=files,
            reference=self._reference(channel.id, delivery),
            **words,
        )
        try:
            message = await outside(SEND, call, SEND_SECONDS)
        except discord.NotFound as why:
            if why.code == send_failures.REPEATED_AND_DELETED:
                return self._sent(delivery, channel.id, GONE)
            raise send_failures.verdict(why, 0) from why
        except REFUSED as why:
            raise send_failures.verdict(why, time.monotonic() - began) from why
        return self._sent(delivery, channel.id, str(message.id))

    async def _say_by_webhook(self, channel: Any, delivery: Delivery) -> str | None:
        client = await self._client(ready=True)
        hook = await self._hooks.hook(client.get_channel(channel.id))
        name = shown_name(delivery.speaker)
        if hook is None or not name:
            return None
        text = outgoing(delivery.text)
        payload = {
            "content": text,
            "username": name,
            "allowed_mentions": allowed_mentions(delivery.may_mention).to_dict(),
            "flags": SUPPRESS_EMBEDS if "://" in text else 0,
        }
        payload |= {"avatar_url": delivery.avatar} if delivery.avatar else {}
        said = await self._hooks.say(hook, payload, delivery.files)
        return self._sent(delivery, channel.id, str(said)) if said is not None else None

    def _sent(self, delivery: Delivery, channel: int, message: str) -> str:
        if message != GONE:
            self._state.sent.put(int(message), channel)
        return self._done.put(delivery.id, message)

    def _reference(self, channel: int, delivery: Delivery) -> discord.MessageReference | None:
        """A reference only if the channel has moved on since the message that is answered."""
        answered = int(delivery.reply_to) if delivery.reply_to.isdecimal() else channel
        if answered == channel or (self._state.newest.get(channel) or 0) <= answered:
            return None
        return discord.MessageReference(message_id=answered, channel_id=channel, fail_if_not_exists=False)

    async def find(self, deliveries: tuple[Delivery, ...], taken: Collection[str] = ()) -> dict[OutboxId, str]:
        known = {one.id: sent for one in deliveries if (sent := self._done.get(one.id)) is not None}
        unknown = tuple(one for one in deliveries if one.id not in known)
        if not unknown:
            return known
        try:
            client = await self._client(ready=True)
            with send_failures.repeatable():
                channel = await self._whole_channel(client, unknown[0].place)
                if any(one.speaker for one in unknown):
                    await self._hooks.hook(channel)
                said = await outside(FIND, self._said(channel, unknown), FIND_SECONDS)
        except DeliveryFailed as why:
            raise HistoryUnreadable(why.reason, passing=why.retry_after is not None) from why
        others = {int(one) for one in (*self._done.values(), *taken) if one.isdecimal()}
        return known | matched(unknown, said, others, self.max_length)

    async def _whole_channel(self, client: discord.Client, place: PlaceId) -> Any:
        """The channel with its permissions, which must allow reading it."""
        partial = await self._channel(client, place)
        channel = client.get_channel(partial.id)
        if channel is None:
            channel = await outside(LOOK_UP, client.fetch_channel(partial.id), SECONDS)
        if not history_readable(channel):
            raise HistoryUnreadable(gettext_lazy("the bot cannot read the channel's history"))
        return channel

    async def _said(self, channel: Any, deliveries: tuple[Delivery, ...]) -> list[HistoryMessage]:
        since = min(one.created_at for one in deliveries) - CLOCK_MARGIN
        lines = channel.history(limit=MAX_FOUND, after=since, oldest_first=True)
        return [_said(message) async for message in lines if self._state.ours(message)]

    async def edit(self, place: PlaceId, external_id: str, text: str, buttons: Buttons | None = None) -> None:
        client = await self._client()
        now = time.monotonic()
        due = max(now, self._next_edits.get(external_id) or now)
        self._next_edits.put(external_id, due + EDIT_EVERY)
        await asyncio.sleep(due - now)
        with send_failures.repeatable():
            channel = await self._channel(client, place)
            message = _message(channel, external_id)
            shown = _shown(text, buttons)
            words: dict[str, Any] = {"content": shown}
            if buttons is not None:
                # An open card keeps its file: a file that its parts do not name is not shown.
                said = await outside(EDIT, message.fetch(), SECONDS) if buttons.offers else None
                files = [] if said is None else [each.filename for each in said.attachments]
                words = {"content": None, "view": card(shown, buttons, files)}
            call = message.edit(allowed_mentions=discord.AllowedMentions.none(), **words)
            try:
                await outside(EDIT, call, SECONDS)
            except discord.Forbidden as why:
                hook = await self._hooks.hook(client.get_channel(channel.id))
                if why.code != send_failures.NOT_OUR_MESSAGE or hook is None:
                    raise
                await self._hooks.edit(hook, message.id, outgoing(text))

    async def withdraw(self, place: PlaceId, external_id: str) -> None:
        if external_id == GONE:
            return
        client = await self._client()
        with send_failures.repeatable(), suppress(discord.NotFound):
            channel = await self._channel(client, place)
            message = _message(channel, external_id)
            self._state.withdrawn.put(message.id, None)
            try:
                await outside(WITHDRAW, message.delete(), SECONDS)
            except discord.Forbidden:
                hook = await self._hooks.hook(client.get_channel(channel.id))
                if hook is None:
                    raise
                await self._hooks.withdraw(hook, message.id)

    async def still_in(self, person: PersonId, servers: Collection[Audience]) -> Collection[Audience]:
        try:
            client = await self._client(ready=True)
        except DeliveryFailed:
            return ()
        number, member = user_number(person), self._state.member
        if number is None or member is None:
            return ()
        asked = {guild_audience(guild_id(guild.id)): guild for guild in client.guilds}
        return [each for each in servers if each in asked and await member(asked[each], number) is not None]

    def show(self, activity: Activity) -> None:
        running = self._typing.get(activity.place)
        if not activity.busy:
            if running is not None:
                running.cancel()
                del self._typing[activity.place]
        elif running is None or (isinstance(running, asyncio.Task) and running.done()):
            loop = asyncio.get_running_loop()
            self._typing[activity.place] = loop.call_later(TYPING_AFTER, self._begin_typing, activity.place)

    def _begin_typing(self, place: PlaceId) -> None:
        del self._typing[place]
        if self._state.spawn is not None:
            self._typing[place] = self._state.spawn(self._keep_typing(place))

    async def _keep_typing(self, place: PlaceId) -> None:
        try:
            async with asyncio.timeout(TYPING_AT_MOST):
                channel = await self._channel(await self._client(), place)
                while True:
                    await outside(TYPING, _type(channel), SECONDS)
                    await asyncio.sleep(TYPING_EVERY)
        except (*REFUSED, DeliveryFailed):
            return
        except Exception:  # a border: Discord's answers must not end the connection
            log.exception("typing_failed", place=place)

    async def _client(self, *, ready: bool = False) -> discord.Client:
        """The connected client; if it must be `ready`, guilds and their permissions are known."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._state.usable.wait()
                if ready and self._state.client is not None:
                    await self._state.client.wait_until_ready()
        except TimeoutError as why:
            raise send_failures.DiscordUnreachable(gettext_lazy("not connected to Discord")) from why
        if self._state.client is None or self._state.client.is_closed():
            raise send_failures.DiscordUnreachable(gettext_lazy("the connection to Discord is being closed"))
        return self._state.client

    async def _channel(self, client: discord.Client, place: PlaceId) -> Any:
        """The channel to send to; a person's direct messages are opened."""
        number = channel_number(place)
        if number is not None:
            channel = client.get_channel(number) or client.get_partial_messageable(number)
            if not isinstance(channel, discord.abc.Messageable):
                raise DeliveryFailed(gettext_lazy("messages cannot be sent in that channel"))
            return channel
        person = user_number(place)
        if person is None:
            raise DeliveryFailed(gettext_lazy("{place} is not a place on Discord", place=place))
        return await outside(OPEN, client.create_dm(discord.Object(person)), SECONDS)


async def _type(channel: Any) -> None:
    await channel.typing()


def _shown(text: str, buttons: Buttons | None) -> str:
    """A text as it is sent. A card's question is verbatim, in a code block that nothing in it can end."""
    return seen(text) if buttons is not None and buttons.kind == "permit" else outgoing(text)


def _message(channel: Any, external_id: str) -> discord.PartialMessage:
    if not external_id.isdecimal():
        raise DeliveryFailed(gettext_lazy("the message no longer exists"))
    message: discord.PartialMessage = channel.get_partial_message(int(external_id))
    return message


def _said(message: discord.Message) -> HistoryMessage:
    answered = message.reference.message_id if message.reference else None
    replies = message.type is discord.MessageType.reply and answered is not None
    return HistoryMessage(
        message.id, message.created_at, words_of(message), str(answered) if replies else "", len(message.attachments)
    )
