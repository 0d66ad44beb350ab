"""Answers to interactions: acknowledged within Discord's three seconds, private, and as a file if they are long."""

import io
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.errors import UserError
from memory.store.logs import Log
from sources.discord.cards import LONGEST, PLAIN, CardStyle, container
from sources.discord.send_failures import REFUSED
from sources.outgoing_text import outgoing
from texts import _

Interaction: TypeAlias = discord.Interaction[Any]
Tree: TypeAlias = app_commands.CommandTree[Any]

Suggest: TypeAlias = Callable[[Interaction], Awaitable[Iterable[tuple[str, str]]]]
"""Finds suggestions: pairs of a value and its label."""

LARGEST_FILE = 8_000_000
"""Bytes of a file, slightly below Discord's limit."""

_CHOICES, _NAME = 25, 100  # suggestions that Discord takes, and characters of one

_log = Log(__name__)


async def defer(interaction: Interaction, *, quietly: bool = False) -> bool:
    """Defer the response; False if Discord no longer accepts one, and the caller then does nothing.

    `quietly` is for a component of an answer that will be edited.
    """
    try:
        await interaction.response.defer(ephemeral=True, thinking=not quietly)
    except discord.NotFound:
        _log.warning("interaction_too_late", hint="Discord gives 3 seconds to answer; nothing was done")
        return False
    except REFUSED as why:
        _log.warning("interaction_unanswered", reason=str(why), hint="nothing was done; it can be done again")
        return False
    return True


def stands_under_answer(interaction: Interaction) -> bool:
    """Whether the component or form belongs to an ephemeral answer, which can be edited."""
    return interaction.message is not None and interaction.message.flags.ephemeral


def without_secrets(interaction: Interaction, text: str) -> str:
    """Remove secrets from a text: configuration and files may contain some, and Discord stores what it is sent."""
    return str(interaction.client.tree.cleaned(text))


def shown(interaction: Interaction, text: str) -> str:
    """A text for a message: without secrets and invisible characters, and with the targets of links visible."""
    return outgoing(without_secrets(interaction, text))


def text_file(interaction: Interaction, text: str, name: str) -> discord.File:
    """A text as a file, without secrets. Raises UserError if it is too large."""
    return sent_file(without_secrets(interaction, text).encode("utf-8", "replace"), name)


def sent_file(data: bytes, name: str) -> discord.File:
    if len(data) > LARGEST_FILE:
        raise UserError("This is too large for a file here. Ask the person who runs me for it.")
    return discord.File(io.BytesIO(data), filename=name)


async def answer_now(interaction: Interaction, text: str, looks: CardStyle = PLAIN) -> None:
    """Send an ephemeral answer without deferring first."""
    view = container(shown(interaction, text)[:LONGEST], looks)
    try:
        await interaction.response.send_message(view=view, ephemeral=True)
    except REFUSED as why:
        _log.warning("interaction_unanswered", reason=str(why), hint="it can be asked again")


async def tell(
    interaction: Interaction,
    text: str,
    *,
    file_name: str = "answer.md",
    file: discord.File | None = None,
    looks: CardStyle = PLAIN,
) -> None:
    """Send an ephemeral answer after deferring. If Discord refuses it, changes made so far stay.

    A text that is too long is attached as `file_name`.
    """
    view, files = _drawn(interaction, text, file_name, file, looks)
    try:
        await interaction.followup.send(view=view, ephemeral=True, files=files)
    except REFUSED as why:
        _log.warning("interaction_unanswered", reason=str(why), hint="changes made so far stay")


async def change(
    interaction: Interaction,
    text: str,
    looks: CardStyle = PLAIN,
    *,
    file_name: str = "answer.md",
    file: discord.File | None = None,
) -> None:
    """Edit the answer that a component belongs to; if that is gone, send a new one."""
    view, files = _drawn(interaction, text, file_name, file, looks)
    try:
        await interaction.edit_original_response(view=view, attachments=files)
    except REFUSED:
        await tell(interaction, text, file_name=file_name, looks=looks)


def _drawn(
    interaction: Interaction, text: str, file_name: str, file: discord.File | None, looks: CardStyle
) -> tuple[discord.ui.LayoutView, list[discord.File]]:
    whole, text = text, shown(interaction, text)
    if len(text) > LONGEST:
        file = file or text_file(interaction, whole, file_name)
        text = _("{text}\n(The file has the full text.)", text=text[:LONGEST])
    files = [] if file is None else [file]
    return container(text, looks, [each.filename for each in files]), files


def suggests(command: app_commands.Command[Any, ..., None], option: str, find: Suggest) -> None:
    """Suggest values for an option that match the typed text; none to people who may not see them."""

    async def choices(interaction: Interaction, typed: str) -> list[app_commands.Choice[str]]:
        try:
            found = await find(interaction)
        except UserError:
            return []
        fitting = [(value, words) for value, words in found if typed.casefold() in f"{value} {words}".casefold()]
        return [app_commands.Choice(name=words[:_NAME] or value, value=value) for value, words in fitting[:_CHOICES]]

    command.autocomplete(option)(choices)
