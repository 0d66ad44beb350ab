"""The composition root: every part is made here, once, and given what it needs."""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from bot import control
from bot.broker import Broker
from bot.chat import Chat
from bot.config import Config
from bot.damage import DamageWatch
from bot.desks.approving import Approvals, approval_terms
from bot.desks.archive import Archive
from bot.desks.budgeting import configured_budgets, open_budgeting
from bot.desks.community import open_community
from bot.desks.coordinating import Coordinating
from bot.desks.costs import Costs
from bot.desks.desk import Desk
from bot.desks.facts import Facts
from bot.desks.folders import Folders
from bot.desks.granting import Granting
from bot.desks.halting import Halt
from bot.desks.household import open_household
from bot.desks.operations import Operations
from bot.desks.projects import Projects
from bot.desks.remembering import Remembering
from bot.desks.restarting import Restart
from bot.desks.searching import Searching
from bot.desks.states import States
from bot.desks.steering import open_steering
from bot.desks.summaries import open_summaries
from bot.desks.talking import Talking
from bot.desks.undelivered import Outbox
from bot.desks.why import Why
from bot.dreams import expanding
from bot.dreams.desk import open_dreams
from bot.embedding import Embedding, open_embedding
from bot.errands import Errands
from bot.errors import ConfigError
from bot.examining.apart import Examining
from bot.fronts import Desks, connect_fronts
from bot.houses import Answering, open_house
from bot.lane import Patience
from bot.mcp.opening import NoServers, Servers, open_servers
from bot.notices import Notices
from bot.packaging import package, too_long
from bot.passes.background import Background
from bot.passes.compaction import Compactor
from bot.passes.idling import IdleWatch
from bot.passes.summarising import Summarising
from bot.patrolling import quiet_hours
from bot.preview import Previews
from bot.progress import Progress
from bot.router import House, Router
from bot.secrets import Redactor
from bot.thinking import Thinking, open_models
from bot.tools import make_tools, web_tools
from bot.tools.halt import EmergencyHaltTool
from bot.tools.recall import RecallTool
from bot.turns.kit import Kit, Limits, OwnersSide
from bot.turns.rates import Rates
from bot.upkeep import open_agenda, open_backups, open_patrols, open_schedule
from bot.watchers import Broadcast, Typing
from memory.clock import Clock, utc_now
from memory.constellation import Constellations
from memory.errors import StoreError
from memory.folder import DataFolder
from memory.ids import ConstellationId, PersonId, PlaceId
from sources.base import Endpoint, Front
from sources.terminal import PERSON, PLACE, SOURCE, Journal, TerminalEndpoint, TerminalSource

_END_SECONDS = 6.0  # for all that is under way together; then all is closed, and a container is killed after ten
_OPEN_CONSTELLATIONS = 64
_SETTLE_SECONDS = 5.0  # for what was heard before somebody is erased to be stored


