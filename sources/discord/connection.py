"""The connection to Discord: discord.py's client, with synchronous event handling, and how long to wait before the
next attempt, in pauses that grow. The state of the connection is logged once per change."""

import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import discord
from discord.gateway import ReconnectWebSocket
from msgspec import Struct

from memory.store.clock import Clock
from memory.store.faults import call_point, outside
from memory.store.logs import Log
from sources.discord.command_tree import OwnTree
from sources.discord.memberships import Memberships
from sources.discord.shared_state import SharedState, Spawn
from texts import _, gettext_lazy, ngettext

_log = Log("sources.discord")

STARTS = call_point("discord.session_starts")

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
STARTS_SECONDS = 15.0
SPARE_STARTS = 5
"""Session starts that are left for manual starts of the service: Discord resets the token of a bot that uses up its
daily allowance (1,000 for most)."""


class ConnectionEnd(Struct, frozen=True):
    """Why a run of the library ended: raise `fatal`, or try again, at once or (for a `reason`) later."""

    fatal: Exception | None = None
    reason: str = ""
    at_least: float = 0.0
    """Seconds before which another try is useless."""


class Connection:
    """Keeps one source's connection state and logs every change once.

    A try that fails for the same reason as the last one is no change: it is logged already.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._down_since = clock()
        self._logged = self._reason = ""
        self._next_try: datetime | None = None
        self._failed_tries = 0
        self.up = False

    @property
    def words(self) -> str:
        """Why it is not connected, for the operator; empty if it is."""
        if self.up:
            return ""
        if self._next_try is not None:
            return _(
                "not connected: {reason}; next attempt {clock} ({count} so far)",
                reason=_(self._reason),
                clock=self._next_try,
                count=ngettext("{count} attempt", "{count} attempts", self._failed_tries),
            )
        if self._reason:
            return _("not connected: {reason}; trying again", reason=_(self._reason))
        return _("not connected: connecting")

    def connecting(self) -> None:
        if not self._failed_tries:
            _log.info("discord_connecting")
        self._next_try = None

    def waiting(self, reason: str, seconds: float) -> None:
        """An attempt failed; the next one is in that many seconds."""
        self.ended()
        self._next_try = self._clock() + timedelta(seconds=seconds)
        self._reason, self._failed_tries = reason, self._failed_tries + 1
        if reason != self._logged:
            self._logged = reason
            until = self._next_try.isoformat(timespec="seconds")
            _log.warning("discord_waiting", reason=reason, until=until, seconds=round(seconds, 1))

    def interrupted(self, reason: str) -> None:
        """The connection broke, and the library tries to resume it."""
        if self.up:
            _log.warning("discord_interrupted", reason=reason)
            self._reason = reason
        self.ended()

    def ended(self) -> None:
        if self.up:
            self.up, self._down_since = False, self._clock()

    def connected(self, name: str, guilds: int) -> None:
        if self.up:
            return
        down = round((self._clock() - self._down_since).total_seconds(), 1)
        _log.info("discord_connected", name=name, guilds=guilds, after_seconds=down, failed_tries=self._failed_tries)
        self.up, self._logged, self._reason, self._next_try, self._failed_tries = True, "", "", None, 0


def waits(chance: Callable[[], float] = random.random) -> Iterator[float]:
    """Pauses between attempts: doubled up to the longest, each shortened at random by up to half.

    After an outage of Discord all bots reconnect; the randomness spreads them.
    """
    wait = FIRST_WAIT
    while True:
        yield wait * (1 - chance() / 2)
        wait = min(2 * wait, LONGEST_WAIT)


async def starts_used_up(client: discord.Client) -> ConnectionEnd | None:
    """Ask Discord whether a session may be started; None if it may. Raises the errors of a request."""
    _, _, limit = await outside(STARTS, client.http.get_bot_gateway(), STARTS_SECONDS)
    if limit["remaining"] > SPARE_STARTS:
        return None
    used_up = gettext_lazy(
        "Discord allows the bot {total} connections a day, and they are used up", total=limit["total"]
    )
    return ConnectionEnd(reason=used_up, at_least=max(limit["reset_after"] / 1000, FIRST_WAIT))


def reason_of(why: BaseException | None, client: discord.Client) -> str:
    """Why a connection ended or failed, in words for the operator."""
    code = None if client.ws is None else client.ws.socket.close_code
    if isinstance(why, ReconnectWebSocket) and code:
        return gettext_lazy("Discord's gateway closed the connection (code {code})", code=code)
    if why is None or isinstance(why, ReconnectWebSocket):
        return gettext_lazy("the connection was lost")
    if isinstance(why, TimeoutError):
        return gettext_lazy("{name} did not answer in time", name="Discord")
    return str(why) or type(why).__name__


RATE_LIMIT_SECONDS = 30.0
"""The longest rate limit that is waited out; the outbox handles longer ones."""

Hear: TypeAlias = Callable[[str, tuple[Any, ...]], None]


class PlainClient(discord.Client):
    def __init__(self, state: SharedState, hear: Hear, spawn: Spawn, **options: Any) -> None:
        super().__init__(**options)
        self.memberships = Memberships(self, state)
        self.tree = OwnTree(self, state.wiring.commands)
        self._hear_event, self._spawn = hear, spawn

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        await super().before_identify_hook(shard_id, initial=initial)
        self._spawn(self.tree.fill())  # while Discord answers; nobody can use a command before that

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        self._hear_event(event, args)
        super().dispatch(event, *args, **kwargs)


def make_client(state: SharedState, hear: Hear, spawn: Spawn, left_out: frozenset[str]) -> PlainClient:
    """A client with the intents that Carina needs, except those left out."""
    return PlainClient(
        state,
        hear,
        spawn,
        intents=intents(left_out),
        max_messages=None,
        allowed_mentions=discord.AllowedMentions.none(),
        max_ratelimit_timeout=RATE_LIMIT_SECONDS,
        guild_ready_timeout=state.settings.ready_seconds,
    )


def intents(left_out: frozenset[str]) -> discord.Intents:
    """Guilds, members, messages, reactions, content, typing; the privileged ones can be left out."""
    wanted = discord.Intents.none()
    wanted.guilds = wanted.messages = wanted.reactions = wanted.typing = True
    wanted.members = "members" not in left_out
    wanted.message_content = "message_content" not in left_out
    return wanted


PRIVILEGED = frozenset({"members", "message_content"})


def ungranted(flags: discord.ApplicationFlags) -> frozenset[str]:
    """The privileged intents that the application's flags lack."""
    granted = set()
    if flags.gateway_guild_members or flags.gateway_guild_members_limited:
        granted.add("members")
    if flags.gateway_message_content or flags.gateway_message_content_limited:
        granted.add("message_content")
    return PRIVILEGED - granted
