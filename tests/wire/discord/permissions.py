"""Permission bits by the names discord.py gives them."""

from __future__ import annotations

from collections.abc import Iterable

from discord import Permissions


def bits(names: Iterable[str]) -> int:
    """The permission integer for these names."""
    return Permissions(**dict.fromkeys(names, True)).value


ALL = Permissions.all().value
VIEW = bits(["view_channel"])
ADMINISTRATOR = bits(["administrator"])

PLAIN = (
    "create_instant_invite add_reactions view_channel send_messages embed_links attach_files read_message_history "
    "external_emojis connect speak change_nickname use_application_commands create_public_threads "
    "create_private_threads send_messages_in_threads"
)
"""What @everyone may do in a new guild."""

BOT = ("manage_webhooks", "manage_messages", "manage_threads")
"""What the bot's own role adds to that."""

DIRECT = bits(["add_reactions", "view_channel", "send_messages", "embed_links", "attach_files", "read_message_history"])
"""What both sides may do in a direct channel."""
