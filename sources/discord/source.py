"""The Discord source: connects, stays connected, falls back when an intent is missing, and reports its state.

discord.py resumes after short interruptions. It gives up if a first connection fails (with an AttributeError), and
repeats a rejected session without any pause; after an interruption it pauses for up to 17 minutes. So each of its runs
has a deadline for the handshake and for resuming: a slower run is ended, and the next one begins with a new client
after a pause of ours, forever, within Discord's allowance of session starts.
"""

import asyncio
import math
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import discord
from discord.gateway import ReconnectWebSocket

from memory.queue.notifications import Notification
from memory.store.faults import call_point, outside
from memory.store.logs import Log
from sources.base import Deliver, Readiness, SourceRefused, raise_if_cancelled
from sources.discord.catch_up import CatchUp
from sources.discord.channel_lookup import ChannelLookup
from sources.discord.command_tree import OwnTree, sync
from sources.discord.connection import (
    PRIVILEGED,
    Connection,
    ConnectionEnd,
    Hear,
    PlainClient,
    make_client,
    reason_of,
    starts_used_up,
    ungranted,
    waits,
)
from sources.discord.listener import ChannelQueues, GatewayListener
from sources.discord.message_sender import DiscordEndpoint
from sources.discord.places import person_id, place_id
from sources.discord.send_failures import REFUSED
from sources.discord.settings import DiscordSettings
from sources.discord.shared_state import SharedState, Spawn, Wiring
from texts import _, gettext_lazy

log = Log(__name__)

LOGIN = call_point("discord.login")

LOGIN_SECONDS = 60.0
CLOSE_SECONDS = 2.0
ANSWER_SECONDS = 10.0
"""How long an ending connection waits for commands that are being answered over it."""
HELD_SECONDS = 60.0
"""A session that lasted this long does not count as a failed try."""
WRONG_TOKEN, INTENT_REFUSED = 4004, 4014
PRESENCE_SECONDS = 5.0
"""How often the bot's presence is brought up to date: Discord allows five changes in 20 seconds."""


