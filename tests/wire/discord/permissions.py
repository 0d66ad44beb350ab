"""Permission bits by the names discord.py gives them."""

from __future__ import annotations

from collections.abc import Iterable

_BIT: dict[str, int] = {
    "create_instant_invite": 0,
    "kick_members": 1,
    "ban_members": 2,
    "administrator": 3,
    "manage_channels": 4,
    "manage_guild": 5,
    "add_reactions": 6,
    "view_audit_log": 7,
    "view_channel": 10,
    "send_messages": 11,
    "send_tts_messages": 12,
    "manage_messages": 13,
    "embed_links": 14,
    "attach_files": 15,
    "read_message_history": 16,
    "mention_everyone": 17,
    "external_emojis": 18,
    "connect": 20,
    "speak": 21,
    "change_nickname": 26,
    "manage_nicknames": 27,
    "manage_roles": 28,
    "manage_webhooks": 29,
    "use_application_commands": 31,
    "manage_threads": 34,
    "create_public_threads": 35,
    "create_private_threads": 36,
    "send_messages_in_threads": 38,
    "moderate_members": 40,
    "send_polls": 49,
    "use_external_apps": 50,
    "pin_messages": 51,
}


def bits(names: Iterable[str]) -> int:
    """The permission integer for these names."""
    return sum(1 << _BIT[name] for name in set(names))


ALL = bits(_BIT)
VIEW = bits(["view_channel"])
ADMINISTRATOR = bits(["administrator"])

PLAIN = (
    "create_instant_invite",
    "add_reactions",
    "view_channel",
    "send_messages",
    "embed_links",
    "attach_files",
    "read_message_history",
    "external_emojis",
    "connect",
    "speak",
    "change_nickname",
    "use_application_commands",
    "create_public_threads",
    "create_private_threads",
    "send_messages_in_threads",
)
"""What @everyone may do in a new guild."""

BOT = ("manage_webhooks", "manage_messages", "manage_threads")
"""What the bot's own role adds to that."""

DIRECT = bits(["add_reactions", "view_channel", "send_messages", "embed_links", "attach_files", "read_message_history"])
"""What both sides may do in a direct channel."""
