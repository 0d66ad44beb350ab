"""Forms for rewriting a block or one of its fields, and for writing an archival entry.

The id of a block's form contains the block's id, since another block may get its name, and the version that was shown.
So the form works after a restart, and what others wrote in the meantime stays.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

import discord

from bot.errors import UserError
from bot.interfaces.discord.callers import caller_of
from bot.interfaces.discord.commands import Commands
from bot.interfaces.discord.components import LONGEST_FIELD, Entry, OpenForm, hear_form, modal
from bot.interfaces.discord.responses import Interaction, Tree, without_secrets
from bot.services.memory.block_results import FormContents
from bot.services.registry import Registry
from sources.discord.settings import DiscordSettings
from texts import _

_EDITED = re.compile(r"carina:memory:edit:(?P<seen>\d{1,9}):(?:(?P<field>[0-9a-f]{8}):)?(?P<label>\w{1,60})")
_ENTRY = re.compile("carina:archival:add")


def block_form(registry: Registry, settings: DiscordSettings) -> OpenForm:

    async def opened(interaction: Interaction, given: Mapping[str, Any]) -> discord.ui.Modal:
        found = cast("FormContents", await registry.call("memory.form", await caller_of(interaction, settings), given))
        if len(found.text) > LONGEST_FIELD:
            raise UserError(_too_long(len(found.text), found.field))
        return _form(interaction, found)

    return OpenForm(opened, ("label", "field"))


def hear_memory_forms(tree: Tree, commands: Commands) -> None:
    """Store what is sent."""

    async def edited(interaction: Interaction, named: re.Match[str], fields: dict[str, str]) -> None:
        given = {**named.groupdict(default=""), "text": fields.get("text", "")}
        await commands.answer(interaction, "memory.edit", given)

    async def added(interaction: Interaction, _named: re.Match[str], fields: dict[str, str]) -> None:
        given = {name: fields.get(name, "") for name in ("text", "label")}
        await commands.answer(interaction, "archival.add", given)

    hear_form(tree, _EDITED, edited)
    hear_form(tree, _ENTRY, added)


def _too_long(size: int, field: str) -> str:
    ways = "" if field else _("name one `field` of it, if it has fields; otherwise, ")
    return _(
        "A form can hold {longest:,} characters, but this has {size:,}: {ways}ask the agent for "
        "the change, or use a terminal, which takes any length.",
        longest=LONGEST_FIELD,
        size=size,
        ways=ways,
    )


def _form(interaction: Interaction, found: FormContents) -> discord.ui.Modal:
    what = f"{found.version}:{found.field}" if found.field else str(found.version)
    title = _("Edit a field of a block") if found.field else _("Edit a block")
    longest = min(LONGEST_FIELD, max(found.limit, len(found.text)))
    entry = Entry("text", _("What it should say"), longest, without_secrets(interaction, found.text), lines=True)
    return modal(title, f"carina:memory:edit:{what}:{found.id}", entry)


async def entry_form(_interaction: Interaction, _given: Mapping[str, Any]) -> discord.ui.Modal:
    """Asks for an entry for the long term; a text there can have many lines."""
    text = Entry("text", _("What to keep, in full sentences"), required=True, lines=True)
    return modal(
        _("Add a long-term memory entry"),
        _ENTRY.pattern,
        text,
        Entry("label", _("A short name (optional)"), 100),
    )
