"""The front ends that the configuration asks for, beside the terminal, which is always there."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from bot.config import Config
from bot.desks.agenda import Agenda
from bot.desks.approving import Approvals
from bot.desks.archive import Archive
from bot.desks.backups import Backups
from bot.desks.budgeting import Budgeting
from bot.desks.community import Community
from bot.desks.coordinating import Coordinating
from bot.desks.costs import Costs
from bot.desks.desk import Desk
from bot.desks.facts import Facts
from bot.desks.folders import Folders
from bot.desks.granting import Granting
from bot.desks.halting import Halt
from bot.desks.household import Household
from bot.desks.operations import Operations
from bot.desks.projects import Projects
from bot.desks.remembering import Remembering
from bot.desks.restarting import Restart
from bot.desks.schedule import Schedule
from bot.desks.searching import Searching
from bot.desks.states import States
from bot.desks.steering import Steering
from bot.desks.summaries import Summaries
from bot.desks.talking import Talking
from bot.desks.undelivered import Outbox
from bot.desks.why import Why
from bot.dreams.desk import Dreams
from bot.examining.apart import Examining
from memory.clock import Clock
from sources.base import Front

_MODULES = {"discord": "bot.discord_ui", "bluesky": "bot.bluesky"}


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
    costs: Costs
    granting: Granting
    archive: Archive
    searching: Searching
    outbox: Outbox
    schedule: Schedule
    coordinating: Coordinating
    household: Household
    budgeting: Budgeting
    talking: Talking
    agenda: Agenda
    backups: Backups
    folders: Folders
    facts: Facts
    projects: Projects
    summaries: Summaries
    states: States
    dreams: Dreams
    restart: Restart
    examining: Examining

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        doors = self.operations, self.approvals, self.halt, self.why, self.community, self.steering, self.coordinating
        books = self.remembering, self.costs, self.granting, self.archive, self.searching, self.outbox, self.schedule
        house = (
            *(self.household, self.budgeting, self.agenda, self.backups, self.folders, self.facts),
            self.projects,
            *(self.summaries, self.states, self.dreams, self.restart),
        )
        return {name: handler for door in (*doors, *books, *house) for name, handler in door.handlers().items()}


class _Connect(Protocol):
    def __call__(self, config: Config, desks: Desks, clock: Clock) -> Front: ...


def connect_fronts(config: Config, desks: Desks, clock: Clock, *, wanted: bool = True) -> tuple[Front, ...]:
    """Make what is configured, if any is wanted. A library is loaded only for a front end that is used."""
    found = []
    for name in config.sources:
        if wanted:
            connect = cast("_Connect", importlib.import_module(_MODULES[name]).connect)
            found.append(connect(config, desks, clock))
        else:
            desks.desk.front_states[name] = lambda: "not connected: only a chat is running; `carina run` connects it"
    return tuple(found)
