"""The front ends that the configuration asks for, beside the terminal, which is always there."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from bot.config import Config
from bot.interfaces import socket
from bot.services.approvals import Approvals
from bot.services.chat import Talking
from bot.services.constellations import Household
from bot.services.front_ends import FrontEnds
from bot.services.gaps import Gaps
from bot.services.halt import Halt
from bot.services.jobs import Schedule
from bot.services.people import Community
from bot.services.places import Places
from bot.services.registry import Registry
from bot.services.restart import Restart
from memory.store.clock import Clock
from sources.base import Front

_MODULES = {"discord": "bot.interfaces.discord.frontend", "bluesky": "bot.interfaces.bluesky"}


@dataclass(frozen=True)
class Services:
    """What a front end lets people ask and answer."""

    front_ends: FrontEnds
    approvals: Approvals
    halt: Halt
    community: Community
    places: Places
    schedule: Schedule
    household: Household
    talking: Talking
    restart: Restart
    registry: Registry
    gaps: Gaps

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {**self.household.handlers(), **socket.handlers(self.registry)}


class _Connect(Protocol):
    def __call__(self, config: Config, services: Services, clock: Clock) -> Front: ...


def connect_fronts(config: Config, services: Services, clock: Clock, *, wanted: bool = True) -> tuple[Front, ...]:
    """Make what is configured, if any is wanted. A library is loaded only for a front end that is used."""
    found = []
    for name in config.sources:
        if wanted:
            connect = cast("_Connect", importlib.import_module(_MODULES[name]).connect)
            found.append(connect(config, services, clock))
        else:
            services.front_ends.states[name] = lambda: "not connected: only a chat is running; `carina run` connects it"
    return tuple(found)
