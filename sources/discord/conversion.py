"""Converts messages: from discord.py's objects to plain values, and from these, purely, to notifications.

Files are downloaded from Discord's servers alone. Whether a message is answered: `admission_and_answer_rules`.
"""

import asyncio
import dataclasses
import re
from datetime import datetime
from urllib.parse import urlsplit

import aiohttp
import discord
from msgspec import Struct

from memory.queue.notifications import Kind, Notification, Place, Speaker
from memory.queue.payloads import Attachment, Extras, Quotation
from memory.store.faults import call_point, outside
from memory.store.records import replace
from sources.attachments import MAX_TEXT, consider, may_be_text, with_text
from sources.base import deletion
from sources.discord.admission_and_answer_rules import Author, DiscordMessage, trust_of
from sources.discord.block_notes import block_notes
from sources.discord.cards import words_of
from sources.discord.places import NAME, ChannelInfo, channel_info, person_id, shortened
from sources.discord.settings import DiscordSettings
from sources.discord.shared_state import SharedState
from sources.names import flatten, without_call_behind
from sources.text import one_line

MOST_FORWARDED, MOST_EMBED = 4_000, 1_000
_CALLED = re.compile(r"\s*<@!?(\d{1,20})>")
_SAID = (discord.MessageType.default, discord.MessageType.reply)


def said_by_a_person(message: discord.Message) -> bool:
    """Whether a person wrote it: no bot, webhook or system message."""
    return not message.author.bot and message.webhook_id is None and message.type in _SAID


def author_of(user: discord.abc.User) -> Author:
    """A person; with roles if they were seen as a member of the guild."""
    if not isinstance(user, discord.Member):
        return Author(user.id, user.display_name, user.name)
    roles = {role.id: role.name for role in user.roles if not role.is_default()}
    return Author(user.id, user.display_name, user.name, roles, user.joined_at)


def heard_of(message: discord.Message, state: SharedState, author: Author | None = None) -> DiscordMessage:
    """A person's message; `author` if more is known of them than the message says."""
    own_roles = [role for role in message.role_mentions if role.tags and role.tags.bot_id == state.me]
    return DiscordMessage(
        id=message.id,
        author=author or author_of(message.author),
        at=message.created_at,
        edited_at=message.edited_at,
        content=message.content,
        mentions={user.id: user.display_name for user in message.mentions},
        mentioned_roles={role.id: role.name for role in message.role_mentions},
        mentioned_channels=_known_channels(message),
        extras=_extras(message),
        quoted=_quoted(message, state),
        calls_us=any(user.id == state.me for user in message.mentions) or bool(own_roles),
        own_roles=frozenset(role.id for role in own_roles),
        to_others=_to_others(message, state),
    )


def _known_channels(message: discord.Message) -> dict[int, str]:
    """The names of the channels that a message mentions, as far as everybody who reads it knows them.

    The library names all that the bot sees, also private ones.
    """
    here = {message.channel.id, getattr(message.channel, "parent_id", None)}
    named = ((each, channel_info(each)) for each in message.channel_mentions)
    return {
        channel.id: channel.name
        for channel, info in named
        if channel.id in here or (info.everyone and not info.private)
    }


def _to_others(message: discord.Message, state: SharedState) -> bool:
    called, answered = _CALLED.match(message.content), message.reference and message.reference.resolved
    if called is not None and int(called[1]) != state.me:
        return True
    if message.type is not discord.MessageType.reply or not isinstance(answered, discord.Message):
        return False
    return answered.author.id != message.author.id and not state.ours(answered)


def _extras(message: discord.Message) -> tuple[str, ...]:
    """What a message contains besides text and files, one line each."""
    lines = [f"[sticker: {flatten(sticker.name)}]" for sticker in message.stickers]
    lines += [line for part in message.message_snapshots for line in forwarded_lines(part)]
    if message.poll is not None:
        answers = ", ".join(one_line(answer.text, 60) for answer in message.poll.answers)
        lines.append(f"[poll: {one_line(message.poll.question)} ({answers})]")
    return tuple(lines)


