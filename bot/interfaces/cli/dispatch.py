"""Asking the process that holds the data folder, or doing the work here when none does."""

import functools
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from bot.agents.notices import Notices
from bot.agents.permissions.broker import Broker
from bot.agents.tools import make_tools, web_tools
from bot.agents.tools.halt import EmergencyHaltTool
from bot.config import Config
from bot.errors import UserError
from bot.interfaces.cli.database_files import require_data
from bot.interfaces.service_client import ANSWER_SECONDS, TakesNoCommands, holder_of
from bot.models.selection import open_models
from bot.runtime.bootstrap import known_constellation
from bot.runtime.intake import AudienceResolver
from bot.secrets import Redactor
from bot.services.agents import Agents
from bot.services.approvals import Approvals, approval_terms
from bot.services.budgets import configured_budgets, open_spending
from bot.services.build import build_registry
from bot.services.configuration import ConfigurationFile
from bot.services.constellations import Household
from bot.services.databases import Databases
from bot.services.folders import Folders
from bot.services.groups import Groups
from bot.services.inbox import Inbox
from bot.services.maintenance import open_backups, open_reminders, open_schedule
from bot.services.outbox import Outbox
from bot.services.people import Ground, at_rest, nobody, open_community
from bot.services.permits import Permits
from bot.services.places import open_places
from bot.services.privacy import Choices
from bot.services.registry import Registry
from bot.services.search import Search
from bot.services.upkeep import open_upkeep
from bot.services.web_access import WebAccess
from bot.upkeep.embedding import open_embedding
from memory.store.clock import utc_now
from memory.store.constellation import Constellations
from memory.store.errors import FolderLocked
from memory.store.folder import DataFolder
from memory.store.ids import ConstellationId
from sources.terminal import PLACE, SOURCE

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
    async with _opened(config, folder) as (doors, _registry):
        return await _handler(doors, operation)(**arguments)


@asynccontextmanager
async def open_registry(config: Config) -> AsyncIterator[Registry]:
    """The operations, done in this process while it holds the data folder. Raises FolderLocked, UserError."""
    async with _opened(config, require_data(config)) as (_doors, registry):
        yield registry


@asynccontextmanager
async def _opened(config: Config, folder: DataFolder) -> AsyncIterator[tuple[Iterable[Any], Registry]]:
    with folder.lock():
        async with (
            AsyncExitStack() as stack,
            Constellations.open(folder.path, utc_now) as constellations,
            open_models(config, utc_now) as thinking,
        ):
            house, answering = await known_constellation(config, constellations, _house_of(config, constellations))
            database = await stack.enter_async_context(constellations.use(house))
            embedding = await stack.enter_async_context(open_embedding(config, database))
            understood = functools.partial(embedding.understood, seconds=_MEANING_SECONDS)
            approvals = Approvals(database, Broker(approval_terms(config)), utc_now, lambda: None)
            places = await open_places(config, approvals, answering, {})
            schedule = open_schedule(config, constellations, house, approvals, lambda _house: None)
            people = approvals.people
            guards = Choices(constellations, utc_now, people.selves), AudienceResolver(people)
            ground = Ground(constellations, folder.path, *guards, at_rest, nobody)
            community = await open_community(config, approvals, ground)
            notices = Notices(PLACE.id, SOURCE)  # nothing is said here
            tools = make_tools({}, EmergencyHaltTool(None), *web_tools(config.web))
            store = database, approvals.people
            kept = configured_budgets(config)
            spending = await open_spending(approvals, kept, at_start=False)
            agents = Agents(config, approvals, answering, lambda _turns: None)
            groups = Groups(config, approvals, places)
            doors = (Household(constellations, house),)
            open_reminders(config, approvals, schedule, community.privacy.choices, notices)
            looking = Search(*store, utc_now, config.schedule.zone_name(), understood)
            ready = (
                *community.services,
                *(places, spending, Outbox(database, lambda: None), looking),
                Folders(database, folder.path, utc_now),
                open_upkeep(config, approvals, schedule, (kept, thinking), lambda: False),
                *(Inbox(database, lambda *_conversation: None), Databases(constellations)),
                open_backups(config, approvals, schedule),
                *(agents, groups, ConfigurationFile(config.file, agents, groups)),
                Permits(approvals, tools),
                WebAccess(constellations.registry, utc_now, lambda: ""),
            )
            yield doors, build_registry(config, approvals, schedule, community.privacy.choices, ready)


def _handler(doors: Iterable[Any], operation: str) -> Callable[..., Any]:
    """Who does an operation, by the names that the control socket knows."""
    handlers: dict[str, Callable[..., Any]] = {}
    for door in doors:
        handlers |= door.handlers()
    return handlers[operation]


def _house_of(config: Config, constellations: Constellations) -> ConstellationId:
    """The constellation that is configured. Raises UserError where it is not there; a command makes none."""
    name = config.constellation.name
    if (found := constellations.named(name)) is not None:
        return found.id
    known = ", ".join(f'"{each.name}"' for each in constellations.all()) or "none"
    raise UserError(
        f'there is no constellation "{name}" in {config.home}; known there: {known}. `carina run` makes it, or set '
        f"constellation.name in {config.file.name} to one that is known"
    )
