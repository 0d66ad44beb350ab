"""The real service around the parts: configuration, constellations, stores, router. Model and platform are not real."""

import asyncio
import dataclasses
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import AsyncMock, patch

from bot.agents.agenda.quiet_hours import owners_quiet
from bot.agents.budgets import Budgets
from bot.agents.context.prompt import PromptInputs
from bot.agents.mcp import Servers
from bot.agents.owner_notices import Notices
from bot.agents.permissions.approval_requests import Broker, Terms
from bot.agents.permissions.roles_and_rights import People
from bot.agents.rate_limits import NO_LIMITS, Rates
from bot.agents.tool_rules import MORE_TOOLS
from bot.agents.tools import make_tools
from bot.agents.tools.base import Tool, Toolset
from bot.agents.turn_deps import Limits, TurnDeps, TypingPeople
from bot.agents.turn_events import TurnEvent
from bot.config import Config, load_config
from bot.config.values import TOOLS
from bot.models.base import Model, Request
from bot.redactor import Redactor
from bot.runtime.configured_constellation import configured_constellation, seed_routing
from bot.runtime.constellation import ConstellationRuntime
from bot.runtime.conversation import ConversationWorker
from bot.runtime.halt import HaltState
from bot.runtime.intake import AudienceResolver, Gate, SharedParts
from bot.runtime.open_constellations import OpenConstellations
from bot.runtime.router import Router
from bot.runtime.supervision import Supervisor
from bot.runtime.turn_retries import RetryPolicy
from bot.services.names import looked_up
from bot.services.people.approvals import Approvals
from bot.services.people.opted_out_people import Choices
from bot.services.people.person_erasure import Eraser
from bot.services.people.privacy import Privacy
from bot.services.status import Status
from bot.services.system.jobs import BuiltInJob, Schedule
from bot.upkeep.compaction import Compactor
from memory.agents import Agent
from memory.blocks.store import CheckpointPolicy
from memory.queue import inbox, outbox
from memory.queue.notifications import Notification
from memory.queue.outbox import OutRow
from memory.search.vector_similarity import Meaning
from memory.store.clock import to_text
from memory.store.constellations import Constellations
from memory.store.database import Database, Row, Rows, Tx
from memory.store.erasure_records import Erasure
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, OutboxId, PersonId, PlaceId
from memory.store.sqlite import connect
from scheduler.job_kinds import Kinds
from scheduler.runner import Runner
from tests.bot.parts import OLGA, SOURCE, MovableClock, Platform, ScriptedModel, direct, said
from tests.bot.plain import none_of_folders, words_alone
from tests.captured_logs import Event, capture_logs
from tests.scheduler.parts import alike
from tests.wire import PATIENCE

T = TypeVar("T")
SETUP = commit_point("tests.setup")

AT_ONCE = RetryPolicy(attempts=5, waits=(0.0,), merge=0)
"""Tries again without a pause, and answers every message by itself."""


OWNERS_PLACE = direct(OLGA)
OFFERED = tuple(tool for tool in TOOLS if tool not in ("emergency_halt", "web_fetch", "web_search"))
"""The tools of an agent here; those others come with composition and configuration."""


def offered(request: Request) -> list[str]:
    """The tools that a request shows or names, without the one that is for the difference."""
    return sorted({spec.name for spec in (*request.tools, *request.named_tools)} - {MORE_TOOLS})


LIMITS = Limits(max_steps=6)


def private_place(person: PersonId) -> PlaceId:
    """The direct messages with a person of these tests."""
    return PlaceId(f"{SOURCE}:user:{person.partition(':')[2]}")


