"""The front ends that the configuration asks for, beside the terminal, which is always there."""

import importlib
from dataclasses import dataclass
from typing import Protocol, cast

from bot.approving import Approvals
from bot.community import Community
from bot.config import Config
from bot.desk import Desk
from bot.halting import Halt
from bot.operations import Operations
from bot.remembering import Remembering
from bot.steering import Steering
from bot.why import Why
from memory.clock import Clock
from sources.base import Front


@dataclass(frozen=True)
class Desks:
    """What a front end lets people ask and answer."""

    desk: Desk
    approvals: Approvals
    halt: Halt
    why: Why
    operations: Operations
    community: Community
    steering: Steering
    remembering: Remembering


class _Connect(Protocol):
    def __call__(self, config: Config, desks: Desks, clock: Clock) -> Front: ...


def connect_fronts(config: Config, desks: Desks, clock: Clock, *, wanted: bool = True) -> tuple[Front, ...]:
    """Make what is configured, if any is wanted. A library is loaded only for a front end that is used."""
    if config.discord_token is None:
        return ()
    if not wanted:
        desks.desk.front_states["discord"] = lambda: "not connected: only a chat is running; `carina run` connects it"
        return ()
    connect = cast("_Connect", importlib.import_module("bot.discord_ui").connect)
    return (connect(config, desks, clock),)
