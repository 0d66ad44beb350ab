"""The composition root: every part is made here, once, and given what it needs."""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from bot.agents.additions import TypingPeople
from bot.agents.answers import package, too_long
from bot.agents.deps import Limits, OwnersSide, TurnDeps
from bot.agents.mcp.startup import Servers, open_servers
from bot.agents.notices import Notices, owner_notices
from bot.agents.patrols import quiet_hours
from bot.agents.permissions.broker import Broker
from bot.agents.rate_limits import Rates
from bot.agents.tools import make_tools, web_tools
from bot.agents.tools.halt import EmergencyHaltTool
from bot.agents.tools.recall import RecallTool
from bot.config import Config
from bot.errors import ConfigError
from bot.interfaces import control
from bot.interfaces.chat import Chat
from bot.interfaces.frontends import Services, connect_fronts
from bot.interfaces.group_requests import GroupRequests
from bot.interfaces.web.pulse import Pulse
from bot.interfaces.web.server import WebParts, WebServer
from bot.interfaces.web.talk import Talk
from bot.models.selection import ModelSelection, open_models
from bot.runtime.bootstrap import RoutingTable, open_constellation
from bot.runtime.conversation import Patience
from bot.runtime.halt import HaltState
from bot.runtime.intake import AudienceResolver, Gate
from bot.runtime.previews import Previews
from bot.runtime.progress import Progress
from bot.runtime.router import House, Router
from bot.runtime.supervision import Supervisor, Work, failure_words
from bot.runtime.turn_watchers import Broadcast, Typing
from bot.secrets import Redactor
from bot.services.agents import Agents
from bot.services.approvals import Approvals, approval_terms
from bot.services.budgets import configured_budgets, open_spending
from bot.services.build import build_registry
from bot.services.chat import Talking
from bot.services.configuration import ConfigurationFile
from bot.services.constellations import Household
from bot.services.databases import Databases
from bot.services.doctor import Doctor
from bot.services.folders import Folders
from bot.services.front_ends import FrontEnds
from bot.services.gaps import Gaps
from bot.services.groups import Groups
from bot.services.halt import Halt
from bot.services.inbox import Inbox
from bot.services.maintenance import open_backups, open_patrols, open_reminders, open_schedule
from bot.services.outbox import Outbox
from bot.services.people import Ground as CommunityGround
from bot.services.people import open_community
from bot.services.permits import Permits
from bot.services.places import open_places
from bot.services.privacy import Choices
from bot.services.restart import Restart
from bot.services.search import Search
from bot.services.status import Status, StatusSources
from bot.services.upkeep import open_upkeep
from bot.upkeep import expansion
from bot.upkeep.background_calls import Background
from bot.upkeep.compaction import Compactor
from bot.upkeep.embedding import Embedding, open_embedding
from bot.upkeep.idle import IdleMonitor
from bot.upkeep.integrity import IntegrityMonitor
from bot.upkeep.summaries import SummaryJob
from memory.queue.place_settings import Setting
from memory.store.clock import Clock, utc_now
from memory.store.constellation import Constellations
from memory.store.database import Database
from memory.store.errors import StoreError
from memory.store.faults import commit_point
from memory.store.folder import DataFolder
from memory.store.ids import ConstellationId, PersonId
from sources.base import Endpoint, Front
from sources.terminal import PERSON, Journal, TerminalEndpoint, TerminalSource

_TELL = commit_point("task.failed")
_END_SECONDS = 6.0  # for all that is under way together; then all is closed, and a container is killed after ten
_OPEN_CONSTELLATIONS = 64
_SETTLE_SECONDS = 5.0  # for what was heard before somebody is erased to be stored