@dataclass(frozen=True)
class App:
    """The service, made but not yet running."""

    router: Router
    chat: Chat
    errands: Errands
    desks: Desks
    embedding: Embedding
    damage: DamageWatch
    compactor: Compactor
    idling: IdleWatch
    mcp: Servers
    fronts: tuple[Front, ...]
    events: Broadcast
    endpoints: Mapping[str, Endpoint]
    folder: DataFolder
    store: tuple[Constellations, ConstellationId]

    async def run(self, until: Callable[[], Awaitable[None]]) -> None:
        """Serve until `until` returns, then drain: no more is heard, turns reach a stored step, answers go out."""
        handlers: dict[str, Callable[..., Any]] = {
            **self.desks.handlers(),
            "chat": self.chat.chat,
            "say": self.chat.say,
            "once": self.chat.once,
            "group.ask": self.errands.ask,
            "status": self._status,
            **{name: handler for front in self.fronts for name, handler in front.handlers.items()},
        }
        async with asyncio.TaskGroup() as tasks:
            with ExitStack() as watching:
                watching.enter_context(self.events.listen(Typing(self.endpoints, tasks)))
                previews = Previews(self.router, self.endpoints, tasks)
                watching.enter_context(self.events.listen(previews))
                progress = Progress(self.router, self.store, self.endpoints, tasks)
                watching.enter_context(self.events.listen(progress))
                watching.enter_context(self.events.listen(self.compactor.watch))
                watching.enter_context(self.events.listen(self.desks.schedule.watch))
                await self.desks.community.privacy.eraser.take_up()  # before anybody's words are used again
                await self.router.start(tasks)
                listening = [tasks.create_task(self._listen(front), name=front.source.name) for front in self.fronts]
                listening += [tasks.create_task(go_on(), name=name) for name, go_on in self._beside().items()]
                async with control.serve(self.folder, handlers):
                    await until()
                for front in self.fronts:
                    front.pause()
                finishing = (front.finish(_END_SECONDS) for front in self.fronts)
                await asyncio.gather(self.router.drain(_END_SECONDS), self.store[0].hurry(), *finishing)
                for task in listening:
                    task.cancel()
                self.router.stop()
                previews.stop()
                progress.stop()

    def _beside(self) -> dict[str, Callable[[], Coroutine[Any, Any, None]]]:
        """What goes on beside the front ends until the service ends, by the names of its tasks."""
        return {
            "expiry of requests": self.desks.approvals.watch,
            "erasures": self.desks.community.privacy.eraser.run,
            "strangers": self.desks.community.admission.run,
            "embedding": self.embedding.run,
            "damage": self.damage.run,
            "jobs": self.desks.schedule.run,
            "compaction": self.compactor.run,
            "idle agents": self.idling.run,
            "MCP servers": self.mcp.run,
        }

    async def _status(self) -> dict[str, Any]:
        return (await self.desks.desk.status()).data()

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
    answering: Answering
    thinking: Thinking
    embedding: Embedding
    events: Broadcast
    mcp: Servers = field(default_factory=NoServers)
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    """By source; filled last: front ends are given what acts through the router."""
    emergency: EmergencyHaltTool = field(default_factory=EmergencyHaltTool)


@asynccontextmanager
async def build(config: Config, clock: Clock = utc_now, *, fronts: bool = True) -> AsyncIterator[App]:
    """Make the service for a configuration, holding its data folder until the context ends.

    Without `fronts` only the terminal is there: for a chat without a running service.
    """
    async with AsyncExitStack() as stack:
        ground = await _open_ground(config, clock, stack)
        terminal = (
            TerminalSource(config.constellation.owner, clock),
            TerminalEndpoint(Journal(ground.folder.terminal_journal)),
        )
        kit = _kit(ground)
        compactor = Compactor(ground.constellations, ground.house, kit)
        kit = replace(kit, shrink=compactor.shrink)
        by_state = functools.partial(ground.answering.by_state, selves=kit.broker.terms.people.selves)
        house = House(ground.house, ground.answering, kit, _owner_notices(config), by_state)
        router = Router(ground.constellations, {house.id: house}, house.id, ground.endpoints, _patience(config))
        ground.embedding.busy = lambda: router.busy
        desks = await _desks(ground, house, router)
        connected = (Front(*terminal), *connect_fronts(config, desks, clock, wanted=fronts))
        ground.endpoints.update({front.source.name: front.endpoint for front in connected})
        store = ground.constellations, house.id
        chat = Chat(ground.constellations, house.id, router, terminal, ground.events, desks)
        background = (
            ground.embedding,
            DamageWatch(ground.constellations, house.id, house.notices, clock, desks.approvals.resume),
            compactor,
            IdleWatch(ground.constellations, house.id, clock, config.activity.kept(), desks.schedule.changed),
            ground.mcp,
        )
        summarising = Summarising(ground.constellations, Background.of(kit), config.schedule.zone_name())
        summarising = replace(summarising, model=config.model.upkeep, enabled=config.schedule.summaries)
        replace(summarising, busy=lambda: router.busy).add(desks.schedule.runner.kinds)
        errands = Errands(ground.constellations, house.id, router, terminal[0], ground.events, desks)
        settled = (connected, ground.events, ground.endpoints, ground.folder, store)
        yield App(router, chat, errands, desks, *background, *settled)


async def _open_ground(config: Config, clock: Clock, stack: AsyncExitStack) -> _Ground:
    folder = open_folder(config)
    stack.enter_context(folder.lock())
    thinking = await stack.enter_async_context(open_models(config, clock))
    opening = Constellations.open(folder.path, clock, _OPEN_CONSTELLATIONS)
    constellations = await stack.enter_async_context(opening)
    house, answering = await open_house(config, constellations, PersonId(PERSON), clock)
    embedding = await stack.enter_async_context(open_embedding(config, constellations, house))
    mcp = await open_servers(config, Redactor(config.secrets()).text)
    return _Ground(config, clock, folder, constellations, house, answering, thinking, embedding, Broadcast(), mcp)


