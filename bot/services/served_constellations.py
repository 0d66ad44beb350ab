"""The constellations of a data folder, each opened with its services on demand."""

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from msgspec import Struct, field

from bot.agents.mcp import Servers
from bot.agents.owner_notices import owner_notices
from bot.agents.permissions.approval_requests import Broker
from bot.agents.turn_deps import TypingPeople
from bot.config import Config
from bot.models.catalog import ModelSelection
from bot.redactor import Redactor
from bot.runtime.constellation import ConstellationRuntime
from bot.runtime.halt import HaltState
from bot.runtime.intake import AudienceResolver, SharedParts
from bot.runtime.open_constellations import OpenConstellations
from bot.runtime.previews import Broadcast
from bot.runtime.replication import Replication
from bot.runtime.router import Router
from bot.services.agents.addressees import Addressees
from bot.services.agents.constellations import ConstellationCommands, named
from bot.services.caller import Caller
from bot.services.names import looked_up
from bot.services.people.admission_of_strangers import Access, configured_rules
from bot.services.people.approvals import Approvals
from bot.services.people.opted_out_people import Choices
from bot.services.people.people_and_linked_accounts import Accounts
from bot.services.people.person_erasure import Eraser
from bot.services.people.place_settings import AccountSettings, Places
from bot.services.people.privacy import Privacy
from bot.services.people.sign_in_links import SignInLinks
from bot.services.people.web_access import WebAccess
from bot.services.registry import ArgumentNames, Operation, Registry, Suggested
from bot.services.results import Plain, Result
from bot.services.system.jobs import Schedule
from bot.services.system.restart import Restart
from bot.services.system.sources import SourceSettings
from bot.upkeep.embedding import Embedders, Embedding
from memory import jobs
from memory.queue import inbox
from memory.store.clock import Clock
from memory.store.constellations import Constellation, Constellations
from memory.store.data_folder import DataFolder
from memory.store.database import Database, Rows
from memory.store.ids import ConstellationId, PersonId
from scheduler.job_kinds import Kinds, OpenConstellation
from scheduler.runner import Runner
from sources.base import Front
from sources.terminal import Journal, TerminalEndpoint, TerminalSource

_SETTLE_SECONDS = 5.0  # for earlier messages to be stored


class Shared(Struct, frozen=True):
    config: Config
    clock: Clock
    folder: DataFolder
    constellations: Constellations
    configured: ConstellationId
    """The configured constellation, to which all unassigned places belong."""
    home: Database
    """The configured one's database, which also has the settings of accounts: it is always open."""
    accounts: AccountSettings
    parts: SharedParts
    models: ModelSelection
    embedders: Embedders
    mcp: Servers
    halt: HaltState
    broker: Broker
    choices: Choices
    audience: AudienceResolver
    journal: Journal
    restart: Restart
    replication: Replication
    sign_in_links: SignInLinks
    web_access: WebAccess
    started: datetime
    at_rest: bool = False
    """For a command on files that no service uses: nothing is created, scheduled or started."""
    typing: TypingPeople = field(default_factory=TypingPeople)


class Services(Struct, frozen=True):
    runtime: ConstellationRuntime
    events: Broadcast
    terminal: tuple[TerminalSource, TerminalEndpoint]
    approvals: Approvals
    places: Places
    schedule: Schedule
    kinds: Kinds
    """What its jobs do."""
    fronts: tuple[Front, ...]
    """The terminal of this constellation, and the front ends of the service."""
    embedding: Embedding
    talking: Addressees
    data_sources: SourceSettings
    registry: Registry
    privacy: Privacy
    halt: HaltState

    @property
    def database(self) -> Database:
        return self.runtime.database