@dataclass(frozen=True)
class App:
    """The service, made but not yet running."""

    router: Router
    chat: Chat
    errands: GroupRequests
    services: Services
    embedding: Embedding
    damage: IntegrityMonitor
    compactor: Compactor
    idling: IdleMonitor
    mcp: Servers
    fronts: tuple[Front, ...]
    events: Broadcast
    endpoints: Mapping[str, Endpoint]
    folder: DataFolder
    constellations: Constellations
    database: Database
    notices: Notices
    web: WebServer

    async def run(self, until: Callable[[], Awaitable[None]]) -> None:
        """Serve until `until` returns, then drain: no more is heard, turns reach a stored step, answers go out."""
        handlers: dict[str, Callable[..., Any]] = {
            **self.services.handlers(),
            "chat": self.chat.chat,
            "say": self.chat.say,
            "once": self.chat.once,
            "group.ask": self.errands.ask,
            **{name: handler for front in self.fronts for name, handler in front.handlers.items()},
        }
        async with asyncio.TaskGroup() as tasks:
            supervisor = Supervisor(tasks, self._tell, self.router.unstored)
            with ExitStack() as watching:
                watching.enter_context(self.events.listen(Typing(self.endpoints, supervisor)))
                previews = Previews(self.router, self.endpoints, supervisor)
                watching.enter_context(self.events.listen(previews))
                progress = Progress(self.router, self.database, self.endpoints, supervisor)
                watching.enter_context(self.events.listen(progress))
                watching.enter_context(self.events.listen(self.compactor.watch))
                watching.enter_context(self.events.listen(self.services.schedule.watch))
                await self.services.community.privacy.eraser.take_up()  # before anybody's words are used again
                await self.router.start(supervisor)
                listening = [supervisor.keep(name, work) for name, work in self.long_lived().items()]
                async with control.serve(self.folder, handlers):
                    await until()
                for front in self.fronts:
                    front.pause()
                finishing = (front.finish(_END_SECONDS) for front in self.fronts)
                ending = (self.router.drain(_END_SECONDS), self.constellations.hurry(), *finishing)
                await asyncio.gather(*(supervisor.once("end", work) for work in ending))
                for task in listening:
                    task.cancel()
                self.router.stop()
                previews.stop()
                progress.stop()

    def long_lived(self) -> dict[str, Work]:
        """What goes on until the service ends, by the names of its tasks; the router keeps its own."""
        fronts = {front.source.name: functools.partial(self._listen, front) for front in self.fronts}
        return {
            **fronts,
            "expiry of requests": self.services.approvals.watch,
            "erasures": self.services.community.privacy.eraser.run,
            "strangers": self.services.community.access.run,
            "embedding": functools.partial(self.embedding.run, lambda: self.router.busy),
            "damage": self.damage.run,
            "jobs": self.services.schedule.run,
            "compaction": self.compactor.run,
            "idle agents": self.idling.run,
            "MCP servers": self.mcp.run,
            "dashboard": self.web.run,
        }

    async def _tell(self, name: str, error: str) -> None:
        """Tell the owner that something keeps failing; once a day of each."""
        now = self.services.front_ends.clock()
        key, words = f"task/{name}/{now:%Y-%m-%d}", failure_words(name, error)
        await self.database.write(_TELL, lambda tx: self.notices.tell_owner(tx, key, words, now))
        self.services.approvals.resume()

    async def _listen(self, front: Front) -> None:
        await front.source.run(self.router.receive)


@dataclass(frozen=True)
class _Ground:
    """What everything else stands on."""

    config: Config
    clock: Clock
    folder: DataFolder
    constellations: Constellations
    house: ConstellationId
    database: Database
    answering: RoutingTable
    thinking: ModelSelection
    embedding: Embedding
    events: Broadcast
    mcp: Servers
    halt: HaltState
    broker: Broker
    choices: Choices
    audience: AudienceResolver
    web: WebParts
    typing: TypingPeople = field(default_factory=TypingPeople)
    paused: dict[str, Setting] = field(default_factory=dict)
    """The sources that are paused, as commands decide it while the service runs."""
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    """By source; filled last: front ends are given what acts through the router."""

    @property
    def gate(self) -> Gate:
        """What everything that is heard passes."""
        return Gate(self.halt, self.audience.heard_by, self.choices.withheld, self.paused.__contains__)


