"""Converts messages, as plain values, to notifications: pure. Whether they are answered: `answer_rules`."""

import re
from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from memory.queue.payloads import BlockNote
from memory.store.ids import PersonId
from memory.store.records import replace
from sources.base import Kind, Notification, Place, PlaceKind, Speaker, deletion
from sources.discord.answer_rules import Author, DiscordMessage, trust_of
from sources.discord.places import NAME, ChannelInfo, person_id
from sources.discord.settings import DiscordSettings
from sources.text import flatten, one_line, without_call_behind

MOST_ROLES = 20
"""Roles of a person that are named; the others are counted."""

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
        quoted=message.quoted,
        blocks=blocks(message.author, around),
        mentioned=names,
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
        blocks=blocks(reaction.author, around),
    )


def speaker_of(author: Author, settings: DiscordSettings) -> Speaker:
    return Speaker(
        id=person_id(author.id),
        name=author.shown,
        username=flatten(author.username),
        roles=role_names(author),
        trust=trust_of(author, settings),
    )


def role_names(author: Author) -> tuple[str, ...]:
    return tuple(name for name in (flatten(role) for role in list(author.roles.values())[:MOST_ROLES]) if name)


def _more(author: Author) -> str:
    left = len(author.roles) - MOST_ROLES
    return f" and {left} more" if left > 0 else ""


def blocks(author: Author, around: MessageContext) -> tuple[BlockNote, ...]:
    """The ephemeral blocks of the place and of the person, by id, so that they survive a rename."""
    info = around.info
    thread = info.kind is PlaceKind.THREAD
    lines = [
        ("Thread" if thread else "Channel", info.name),
        ("Server", info.guild_name),
        ("Topic", info.topic),
        ("Recently here", ", ".join(around.participants)),
    ]
    user = [
        ("Name here", author.shown),
        ("Username", flatten(author.username)),
        ("Roles here", ", ".join(role_names(author)) + _more(author)),
        ("Member since", author.joined.date().isoformat() if author.joined else ""),
    ]
    about: PersonId = person_id(author.id)
    return (
        BlockNote(
            label=f"discord_{'thread' if thread else 'channel'}:{info.id}",
            description="Notes on this Discord thread." if thread else "Notes on this Discord channel.",
            profile=_profile(lines),
        ),
        BlockNote(
            label=f"discord_user:{author.id}",
            description="Notes on the person who is speaking, made in this place.",
            profile=_profile(user),
            about=about,
        ),
    )


def _profile(lines: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"{what}: {value}" for what, value in lines if value)