def forwarded_lines(part: discord.MessageSnapshot) -> list[str]:
    """The text of a forwarded message; its files are among those of the message."""
    lines = [f"[forwarded: {shortened(part.content, MOST_FORWARDED)}]"] if part.content else []
    for embed in part.embeds:
        words = ": ".join(filter(None, (embed.title, embed.description)))
        lines.append(f"[forwarded embed: {shortened(words, MOST_EMBED) or 'without words'}]")
    lines += [f"[forwarded sticker: {flatten(sticker.name)}]" for sticker in part.stickers]
    lines += ["[forwarded: buttons or other parts that only Discord shows]"] if part.components else []
    return lines or ([] if part.attachments else ["[forwarded: a message without words]"])


def _quoted(message: discord.Message, state: SharedState) -> Quotation | None:
    if message.type is not discord.MessageType.reply or message.reference is None:
        return None
    answered = message.reference.resolved
    if not isinstance(answered, discord.Message) or state.wiring.ignored(person_id(answered.author.id)):
        return None
    name = flatten(answered.author.display_name) or str(answered.author.id)
    return Quotation(name, shortened(words_of(answered)), by_us=state.ours(answered), external_id=str(answered.id))


def offered_of(message: discord.Message) -> list[Attachment]:
    """The files of a message, including those of a forwarded one."""
    files = [*message.attachments, *(file for part in message.message_snapshots for file in part.attachments)]
    return [Attachment(file.filename, file.content_type or "", file.size, url=file.url) for file in files]


class FetchFailed(Exception):
    """The file could not be downloaded; the text says why, for the model."""


async def download(url: str, limit: int) -> bytes:
    """The body; follows no redirect and sends no cookie or credential. Raises FetchFailed.

    Also if the body is longer than `limit` bytes, whatever length was announced.
    """
    try:
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
            http.get(url, allow_redirects=False) as answer,
        ):
            if answer.status != 200:
                raise FetchFailed(f"the file server answered {answer.status}")
            body = bytearray()
            async for chunk in answer.content.iter_chunked(8192):
                body += chunk
                if len(body) > limit:
                    raise FetchFailed(f"larger than {limit // 1024} KB")
            return bytes(body)
    except (aiohttp.ClientError, OSError) as why:
        raise FetchFailed("the download failed") from why


ATTACHMENT = call_point("discord.attachment")

_SECONDS = 8.0
_HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})


def from_discord(url: str) -> bool:
    """Whether a URL is on Discord's file servers (or the one that the library was pointed at)."""
    parts, base = urlsplit(url), urlsplit(discord.Asset.BASE)
    if (parts.scheme, parts.netloc) == (base.scheme, base.netloc):
        return True
    return parts.scheme == "https" and parts.hostname in _HOSTS and parts.port in (None, 443)


async def fetched(offered: list[Attachment]) -> tuple[Attachment, ...]:
    """The attachments with their texts; one that cannot be downloaded says so."""
    return tuple(await asyncio.gather(*(_read(consider(one, number)) for number, one in enumerate(offered))))


async def _read(one: Attachment) -> Attachment:
    if not one.skipped and not from_discord(one.url):
        return dataclasses.replace(one, url="", skipped="its address is not one of Discord's")
    if not may_be_text(one):
        return one
    url, one = one.url, dataclasses.replace(one, url="")  # only pictures that models can see keep theirs
    try:
        body = await outside(ATTACHMENT, download(url, MAX_TEXT), _SECONDS)
    except TimeoutError:
        return dataclasses.replace(one, skipped="the download took too long")
    except FetchFailed as why:
        return dataclasses.replace(one, skipped=str(why))
    return with_text(one, body)


