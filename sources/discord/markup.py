"""Discord's own forms: timestamps, lengths, URLs of messages, and the invitation with the least necessary permissions.

Imports no library.
"""

import base64
import binascii
from collections.abc import Iterable
from datetime import datetime
from urllib.parse import urlencode

from memory.people.audience import Audience
from memory.store.ids import PlaceId
from texts import Times, moment_text

_ADD_REACTIONS = 1 << 6
_VIEW_CHANNEL = 1 << 10
_SEND_MESSAGES = 1 << 11
_ATTACH_FILES = 1 << 15
_READ_MESSAGE_HISTORY = 1 << 16
_MANAGE_WEBHOOKS = 1 << 29
_CREATE_PUBLIC_THREADS = 1 << 35
_SEND_MESSAGES_IN_THREADS = 1 << 38


PERMISSIONS = _VIEW_CHANNEL | _READ_MESSAGE_HISTORY | _SEND_MESSAGES | _SEND_MESSAGES_IN_THREADS
PERMISSIONS |= _ATTACH_FILES | _ADD_REACTIONS
PERMISSIONS |= _MANAGE_WEBHOOKS | _CREATE_PUBLIC_THREADS  # for agents' own names, and to open threads


def times_of(source: str) -> Times:
    """How times are written for readers of a source; Discord renders its own timestamps in each reader's zone."""
    return _discord_time if source == "discord" else moment_text


def _discord_time(moment: datetime) -> str:
    stamp = int(moment.timestamp())
    return f"<t:{stamp}:f>, <t:{stamp}:R>"


def units(text: str) -> int:
    """Length in UTF-16 units: what Discord's clients count, and never less than what its servers count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def invite_url(application_id: int) -> str:
    """Where an administrator of a guild adds the bot."""
    query = {
        "client_id": application_id,
        "scope": "bot applications.commands",
        "permissions": PERMISSIONS,
    }
    return f"https://discord.com/oauth2/authorize?{urlencode(query)}"


def application_of(token: str) -> int | None:
    """The application of a bot token, from the token alone; None for an invalid token."""
    head = token.strip().removeprefix("Bot ").partition(".")[0]
    try:
        number = base64.b64decode(head + "=" * (-len(head) % 4), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return int(number) if number.isdecimal() else None


_DISCORD = "discord:"


def message_link(place: PlaceId, kind: str, heard_by: Iterable[Audience], external_id: str) -> str:
    """The URL of a message; empty if there is none (the terminal), or too little is known of the place.

    `kind` is the place's, `heard_by` its audience and wider ones: they name its guild.
    """
    channel = place.removeprefix(_DISCORD)
    if not (place.startswith(_DISCORD) and channel.isdecimal() and external_id.isdecimal()):
        return ""
    guilds = [audience.removeprefix(f"guild:{_DISCORD}") for audience in heard_by if audience.startswith("guild:")]
    guild = "@me" if kind in ("direct", "group") else next(iter(guilds), "")
    return f"https://discord.com/channels/{guild}/{channel}/{external_id}" if guild else ""
