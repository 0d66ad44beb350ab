"""The configured front ends, besides the terminal, which always exists."""

import importlib

from bot.config import Config
from bot.services.composition import ServedConstellations, Services
from sources.base import Front
from texts import _, gettext_noop

_MODULES = {"discord": "bot.interfaces.discord.frontend", "bluesky": "bot.interfaces.bluesky"}
_NOT_CONNECTED = gettext_noop("not connected: only a chat is running; `carina run` connects it")


def connect_fronts(
    config: Config, served: ServedConstellations, services: Services, *, wanted: bool = True
) -> tuple[Front, ...]:
    """Connect the configured front ends. Each library is loaded only if its front end is used.

    `services` are those of the configured constellation, which is always open.
    """
    found = []
    for name in config.sources:
        if wanted:
            front: Front = importlib.import_module(_MODULES[name]).connect(config, served, services)
            found.append(front)
        else:
            services.front_ends.connected.words[name] = lambda: _(_NOT_CONNECTED)
            services.front_ends.connected.beside[name] = lambda: False
    return tuple(found)
