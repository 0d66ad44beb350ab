"""Discord as people see it: the connection, and the slash commands."""

from bot.discord_ui.connecting import connect

__all__ = ["connect"]
