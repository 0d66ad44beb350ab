"""The forms in which a person rewrites a block, or a field of one, or writes an entry for the long term.

The id of a block's form carries the block's id, since another of its name may come while somebody writes, and what was
shown; so it works after a restart, and what others wrote in the meantime stays.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

import discord

from bot.errors import UserError
from bot.interfaces.discord.buttons import LONGEST_FIELD, Entry, OpenForm, hear_form, modal
from bot.interfaces.discord.callers import caller_of
from bot.interfaces.discord.commands import Commands
from bot.interfaces.discord.responses import Interaction, Tree, answer, defer, without_secrets
from bot.services.memory.block_results import FormContents
from bot.services.registry import Registry
from bot.services.results import Markdown
from sources.discord.settings import DiscordSettings
from texts import _

_EDITED = re.compile(r"carina:memory:edit:(?P<seen>\d{1,9}):(?:(?P<field>[0-9a-f]{8}):)?(?P<label>\w{1,60})")


def block_form(registry: Registry, settings: DiscordSettings) -> OpenForm:

    async def opened(interaction: Interaction, given: Mapping[str, Any]) -> discord.ui.Modal:
        found = cast("FormContents", await registry.call("memory.form", await caller_of(interaction, settings), given))
        if len(found.text) > LONGEST_FIELD:
            raise UserError(_too_long(len(found.text), found.field))
        return _form(interaction, found)

    return OpenForm(opened, ("label", "field"))


def hear_block_forms(tree: Tree, registry: Registry, settings: DiscordSettings) -> None:
    """Store what is sent; a refusal gives back what was written, since a form that was sent is gone."""

    async def written(interaction: Interaction, given: Mapping[str, Any]) -> str:
        try:
            result = await registry.call("memory.edit", await caller_of(interaction, settings, "form"), given)
        except UserError as refused:
            raise UserError(
                "{refused}\n\nThis is what you wrote:\n{given}", refused=refused, given=given["text"]
            ) from refused
        return "\n".join(result.lines(Markdown()))

    async def sent(interaction: Interaction, named: re.Match[str], fields: dict[str, str]) -> None:
        if await defer(interaction):
            given = {**named.groupdict(default=""), "text": fields.get("text", "")}
            await answer(interaction, written(interaction, given), file_name="memory.md")

    hear_form(tree, _EDITED, sent)


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
        "carina:archival:add",
        text,
        Entry("label", _("A short name (optional)"), 100),
    )


def hear_entry_form(tree: Tree, commands: Commands) -> None:
    async def sent(interaction: Interaction, _named: re.Match[str], fields: dict[str, str]) -> None:
        if await defer(interaction):
            given = {name: fields.get(name, "") for name in ("text", "label")}
            await commands.answer(interaction, "archival.add", given)

    hear_form(tree, re.compile("carina:archival:add"), sent)
