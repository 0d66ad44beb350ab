"""Opens a data folder, and creates what its constellations share: for the service, and for commands on the files."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

from bot.agents.mcp import Servers, open_servers
from bot.agents.permissions.approval_requests import Broker, configured_terms
from bot.config import Config
from bot.errors import ConfigError, UserError
from bot.models.catalog import open_models
from bot.redactor import Redactor
from bot.runtime.configured_constellation import configured_constellation
from bot.runtime.halt import HaltState
from bot.runtime.intake import AudienceResolver, Gate, SharedParts
from bot.runtime.replication import Replication, replica_of
from bot.runtime.supervision import Supervisor
from bot.runtime.turn_retries import configured_retries
from bot.services.agents.constellations import named
from bot.services.composition import compose
from bot.services.people.opted_out_people import Choices
from bot.services.people.place_settings import AccountSettings
from bot.services.people.sign_in_links import SignInLinks
from bot.services.people.web_access import WebAccess
from bot.services.registry import Registry
from bot.services.served_constellations import Connect, ServedConstellations, ServedRegistry, Shared
from bot.services.system.restart import Restart
from bot.upkeep.embedding import Embedders
from memory.store.clock import Clock, utc_now
from memory.store.constellations import Constellation, Constellations
from memory.store.data_folder import DataFolder
from memory.store.errors import StoreError
from memory.store.ids import PersonId
from sources.terminal import PERSON, Journal
from texts import error_text, gettext_lazy


@asynccontextmanager
async def open_shared(
    config: Config,
    clock: Clock,
    connect: Connect,
    restart: Restart,
    web_address: Callable[[], str],
    *,
    asked: str | None = None,
) -> AsyncIterator[ServedConstellations]:
    """Open a folder for the service or, with `asked`, for a command, which creates no constellation and starts nothing.

    `asked` is the constellation that the command names, or empty; it stands in for the configured one until that is
    created. Raises ConfigError, FolderLocked, and UserError if a command finds no constellation.
    """
    at_rest = asked is not None
    async with AsyncExitStack() as stack:
        folder, redact = _folder(config), Redactor(config.secrets()).text
        stack.enter_context(folder.lock())
        constellations = await stack.enter_async_context(Constellations.open(folder.path, clock))
        configured = await _configured(config, constellations, asked)
        home = await stack.enter_async_context(constellations.use(configured.id))
        embedders = await stack.enter_async_context(aclosing(Embedders(config)))
        supervisor, terms = Supervisor(), configured_terms(config)
        halt = HaltState(constellations, clock, config.approvals.halt_phrase, supervisor.halt)
        if not at_rest:
            await halt.restore()
        people, accounts = terms.people, AccountSettings(home, terms.people.selves)
        choices, audience = Choices(constellations, clock, people.selves), AudienceResolver(people)
        gate = Gate(halt, audience.with_audiences, choices.ignored_at, accounts.is_paused)
        served = ServedConstellations(
            Shared(
                config=config,
                clock=clock,
                folder=folder,
                constellations=constellations,
                configured=configured.id,
                home=home,
                accounts=accounts,
                parts=SharedParts(configured_retries(config, clock()), gate, supervisor),
                models=await stack.enter_async_context(open_models(config, clock)),
                embedders=embedders,
                mcp=Servers() if at_rest else await open_servers(config, redact),
                halt=halt,
                broker=Broker(terms, accounts.spoken),
                choices=choices,
                audience=audience,
                journal=Journal(folder.terminal_journal),
                restart=restart,
                replication=Replication(None if at_rest else replica_of(config), constellations, clock, redact),
                sign_in_links=SignInLinks(constellations, people, clock, web_address, config.web.server.public_url),
                web_access=WebAccess(constellations.registry, home, clock, accounts.language),
                started=clock(),
                at_rest=at_rest,
            ),
            compose,
            connect,
        )
        await served.load()
        stack.push_async_callback(served.opened.close)
        yield served


@asynccontextmanager
async def open_registry(config: Config, asked: str = "") -> AsyncIterator[Registry]:
    """The operations for a command, run in its process. For `asked`, FolderLocked and UserError see `open_shared`."""
    async with (
        open_shared(config, utc_now, lambda _served: (), Restart(possible=False), lambda: "", asked=asked) as served,
        served.use(served.shared.configured),
    ):
        yield ServedRegistry(served)


async def _configured(config: Config, constellations: Constellations, asked: str | None) -> Constellation:
    """The configured constellation. Raises UserError if a command would have to create it."""
    if asked is None:
        return await configured_constellation(config, constellations, PersonId(PERSON))
    name = config.constellation.name
    if (found := constellations.named(name)) is not None:
        return found
    if asked:
        return constellations.of(named(constellations, asked))
    known = ", ".join(f'"{each.name}"' for each in constellations.all()) or gettext_lazy("none")
    raise UserError(
        "There is no constellation “{name}” in {home} (available: {known}). `carina run` creates it, or set "
        "constellation.name in {file} to one of those available.",
        name=name,
        home=config.home,
        known=known,
        file=config.file.name,
    )


def _folder(config: Config) -> DataFolder:
    """The data folder, created if missing. Raises ConfigError if that fails."""
    folder = DataFolder(config.home)
    try:
        folder.prepare()
    except StoreError as error:
        raise ConfigError(f"CARINA_HOME: {error_text(error)}") from error
    return folder
