"""The front ends that the configuration asks for, beside the terminal, which is always there."""

import importlib
from typing import Protocol, cast

from bot.config import Config
from bot.desk import Desk
from memory.clock import Clock
from sources.base import Front


class _Connect(Protocol):
    def __call__(self, config: Config, desk: Desk, clock: Clock) -> Front: ...


def connect_fronts(config: Config, desk: Desk, clock: Clock) -> tuple[Front, ...]:
    """Make what is configured. A library is loaded only for a front end that is used."""
    if config.discord_token is None:
        return ()
    connect = cast("_Connect", importlib.import_module("bot.discord_ui").connect)
    return (connect(config, desk, clock),)