@dataclass
class Setting:
    """How a service is made; what is not said is as configuration has it."""

    model: ScriptedModel = field(default_factory=ScriptedModel)
    clock: MovableClock = field(default_factory=MovableClock)
    platform: Platform | None = None
    retry_policy: RetryPolicy = AT_ONCE
    limits: Limits = LIMITS
    tools: Sequence[Tool] = ()
    """Beside the real ones."""
    mcp: Servers = field(default_factory=Servers)
    """Whose tools are offered too."""
    redact: Callable[[str], str] = Redactor().text
    toml: str = ""
    rates: Rates = NO_LIMITS
    apology: str | None = None
    budgets: Budgets = field(default_factory=Budgets)
    asked: list[Agent] = field(default_factory=list)
    """With whose settings the model was asked, each time."""
    terms: Terms | None = None
    """How people are asked; without it the owner alone, in the owner's messages."""
    languages: Mapping[PersonId, str] = field(default_factory=dict)
    """Those that people chose."""
    halt_phrase: str = "stop everything"
    halted: bool = False
    """From the beginning, before anything is taken up."""
    paused: set[str] = field(default_factory=set)
    """Sources that are."""
    meaning: Callable[[str], Awaitable[Meaning | None]] = words_alone
    typing: TypingPeople = field(default_factory=TypingPeople)
    more: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Further constellations, with the places that are theirs."""


@dataclass
class Service:
    """The running service with its fakes; the first constellation is `home`."""

    constellations: Constellations
    ids: tuple[ConstellationId, ...]
    """Of its constellations."""
    database: Database
    """Of the first one."""
    router: Router
    halt: HaltState
    setting: Setting
    platform: Platform
    approvals: Approvals
    privacy: Privacy
    compactor: Compactor
    events: list[TurnEvent]
    logs: list[Event]
    troubles: list[str]
    """What the owner was told of tasks that failed."""
    crashed: bool = False
    hurried: bool = False
    """Whether it ends in good order, but without waiting for turns."""

    @property
    def model(self) -> ScriptedModel:
        return self.setting.model

    @property
    def clock(self) -> MovableClock:
        return self.setting.clock

    @property
    def home(self) -> ConstellationId:
        return self.ids[0]

    @property
    def runtime(self) -> ConstellationRuntime:
        """Of the first one."""
        found = self.router.opened.get(self.home)
        assert found is not None
        return found

    def resume(self) -> None:
        """See to whatever waits in the first one."""
        self.router.resume(self.home)

    def runner(self, kinds: Kinds) -> Runner:
        """Runs jobs, of these kinds, in every constellation."""
        opening = alike(self.constellations, kinds)
        return Runner(self.constellations, opening, self.clock, self.router.resume, str)

    def schedule(
        self,
        runner: Runner,
        kept: Sequence[BuiltInJob] = (),
        plan: Callable[[Tx, datetime], None] = lambda _tx, _now: None,
    ) -> Schedule:
        """The jobs of the first constellation."""
        changed = functools.partial(runner.changed, self.home)
        return Schedule(self.database, self.clock, changed, self.resume, kept, plan)

    def hear(self, *notifications: Notification) -> None:
        for notification in notifications:
            self.router.receive(notification)

    async def heard(self, *notifications: Notification) -> None:
        """Hear, and wait until all that follows is done."""
        self.hear(*notifications)
        await self.settled()

    async def stored(self) -> None:
        """Wait until what was heard is stored."""
        await self.router.taken_in(30)

    async def settled(self, seconds: float = PATIENCE) -> None:
        """Wait until nothing waits for an answer and nothing for delivery."""
        await self.stored()

        async def idle() -> bool:
            opened = [await self.read(functools.partial(_open, now=self.clock()), each) for each in self.ids]
            return not any(opened)

        await until(idle, seconds)
        await self.compactor.idle()

    async def read(self, work: Callable[[Rows], T], of: ConstellationId | None = None) -> T:
        async with self.constellations.use(of or self.home) as database:
            return await database.read(work)

    async def write(self, work: Callable[[Tx], T], of: ConstellationId | None = None) -> T:
        async with self.constellations.use(of or self.home) as database:
            return await database.write(SETUP, work)

    async def rows(self, sql: str, *values: Any, of: ConstellationId | None = None) -> list[Row]:
        return await self.read(lambda rows: rows.all(sql, values), of)

    async def column(self, sql: str, *values: Any) -> list[Any]:
        return [row[0] for row in await self.rows(sql, *values)]

    async def outbox(self) -> list[OutRow]:
        return await self.read(lambda rows: [found for p in _places(rows) for found in _outbox(rows, p)])

    async def erase(self, person: PersonId) -> Erasure:
        (done,) = await self.privacy.eraser.erase_all((person,), person)
        return done

    def crash(self) -> None:
        """End without draining when the context is left."""
        self.crashed = True


def _places(rows: Rows) -> list[int]:
    return [row["id"] for row in rows.all("SELECT id FROM outbox ORDER BY id")]


def _outbox(rows: Rows, identifier: int) -> list[OutRow]:
    found = outbox.get(rows, OutboxId(identifier))
    return [] if found is None else [found]


def _open(rows: Rows, now: datetime) -> int:
    sql = """SELECT count(*) FROM inbox WHERE status = 'received' AND next_attempt_at > ?
             AND (last_error = ? OR (alone = 1 AND last_error IS NULL))"""
    put_off = rows.one(sql, (to_text(now), inbox.OVER_LIMIT))
    return inbox.counts(rows)["waiting"] + outbox.count_open(rows) - (0 if put_off is None else put_off[0])


async def crashed(folder: Path, setting: Setting, begun: asyncio.Event, text: str = "ring") -> Platform:
    """Die while something is going on."""
    async with running(folder, setting) as service:
        service.hear(said(text, 1))
        await begun.wait()
        service.crash()
        return service.platform


async def until(holds: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait for something that holds, or whose awaited result does, such as a column that is not empty."""
    async with asyncio.timeout(seconds):
        while not (await found if isinstance(found := holds(), Awaitable) else found):
            await asyncio.sleep(0.002)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody else holds a database file."""
    with closing(connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@asynccontextmanager
async def running(folder: Path, setting: Setting | None = None) -> AsyncIterator[Service]:
    """The service on a data folder, new or from a run before; it drains at the end unless it crashed."""
    made = setting or Setting()
    platform = made.platform or Platform(made.clock)
    events: list[TurnEvent] = []
    troubles: list[str] = []

    async def tell(name: str, error: Exception) -> None:
        troubles.append(f"{name}: {type(error).__name__}")

    async with AsyncExitStack() as stack:
        logs = stack.enter_context(capture_logs())
        constellations = await stack.enter_async_context(Constellations.open(folder, made.clock))
        compactors = list[Compactor]()
        turn_deps = _deps(made, platform, events, compactors)
        people = turn_deps.broker.terms.people
        choices = Choices(constellations, made.clock, people.selves)
        await choices.load()
        supervisor = Supervisor()
        halt = HaltState(constellations, made.clock, made.halt_phrase, supervisor.halt)
        await halt.restore()
        if made.halted:
            halt.begin("a test")
        gate = Gate(halt, AudienceResolver(people).with_audiences, choices.ignored_at, made.paused.__contains__)
        around = SharedParts(lambda _source: made.retry_policy, gate, supervisor)
        configs = {}
        for name, places in {"home": (), **made.more}.items():
            config = _config(folder, name, made)
            found = await configured_constellation(config, constellations, OLGA.id)
            configs[found.id] = config
            for place in places:
                await constellations.bind(place, found.id, "test")

        @asynccontextmanager
        async def make(identifier: ConstellationId) -> AsyncIterator[ConstellationRuntime]:
            async with constellations.use(identifier) as file:
                routing = await seed_routing(configs.get(identifier, configs[default]), file, made.clock)
                await choices.follow(file)
                yield ConstellationRuntime(constellations.of(identifier), file, routing, turn_deps, around)

        default = next(iter(configs))
        opened = OpenConstellations(make, around.supervisor)
        router = Router(constellations, opened, default, around)
        stack.push_async_callback(opened.close)
        runtime = await stack.enter_async_context(opened.use(default))
        database = runtime.database
        compactors.append(Compactor(database, turn_deps))
        approvals = Approvals(database, made.clock, turn_deps.broker, runtime.resume, turn_deps.tools)
        eraser = dataclasses.replace(
            Eraser.at_rest(constellations, folder, made.clock),
            settle=functools.partial(router.taken_in, 5),
            moved=router.moved,
        )
        handles = functools.partial(looked_up, fronts=())
        privacy = Privacy(constellations, approvals.people, choices, eraser, made.clock, handles, "UTC")
        service = Service(
            constellations,
            tuple(configs),
            database,
            router,
            halt,
            made,
            platform,
            approvals,
            privacy,
            compactors[0],
            events,
            logs,
            troubles,
        )
        async with _tasks() as tasks:
            await privacy.eraser.take_up()
            await router.start(tasks, tell)
            for identifier in configs:
                router.resume(identifier)
            compacting = tasks.create_task(compactors[0].run())
            try:
                yield service
            finally:
                compacting.cancel()
                if service.crashed:
                    after = patch.object(ConversationWorker, "_spare", AsyncMock())  # who is dead writes nothing
                    stack.enter_context(after)
                elif not service.hurried:
                    await router.drain(5)
                router.stop()


@asynccontextmanager
async def talked(folder: Path, setting: Setting, *heard: str | Notification) -> AsyncIterator[Service]:
    """The same after these were heard, each when the one before was answered; a text is Ann's in the hall."""
    async with running(folder, setting) as service:
        for number, each in enumerate(heard, 1):
            await service.heard(said(each, number) if isinstance(each, str) else each)
        yield service


