"""Asking the process that holds the data folder, or doing the work here when none does."""

import functools
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any

from bot.broker import Broker
from bot.cli.files import require_data
from bot.cli.holder import ANSWER_SECONDS, TakesNoCommands, holder_of
from bot.config import Config
from bot.desks.approving import Approvals, approval_terms
from bot.desks.archive import Archive
from bot.desks.budgeting import configured_budgets, open_budgeting
from bot.desks.community import nobody, open_community
from bot.desks.coordinating import Coordinating
from bot.desks.costs import Costs
from bot.desks.facts import Facts
from bot.desks.folders import Folders
from bot.desks.granting import Granting
from bot.desks.household import open_household
from bot.desks.operations import Operations
from bot.desks.projects import Projects
from bot.desks.remembering import Remembering
from bot.desks.searching import Searching
from bot.desks.states import States
from bot.desks.steering import open_steering
from bot.desks.summaries import open_summaries
from bot.desks.undelivered import Outbox
from bot.desks.why import Why
from bot.dreams.desk import open_dreams
from bot.embedding import open_embedding
from bot.errors import UserError
from bot.houses import open_house
from bot.notices import Notices
from bot.secrets import Redactor
from bot.thinking import open_models
from bot.tools import make_tools, web_tools
from bot.tools.halt import EmergencyHaltTool
from bot.upkeep import open_agenda, open_backups, open_schedule
from memory.clock import utc_now
from memory.constellation import Constellations
from memory.errors import FolderLocked
from memory.folder import DataFolder
from memory.ids import PersonId
from sources.terminal import PERSON, PLACE, SOURCE

_MEANING_SECONDS = 3.0  # for a question; it may have to load the model first, which a service has done long ago


async def ask(config: Config, operation: str, within: float | None = ANSWER_SECONDS, **arguments: Any) -> Any:
    """Ask who holds the folder, waiting so many seconds, or do it here when nobody does. Raises UserError.

    What is written down of it holds no secret, whatever was typed or read from a file.
    """
    folder, arguments = require_data(config), Redactor(config.secrets()).clean(arguments)
    if (holder := holder_of(folder)) is None:
        return await _do(config, folder, operation, arguments)
    try:
        return await holder.ask(operation, within, **arguments)
    except TakesNoCommands as error:
        try:
            return await _do(config, folder, operation, arguments)  # it may have been a command that is over
        except FolderLocked:
            raise error from None


async def _do(config: Config, folder: DataFolder, operation: str, arguments: Mapping[str, Any]) -> Any:
    """Do it here, holding the folder. Raises FolderLocked when somebody else holds it."""
    with folder.lock():
        async with (
            AsyncExitStack() as stack,
            Constellations.open(folder.path, utc_now) as constellations,
            open_models(config, utc_now) as thinking,
        ):
            _require_house(config, constellations)
            house, answering = await open_house(config, constellations, PersonId(PERSON), utc_now)
            embedding = await stack.enter_async_context(open_embedding(config, constellations, house))
            understood = functools.partial(embedding.understood, seconds=_MEANING_SECONDS)
            approvals = Approvals(constellations, house, Broker(approval_terms(config)), utc_now, lambda: None)
            steering = await open_steering(config, approvals, answering)
            schedule = open_schedule(config, approvals, utc_now)
            community = await open_community(config, approvals, (folder.path, utc_now))
            notices = Notices(PLACE.id, SOURCE)  # nothing is said here
            tools = make_tools({}, EmergencyHaltTool(), *web_tools(config.web))
            store = constellations, house, approvals.people
            kept = configured_budgets(config)
            doors = (
                Operations(constellations, house, lambda *_lane: None),
                approvals,
                community,
                steering,
                open_household(config, approvals, steering, nobody),
                await open_budgeting(approvals, kept, at_start=False),
                Remembering(*store, utc_now, config.memory.checkpoints()),
                Costs(*store, utc_now),
                Archive(*store, utc_now),
                Searching(*store, utc_now, config.schedule.zone_name(), understood),
                Granting(*store, utc_now, tools),
                Why(*store, utc_now),
                Outbox(*store, lambda: None),
                Coordinating(*store, utc_now),
                schedule,
                open_agenda(config, approvals, schedule, community.privacy.choices, notices),
                open_backups(config, approvals, schedule),
                Folders(constellations, house, folder.path, utc_now),
                Facts(*store, utc_now, community.privacy.choices.withheld),
                Projects(*store, utc_now, community.privacy.choices.withheld),
                open_summaries(config, approvals),
                States(approvals),
                open_dreams(config, approvals, schedule, (kept, thinking)),
            )
            return await _handler(doors, operation)(**arguments)


def _handler(doors: Iterable[Any], operation: str) -> Callable[..., Any]:
    """Who does an operation, by the names that the control socket knows."""
    handlers: dict[str, Callable[..., Any]] = {}
    for door in doors:
        handlers |= door.handlers()
    return handlers[operation]


def _require_house(config: Config, constellations: Constellations) -> None:
    """Raise UserError unless the constellation that is configured is there; a command makes none."""
    name = config.constellation.name
    if constellations.named(name) is not None:
        return
    known = ", ".join(f'"{each.name}"' for each in constellations.all()) or "none"
    raise UserError(
        f'there is no constellation "{name}" in {config.home}; known there: {known}. `carina run` makes it, or set '
        f"constellation.name in {config.file.name} to one that is known"
    )
