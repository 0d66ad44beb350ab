"""The state of the connection to Discord, logged once per change, and the pauses between tries."""

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import aiohttp
import discord
from discord.gateway import ReconnectWebSocket

from memory.store.clock import Clock
from memory.store.faults import call_point, outside
from memory.store.logs import Log
from sources.base import SourceRefused
from texts import _, gettext_lazy, ngettext


class WrongToken(SourceRefused):
    def __init__(self) -> None:
        super().__init__(
            _("Discord refused the token (DISCORD_TOKEN). Reset it in the developer portal, and set the new one.")
        )


class MissingIntent(SourceRefused):
    """Discord rejects the connection for an intent even without the privileged ones."""

    def __init__(self) -> None:
        super().__init__(_("Discord refused the gateway intents. Check the bot's settings in the developer portal."))


class GatewayRefused(SourceRefused):
    """Discord closed the connection for a reason that retries do not cure."""

    def __init__(self, code: int) -> None:
        super().__init__(_("Discord closed the gateway permanently (close code {code}).", code=code))
        self.code = code


log = Log("sources.discord")

ALL_HERE = "all_here"
"""An event of ours, besides the library's."""
STARTS = call_point("discord.session_starts")

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
STARTS_SECONDS = 15.0
SPARE_STARTS = 5
"""Session starts that are left for manual starts of the service: Discord resets the token of a bot that uses up its
daily allowance (1,000 for most)."""


class Stage(StrEnum):
    CONNECTING = "connecting"
    WAITING = "waiting"
    """The last try failed; the next one is at a known time."""
    INTERRUPTED = "interrupted"
    """The connection broke, and the library is resuming the session."""
    CONNECTED = "connected"


@dataclass(frozen=True)
class State:
    """The state, since when, why, and until when if that is known."""

    stage: Stage
    since: datetime
    reason: str = ""
    until: datetime | None = None
    tries: int = 0
    """Failed tries since the last connection."""

    @property
    def words(self) -> str:
        """For the operator; empty if it is connected."""
        match self.stage:
            case Stage.CONNECTED:
                return ""
            case Stage.INTERRUPTED:
                return _("not connected since {clock}: {reason}; resuming", clock=self.since, reason=_(self.reason))
            case Stage.WAITING if self.until is not None:
                count = ngettext("{count} try", "{count} tries", self.tries)
                return _(
                    "not connected: {reason}; next try {clock} ({count} so far)",
                    reason=_(self.reason),
                    clock=self.until,
                    count=count,
                )
            case _:
                return (
                    _("not connected: {reason}; trying again", reason=_(self.reason))
                    if self.reason
                    else _("not connected: connecting")
                )


