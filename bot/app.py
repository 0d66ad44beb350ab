"""The composition root: everything that all constellations share is created here, once, and passed on.

`bot.services.composition` creates each constellation.
"""

import asyncio
import functools
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from msgspec import Struct

from bot.agents.owner_notices import owner_notices
from bot.config import Config
from bot.interfaces.control import operations, server
from bot.interfaces.control.chat import chat_handlers
from bot.interfaces.telemetry import Telemetry
from bot.interfaces.web.conversations import Talk
from bot.interfaces.web.server import PageMarks, WebParts, WebServer
from bot.runtime.supervision import Work, failure_words
from bot.services.idempotent_requests import IdempotentRequests
from bot.services.served_constellations import ServedConstellations, ServedRegistry, Services
from bot.services.served_folder import open_shared
from bot.services.system.restart import Restart
from memory import agents
from memory.store.clock import Clock, utc_now
from memory.store.database import Database
from memory.store.faults import commit_point
from memory.store.heap import give_back
from sources.base import Front
from sources.terminal import PERSON
from texts import gettext_noop, speak

_TELL = commit_point("task.failed")
_FRONT_ENDS = {"discord": "bot.interfaces.discord.frontend", "bluesky": "bot.interfaces.bluesky"}
"""The front ends besides the terminal and the web, which always exist."""
_END_SECONDS = 6.0  # for all work in progress; then everything is closed, and a container is killed after ten
_LOOKS_FOR_CONNECTIONS = 100


class App(Struct, frozen=True):
    """The service, created but not yet running."""

    served: ServedConstellations
    web: WebServer
    telemetry: Telemetry

    @property
    def restart(self) -> Restart:
        return self.served.shared.restart

    @property
    def services(self) -> Services:
        return self.served.configured

    @property
    def fronts(self) -> tuple[Front, ...]:
        return self.services.fronts

    @property
    def database(self) -> Database:
        return self.services.database

    async def run(self, until: Callable[[], Awaitable[object]]) -> None:
        """Serve until `until` returns, then drain: accept nothing new, bring turns to a stored step, send answers."""
        served, shared, router = self.served, self.served.shared, self.served.router
        speak(lambda: shared.accounts.spoken(PERSON))  # unprompted messages are for the owner
        async with asyncio.TaskGroup() as tasks:
            await served.privacy.eraser.take_up()  # before anybody's messages are used again
            await router.start(tasks, self._tell)
            for name, work in self.long_lived().items():
                router.supervisor.keep(name, work)
            async with server.serve(shared.folder, self.handlers()):
                await until()
            for pause in filter(None, (front.pause for front in self.fronts)):
                pause()
            finishing = (front.finish(_END_SECONDS) for front in self.fronts if front.finish)
            ending = (router.drain(_END_SECONDS), shared.constellations.hurry(), *finishing)
            await asyncio.gather(*filter(None, (router.supervisor.once("end", work) for work in ending)))
            router.stop()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve within the context, and drain at its end."""
        ended = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            service = tasks.create_task(self.run(ended.wait), name="service")
            try:
                yield
            finally:
                ended.set()
                await service

    def long_lived(self) -> dict[str, Work]:
        """The tasks that run until the service ends, by name; constellations and the router have their own."""
        served = self.served
        fronts = {front.source.name: functools.partial(self._listen, front) for front in self.fronts}
        return {
            **fronts,
            "erasures": served.privacy.eraser.run,
            "strangers": served.access.run,
            "jobs": served.runner.run,
            "MCP servers": served.shared.mcp.run,
            "dashboard": self.web.run,
            "traces": self.telemetry.run,
            gettext_noop("continuous backup"): served.shared.replication.run,
            "model libraries": self._load_models,
        }

    async def _load_models(self) -> None:
        """Load models once the front ends are connected, which comes first, or after a while."""
        for _look in range(_LOOKS_FOR_CONNECTIONS):
            if all(front.readiness().ready for front in self.fronts):
                break
            await asyncio.sleep(0.1)
        named = await self.database.read(lambda rows: [each.model for each in agents.agents(rows)])
        await self.served.shared.models.load(named)
        give_back()  # the start is over

    def handlers(self) -> dict[str, server.Handler]:
        """The handlers by their names on the control socket, which only the owner can reach."""
        return {
            **operations.handlers(ServedRegistry(self.served)),
            **chat_handlers(self.served),
            **{name: handler for front in self.fronts for name, handler in front.handlers.items()},
        }

    async def _tell(self, name: str, error: Exception) -> None:
        """Tell the owner that something keeps failing, once a day for each."""
        shared, runtime = self.served.shared, self.services.runtime
        now = shared.clock()
        key, words = f"task/{name}/{now:%Y-%m-%d}", failure_words(name, error)
        await self.database.write(_TELL, lambda tx: owner_notices(shared.config).tell_owner(tx, key, words, now))
        runtime.resume()

    async def _listen(self, front: Front) -> None:
        await front.source.run(self.served.router.receive)


@asynccontextmanager
async def build(
    config: Config, clock: Clock = utc_now, *, fronts: bool = True, dashboard: bool = True, restarts: bool = False
) -> AsyncIterator[App]:
    """Create the service for a configuration, holding its data folder until the context ends.

    Without `fronts` and `dashboard` it has only the terminal, for a chat without a running service. `restarts`: the
    caller restarts the process if the owner asks for it.
    """
    async with AsyncExitStack() as stack:
        web = WebParts.open(config, clock, wanted=dashboard)
        connect = functools.partial(_connect, web.front, config.sources if fronts else ())
        shared = open_shared(config, clock, connect, Restart(possible=restarts), lambda: web.listening.address)
        served = await stack.enter_async_context(shared)
        services = await stack.enter_async_context(served.use(served.shared.configured))
        router, marks = served.router, PageMarks(services.database)
        talk, links, access = Talk(services, router, web.source), served.shared.sign_in_links, served.shared.web_access
        once = IdempotentRequests(served.shared.constellations.registry, clock)
        others = served.shared.audience.other_audiences
        server = WebServer(config, web, links, access, talk, services, clock, marks, once, others)
        yield App(served, server, Telemetry(config.telemetry.otlp, served.opened, clock))


def _connect(web: Front, sources: Iterable[str], served: ServedConstellations) -> tuple[Front, ...]:
    """Connect the front ends of these sources. Each library is loaded only if its front end is used."""
    return (*(importlib.import_module(_FRONT_ENDS[name]).connect(served) for name in sources), web)
