"""The configured front ends, besides the terminal, which always exists."""

import importlib
from typing import Protocol, cast

from bot.config import Config
from bot.services.composition import ServedConstellations, Services
from sources.base import Front
from texts import _, gettext_noop

_MODULES = {"discord": "bot.interfaces.discord.frontend", "bluesky": "bot.interfaces.bluesky"}
_NOT_CONNECTED = gettext_noop("not connected: only a chat is running; `carina run` connects it")


class _Connect(Protocol):
    def __call__(self, config: Config, served: ServedConstellations, services: Services) -> Front: ...


def connect_fronts(
    config: Config, served: ServedConstellations, services: Services, *, wanted: bool = True
) -> tuple[Front, ...]:
    """Connect the configured front ends. Each library is loaded only if its front end is used.

    `services` are those of the configured constellation, which is always open.
    """
    found = []
    for name in config.sources:
        if wanted:
            connect = cast("_Connect", importlib.import_module(_MODULES[name]).connect)
            found.append(connect(config, served, services))
        else:
            services.front_ends.connected.words[name] = lambda: _(_NOT_CONNECTED)
            services.front_ends.connected.beside[name] = lambda: False
    return tuple(found)