@asynccontextmanager
async def build(
    config: Config, clock: Clock = utc_now, *, fronts: bool = True, restarts: bool = False
) -> AsyncIterator[App]:
    """Make the service for a configuration, holding its data folder until the context ends.

    Without `fronts` only the terminal is there: for a chat without a running service. `restarts`: whoever runs this
    begins anew when the owner wants it.
    """
    async with AsyncExitStack() as stack:
        ground = await _open_ground(config, clock, stack)
        terminal = (
            TerminalSource(config.constellation.owner, clock),
            TerminalEndpoint(Journal(ground.folder.terminal_journal)),
        )
        turn_deps = _deps(ground)
        compactor = Compactor(ground.database, turn_deps)
        turn_deps = replace(turn_deps, shrink=compactor.shrink)
        by_state = functools.partial(ground.answering.by_state, selves=turn_deps.broker.terms.people.selves)
        house = House(ground.house, ground.answering, turn_deps, owner_notices(config), by_state)
        router = Router(
            ground.constellations, {house.id: house}, house.id, ground.endpoints, _patience(config), ground.gate
        )
        services = await _services(ground, house, router, Restart(possible=restarts))
        connected = (Front(*terminal), ground.web.front, *connect_fronts(config, services, clock, wanted=fronts))
        ground.endpoints.update({front.source.name: front.endpoint for front in connected})
        services.front_ends.states["dashboard"] = ground.web.listening.words
        services.front_ends.ready.update({front.source.name: functools.partial(_hears, front) for front in connected})
        chat = Chat(ground.database, router, terminal, ground.events, services)
        background = (
            ground.embedding,
            IntegrityMonitor(ground.database, house.notices, clock, services.approvals.resume),
            compactor,
            IdleMonitor(ground.database, clock, config.activity.kept(), services.schedule.changed),
            ground.mcp,
        )
        summarising = SummaryJob(Background.of(turn_deps), config.schedule.zone_name())
        summarising = replace(summarising, model=config.model.upkeep, enabled=config.schedule.summaries)
        replace(summarising, busy=lambda: router.busy).add(services.schedule.runner.kinds)
        errands = GroupRequests(ground.database, router, terminal[0], ground.events, services)
        talk = Talk(ground.database, router, ground.web.source, ground.events, services)
        yield App(
            router,
            chat,
            errands,
            services,
            *background,
            fronts=connected,
            events=ground.events,
            endpoints=ground.endpoints,
            folder=ground.folder,
            constellations=ground.constellations,
            database=ground.database,
            notices=house.notices,
            web=WebServer(config, ground.web, talk, services, clock, Pulse(ground.database)),
        )


async def _open_ground(config: Config, clock: Clock, stack: AsyncExitStack) -> _Ground:
    folder = open_folder(config)
    stack.enter_context(folder.lock())
    thinking = await stack.enter_async_context(open_models(config, clock))
    opening = Constellations.open(folder.path, clock, _OPEN_CONSTELLATIONS)
    constellations = await stack.enter_async_context(opening)
    house, answering = await open_constellation(config, constellations, PersonId(PERSON), clock)
    database = await stack.enter_async_context(constellations.use(house))
    embedding = await stack.enter_async_context(open_embedding(config, database))
    mcp = await open_servers(config, Redactor(config.secrets()).text)
    halt = HaltState(constellations, clock, config.approvals.halt_phrase)
    await halt.restore()
    broker = Broker(approval_terms(config))
    people = broker.terms.people
    return _Ground(
        config=config,
        clock=clock,
        folder=folder,
        constellations=constellations,
        house=house,
        database=database,
        answering=answering,
        thinking=thinking,
        embedding=embedding,
        events=Broadcast(),
        mcp=mcp,
        halt=halt,
        broker=broker,
        choices=Choices(constellations, clock, people.selves),
        audience=AudienceResolver(people),
        web=WebParts.open(config, constellations, clock),
    )