async def _desks(ground: _Ground, house: House, router: Router) -> Desks:
    """What people ask and answer; what of it must hold before the first message is restored here."""
    config, clock = ground.config, ground.clock
    store, kit = (ground.constellations, ground.house), house.kit
    approvals = Approvals(*store, kit.broker, clock, functools.partial(router.resume, ground.house))
    people = approvals.people
    halt = Halt(ground.constellations, router, people, clock, config.approvals.halt_phrase)
    router.on_message, router.before_storing = halt.hear, halt.keep
    ground.emergency.stop = halt.stop
    await halt.restore()
    settle = functools.partial(router.taken_in, _SETTLE_SECONDS)
    community = await open_community(config, approvals, (ground.folder.path, clock), settle, router.moved)
    router.heard_by, router.withheld = community.identities.heard_by, community.privacy.choices.withheld
    steering = await open_steering(config, approvals, ground.answering)
    router.deaf = steering.deaf
    books = (
        Remembering(*store, people, clock, kit.checkpoints),
        Costs(*store, people, clock),
        Granting(*store, people, clock, kit.tools),
        Archive(*store, people, clock),
        Searching(*store, people, clock, config.schedule.zone_name(), ground.embedding.understood),
        Outbox(*store, people, approvals.resume),
        schedule := open_schedule(config, approvals, clock, router.resume),
        Coordinating(*store, people, clock),
        open_household(config, approvals, steering, router.moved),
        await open_budgeting(approvals, kit.budgets, at_start=True),
        Talking(approvals, steering, router.receive),
        open_agenda(config, approvals, schedule, community.privacy.choices, house.notices),
        open_backups(config, approvals, schedule),
        Folders(*store, ground.folder.path, clock),
        Facts(*store, people, clock, community.privacy.choices.withheld),
        Projects(*store, people, clock, community.privacy.choices.withheld),
        open_summaries(config, approvals),
        States(approvals),
        open_dreams(config, approvals, schedule, (kit.budgets, ground.thinking), lambda: router.busy),
        Restart(people),
        Examining(people),
    )
    open_patrols(config, approvals, schedule, kit.owner)
    why, operations = Why(*store, people, clock), Operations(*store, router.answer)
    return Desks(_desk(ground, halt, kit), approvals, halt, why, operations, community, steering, *books)


def _desk(ground: _Ground, halt: Halt, kit: Kit) -> Desk:
    desk = Desk(ground.constellations, ground.house, ground.config.model.default, ground.clock)
    desk.standings, desk.unset = ground.thinking.standings, ground.config.unset()
    desk.embedding = ground.embedding.words
    desk.halted, desk.unstored = lambda: halt.since, halt.router.unstored.words
    desk.toolset, desk.mcp = kit.tools, ground.mcp.states
    return desk


def _kit(ground: _Ground) -> Kit:
    config, limits, broker = ground.config, ground.config.limits, Broker(approval_terms(ground.config))
    own, zone = (ground.emergency, *web_tools(config.web)), config.schedule.zone_name()
    budgets = configured_budgets(config)
    recall = RecallTool(functools.partial(expanding.plan, config.dreams, budgets))
    return Kit(
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
        owner=OwnersSide(_owner_notices(config).place, quiet_hours(broker.terms.people, zone)),
        rates=_rates(config),
        watch=ground.events,
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


def _owner_notices(config: Config) -> Notices:
    """The owner is told things in Discord when that is connected and the owner is known there, else at the terminal."""
    if config.discord_token is not None and config.discord_owner:
        return Notices(PlaceId(f"discord:user:{config.discord_owner}"), "discord")
    return Notices(PLACE.id, SOURCE)


def _patience(config: Config) -> Callable[[str], Patience]:
    discord = Patience(attempts=config.limits.attempts, merge=config.discord.merge_seconds)
    # At a terminal a line is a message: nobody waits to see whether another one follows.
    others = Patience(attempts=config.limits.attempts, merge=0)
    return lambda source: discord if source == "discord" else others
