"""Converts discord.py's objects to plain values."""

import discord

from sources.attachments import Offered
from sources.base import Quoted
from sources.discord.cards import words_of
from sources.discord.notifications import Author, Heard
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


def heard_of(message: discord.Message, state: SharedState, author: Author | None = None) -> Heard:
    """A person's message; `author` if more is known of them than the message says."""
    own_roles = [role for role in message.role_mentions if role.tags and role.tags.bot_id == state.me]
    return Heard(
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


def _quoted(message: discord.Message, state: SharedState) -> Quoted | None:
    if message.type is not discord.MessageType.reply or message.reference is None:
        return None
    answered = message.reference.resolved
    if not isinstance(answered, discord.Message) or state.wiring.ignored(person_id(answered.author.id)):
        return None
    name = flatten(answered.author.display_name) or str(answered.author.id)
    return Quoted(str(answered.id), name, shortened(words_of(answered)), by_us=state.ours(answered))


def offered_of(message: discord.Message) -> list[Offered]:
    """The files of a message, including those of a forwarded one."""
    files = [*message.attachments, *(file for part in message.message_snapshots for file in part.attachments)]
    return [Offered(file.filename, file.content_type or "", file.size, file.url) for file in files]
