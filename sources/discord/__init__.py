"""Discord: its messages become notifications, agents' messages are sent there once.

Import from the modules: `source` (DiscordSource, Wiring), `settings`, `markup`. This file imports nothing, so
that printing an invitation does not load discord.py.
"""
