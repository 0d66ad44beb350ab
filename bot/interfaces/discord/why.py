"""The menu "Why did you say this?", and what can be done with a memory that an answer used.

Buttons, menus and the form contain only ids, so they work as long as they are visible, even after a restart. Rights
are checked when they are used.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlencode

import discord
from discord import app_commands

from bot.agents.permissions.who_may import Change
from bot.errors import UserError
from bot.interfaces.discord.callers import caller_of
from bot.interfaces.discord.commands import Commands
from bot.interfaces.discord.components import LONGEST_FIELD, Entry, OpenForm, modal, select
from bot.interfaces.discord.responses import Interaction, Tree, defer, without_secrets
from bot.services.memory.why import Correctable, Explanation, ItemExplanation, MemoryRow
from bot.services.registry import Registry
from sources.discord.cards import call_id
from sources.discord.settings import DiscordSettings
from texts import _, gettext_noop, number_text

MENU = gettext_noop("Why did you say this?")
PICK = call_id("why.memory", {}, "choose")

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
    """Buttons for the only memory that can be changed, else the choice among them."""
    rows = found.changeable
    return _offers(rows[0]) if len(rows) == 1 else _choice(rows)


ITEMS = {"why": _offered, "why.memory": _offered}
"""What can be pressed under what these operations show."""


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
            size = _(
                "{text_count} characters; a form can hold {LONGEST}",
                text_count=number_text(len(found.text)),
                LONGEST=number_text(LONGEST_FIELD),
            )
            raise UserError(
                "It has {size}. Tell me in words what to change, or have me forget it and tell me again.", size=size
            )
        entry = Entry(
            "text", _("What it should say"), text=without_secrets(interaction, found.text), required=True, lines=True
        )
        form = call_id("why.correct", {"id": found.id, "seen": found.mark}, "form")
        return modal(_("Correct what I remember"), form, entry)

    return OpenForm(made)