@asynccontextmanager
async def _tasks() -> AsyncIterator[asyncio.TaskGroup]:
    """A task group that shows a single error by itself, not as one of a group."""
    try:
        async with asyncio.TaskGroup() as tasks:
            yield tasks
    except BaseExceptionGroup as group:
        if len(group.exceptions) == 1:
            raise group.exceptions[0] from None
        raise


def _config(folder: Path, name: str, setting: Setting) -> Config:
    path = folder / f"{name}.toml"
    path.write_text(f'{setting.toml}\n[constellation]\nname = "{name}"\n')
    return load_config({"CARINA_HOME": str(folder), "CARINA_CONFIG": str(path)}, folder)


def _deps(setting: Setting, platform: Platform, events: list[TurnEvent], compactors: list[Compactor]) -> TurnDeps:
    """The parts of a turn; whoever is in `compactors` when something happens is told of it and asked."""
    endpoints = {SOURCE: platform, "bluesky": platform}
    make = make_tools(endpoints, selves=lambda person: (person,), foreign=setting.mcp.tools)

    async def choose(agent: Agent) -> Model:
        setting.asked.append(agent)
        return setting.model

    def watch(event: TurnEvent) -> None:
        events.append(event)
        for compactor in compactors:
            compactor.watch(event)

    async def shrink(material: PromptInputs) -> bool:
        return await compactors[0].shrink(material)

    def tools(agent: Agent) -> Toolset:
        given = make(agent)
        if not setting.tools:
            return given
        return Toolset({**given.tools, **{tool.name: tool for tool in setting.tools}}, given.operations)

    return TurnDeps(
        model=choose,
        tools=tools,
        endpoints=endpoints,
        redact=setting.redact,
        typing=setting.typing,
        clock=setting.clock,
        limits=setting.limits,
        rates=setting.rates,
        apology=setting.apology,
        budgets=setting.budgets,
        broker=Broker(
            setting.terms or Terms(People((OLGA.id,)), (OWNERS_PLACE.id,), private_place),
            lambda person: setting.languages.get(person, "en"),
        ),
        notices=Notices(OWNERS_PLACE.id),
        quiet=owners_quiet(People((OLGA.id,)), "UTC"),
        meaning=setting.meaning,
        of_folders=none_of_folders,
        checkpoints=CheckpointPolicy(),
        watch=watch,
        ready=setting.mcp.ready,
        shrink=shrink,
    )


QUIET = functools.partial(
    Status, model_health=lambda _names: (), halted=str, unstored=str, embedding=lambda _rows: "", mcp=dict, unset={}
)
"""For a status in which nothing but the store has something to say."""
