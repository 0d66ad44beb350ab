"""The Discord source: connects, stays connected, falls back when an intent is missing, and says how it stands."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import aiohttp
import discord
import structlog

from memory.clock import Clock, utc_now
from memory.faults import call_point, outside
from memory.ids import PersonId, PlaceId
from sources.base import Deliver, Notification, Speaker
from sources.discord.client import Commands, OwnTree, PlainClient, ShardedClient, make_client
from sources.discord.errors import GatewayRefused, MissingIntent, WrongToken
from sources.discord.lanes import Lanes
from sources.discord.link import REFUSED, Link
from sources.discord.listening import Ears, Equipment
from sources.discord.looking import Lookout
from sources.discord.readback import Cursors, Readback, RecentlyStored
from sources.discord.settings import DiscordSettings
from sources.discord.speaking import DiscordEndpoint
from sources.discord.watch import Watch
from sources.fetch import Fetcher

log = structlog.get_logger(__name__)

LOGIN = call_point("discord.login")
PRESENCE = call_point("discord.presence")

LOGIN_SECONDS = 60.0
PRESENCE_SECONDS = 10.0
CLOSE_SECONDS = 2.0
ANSWER_SECONDS = 10.0
"""How long a connection that ends while the service goes on waits for commands that are being answered over it."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
PRIVILEGED = frozenset({"members", "message_content"})
WRONG_TOKEN, SHARDS_NEEDED, INTENT_REFUSED = 4004, 4011, 4014


async def _unknown() -> int | None:
    return None


@dataclass(frozen=True)
class Wiring:
    """What composition gives the source.

    `cursors` and `recent` say what was seen and stored, `begun` as of which message id the bot listens at all (asked
    before the first connection, so that no message comes before it); `on_ready` is told the bot's name when it is
    connected for the first time; `on_missing` the privileged intents Discord does not grant.
    """

    cursors: Cursors
    recent: RecentlyStored
    begun: Callable[[], Awaitable[int | None]] = _unknown
    on_ready: Callable[[str], None] = lambda _: None
    on_missing: Callable[[frozenset[str]], None] = lambda _: None
    commands: Commands | None = None
    withheld: Callable[[PersonId], bool] = lambda _: False
    """Whether a person chose that nothing they say is heard."""
    knocks: Callable[[Speaker, PlaceId], None] = lambda _speaker, _place: None
    """Told who wrote directly without being let in, and where."""
    clock: Clock = utc_now
    deaf: Callable[[], bool] = lambda: False
    """Whether nothing that is said is heard for the time being; `read_back` is called when that is over."""


@dataclass(frozen=True)
class DiscordStatus:
    """How the connection stands."""

    connected: bool
    name: str
    latency: float | None
    """Seconds of the last heartbeat; None when there was none."""
    guilds: int
    missing_intents: frozenset[str]
    reading_back: bool
    trouble: str = ""
    """Why the last attempt to connect failed; empty once one succeeded."""


@dataclass
class _Ending:
    """Why a connection ended: raise `fatal`, or try again, at once or later."""

    fatal: Exception | None = None
    at_once: bool = False


@dataclass
class _Standing:
    """What the next connection goes by."""

    sharded: bool
    missing: frozenset[str] = frozenset()
    wait: float = FIRST_WAIT
    ready: bool = False
    announced: bool = False
    begun: int | None = None
    trouble: str = ""


