"""A constellation to measure in: real stores and the real router, an endpoint and a model that take no time."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bot.agents import turn_events
from bot.agents.budgets import Budgets
from bot.agents.mcp import Servers
from bot.agents.owner_notices import Notices
from bot.agents.permissions.approval_requests import Broker, Terms
from bot.agents.permissions.roles_and_rights import People
from bot.agents.rate_limits import NO_LIMITS
from bot.agents.tools import make_tools
from bot.agents.turn_deps import Limits, TurnDeps, TypingPeople
from bot.config import load_config
from bot.models.base import Answer, Event, Model, Request, Usage, UserMessage
from bot.redactor import Redactor
from bot.runtime.constellation import ConstellationRuntime
from bot.runtime.halt import HaltState
from bot.runtime.intake import Gate, SharedParts
from bot.runtime.open_constellations import OpenConstellations
from bot.runtime.router import Router
from bot.runtime.supervision import Supervisor
from bot.runtime.turn_retries import RetryPolicy
from memory import agents
from memory.agents import Agent
from memory.blocks.store import CheckpointPolicy
from memory.people.audience import Audience, Trust
from memory.queue.notifications import Kind, Notification, Place, Speaker
from memory.queue.payloads import BlockNote, Extras
from memory.store.clock import utc_now
from memory.store.constellations import Constellations
from memory.store.ids import ConstellationId, GroupId, OutboxId, PersonId, PlaceId
from sources.base import Activity, Buttons, Delivery, Endpoint, PlaceKind
from tests.bot.plain import none_of_folders, words_alone
from tests.bot.seeding import seeded

SOURCE = "bench"
GUILD = Audience("guild:bench:1")
NAMES = ("Ana", "Bo", "Cem", "Dee", "Eli", "Fay", "Gus", "Hana", "Ivo", "Jun")


class EchoModel:
    """Answers at once with the words it was asked."""

    name = "bench:echo"
    context_window = 128_000

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.keep = False

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        if self.keep:
            self.requests.append(request)
        yield self.answer(request)

    def answer(self, request: Request) -> Answer:
        return Answer(f"I heard: {newest(request).said}", (), Usage(), self.name)


def newest(request: Request) -> UserMessage:
    """What the person said last."""
    return next(message for message in reversed(request.messages) if isinstance(message, UserMessage) and message.said)


class Sink(Endpoint):
    """An endpoint that takes everything at once and remembers it by place."""

    max_length = 2000
    nonce_seconds = 100.0

    def __init__(self) -> None:
        self.sent: dict[PlaceId, list[str]] = defaultdict(list)
        self.count = 0
        self.last = 0.0
        self._news = asyncio.Event()

    def split(self, text: str) -> list[str]:
        return [text]

    async def send(self, delivery: Delivery) -> str:
        self.sent[delivery.place].append(delivery.text)
        self.count += 1
        self.last = time.perf_counter()
        self._news.set()
        return str(delivery.id)

    async def until(self, count: int) -> None:
        """Until so many were sent."""
        while self.count < count:
            self._news.clear()
            await self._news.wait()

    async def find(self, deliveries: tuple[Delivery, ...], taken: Collection[str] = ()) -> dict[OutboxId, str]:
        return {}

    async def edit(self, place: PlaceId, external_id: str, text: str, buttons: Buttons | None = None) -> None:
        return

    async def withdraw(self, place: PlaceId, external_id: str) -> None:
        return

    def show(self, activity: Activity) -> None:
        return


@dataclass(frozen=True)
class World:
    """A running router with one constellation."""

    constellations: Constellations
    runtime: ConstellationRuntime
    group: GroupId
    agent: Agent
    router: Router
    endpoint: Sink


def unwatched(_event: turn_events.TurnEvent) -> None:
    """Nobody watches."""


@dataclass
class Making:
    folder: Path
    model: Model = field(default_factory=EchoModel)
    watch: turn_events.Watch = unwatched


@asynccontextmanager
async def open_world(making: Making) -> AsyncIterator[World]:
    """The default constellation of an empty configuration, with the model and the endpoint put in."""
    config = load_config({"CARINA_HOME": str(making.folder)}, making.folder)
    endpoint = Sink()
    async with Constellations.open(making.folder, utc_now) as constellations:
        home, routing = await seeded(config, constellations)
        turn_deps = turn_deps_with(making.model, endpoint, making.watch)

        @asynccontextmanager
        async def make(identifier: ConstellationId) -> AsyncIterator[ConstellationRuntime]:
            async with constellations.use(identifier) as file:
                yield ConstellationRuntime(constellations.of(identifier), file, routing, turn_deps, parts)

        parts = shared_parts(constellations)
        opened = OpenConstellations(make, parts.supervisor)
        router = Router(constellations, opened, home, parts)
        async with running(router), opened.use(home) as runtime:
            agent = (await runtime.database.read(agents.agents))[0]
            yield World(constellations, runtime, routing.default, agent, router, endpoint)


def shared_parts(constellations: Constellations) -> SharedParts:
    """Nobody waits here for whether another message follows."""
    return SharedParts(lambda _: RetryPolicy(attempts=5, merge=0), open_gate(constellations), Supervisor())


def turn_deps_with(model: Model, endpoint: Endpoint, watch: turn_events.Watch = unwatched) -> TurnDeps:
    async def choose(_agent: Agent) -> Model:
        return model

    return TurnDeps(
        model=choose,
        tools=make_tools({SOURCE: endpoint}, selves=lambda person: (person,), foreign=lambda _agent: ()),
        endpoints={SOURCE: endpoint},
        redact=Redactor(()).text,
        clock=utc_now,
        limits=Limits(model_seconds=900),
        broker=Broker(Terms(People(()), (), PlaceId), lambda _person: "en"),
        rates=NO_LIMITS,
        budgets=Budgets(),
        notices=Notices(PlaceId(f"{SOURCE}:owner")),
        quiet=lambda _rows, _now: None,
        apology=None,
        meaning=words_alone,
        of_folders=none_of_folders,
        checkpoints=CheckpointPolicy(),
        watch=watch,
        typing=TypingPeople(),
        ready=Servers().ready,
    )


def open_gate(constellations: Constellations) -> Gate:
    """Nobody is kept out here."""
    halt = HaltState(constellations, utc_now, "", lambda: None)
    return Gate(halt, lambda place: place, lambda _person, _at: False, lambda _source: False)


async def _untold(_name: str, _error: Exception) -> None:
    """Nobody is told here; the log is enough."""


@asynccontextmanager
async def running(router: Router) -> AsyncIterator[None]:
    """The router at work until the block ends, when what it opened is closed."""
    async with asyncio.TaskGroup() as tasks:
        await router.start(tasks, _untold)
        try:
            yield
        finally:
            await router.drain(30)
            router.stop()
    await router.opened.close()  # or the loop closes all their generators at once, each within the others


def place(number: int) -> Place:
    return Place(PlaceId(f"{SOURCE}:c{number}"), PlaceKind.GUILD, GUILD, f"channel-{number}", bindings=("bench:g1",))


def said(channel: int, person: int, text: str, serial: int) -> Notification:
    """A message, with the two ephemeral blocks that a front end brings along."""
    speaker = PersonId(f"{SOURCE}:p{person}")
    name = NAMES[person % len(NAMES)] + (str(person // len(NAMES)) if person >= len(NAMES) else "")
    return Notification(
        source=SOURCE,
        external_id=f"m{serial}",
        kind=Kind.MESSAGE,
        place=place(channel),
        speaker=Speaker(speaker, name, trust=Trust.APPROVED),
        subject=f"m{serial}",
        at=datetime.now(tz=UTC),
        text=text,
        position=f"{serial:020d}",
        extras=Extras(
            (
                BlockNote(
                    f"channel:c{channel}", "Notes on this channel.", f"Channel: channel-{channel}\nServer: Bench"
                ),
                BlockNote(f"user:p{person}", "About the speaker.", f"Name here: {name}", speaker),
            )
        ),
    )
