"""discord.py's client, with its events heard synchronously and its commands synced only when they changed."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeAlias

import discord
from discord import app_commands

from memory.store.errors import DatabaseBusy, DatabaseFull
from memory.store.faults import call_point, outside
from memory.store.logs import Log
from sources.discord.connection import ALL_HERE
from sources.discord.settings import DiscordSettings
from sources.discord.shared_state import REFUSED
from sources.text import times_of
from texts import _, gettext_noop, language_of, show_times, speak, speaking

log = Log(__name__)

SYNC = call_point("discord.sync_commands")

SYNC_SECONDS = 30.0
RATE_LIMIT_SECONDS = 30.0
"""The longest rate limit that is waited for; a longer one is the outbox's business."""

TELLING_SECONDS = 1.0
UNFINISHED = gettext_noop(
    "I am restarting and could not finish this. Part of it may be done. Please check and try again in a minute."
)
NOT_BEGUN = gettext_noop("I am restarting, so nothing was done. Please try again in a minute.")

Tree: TypeAlias = app_commands.CommandTree[Any]
Install: TypeAlias = Callable[[Tree], None]
"""Puts commands, menus and persistent components (by `tree.client`) in place, before the connection is made."""

Shared: TypeAlias = Callable[[Any, discord.abc.User], Awaitable[tuple[int, ...]]]
"""Finds, for direct messages and their person, the guilds whose words a message said there may be answered with."""

Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], object]
Hear: TypeAlias = Callable[[str, tuple[Any, ...]], None]


@dataclass(frozen=True)
class Commands:
    """The commands to install, and where the mark of what Discord has of them is kept."""

    install: Install
    synced: Callable[[], Awaitable[str | None]]
    """Gives the mark that was stored last."""
    note: Callable[[str], Awaitable[None]]
    """Stores the mark."""
    barred: Callable[[discord.Interaction[Any]], str]
    """Words for somebody whose command, button or form is not to be answered; empty for everybody else."""
    language: Callable[[discord.Interaction[Any]], str]
    """The language that somebody chose; empty where they chose none, and that of their Discord is spoken."""
    cleaned: Callable[[Any], Any]
    """What somebody wrote into a command or form, or is shown in answer, without what must be neither kept nor said."""


class PlainClient(discord.Client):
    def __init__(self, hear: Hear, commands: Commands, **options: Any) -> None:
        super().__init__(**options)
        self.tree = plant(self, commands)
        self._hear_event = hear

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        self._hear_event(event, args)
        super().dispatch(event, *args, **kwargs)


class ShardedClient(PlainClient, discord.AutoShardedClient):
    """As many connections as Discord asks for."""


def make_client(
    settings: DiscordSettings, hear: Hear, commands: Commands, *, left_out: frozenset[str], sharded: bool
) -> PlainClient:
    """A client with the intents Carina needs, except those left out."""
    kind = ShardedClient if sharded else PlainClient
    return kind(
        hear,
        commands,
        intents=intents(left_out),
        max_messages=None,
        allowed_mentions=discord.AllowedMentions.none(),
        max_ratelimit_timeout=RATE_LIMIT_SECONDS,
        guild_ready_timeout=settings.ready_seconds,
    )


def intents(left_out: frozenset[str]) -> discord.Intents:
    """Guilds, members, messages, reactions, their content, who is typing; the privileged ones can be left out."""
    wanted = discord.Intents.none()
    wanted.guilds = wanted.messages = wanted.reactions = wanted.typing = True
    wanted.members = "members" not in left_out
    wanted.message_content = "message_content" not in left_out
    return wanted


class CatalogTranslator(app_commands.Translator):
    """Descriptions of commands and options, and the names of choices and menu entries, from the catalogs of texts."""

    async def translate(
        self, string: app_commands.locale_str, locale: discord.Locale, context: app_commands.TranslationContextTypes
    ) -> str | None:
        """None where Discord is to show the English text. Names stay: people type them as the documents have them."""
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
        """Wait until whoever gave a command, pressed or sent something has their answer, as long as that."""
        if self._answering:
            await asyncio.wait(self._answering, timeout=seconds)

    async def finish(self, seconds: float) -> None:
        """Wait like that; who has no answer then is told that none comes, as is whoever asks from now on."""
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
        """Asked before every command, menu and suggestion, and by whoever hears buttons and forms."""
        if (task := asyncio.current_task()) is not None:
            self._answering[task] = interaction
            task.add_done_callback(lambda done: self._answering.pop(done, None))
        speak(self._own.language(interaction) or interaction.locale.value)
        show_times(times_of("discord"))
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
        """A command broke: who gave it is told instead of waiting for ever, and the log has why."""
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
"""What somebody is told whose command, button or form met a defect."""


def not_stored(why: DatabaseBusy | DatabaseFull) -> str:
    """What somebody is told whose command, button or form met a database that takes no writes."""
    return _("I cannot store anything right now: {why}. Please check what was done and try again in a minute.", why=why)


async def answer_anyhow(interaction: discord.Interaction[Any], text: str) -> None:
    """Answer in words that only they see, whether or not something was answered before; failing is only logged."""
    try:
        if interaction.response.is_done():
            await interaction.followup.send(text, ephemeral=True)
        else:
            await interaction.response.send_message(text, ephemeral=True)
    except REFUSED as why:
        log.warning("interaction_unanswered", reason=str(why))


def plant(client: discord.Client, commands: Commands) -> OwnTree:
    """The tree of commands, usable in guilds, direct messages and where a person installed the bot."""
    tree = OwnTree(
        client,
        commands,
        allowed_contexts=app_commands.AppCommandContext(guild=True, dm_channel=True, private_channel=True),
        allowed_installs=app_commands.AppInstallationType(guild=True, user=True),
    )
    commands.install(tree)
    return tree


async def mark(tree: Tree) -> str:
    """What the tree would tell Discord, in short."""
    translator = CatalogTranslator()
    told = [await command.get_translated_payload(tree, translator) for command in tree.get_commands()]
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()


async def sync(tree: Tree, commands: Commands) -> None:
    """Tell Discord the commands if they are not what it was told last; without that the old ones stay."""
    await tree.set_translator(CatalogTranslator())
    current = await mark(tree)
    if await commands.synced() == current:
        return
    try:
        await outside(SYNC, tree.sync(), SYNC_SECONDS)
    except (*REFUSED, app_commands.AppCommandError) as why:
        log.warning("commands_not_synced", reason=str(why))
        return
    await commands.note(current)


class CommandSync:
    """Syncs once the connection stands, so that nobody waits for it to be heard."""

    def __init__(self, tree: Tree, commands: Commands, spawn: Spawn) -> None:
        self._tree, self._commands, self._spawn = tree, commands, spawn
        self._begun = False

    def on(self, event: str, _args: tuple[Any, ...]) -> None:
        if event in ("ready", ALL_HERE) and not self._begun:
            self._begun = True
            self._spawn(sync(self._tree, self._commands))
