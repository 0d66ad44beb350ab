"""The tree of commands on Discord: sent there when it changed, translated, and every interaction answered."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import discord
from discord import app_commands
from msgspec import Struct

from memory.store.errors import DatabaseBusy, DatabaseFull
from memory.store.faults import call_point, outside
from memory.store.logs import Log
from sources.discord.send_failures import REFUSED
from texts import FOLDER, _, gettext_noop, language_of, read_on, speak, speaking

_log = Log(__name__)

SYNC = call_point("discord.sync_commands")

SYNC_SECONDS = 30.0
TELLING_SECONDS = 1.0
UNFINISHED = gettext_noop(
    "I'm restarting and couldn't finish this. Part of it may have been done. Please check and try again in a minute."
)
NOT_BEGUN = gettext_noop("I'm restarting, so nothing was done. Please try again in a minute.")

Tree: TypeAlias = app_commands.CommandTree[Any]
Install: TypeAlias = Callable[[Tree], None]
"""Installs commands, menus and persistent components (by `tree.client`) once, before anybody can use them."""


class Commands(Struct, frozen=True):
    """The commands to install, and where the digest of Discord's version of them is stored."""

    install: Install
    synced: Callable[[], Awaitable[str | None]]
    """Returns the stored digest."""
    note: Callable[[str], Awaitable[None]]
    """Stores the digest."""
    barred: Callable[[discord.Interaction[Any]], Awaitable[str]]
    """The reason why a person's command, button or form is refused; empty for everybody else."""
    is_owner: Callable[[discord.Interaction[Any]], bool]
    language: Callable[[discord.Interaction[Any]], str]
    """The language that a person chose; empty without a choice, so that their Discord's is used."""
    cleaned: Callable[[Any], Any]
    """A text from a command or form, or in an answer, without what must not be stored or shown."""


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


class OwnTree(app_commands.CommandTree[Any]):
    """The tree of commands, for guilds, direct messages and user installs; empty until it is filled."""

    def __init__(self, client: discord.Client, own: Commands) -> None:
        everywhere = app_commands.AppCommandContext(guild=True, dm_channel=True, private_channel=True)
        anybody = app_commands.AppInstallationType(guild=True, user=True)
        super().__init__(client, allowed_contexts=everywhere, allowed_installs=anybody)
        self._own = own
        self._filled = False
        self._answering: dict[asyncio.Task[Any], discord.Interaction[Any]] = {}
        self._ending = False

    async def fill(self) -> None:
        """Install the commands, once for all connections of the client."""
        if not self._filled:
            self._own.install(self)
            self._filled = True

    def cleaned(self, said: str) -> str:
        return str(self._own.cleaned(said))

    async def answered(self, seconds: float) -> None:
        """Wait at most that long until every interaction is answered."""
        if self._answering:
            await asyncio.wait(self._answering, timeout=seconds)

    async def finish(self, seconds: float) -> None:
        """Wait like that; then tell those without an answer, and everybody from now on, that none will come."""
        await self.answered(max(seconds - TELLING_SECONDS, 0))
        self._ending = True
        unanswered = dict(self._answering)
        for task in unanswered:
            task.cancel()
        waiting = [each for each in unanswered.values() if each.type is not discord.InteractionType.autocomplete]
        telling = [asyncio.create_task(answer_anyhow(each, _(UNFINISHED))) for each in waiting]
        if telling:
            _log.warning("commands_cut_off", count=len(telling))
            _told, late = await asyncio.wait(telling, timeout=TELLING_SECONDS)
            for task in late:
                task.cancel()

    async def interaction_check(self, interaction: discord.Interaction[Any], /) -> bool:
        """Checked before every command, menu and suggestion, and for buttons and forms."""
        if (task := asyncio.current_task()) is not None:
            self._answering[task] = interaction
            task.add_done_callback(lambda done: self._answering.pop(done, None))
        speak(self._own.language(interaction) or interaction.locale.value)
        read_on("discord", to_owner=self._own.is_owner(interaction))
        if not (words := _(NOT_BEGUN) if self._ending else await self._own.barred(interaction)):
            interaction.data = self._own.cleaned(interaction.data)
            return True
        try:
            if interaction.type is discord.InteractionType.autocomplete:
                await interaction.response.autocomplete([])
            else:
                await interaction.response.send_message(words, ephemeral=True)
        except REFUSED as why:
            _log.warning("interaction_unanswered", reason=str(why))
        return False

    async def on_error(self, interaction: discord.Interaction[Any], error: app_commands.AppCommandError, /) -> None:
        """A command failed: tell the person instead of letting them wait, and log the error."""
        if isinstance(error, app_commands.TransformerError):
            text = _("I can't use {value}: I can't see it, or it is of the wrong kind.", value=error.value)
        elif isinstance(why := getattr(error, "original", None), DatabaseBusy | DatabaseFull):
            _log.warning("command_not_stored", reason=str(why))
            text = not_stored(why)
        else:
            await super().on_error(interaction, error)
            text = _(BROKEN)
        await answer_anyhow(interaction, text)


BROKEN = gettext_noop("Something went wrong. The person who runs me can find the reason in my log.")
"""What a person is told if their command, button or form met a defect."""


def not_stored(why: DatabaseBusy | DatabaseFull) -> str:
    """What a person is told if the database refused their write."""
    return _("I can't store anything right now: {why}. Please check what was done and try again in a minute.", why=why)


async def answer_anyhow(interaction: discord.Interaction[Any], text: str) -> None:
    """Send a text that only they see, answered before or not; a failure is only logged."""
    try:
        if interaction.response.is_done():
            await interaction.followup.send(text, ephemeral=True)
        else:
            await interaction.response.send_message(text, ephemeral=True)
    except REFUSED as why:
        _log.warning("interaction_unanswered", reason=str(why))


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
        _log.warning("commands_not_synced", reason=str(why))
        return
    await commands.note(current)