class ServedConstellations:
    """The constellations of a data folder, each opened with its services on demand."""

    def __init__(self, shared: Shared, compose: "Compose", connect: "Connect") -> None:
        self.shared = shared
        self._compose = compose
        constellations, clock, parts = shared.constellations, shared.clock, shared.parts
        self._open: dict[ConstellationId, Services] = {}
        self.opened = OpenConstellations(self.make, parts.supervisor)
        self.router = Router(constellations, self.opened, shared.configured, parts)
        redact = Redactor(shared.config.secrets()).text
        self.runner = Runner(constellations, self.jobs, clock, self.router.resume, redact, self._earliest)
        self.settle = functools.partial(self.router.taken_in, _SETTLE_SECONDS)
        people = shared.broker.terms.people
        self.accounts = Accounts(constellations, people, shared.audience, clock, self.settle, self.router.moved)
        after = self.settle, self.router.moved, self._erased, shared.broker.erased, self.router.resume
        eraser = Eraser(constellations, shared.folder.path, clock, *after, shared.replication.paused)
        zone = shared.config.schedule.zone_name()
        self.privacy = Privacy(constellations, people, shared.choices, eraser, clock, self._looked_up, zone)
        known = constellations, shared.config, clock, shared.configured
        self.commands = ConstellationCommands(*known, self._is_open, self.opened.shut)
        resume = functools.partial(self.router.resume, shared.configured)
        rules = configured_rules(shared.config)
        notices = owner_notices(shared.config)
        self.access = Access(shared.home, shared.broker.terms, clock, resume, rules, notices, self._looked_up)
        self.fronts = connect(self)
        """The front ends, without the terminal, which each constellation has for itself."""

    @property
    def configured(self) -> Services:
        """The services of the configured constellation, which is always open while the service runs."""
        return self._open[self.shared.configured]

    @asynccontextmanager
    async def use(self, identifier: ConstellationId) -> AsyncIterator[Services]:
        """The services of one constellation, which stays open within the context."""
        async with self.opened.use(identifier):
            yield self._open[identifier]

    @asynccontextmanager
    async def at(self, bindings: Iterable[str]) -> AsyncIterator[Services]:
        async with self.use(self.shared.constellations.of_place(bindings, self.shared.configured)) as services:
            yield services

    def _is_open(self, identifier: ConstellationId) -> bool:
        return self.opened.get(identifier) is not None

    def _earliest(self, identifier: ConstellationId, rows: Rows) -> datetime | None:
        """When a constellation must be checked: for a job or, if it is not open, for messages that wait there."""
        job, rest = jobs.earliest(rows), timedelta(seconds=self.opened.rested(identifier))
        if self._is_open(identifier) or self.shared.halt.halted:
            return job
        found = inbox.earliest(rows)
        other = None if found is None else max(found, self.shared.clock() + rest)
        return min((each for each in (job, other) if each is not None), default=None)

    def release(self) -> None:
        """Continue waiting work after a halt, also in constellations that are not open."""
        self.router.release()
        for each in self.shared.constellations.all():
            self.runner.changed(each.id)

    async def _looked_up(self, said: str) -> str:
        return await looked_up(said, self.fronts)

    async def load(self) -> None:
        """Read stored settings and choices; call this before accepting any message."""
        await self._erased()
        await self.shared.choices.load()

    async def _erased(self) -> None:
        """Reload cached data about people: an erasure may have changed it."""
        await self.shared.accounts.load()
        await self.access.load()
        await self.accounts.load()

    @asynccontextmanager
    async def jobs(self, identifier: ConstellationId) -> AsyncIterator[OpenConstellation]:
        async with self.use(identifier) as services:
            yield OpenConstellation(services.database, services.kinds)

    @asynccontextmanager
    async def make(self, identifier: ConstellationId) -> AsyncIterator[ConstellationRuntime]:
        shared, constellation = self.shared, self.shared.constellations.of(identifier)
        async with shared.constellations.use(identifier) as database:
            with ExitStack() as stack:
                services = await self._compose(self, constellation, database, stack)
                self._open[identifier] = services
                try:
                    yield services.runtime
                finally:
                    del self._open[identifier]
                    self.runner.changed(identifier)  # from now on, waiting work there opens it again


Compose: TypeAlias = Callable[[ServedConstellations, Constellation, Database, ExitStack], Awaitable[Services]]
"""Creates the services of one constellation (`bot.services.composition.compose`)."""

Connect: TypeAlias = Callable[[ServedConstellations], tuple[Front, ...]]
"""Creates the front ends; they find the services when they run."""


class ServedRegistry(Registry):
    """The registry of a constellation, which is opened for the call if necessary; made while the configured one is."""

    def __init__(self, served: ServedConstellations) -> None:
        self._served = served
        self.operations = served.configured.registry.operations

    async def call(
        self, name: str, caller: Caller, given: Mapping[str, Any], called: ArgumentNames | None = None
    ) -> Result:
        async with self._of(caller) as registry:
            return await registry.call(name, caller, given, called)

    def language(self, person: PersonId) -> str:
        return self._served.shared.accounts.language(person)

    async def plain(self, caller: Caller) -> Plain:
        async with self._of(caller) as registry:
            return await registry.plain(caller)

    async def suggest(self, name: str, argument: str, caller: Caller, given: Mapping[str, Any]) -> Suggested:
        async with self._of(caller) as registry:
            return await registry.suggest(name, argument, caller, given)

    async def permitted(self, operations: Sequence[Operation], caller: Caller) -> list[Operation]:
        async with self._of(caller) as registry:
            return await registry.permitted(operations, caller)

    @asynccontextmanager
    async def _of(self, caller: Caller) -> AsyncIterator[Registry]:
        shared = self._served.shared
        identifier = shared.configured
        if caller.constellation:
            identifier = named(shared.constellations, caller.constellation)
        elif caller.location is not None:
            identifier = shared.constellations.of_place(caller.location.bindings, shared.configured)
        async with self._served.use(identifier) as services:
            yield services.registry
