"""Configuration, read once: environment, `.env` and one TOML file become a frozen `Config`.

This package is the only one that reads the environment or the file. Secrets come from the environment or `.env`, never
from TOML. Every problem is reported at once, by the name of its key, with what was found and what is expected; a
secret's value is never shown. Every setting is explained in docs/settings.md.
"""

from bot.config.file_settings import Agent, Group
from bot.config.loader import Config, load_config, load_here
from bot.config.values import OFFLINE

__all__ = ["OFFLINE", "Agent", "Config", "Group", "load_config", "load_here"]
