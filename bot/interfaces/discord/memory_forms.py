"""Forms for rewriting a block or one of its fields, and for writing an archival entry.

The id of a block's form contains the block's id, since another block may get its name, and the version that was shown.
So the form works after a restart, and what others wrote in the meantime stays.
"""

from collections.abc import Mapping
from typing import Any, cast

import discord

from bot.errors import UserError
from bot.interfaces.discord.callers import caller_of
from bot.interfaces.discord.components import LONGEST_FIELD, Entry, OpenForm, modal
from bot.interfaces.discord.responses import Interaction, without_secrets
from bot.services.memory.block_results import FormContents
from bot.services.registry import Registry
from sources.discord.cards import call_id
from sources.discord.settings import DiscordSettings
from texts import _


def block_form(registry: Registry, settings: DiscordSettings) -> OpenForm:

    async def opened(interaction: Interaction, given: Mapping[str, Any]) -> discord.ui.Modal:
        found = cast("FormContents", await registry.call("memory.form", await caller_of(interaction, settings), given))
        if len(found.text) > LONGEST_FIELD:
            raise UserError(_too_long(len(found.text), found.field))
        return _form(interaction, found)

    return OpenForm(opened, ("label", "field"))


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
    given = {"seen": found.version, "label": found.id} | ({"field": found.field} if found.field else {})
    title = _("Edit a field of a block") if found.field else _("Edit a block")
    longest = min(LONGEST_FIELD, max(found.limit, len(found.text)))
    entry = Entry("text", _("What it should say"), longest, without_secrets(interaction, found.text), lines=True)
    return modal(title, call_id("memory.edit", given, "form"), entry)


async def entry_form(_interaction: Interaction, _given: Mapping[str, Any]) -> discord.ui.Modal:
    """Asks for an entry for the long term; a text there can have many lines."""
    text = Entry("text", _("What to keep, in full sentences"), required=True, lines=True)
    return modal(
        _("Add a long-term memory entry"),
        call_id("archival.add", {}, "form"),
        text,
        Entry("label", _("A short name (optional)"), 100),
    )