_GREETINGS = r"hey|hi|hello|ok|okay|thanks|thank you|good (?:morning|evening|night)|hallo|moin|servus|danke"
_TAG = re.compile(r"<(@!?|@&|#)(\d{1,20})>")
_EMOJI = re.compile(r"<a?(:\w{1,40}:)\d{1,20}>")


def readable(message: DiscordMessage, me: int) -> str:
    """The text as readers see it: names for ids, without a surrounding mention of the bot, extras as lines.

    The bot is recognized by id, whatever its name is there.
    """
    us = "|".join([f"<@!?{me}>", *(f"<@&{role}>" for role in message.own_roles)])
    text = re.sub(rf"^\s*(?:{us})[\s,:]*", "", message.content)
    text = re.sub(rf"^\s*({_GREETINGS})[ ,]{{1,4}}(?:{us})(?=[\s,:;.!?]|$)", r"\1", text, flags=re.IGNORECASE)
    text = without_call_behind(text, us)

    def named(tag: re.Match[str]) -> str:
        kind, number = tag[1], int(tag[2])
        match kind:
            case "#":
                name, sign = message.mentioned_channels.get(number), "#"
            case "@&":
                name, sign = message.mentioned_roles.get(number), "@"
            case _:
                name, sign = message.mentions.get(number), "@"
        return sign + flatten(name) if name and flatten(name) else tag[0]

    lines = [_EMOJI.sub(r"\1", _TAG.sub(named, text)).strip(), *message.extras]
    return "\n".join(line for line in lines if line)


class MessageContext(Struct, frozen=True):
    """Known data about a message's place and people."""

    me: int
    info: ChannelInfo
    place: Place
    settings: DiscordSettings
    participants: tuple[str, ...] = ()


def to_notification(message: DiscordMessage, around: MessageContext, *, answer: bool) -> Notification:
    """A message as a notification, with the fetched attachments and background."""
    names = {person_id(one): flatten(name) for one, name in message.mentions.items() if one != around.me}
    return Notification(
        source=NAME,
        external_id=str(message.id),
        kind=Kind.MESSAGE,
        place=around.place,
        speaker=speaker_of(message.author, around.settings),
        subject=str(message.id),
        at=message.at,
        text=readable(message, around.me),
        answer=answer,
        position=str(message.id),
        extras=Extras(
            block_notes(message.author, around.info, around.participants), quoted=message.quoted, mentioned=names
        ),
    )


def to_edit(message: DiscordMessage, edited_at: datetime, around: MessageContext, *, answer: bool) -> Notification:
    same = to_notification(message, around, answer=answer)
    return replace(same, kind=Kind.EDIT, external_id=f"{message.id}@{edited_at.isoformat()}", at=edited_at, position="")


def to_passed(message: int, place: Place, at: datetime) -> Notification:
    """A notification that a message must not be heard, now or later."""
    same = deletion(NAME, str(message), place, at)
    return replace(same, kind=Kind.PASSED, external_id=f"{message}?", position=str(message))


class Reaction(Struct, frozen=True):
    """A reaction to a message of ours; `count` is how often this person has added it."""

    message: int
    author: Author
    emoji: str
    count: int
    at: datetime


def to_reaction(reaction: Reaction, around: MessageContext) -> Notification:
    return Notification(
        source=NAME,
        external_id=f"{reaction.message}/{reaction.author.id}/{reaction.emoji}/{reaction.count}",
        kind=Kind.REACTION,
        place=around.place,
        speaker=speaker_of(reaction.author, around.settings),
        subject=str(reaction.message),
        at=reaction.at,
        text=one_line(reaction.emoji, 64),
        answer=False,
        extras=Extras(block_notes(reaction.author, around.info, around.participants)),
    )


def speaker_of(author: Author, settings: DiscordSettings) -> Speaker:
    return Speaker(
        id=person_id(author.id),
        name=author.shown,
        username=flatten(author.username),
        trust=trust_of(author, settings),
    )
