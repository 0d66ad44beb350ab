"""Configuration, read once: environment, `.env` and one TOML file become a frozen `Config`.

This package is the only one that reads the environment or the file. Secrets come from the environment or `.env`, never
from TOML. Every problem is reported at once, by the name of its key, with what was found and what is expected; a
secret's value is never shown. Every setting is explained in docs/configuration.md.
"""

from bot.config.blocks import Block
from bot.config.bluesky import BlueskySettings
from bot.config.loader import Config, Environment, load_config, load_here
from bot.config.tables import (
    Agent,
    Approvals,
    Constellation,
    DiscordSettings,
    FileSettings,
    Group,
    Limits,
    Memory,
    ModelSettings,
    People,
    ScheduleSettings,
    TerminalSettings,
    Web,
    default_blocks,
)
from bot.config.values import KEY_OF_PROVIDER, OFFLINE, Mode

__all__ = [
    "KEY_OF_PROVIDER",
    "OFFLINE",
    "Agent",
    "Approvals",
    "Block",
    "BlueskySettings",
    "Config",
    "Constellation",
    "DiscordSettings",
    "Environment",
    "FileSettings",
    "Group",
    "Limits",
    "Memory",
    "Mode",
    "ModelSettings",
    "People",
    "ScheduleSettings",
    "TerminalSettings",
    "Web",
    "default_blocks",
    "load_config",
    "load_here",
]
