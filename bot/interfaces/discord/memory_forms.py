"""The menu "Why did you say this?", the buttons of memories, and forms for a memory, a fact, a block and an
archival entry.

All of them contain only ids, so they work as long as they are visible, even after a restart. Rights are checked when
they are used. A block's form contains the block's id, since another block may get its name, and the version that was
shown, so that what others wrote in the meantime stays.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlencode

import discord
from discord import app_commands

from bot.agents.permissions.roles_and_rights import Change
from bot.errors import UserError
from bot.interfaces.discord.callers import caller_of
from bot.interfaces.discord.commands import Commands
from bot.interfaces.discord.components import LONGEST_FIELD, Entry, OpenForm, modal, select
from bot.interfaces.discord.responses import Interaction, Tree, defer, without_secrets
from bot.services.memory.block_results import FormContents
from bot.services.memory.facts import FactRow
from bot.services.memory.why import Correctable, Explanation, ItemExplanation, MemoryRow
from bot.services.registry import Registry
from bot.services.results import Entry as Answer
from memory.knowledge.fact_extraction import LONGEST
from sources.discord.cards import call_id
from sources.discord.settings import DiscordSettings
from texts import _, gettext_noop

MENU = gettext_noop("Why did you say this?")
PICK = call_id("why.memory", {})

_LOOKS = {
    Change.FORGET: ("Forget", discord.ButtonStyle.danger),
    Change.CORRECT: ("Correct", discord.ButtonStyle.primary),
    Change.NARROW: (gettext_noop("Only in direct messages"), discord.ButtonStyle.secondary),
}


def install_why(tree: Tree, commands: Commands) -> None:
    async def menu(interaction: Interaction, message: discord.Message) -> None:
        if await defer(interaction):
            await commands.answer(interaction, "why", {"message": str(message.id)})

    tree.add_command(app_commands.ContextMenu(name=MENU, callback=menu))


def _offered(found: Explanation | ItemExplanation) -> list[discord.ui.Item[Any]]:
    """Buttons for a single memory that can be changed; a menu of several."""
    rows = found.changeable
    return _offers(rows[0]) if len(rows) == 1 else _choice(rows)


ITEMS = {"why": _offered, "why.memory": _offered}
"""Buttons and menus under the results of these operations."""


def _offers(memory: MemoryRow) -> list[discord.ui.Item[Any]]:
    items = list[discord.ui.Item[Any]]()
    for change in memory.changes:
        label, style = _LOOKS[change]
        which = {"id": memory.id} if change is Change.CORRECT else {"kind": memory.kind, "id": memory.id}
        identifier = call_id(f"why.{change}", which)
        items.append(discord.ui.Button[Any](label=_(label), style=style, custom_id=identifier))
    return items


def _choice(memories: Sequence[MemoryRow]) -> list[discord.ui.Item[Any]]:
    options = ((urlencode({"kind": memory.kind, "id": memory.id}), memory.text) for memory in memories)
    return select(PICK, options, _("Choose a memory to change"))


def correction_form(registry: Registry, settings: DiscordSettings) -> OpenForm:
    async def made(interaction: Interaction, given: Mapping[str, Any]) -> discord.ui.Modal:
        caller = await caller_of(interaction, settings)
        found = cast("Correctable", await registry.call("why.form", caller, given))
        if len(found.text) > LONGEST_FIELD:
            raise _too_long(
                found.text, gettext_noop("Tell me in words what to change, or have me forget it and tell me again.")
            )
        entry = Entry(
            "text", _("What it should say"), text=without_secrets(interaction, found.text), required=True, lines=True
        )
        form = call_id("why.correct", {"id": found.id, "seen": found.mark}, "form")
        return modal(_("Correct what I remember"), form, entry)

    return OpenForm(made)


def fact_form(registry: Registry, settings: DiscordSettings) -> OpenForm:
    async def made(interaction: Interaction, given: Mapping[str, Any]) -> discord.ui.Modal:
        caller = await caller_of(interaction, settings)
        text = cast("Answer[FactRow]", await registry.call("facts.form", caller, given)).row.text
        entry = Entry("text", _("What is true instead"), LONGEST, without_secrets(interaction, text), required=True)
        return modal(_("Correct what I remember"), call_id("facts.correct", given, "form"), entry)

    return OpenForm(made, of_command=False)


def block_form(registry: Registry, settings: DiscordSettings) -> OpenForm:

    async def opened(interaction: Interaction, given: Mapping[str, Any]) -> discord.ui.Modal:
        found = cast("FormContents", await registry.call("memory.form", await caller_of(interaction, settings), given))
        if len(found.text) > LONGEST_FIELD:
            ways = [gettext_noop("Ask the agent for the change.")]
            if not found.field:
                ways.append(gettext_noop("If it has fields, you can also edit one at a time: name it as `field`."))
            raise _too_long(found.text, *ways)
        shown = {"seen": found.version, "label": found.id} | ({"field": found.field} if found.field else {})
        title = _("Edit a field in a block") if found.field else _("Edit a block")
        longest = min(LONGEST_FIELD, max(found.limit, len(found.text)))
        entry = Entry("text", _("What it should say"), longest, without_secrets(interaction, found.text), lines=True)
        return modal(title, call_id("memory.edit", shown, "form"), entry)

    return OpenForm(opened, ("label", "field"))


def _too_long(text: str, *ways: str) -> UserError:
    size = _(
        "This has {size:,} characters, but a form holds at most {longest:,}.", size=len(text), longest=LONGEST_FIELD
    )
    return UserError(" ".join((size, *map(_, ways))))


async def entry_form(_interaction: Interaction, _given: Mapping[str, Any]) -> discord.ui.Modal:
    """A form for a long-term memory entry, whose text can have several lines."""
    text = Entry("text", _("What to keep, in full sentences"), required=True, lines=True)
    return modal(
        _("Add a long-term memory entry"),
        call_id("archival.add", {}, "form"),
        text,
        Entry("label", _("A short name (optional)"), 100),
    )
