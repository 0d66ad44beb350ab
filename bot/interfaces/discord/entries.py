"""The form in which a person writes an entry for the long term; a text there can have many lines."""

import re
from collections.abc import Mapping
from typing import Any

import discord
from discord import app_commands

from bot.interfaces.discord.callers import caller_of
from bot.interfaces.discord.forms import LONGEST, hear_form
from bot.interfaces.discord.responses import Interaction, answer, defer
from bot.services.registry import Registry
from bot.services.results import Markdown
from sources.discord.settings import DiscordSettings
from texts import _

_FORM = "carina:archival:add"


async def entry_form(_interaction: Interaction, _given: Mapping[str, Any]) -> discord.ui.Modal:
    """Asks for an entry."""
    form = discord.ui.Modal(title=_("Add a long-term memory entry"), custom_id=_FORM, timeout=None)
    content = discord.ui.TextInput[Any](custom_id="text", style=discord.TextStyle.long, max_length=LONGEST)
    label = discord.ui.TextInput[Any](custom_id="label", required=False, max_length=100)
    form.add_item(discord.ui.Label(text=_("What to keep, in full sentences"), component=content))
    form.add_item(discord.ui.Label(text=_("A short name (optional)"), component=label))
    form.stop()  # what is sent is heard by its id, also after a restart
    return form


def hear_entry_form(tree: app_commands.CommandTree[Any], registry: Registry, settings: DiscordSettings) -> None:
    """Add what is sent."""

    async def added(interaction: Interaction, fields: dict[str, str]) -> str:
        given = {"text": fields.get("text", ""), "label": fields.get("label", "")}
        result = await registry.call("archival.add", await caller_of(interaction, settings, "form"), given)
        return "\n".join(result.lines(Markdown()))

    async def sent(interaction: Interaction, _named: re.Match[str], fields: dict[str, str]) -> None:
        if await defer(interaction):
            await answer(interaction, added(interaction, fields))

    hear_form(tree, re.compile(re.escape(_FORM)), sent)