class DiscordSource:
    """Receives from Discord; its `endpoint` sends there."""

    name = "discord"

    def __init__(self, settings: DiscordSettings, wiring: Wiring) -> None:
        self._settings = settings
        self._wiring = wiring
        self._state = SharedState(settings, wiring)
        self._connection = Connection(wiring.clock)
        self._pauses = waits()
        self._announced = False
        self._listens_from: int | None = None
        self._deadline: asyncio.Timeout | None = None
        """When the current run of the library is given up, unless it is connected by then."""
        self._connected_since = math.inf
        """When the current session began, by the loop's clock."""
        self._why_lost = ""
        """Why the connection last ended, if it has not come back."""
        self._shown_silence: str | None = ""
        """The silence that the bot's presence shows; a new session begins without one. None if a change may be lost."""
        self._read_hold = 0
        """The hold of the queues for which the history was read, or is being read."""
        self.missing_intents: frozenset[str] = frozenset()
        self._paused = self._finished = False
        self._tree: OwnTree | None = None
        self._handlers: list[Hear] = []
        self._read_back: Callable[[], None] | None = None
        self.endpoint = DiscordEndpoint(self._state)

    @property
    def client(self) -> discord.Client | None:
        """The current client, for those who answer interactions."""
        return self._state.client

    @property
    def words(self) -> str:
        """The state of the connection, for the operator."""
        client = self._state.client
        if not self._connection.up or client is None:
            return self._connection.words
        names = ", ".join(sorted(self.missing_intents))
        missing = (
            _("; without {names}, which can be turned on in Discord's developer portal, under Bot", names=names)
            if names
            else ""
        )
        delay = f", {client.latency * 1000:.0f} ms" if math.isfinite(client.latency) else ""
        return _("connected as {name}{delay}{missing}", name=str(client.user), delay=delay, missing=missing)

    @property
    def readiness(self) -> Readiness:
        return Readiness(self._connection.up, self._connection.words)

    def pause(self) -> None:
        """Stop receiving but keep sending, for the shutdown; the next start reads what arrives meanwhile."""
        self._paused = True

    async def finish(self, seconds: float) -> None:
        """Let running commands finish, for at most that many seconds.

        Otherwise they would look busy for a quarter of an hour, so those people are told.
        """
        self._finished = True
        if self._tree is not None:
            await self._tree.finish(seconds)

    def read_back(self) -> None:
        """Read what was missed during a pause, as after a restart; without a connection, connecting does that."""
        if self._read_back is not None and self._connection.up:
            self._read_back()

    async def run(self, deliver: Deliver) -> None:
        """Stay connected until canceled; raises SourceRefused."""

        def give(notification: Notification) -> None:
            if not self._paused:
                deliver(notification)

        self._listens_from = await self._wiring.listens_from()
        while True:
            try:
                ending = await self._session(give)
            except Exception:
                # Discord's answers and the library fail in many ways; none may end the service.
                log.exception("discord_session_failed")
                raise_if_cancelled()
                await self._pause(ConnectionEnd(reason=gettext_lazy("an unexpected error; see the log")))
            else:
                if ending.fatal is not None:
                    raise ending.fatal

    async def _session(self, deliver: Deliver) -> ConnectionEnd:
        """One client, from login until its successor; while it waits, messages can be sent through it."""
        tasks: set[asyncio.Task[None]] = set()
        async with asyncio.TaskGroup() as group:

            def spawn(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
                task = group.create_task(work)
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                return task

            client = self._assemble(spawn, deliver)
            try:
                ending = await self._connected(client, spawn)
                if ending.reason:
                    await self._pause(ending)
                return ending
            finally:
                self._connection.ended()
                self._handlers.clear()  # the library still dispatches for a moment
                self._state.shut()
                for task in tasks:
                    task.cancel()
                await _close(client, 0.0 if self._finished else ANSWER_SECONDS)

    async def _pause(self, ending: ConnectionEnd) -> None:
        """Wait before the next attempt: longer each time, starting again after a session that lasted."""
        if asyncio.get_running_loop().time() - self._connected_since >= HELD_SECONDS:
            self._pauses = waits()
        self._connected_since = math.inf
        seconds = max(next(self._pauses), ending.at_least)
        self._connection.waiting(ending.reason, seconds)
        await asyncio.sleep(seconds)

    def _assemble(self, spawn: Spawn, deliver: Deliver) -> PlainClient:
        queues = ChannelQueues(spawn, self._wiring.gave_up)
        handlers = self._handlers = list[Hear]()

        def hear(event: str, args: tuple[Any, ...]) -> None:
            for handler in handlers:
                handler(event, args)

        client = make_client(self._state, hear, spawn, self.missing_intents)
        self._tree = client.tree
        lookup = ChannelLookup(client, self._state, client.memberships)
        listener = GatewayListener(self._state, queues, lookup, deliver)
        wiring, first = self._wiring, self._listens_from
        catch_up = CatchUp(client, self._state, first, lambda: self._paused or wiring.paused(), listener)
        reading: list[asyncio.Task[None]] = []
        self._read_hold = 0

        def read() -> None:
            self._read_hold = queues.held
            spawn(catch_up.run())
            if not reading:
                reading.append(spawn(catch_up.keep_reading()))
                spawn(self._show_presence(client))
                spawn(sync(client.tree, wiring.commands))

        def read_again() -> None:
            if not queues.held:  # else it is about to be read anyway
                listener.forget_given()
                queues.hold()
                read()

        def look() -> None:
            """The library waits a fixed time after the last server, in which nothing would be received."""
            if queues.held and client.user and not any(guild.unavailable for guild in client.guilds):
                hear("ready", ())

        def attend(event: str, _args: tuple[Any, ...]) -> None:
            waits_for_servers = queues.held not in (0, self._read_hold)
            if event in ("connect", "socket_event_type") and waits_for_servers:
                asyncio.get_running_loop().call_soon(look)  # after the library has read it
            if event == "ready" and waits_for_servers:
                read()
            self._attend(client, event)

        self._read_back = read_again
        handlers += [listener.on, attend, self._note_typing]
        return client

    def _note_typing(self, event: str, args: tuple[Any, ...]) -> None:
        """Record who is typing, so about to add something, unless they must not be heard."""
        match event, args:
            case "raw_typing", (discord.RawTypingEvent() as typing,):
                if not self._wiring.ignored(person_id(typing.user_id)):
                    self._wiring.types(place_id(typing.channel_id), person_id(typing.user_id))
            case "message", (discord.Message() as message,):
                self._wiring.spoke(place_id(message.channel.id), person_id(message.author.id))
            case _:
                pass

    def _attend(self, client: discord.Client, event: str) -> None:
        match event:
            case "connect" | "resumed":
                self._give_up_in(None)
                self._why_lost = ""
                self._shown_silence = "" if event == "connect" else None
            case "disconnect":
                self._is_gone(client)
            case _:
                pass
        if event in ("ready", "resumed"):
            self._is_ready(client)

    async def _show_presence(self, client: discord.Client) -> None:
        """Show in the bot's presence whether nobody is answered."""
        while True:
            words = self._wiring.silence()
            if self._connection.up and words != self._shown_silence:
                status, activity = discord.Status.online, None
                if words:
                    status, activity = discord.Status.dnd, discord.CustomActivity(words)
                with suppress(OSError, discord.ConnectionClosed):  # tried again below
                    await client.change_presence(status=status, activity=activity)
                    self._shown_silence = words
            await asyncio.sleep(PRESENCE_SECONDS)

    def _is_gone(self, client: discord.Client) -> None:
        """The library reveals why it reconnects only by the exception that it is handling."""
        why, lasted = sys.exc_info()[1], asyncio.get_running_loop().time() - self._connected_since
        self._why_lost = reason_of(why, client)
        self._connection.interrupted(self._why_lost)
        anew = isinstance(why, ReconnectWebSocket) and not why.resume
        self._give_up_in(0.0 if anew and lasted < HELD_SECONDS else self._settings.resume_seconds)
        if anew:
            self._connected_since = math.inf

    def _give_up_in(self, seconds: float | None) -> None:
        """End the library's run after that time; None cancels that. An earlier deadline stays."""
        deadline, now = self._deadline, asyncio.get_running_loop().time()
        if deadline is None or deadline.expired():
            return
        if seconds is None:
            deadline.reschedule(None)
        else:
            deadline.reschedule(min(now + seconds, deadline.when() or math.inf))

    def _is_ready(self, client: discord.Client) -> None:
        if math.isinf(self._connected_since):
            self._connected_since = asyncio.get_running_loop().time()
        self._connection.connected(str(client.user), len(client.guilds))
        self._wiring.reachable()
        if not self._announced:
            self._announced = True
            self._wiring.on_ready(str(client.user))

    async def _connected(self, client: PlainClient, spawn: Spawn) -> ConnectionEnd:
        self._connection.connecting()
        try:
            await outside(LOGIN, client.login(self._settings.token.get_secret_value()), LOGIN_SECONDS)
            self._state.open(client, spawn, client.memberships.member)
            return await starts_used_up(client) or await self._run(client)
        except discord.LoginFailure:
            return _wrong_token()
        except discord.PrivilegedIntentsRequired:
            return self._leave_out(client)
        except discord.ConnectionClosed as why:
            return self._closed(client, why.code)
        except (*REFUSED, discord.GatewayNotFound) as why:
            return ConnectionEnd(reason=reason_of(why, client))

    async def _run(self, client: PlainClient) -> ConnectionEnd:
        """The library's own loop, until it fails or takes too long to connect."""
        try:
            async with asyncio.timeout(self._settings.handshake_seconds) as self._deadline:
                await client.connect()
        except TimeoutError:
            seconds = f"{self._settings.handshake_seconds:g}"
            silent = gettext_lazy("Discord's gateway did not answer within {seconds} s", seconds=seconds)
            return ConnectionEnd(reason=self._why_lost or silent)
        except AttributeError as why:
            if client.ws is not None:
                raise
            return ConnectionEnd(reason=reason_of(why.__context__, client))
        finally:
            self._deadline, self._why_lost = None, ""
        return ConnectionEnd(reason=gettext_lazy("the connection was closed"))

    def _closed(self, client: discord.Client, code: int) -> ConnectionEnd:
        if code == WRONG_TOKEN:
            return _wrong_token()
        if code == INTENT_REFUSED:
            return self._leave_out(client)
        return ConnectionEnd(
            SourceRefused(_("Discord's gateway closed the connection permanently (code {code}).", code=code))
        )

    def _leave_out(self, client: discord.Client) -> ConnectionEnd:
        """Continue without the privileged intents that are not granted: mentions and direct messages still work."""
        missing = ungranted(client.application_flags) - self.missing_intents or PRIVILEGED - self.missing_intents
        if not missing:
            refused = _("Discord refused the gateway intents. Check the bot's settings in the developer portal.")
            return ConnectionEnd(SourceRefused(refused))
        self.missing_intents |= missing
        log.warning(
            "discord_missing_intent",
            missing=sorted(self.missing_intents),
            hint="grant it in the developer portal under Bot; until then only mentions and direct messages are read",
        )
        return ConnectionEnd()


def _wrong_token() -> ConnectionEnd:
    return ConnectionEnd(
        SourceRefused(
            _("Discord refused the token (DISCORD_TOKEN). Reset it in the developer portal, and set the new one.")
        )
    )


async def _close(client: PlainClient, answering: float) -> None:
    await client.tree.answered(answering)
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await client.close()
    except TimeoutError:
        log.warning("discord_close_timed_out")