class Connection:
    """Keeps one source's connection state and logs every change once.

    A try that fails for the same reason as the last one is no change: it is logged already.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._down_since = clock()
        self._said = ""
        self.state = State(Stage.CONNECTING, self._down_since)

    @property
    def stands(self) -> bool:
        return self.state.stage is Stage.CONNECTED

    def connecting(self) -> None:
        state = self.state
        if not state.tries:
            log.info("discord_connecting")
        self.state = State(Stage.CONNECTING, self._clock(), state.reason, tries=state.tries)

    def waiting(self, reason: str, seconds: float) -> None:
        """A try failed; the next one is in so many seconds."""
        self.ended()
        now = self._clock()
        until = now + timedelta(seconds=seconds)
        if reason != self._said:
            self._said = reason
            shown = until.isoformat(timespec="seconds")
            log.warning("discord_waiting", reason=reason, until=shown, seconds=round(seconds, 1))
        self.state = State(Stage.WAITING, now, reason, until, self.state.tries + 1)

    def interrupted(self, reason: str) -> None:
        """The connection broke, and the library tries to resume it."""
        if self.stands:
            self._down_since = self._clock()
            self.state = State(Stage.INTERRUPTED, self._down_since, reason)
            log.warning("discord_interrupted", reason=reason)

    def ended(self) -> None:
        """Nothing connects or resumes any more."""
        if self.stands:
            self._down_since = self._clock()
        if self.state.stage is not Stage.WAITING:
            self.state = State(Stage.CONNECTING, self._clock(), self.state.reason, tries=self.state.tries)

    def connected(self, name: str, guilds: int) -> None:
        if self.stands:
            return
        now = self._clock()
        down = round((now - self._down_since).total_seconds(), 1)
        log.info("discord_connected", name=name, guilds=guilds, after_seconds=down, failed_tries=self.state.tries)
        self.state, self._said = State(Stage.CONNECTED, now), ""


class AllHere:
    """Reports when every server that Discord announced has arrived: the library waits a fixed time after the last one,
    in which nothing would be received."""

    def __init__(
        self, client: discord.Client, hold: Callable[[], int], tell: Callable[[str, tuple[Any, ...]], None]
    ) -> None:
        self._client = client
        self._hold = hold
        self._tell = tell
        self._told = 0

    @property
    def told(self) -> bool:
        """Whether it was told of what is held at the moment, which a number of its own names."""
        return self._told == self._hold()

    def on(self, event: str, _args: tuple[Any, ...]) -> None:
        if event in ("connect", "socket_event_type") and not self.told:
            asyncio.get_running_loop().call_soon(self._look)  # after the library has read it

    def _look(self) -> None:
        sharded = isinstance(self._client, discord.AutoShardedClient)  # other shards' servers are not known
        if sharded or self._client.user is None or self.told:
            return
        if not any(guild.unavailable for guild in self._client.guilds):
            self._told = self._hold()
            self._tell(ALL_HERE, ())


def waits(chance: Callable[[], float] = random.random) -> Iterator[float]:
    """Pauses between tries: doubled up to the longest, each shortened at random by up to half.

    After an outage of Discord all bots reconnect; the randomness spreads them.
    """
    wait = FIRST_WAIT
    while True:
        yield wait * (1 - chance() / 2)
        wait = min(2 * wait, LONGEST_WAIT)


class StartsUsedUp(Exception):
    """Discord's allowance of session starts is used up; `seconds` until it is renewed."""

    def __init__(self, total: int, seconds: float) -> None:
        self.reason = gettext_lazy(
            "Discord allows the bot {total} connections a day, and they are used up", total=total
        )
        super().__init__(self.reason)
        self.seconds = seconds


async def check_starts(client: discord.Client) -> None:
    """Ask Discord whether a session may be started. Raises StartsUsedUp, and the errors of a request."""
    _, _, limit = await outside(STARTS, client.http.get_bot_gateway(), STARTS_SECONDS)
    if limit["remaining"] <= SPARE_STARTS:
        raise StartsUsedUp(limit["total"], max(limit["reset_after"] / 1000, FIRST_WAIT))


def reason_of(why: BaseException | None, client: discord.Client) -> str:
    """Why a connection ended or failed, in words for the operator."""
    match why:
        case ReconnectWebSocket(resume=False):
            return gettext_lazy("Discord declared the session invalid (op 9)")
        case ReconnectWebSocket() if isinstance(why.__context__, TimeoutError):
            return gettext_lazy("nothing was received from Discord for a minute")
        case ReconnectWebSocket() if why.__context__ is None:
            return gettext_lazy("Discord asked the bot to reconnect (op 7)")
        case ReconnectWebSocket():
            code = None if client.ws is None else client.ws.socket.close_code
            if code:
                return gettext_lazy("Discord's gateway closed the connection (code {code})", code=code)
            return gettext_lazy("the connection broke")
        case aiohttp.WSServerHandshakeError():
            return gettext_lazy(
                "Discord's gateway answered {status} instead of opening the connection", status=why.status
            )
        case discord.GatewayNotFound():
            return gettext_lazy("Discord did not say where its gateway is")
        case TimeoutError():
            return gettext_lazy("Discord did not answer in time")
        case None:
            return gettext_lazy("the connection ended")
        case StartsUsedUp():
            return why.reason
        case _:
            return str(why) or type(why).__name__
