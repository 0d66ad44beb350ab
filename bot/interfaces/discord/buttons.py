"""Buttons that call an operation, also after a restart: under reminders, what was given up, and what was inferred."""

import re
from collections.abc import Mapping
from dataclasses import replace

from bot.errors import UserError
from bot.interfaces.discord.callers import caller_of
from bot.interfaces.discord.forms import Buttons, Choices, hear_button, hear_choice
from bot.interfaces.discord.responses import Interaction, answer, defer
from bot.services.registry import Registry
from bot.services.results import Markdown
from sources.discord.buttons import PRESS, SNOOZE
from sources.discord.settings import DiscordSettings
from texts import _

_CALLS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("reminder", "done"): ("remind.done", "reminder"),
    ("reminder", "snooze"): ("remind.snooze", "reminder"),
    ("reminder", "cancel"): ("remind.cancel", "reminder"),
    ("retry", "retry"): ("retry", "message"),
    ("preference", "allow"): ("dream.allow", "entry"),
    ("preference", "refuse"): ("dream.refuse", "entry"),
    ("pairing", "let"): ("pair.let-in", "person"),
    ("pairing", "block"): ("pair.block", "person"),
    ("pairing", "ignore"): ("pair.ignore", "person"),
}
"""By what a button stands under and what it offers: the operation, and the argument that its id is."""


def operation_buttons(registry: Registry, settings: DiscordSettings, configured: str = "") -> tuple[Buttons, Choices]:
    """Hear them; the id of a button says which operation it calls, on what, and in which constellation."""

    async def called(interaction: Interaction, named: re.Match[str], name: str, given: Mapping[str, str]) -> str:
        if not name:
            raise UserError(_("This button no longer works."))
        caller = replace(await caller_of(interaction, settings, "button"), constellation=named["of"] or configured)
        result = await registry.call(name, caller, given)
        return "\n".join(result.lines(Markdown()))

    async def pressed(interaction: Interaction, named: re.Match[str]) -> None:
        name, argument = _CALLS.get((named["kind"], named["offer"]), ("", ""))
        if await defer(interaction):
            await answer(interaction, called(interaction, named, name, {argument: named["id"]}))

    async def put_off(interaction: Interaction, named: re.Match[str], chosen: str) -> None:
        argument, _equals, value = chosen.partition("=")
        if await defer(interaction):
            given = {"reminder": named["id"], argument: value}
            await answer(interaction, called(interaction, named, "remind.snooze", given))

    return hear_button(PRESS, pressed), hear_choice(SNOOZE, put_off)
