"""The menu "Why did you say this?", and what can be done with a memory that an answer used.

Buttons, menus and the form contain only ids, so they work as long as they are visible, even after a restart. Rights
are checked when they are used.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import discord
from discord import app_commands

from bot.agents.permissions.who_may import Change
from bot.errors import UserError
from bot.interfaces.discord.callers import caller_of
from bot.interfaces.discord.commands import Commands
from bot.interfaces.discord.components import (
    LONGEST_FIELD,
    Entry,
    OpenForm,
    hear_button,
    hear_choice,
    hear_form,
    modal,
    open_form,
    select,
)
from bot.interfaces.discord.responses import Interaction, Tree, defer, tell, without_secrets
from bot.services.memory.why import Correctable, Explanation, ItemExplanation, MemoryRow
from texts import _, gettext_noop, number_text

MENU = gettext_noop("Why did you say this?")
PICK = "carina:why:pick"
_ID = r"[a-z0-9_]{1,40}"
_BUTTON = re.compile(rf"carina:why:(?P<change>[a-z]{{1,10}}):(?P<kind>entry|message):(?P<id>{_ID})")
_PICK = re.compile(PICK)
_FORM = re.compile(rf"carina:why:correct:(?P<id>{_ID}):(?P<seen>[0-9a-f]{{12}})")

_LOOKS = {
    Change.FORGET: ("Forget", discord.ButtonStyle.danger),
    Change.CORRECT: ("Correct", discord.ButtonStyle.primary),
    Change.NARROW: (gettext_noop("Only in direct messages"), discord.ButtonStyle.secondary),
}


def install_why(tree: Tree, commands: Commands) -> None:
    """Put the menu into the tree, and have what is pressed, chosen and sent heard, whenever it was shown."""

    async def menu(interaction: Interaction, message: discord.Message) -> None:
        if await defer(interaction):
            await commands.answer(interaction, "why", {"message": str(message.id)})

    async def sent(interaction: Interaction, named: re.Match[str], fields: dict[str, str]) -> None:
        await commands.answer(interaction, "why.correct", {**named.groupdict(), "text": fields.get("text", "")})

    tree.add_command(app_commands.ContextMenu(name=MENU, callback=menu))

    async def pressed(interaction: Interaction, named: re.Match[str]) -> None:
        change, which = named["change"], {"kind": named["kind"], "id": named["id"]}
        if change == Change.CORRECT:
            await open_form(interaction, _form(commands), {"id": which["id"]})
        elif await defer(interaction):
            if change in (Change.FORGET, Change.NARROW):
                await commands.answer(interaction, f"why.{change}", which)
            else:
                await tell(interaction, _("This button no longer works."))

    async def picked(interaction: Interaction, _named: re.Match[str], chosen: str) -> None:
        kind, _colon, identifier = chosen.partition(":")
        if await defer(interaction):
            await commands.answer(interaction, "why.memory", {"kind": kind, "id": identifier})

    tree.client.add_dynamic_items(hear_button(_BUTTON, pressed), hear_choice(_PICK, picked))
    hear_form(tree, _FORM, sent)


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
        identifier = f"carina:why:{change}:{memory.kind}:{memory.id}"
        items.append(discord.ui.Button[Any](label=_(label), style=style, custom_id=identifier))
    return items


def _choice(memories: Sequence[MemoryRow]) -> list[discord.ui.Item[Any]]:
    options = ((f"{memory.kind}:{memory.id}", memory.text) for memory in memories)
    return select(PICK, options, _("Choose a memory to change"))


def _form(commands: Commands) -> OpenForm:
    async def made(interaction: Interaction, given: Mapping[str, Any]) -> discord.ui.Modal:
        caller = await caller_of(interaction, commands.settings)
        found = cast("Correctable", await commands.registry.call("why.form", caller, given))
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
        return modal(_("Correct what I remember"), f"carina:why:correct:{found.id}:{found.mark}", entry)

    return OpenForm(made)
