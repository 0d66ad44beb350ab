"""discord.py's client, with synchronous event handling, and with commands synced only after a change.

The state of its connection is logged once per change; the pauses between tries grow.
"""

import asyncio
import hashlib
import json
import random
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import discord
from discord import app_commands
from discord.gateway import ReconnectWebSocket
from msgspec import Struct

from memory.store.clock import Clock
from memory.store.errors import DatabaseBusy, DatabaseFull
from memory.store.faults import call_point, outside
from memory.store.logs import Log
from sources.discord.outcomes import REFUSED
from sources.discord.settings import DiscordSettings
from texts import FOLDER, _, gettext_lazy, gettext_noop, language_of, ngettext, read_on, speak, speaking

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
        """A try failed; the next one is in so many seconds."""
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
    """Pauses between tries: doubled up to the longest, each shortened at random by up to half.

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
        return gettext_lazy("the connection broke")
    if isinstance(why, TimeoutError):
        return gettext_lazy("{name} did not answer in time", name="Discord")
    return str(why) or type(why).__name__


log = Log(__name__)

SYNC = call_point("discord.sync_commands")

SYNC_SECONDS = 30.0
RATE_LIMIT_SECONDS = 30.0
"""The longest rate limit that is waited out; the outbox handles longer ones."""

TELLING_SECONDS = 1.0
UNFINISHED = gettext_noop(
    "I am restarting and could not finish this. Part of it may be done. Please check and try again in a minute."
)
NOT_BEGUN = gettext_noop("I am restarting, so nothing was done. Please try again in a minute.")

Tree: TypeAlias = app_commands.CommandTree[Any]
Install: TypeAlias = Callable[[Tree], None]
"""Installs commands, menus and persistent components (by `tree.client`) before the connection is made."""

Shared: TypeAlias = Callable[[Any, discord.abc.User], Awaitable[tuple[int, ...]]]
"""Finds the guilds whose messages may be used to answer a direct message of this person."""

Hear: TypeAlias = Callable[[str, tuple[Any, ...]], None]


class Commands(Struct, frozen=True):
    """The commands to install, and where the digest of Discord's version of them is stored."""

    install: Install
    synced: Callable[[], Awaitable[str | None]]
    """Returns the stored digest."""
    note: Callable[[str], Awaitable[None]]
    """Stores the digest."""
    barred: Callable[[discord.Interaction[Any]], str]
    """The reason why a person's command, button or form is refused; empty for everybody else."""
    language: Callable[[discord.Interaction[Any]], str]
    """The language that a person chose; empty without a choice, so that their Discord's is used."""
    cleaned: Callable[[Any], Any]
    """A text from a command or form, or in an answer, without what must not be stored or shown."""


class PlainClient(discord.Client):
    def __init__(self, hear: Hear, commands: Commands, **options: Any) -> None:
        super().__init__(**options)
        self.tree = plant(self, commands)
        self._hear_event = hear

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        self._hear_event(event, args)
        super().dispatch(event, *args, **kwargs)