class DiscordSource:
    """Hears Discord; its `endpoint` speaks there."""

    name = "discord"

    def __init__(self, settings: DiscordSettings, wiring: Wiring) -> None:
        self._settings = settings
        self._wiring = wiring
        self._link = Link()
        self._link.withheld, self._link.knocks, self._link.deaf = wiring.withheld, wiring.knocks, wiring.deaf
        self._standing = _Standing(sharded=settings.sharded)
        self._lanes: Lanes | None = None
        self._paused = self._finished = False
        self._tree: OwnTree | None = None
        self._read_back: Callable[[], None] | None = None
        self.endpoint = DiscordEndpoint(settings, self._link)

    @property
    def client(self) -> discord.Client | None:
        """The client of the moment, for those who answer interactions."""
        return self._link.client

    @property
    def status(self) -> DiscordStatus:
        client = self._link.client
        latency = client.latency if client is not None and self._standing.ready else math.inf
        return DiscordStatus(
            connected=self._standing.ready,
            name=str(client.user) if client is not None and client.user else "",
            latency=latency if math.isfinite(latency) else None,
            guilds=len(client.guilds) if client is not None else 0,
            missing_intents=self._standing.missing,
            reading_back=self._lanes is not None and self._lanes.held > 0,
            trouble=self._standing.trouble,
        )

    def pause(self) -> None:
        """Stop hearing but go on speaking, for shutting down; what comes meanwhile is read back at the next start."""
        self._paused = True

    async def finish(self, seconds: float) -> None:
        """Let commands that are being answered come to their end, for so many seconds at most.

        Cut off without a word they would look busy for a quarter of an hour, so those people are told.
        """
        self._finished = True
        if self._tree is not None:
            await self._tree.finish(seconds)

    def read_back(self) -> None:
        """Hear what was said while nothing was to be heard, as after a restart; unconnected, that comes by itself."""
        if self._read_back is not None and self._standing.ready:
            self._read_back()

    async def show_state(self, words: str) -> None:
        """Show a few words as the bot's presence; it matters little when that fails."""
        client = self._link.client
        if client is None or not self._standing.ready:
            return
        try:
            activity = discord.CustomActivity(name=words[:128])
            await outside(PRESENCE, client.change_presence(activity=activity), PRESENCE_SECONDS)
        except (*REFUSED, discord.ConnectionClosed) as why:
            log.info("the presence could not be shown", reason=str(why))

    async def run(self, deliver: Deliver) -> None:
        """Stay connected until cancelled; raises WrongToken, MissingIntent or GatewayRefused."""

        def give(notification: Notification) -> None:
            if not self._paused:
                deliver(notification)

        self._standing.begun = await self._wiring.begun()
        try:
            while True:
                ending = await self._session(give)
                if ending.fatal is not None:
                    raise ending.fatal
                if not ending.at_once:
                    log.warning("discord_reconnect", seconds=self._standing.wait)
                    await asyncio.sleep(self._standing.wait)
                    self._standing.wait = min(2 * self._standing.wait, LONGEST_WAIT)
        finally:
            await self.endpoint.close()

    async def _session(self, deliver: Deliver) -> _Ending:
        """One client, from login to its end."""
        tasks: set[asyncio.Task[None]] = set()
        fetcher = Fetcher()
        async with asyncio.TaskGroup() as group:

            def spawn(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
                task = group.create_task(work)
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                return task

            client = self._assemble(spawn, fetcher, deliver)
            try:
                return await self._connected(client, spawn)
            finally:
                self._standing.ready = False
                self._link.shut()
                for task in tasks:
                    task.cancel()
                await _close(client, fetcher, 0.0 if self._finished else ANSWER_SECONDS)

    def _assemble(
        self, spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]], fetcher: Fetcher, deliver: Deliver
    ) -> PlainClient | ShardedClient:
        lanes = self._lanes = Lanes(spawn)
        handlers: list[Callable[[str, tuple[Any, ...]], None]] = []

        def hear(event: str, args: tuple[Any, ...]) -> None:
            for handler in handlers:
                handler(event, args)

        client = make_client(
            self._settings,
            hear,
            self._wiring.commands,
            left_out=self._standing.missing,
            sharded=self._standing.sharded,
        )
        self._tree = client.tree
        lookout = Lookout(client, self._link, self._settings)
        client.tree.shared = lookout.shared_with
        equipment = Equipment(self._settings, self._link, lanes, lookout, fetcher, deliver, self._wiring.clock)
        ears = Ears(equipment)
        readback = Readback(ears, lookout, lanes, self._link, self._settings)

        def read() -> None:
            wiring = self._wiring
            spawn(readback.run(client, wiring.cursors, wiring.recent, self._standing.begun, wiring.clock))

        def read_again() -> None:
            if not lanes.held:  # else it is about to be read anyway
                ears.forget_given()
                lanes.hold()
                read()

        def attend(event: str, _args: tuple[Any, ...]) -> None:
            if event in ("ready", "shard_ready") and lanes.held:
                read()
            self._attend(client, event)

        self._read_back = read_again
        handlers += [ears.on, attend, Watch(client, spawn).on]
        return client

    def _attend(self, client: discord.Client, event: str) -> None:
        if event in ("ready", "resumed", "shard_ready", "shard_resumed"):
            self._is_ready(client)
        elif event == "disconnect" and self._standing.ready:
            self._standing.ready = False
            log.warning("discord_disconnected")

    def _is_ready(self, client: discord.Client) -> None:
        if not self._standing.ready:
            self._standing.ready, self._standing.wait, self._standing.trouble = True, FIRST_WAIT, ""
            log.info("discord_connected", name=str(client.user), guilds=len(client.guilds))
        if not self._standing.announced:
            self._standing.announced = True
            self._wiring.on_ready(str(client.user))

    async def _connected(
        self,
        client: PlainClient | ShardedClient,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> _Ending:
        try:
            await outside(LOGIN, client.login(self._settings.token.get_secret_value()), LOGIN_SECONDS)
            self._link.open(client, spawn)
            await client.connect()
        except discord.LoginFailure:
            return _Ending(WrongToken())
        except discord.PrivilegedIntentsRequired:
            return await self._leave_out(client)
        except discord.ConnectionClosed as why:
            return await self._closed(client, why.code)
        except (*REFUSED, discord.GatewayNotFound, aiohttp.ClientError) as why:
            self._standing.trouble = str(why) or type(why).__name__
            log.warning("discord_unreachable", reason=self._standing.trouble)
        return _Ending()

    async def _closed(self, client: discord.Client, code: int) -> _Ending:
        match code:
            case _ if code == WRONG_TOKEN:
                return _Ending(WrongToken())
            case _ if code == INTENT_REFUSED:
                return await self._leave_out(client)
            case _ if code == SHARDS_NEEDED and not self._standing.sharded:
                self._standing.sharded = True
                return _Ending(at_once=True)
            case _:
                return _Ending(GatewayRefused(code))

    async def _leave_out(self, client: discord.Client) -> _Ending:
        """Go on without the privileged intents that are not granted: mentions and direct messages still work."""
        try:
            flags = (await outside(LOGIN, client.application_info(), LOGIN_SECONDS)).flags
        except REFUSED:
            flags = client.application_flags  # as they were at the login
        missing = ungranted(flags) - self._standing.missing or PRIVILEGED - self._standing.missing
        if not missing:
            return _Ending(MissingIntent())
        self._standing.missing |= missing
        log.warning(
            "discord_missing_intent",
            missing=sorted(self._standing.missing),
            hint="grant it in the developer portal under Bot; until then only mentions and direct messages are read",
        )
        self._wiring.on_missing(self._standing.missing)
        return _Ending(at_once=True)


def ungranted(flags: discord.ApplicationFlags) -> frozenset[str]:
    """The privileged intents that the application's flags do not show."""
    granted = set()
    if flags.gateway_guild_members or flags.gateway_guild_members_limited:
        granted.add("members")
    if flags.gateway_message_content or flags.gateway_message_content_limited:
        granted.add("message_content")
    return PRIVILEGED - granted


async def _close(client: PlainClient | ShardedClient, fetcher: Fetcher, answering: float) -> None:
    await client.tree.answered(answering)
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await client.close()
    except TimeoutError:
        log.warning("the connection to Discord did not close in time")
    await fetcher.close()
