"""Converts discord.py's objects to plain values, and downloads the files of a message from Discord's servers alone."""

import asyncio
import dataclasses
from urllib.parse import urlsplit

import aiohttp
import discord

from memory.queue.payloads import Quotation
from memory.store.faults import call_point, outside
from sources.attachments import MAX_TEXT, consider, may_be_text, with_text
from sources.base import Attachment
from sources.discord.answer_rules import Author, DiscordMessage
from sources.discord.cards import words_of
from sources.discord.places import person_id, shortened
from sources.discord.shared_state import SharedState
from sources.text import flatten, one_line

MOST_FORWARDED, MOST_EMBED = 4_000, 1_000
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
        mentioned_channels={channel.id: channel.name for channel in message.channel_mentions},
        extras=_extras(message),
        quoted=_quoted(message, state),
        calls_us=any(user.id == state.me for user in message.mentions) or bool(own_roles),
        own_roles=frozenset(role.id for role in own_roles),
    )


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
    return [Attachment(file.filename, file.content_type or "", file.size, file.url) for file in files]


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

SECONDS = 8.0
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
        body = await outside(ATTACHMENT, download(url, MAX_TEXT), SECONDS)
    except TimeoutError:
        return dataclasses.replace(one, skipped="the download took too long")
    except FetchFailed as why:
        return dataclasses.replace(one, skipped=str(why))
    return with_text(one, body)