def make_client(settings: DiscordSettings, hear: Hear, commands: Commands, left_out: frozenset[str]) -> PlainClient:
    """A client with the intents that Carina needs, except those left out."""
    return PlainClient(
        hear,
        commands,
        intents=intents(left_out),
        max_messages=None,
        allowed_mentions=discord.AllowedMentions.none(),
        max_ratelimit_timeout=RATE_LIMIT_SECONDS,
        guild_ready_timeout=settings.ready_seconds,
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


class CatalogTranslator(app_commands.Translator):
    """Translates descriptions of commands and options, and names of choices and menu entries."""

    async def translate(
        self, string: app_commands.locale_str, locale: discord.Locale, context: app_commands.TranslationContextTypes
    ) -> str | None:
        """None if Discord is to show the English text. Names stay: people type them as documented."""
        typed = context.location in _NAMES and not isinstance(context.data, app_commands.ContextMenu)
        if typed or (code := language_of(locale.value)) == "en":
            return None
        with speaking(code):
            text = _(string.message)
        return None if text == string.message else text


_NAMES = (
    app_commands.TranslationContextLocation.command_name,
    app_commands.TranslationContextLocation.group_name,
    app_commands.TranslationContextLocation.parameter_name,
)


async def _nowhere(_channel: Any, _user: discord.abc.User) -> tuple[int, ...]:
    return ()


class OwnTree(app_commands.CommandTree[Any]):
    def __init__(self, client: discord.Client, own: Commands, **options: Any) -> None:
        super().__init__(client, **options)
        self._own = own
        self.shared: Shared = _nowhere
        self._answering: dict[asyncio.Task[Any], discord.Interaction[Any]] = {}
        self._ending = False

    def cleaned(self, said: str) -> str:
        return str(self._own.cleaned(said))

    async def answered(self, seconds: float) -> None:
        """Wait, for at most so long, until every interaction has its answer."""
        if self._answering:
            await asyncio.wait(self._answering, timeout=seconds)

    async def finish(self, seconds: float) -> None:
        """Wait likewise; then tell those without an answer, and everybody from now on, that none will come."""
        await self.answered(max(seconds - TELLING_SECONDS, 0))
        self._ending = True
        unanswered = dict(self._answering)
        for task in unanswered:
            task.cancel()
        waiting = [each for each in unanswered.values() if each.type is not discord.InteractionType.autocomplete]
        telling = [asyncio.create_task(answer_anyhow(each, _(UNFINISHED))) for each in waiting]
        if telling:
            log.warning("commands_cut_off", count=len(telling))
            _told, late = await asyncio.wait(telling, timeout=TELLING_SECONDS)
            for task in late:
                task.cancel()

    async def interaction_check(self, interaction: discord.Interaction[Any], /) -> bool:
        """Checked before every command, menu and suggestion, and for buttons and forms."""
        if (task := asyncio.current_task()) is not None:
            self._answering[task] = interaction
            task.add_done_callback(lambda done: self._answering.pop(done, None))
        speak(self._own.language(interaction) or interaction.locale.value)
        read_on("discord")
        if not (words := _(NOT_BEGUN) if self._ending else self._own.barred(interaction)):
            interaction.data = self._own.cleaned(interaction.data)
            return True
        try:
            if interaction.type is discord.InteractionType.autocomplete:
                await interaction.response.autocomplete([])
            else:
                await interaction.response.send_message(words, ephemeral=True)
        except REFUSED as why:
            log.warning("interaction_unanswered", reason=str(why))
        return False

    async def on_error(self, interaction: discord.Interaction[Any], error: app_commands.AppCommandError, /) -> None:
        """A command failed: tell the person instead of letting them wait, and log the error."""
        if isinstance(error, app_commands.TransformerError):
            text = _("I cannot use {value}: I do not see it, or it is the wrong kind.", value=error.value)
        elif isinstance(why := getattr(error, "original", None), DatabaseBusy | DatabaseFull):
            log.warning("command_not_stored", reason=str(why))
            text = not_stored(why)
        else:
            await super().on_error(interaction, error)
            text = _(BROKEN)
        await answer_anyhow(interaction, text)


BROKEN = gettext_noop("Something went wrong. The person who runs me can find the reason in my log.")
"""What a person is told if their command, button or form met a defect."""


def not_stored(why: DatabaseBusy | DatabaseFull) -> str:
    """What a person is told if the database refused their write."""
    return _("I cannot store anything right now: {why}. Please check what was done and try again in a minute.", why=why)


async def answer_anyhow(interaction: discord.Interaction[Any], text: str) -> None:
    """Send a text that only they see, answered before or not; a failure is only logged."""
    try:
        if interaction.response.is_done():
            await interaction.followup.send(text, ephemeral=True)
        else:
            await interaction.response.send_message(text, ephemeral=True)
    except REFUSED as why:
        log.warning("interaction_unanswered", reason=str(why))


def plant(client: discord.Client, commands: Commands) -> OwnTree:
    """The tree of commands, for guilds, direct messages and user installs."""
    tree = OwnTree(
        client,
        commands,
        allowed_contexts=app_commands.AppCommandContext(guild=True, dm_channel=True, private_channel=True),
        allowed_installs=app_commands.AppInstallationType(guild=True, user=True),
    )
    commands.install(tree)
    return tree


def mark(tree: Tree) -> str:
    """What the tree would tell Discord, in short: the commands, and the catalogs, without loading these (2 MiB)."""
    told = json.dumps([command.to_dict(tree) for command in tree.get_commands()], sort_keys=True, default=str)
    catalogs = (file.read_bytes() for file in sorted(FOLDER.rglob("*.mo")))
    return hashlib.sha256(b"".join([told.encode(), *catalogs])).hexdigest()


async def sync(tree: Tree, commands: Commands) -> None:
    """Send Discord the commands if they have changed; if that fails, the old ones stay.

    Called once the connection is up, so that nothing waits for it.
    """
    current = mark(tree)
    if await commands.synced() == current:
        return
    await tree.set_translator(CatalogTranslator())
    try:
        await outside(SYNC, tree.sync(), SYNC_SECONDS)
    except (*REFUSED, app_commands.AppCommandError) as why:
        log.warning("commands_not_synced", reason=str(why))
        return
    await commands.note(current)
