"""Discord: what is heard there becomes notifications, what agents say is said there once.

Import from the modules: `source` (DiscordSource, Wiring), `settings`, `errors`, `invite`. This file loads
nothing, so that whoever only prints an invitation does not load discord.py.
"""