async def _services(ground: _Ground, house: House, router: Router, restart: Restart) -> Services:
    """What people ask and answer; what of it must hold before the first message is restored here."""
    config, clock = ground.config, ground.clock
    database, turn_deps = ground.database, house.turn_deps
    moved = functools.partial(router.moved, ground.house)
    approvals = Approvals(database, turn_deps.broker, clock, functools.partial(router.resume, ground.house))
    people = approvals.people
    settle = functools.partial(router.taken_in, _SETTLE_SECONDS)
    guards = (ground.choices, ground.audience, settle, router.moved)
    community = await open_community(
        config, approvals, CommunityGround(ground.constellations, ground.folder.path, *guards)
    )
    places = await open_places(config, approvals, ground.answering, ground.paused)
    spending = await open_spending(approvals, turn_deps.budgets, at_start=True)
    looking = Search(database, people, clock, config.schedule.zone_name(), ground.embedding.understood)
    front_ends = FrontEnds(database, ground.constellations, clock, ground.typing)
    schedule = open_schedule(config, ground.constellations, ground.house, approvals, router.resume)
    thought_with = turn_deps.budgets, ground.thinking
    agents, groups = Agents(config, approvals, ground.answering, moved), Groups(config, approvals, places)
    ready = (
        *community.services,
        *(places, spending, Outbox(database, approvals.resume), looking),
        Folders(database, ground.folder.path, clock),
        open_upkeep(config, approvals, schedule, thought_with, lambda: router.busy),
        *(Inbox(database, functools.partial(router.answer, ground.house)), Databases(ground.constellations)),
        *(open_backups(config, approvals, schedule), halt := Halt(ground.halt, router.release), restart),
        *(agents, groups, ConfigurationFile(config.file, agents, groups)),
        *(_status(ground, router, front_ends), Doctor(), Permits(approvals, turn_deps.tools)),
        ground.web.access,
    )
    books = (
        schedule,
        Household(ground.constellations, ground.house),
        Talking(approvals, places, router.receive),
        restart,
        build_registry(config, approvals, schedule, community.privacy.choices, ready),
        Gaps("discord", database, clock, settle),
    )
    open_reminders(config, approvals, schedule, community.privacy.choices, house.notices)
    open_patrols(config, approvals, schedule, turn_deps.owner)
    return Services(front_ends, approvals, halt, community, places, *books)


def _hears(front: Front) -> bool:
    return front.readiness().ready


def _status(ground: _Ground, router: Router, front_ends: FrontEnds) -> Status:
    config = ground.config
    sources = StatusSources(
        standings=ground.thinking.standings,
        halted=lambda: ground.halt.since,
        unstored=router.unstored.words,
        embedding=ground.embedding.words,
        mcp=ground.mcp.states,
        unset=config.unset(),
    )
    name, model = config.constellation.name, config.model.default
    return Status(front_ends, name, model, ground.clock(), sources)


def _deps(ground: _Ground) -> TurnDeps:
    config, limits, broker = ground.config, ground.config.limits, ground.broker
    own, zone = (EmergencyHaltTool(ground.halt.stop), *web_tools(config.web)), config.schedule.zone_name()
    budgets = configured_budgets(config)
    recall = RecallTool(functools.partial(expansion.plan, config.dreams, budgets))
    return TurnDeps(
        model=ground.thinking.choose,
        tools=make_tools(
            ground.endpoints,
            *own,
            zone=zone,
            selves=broker.terms.people.selves,
            foreign=ground.mcp.tools,
            recall=recall,
        ),
        ready=ground.mcp.ready,
        package=lambda source, text: package(text, ground.endpoints[source].split, ground.endpoints[source].form),
        too_long=lambda source, text: too_long(text, ground.endpoints[source].split, ground.endpoints[source].form),
        redact=Redactor(config.secrets()).text,
        clock=ground.clock,
        limits=Limits(config.model.max_steps, limits.turn_seconds, limits.tool_seconds),
        broker=broker,
        budgets=budgets,
        owner=OwnersSide(owner_notices(config).place, quiet_hours(broker.terms.people, zone)),
        apology=config.bluesky.apology,
        rates=_rates(config),
        watch=ground.events,
        typing=ground.typing,
        meaning=ground.embedding.meaning,
        checkpoints=config.memory.checkpoints(),
    )


def _rates(config: Config) -> Rates:
    """How often people are answered; in public places more seldom."""
    limits, bluesky = config.limits, config.bluesky
    public = Rates(bluesky.person_per_hour, 0, limits.all_per_hour, bluesky.thread_per_hour, quiet=True)
    return Rates(limits.person_per_hour, limits.guild_per_hour, limits.all_per_hour, sources={"bluesky": public})


def open_folder(config: Config) -> DataFolder:
    """The data folder, made where it is missing. Raises ConfigError where it cannot be made."""
    folder = DataFolder(config.home)
    try:
        folder.prepare()
    except StoreError as error:
        raise ConfigError(f"CARINA_HOME: {error}") from error
    return folder


def _patience(config: Config) -> Callable[[str], Patience]:
    usual = Patience(attempts=config.limits.attempts)
    special = {
        "discord": replace(usual, merge=config.discord.merge_seconds),
        "terminal": replace(usual, streams=True),
    }
    return lambda source: special.get(source, usual)
