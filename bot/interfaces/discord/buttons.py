"""Buttons that call an operation, also after a restart: under reminders, what was given up, and what was inferred."""

import re
from collections.abc import Mapping
from dataclasses import replace

from bot.errors import UserError
from bot.interfaces.discord.callers import caller_of
from bot.interfaces.discord.forms import Buttons, hear_button
from bot.interfaces.discord.responses import Interaction, answer, defer
from bot.services.registry import Registry
from bot.services.results import Markdown
from sources.discord.buttons import PRESS
from sources.discord.settings import DiscordSettings
from texts import _

_CALLS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("reminder", "done"): ("remind.done", "reminder"),
    ("reminder", "snooze"): ("remind.snooze", "reminder"),
    ("reminder", "cancel"): ("remind.cancel", "reminder"),
    ("retry", "retry"): ("retry", "message"),
    ("preference", "allow"): ("dream.allow", "entry"),
    ("preference", "refuse"): ("dream.refuse", "entry"),
}
"""By what a button stands under and what it offers: the operation, and the argument that its id is."""


def operation_buttons(registry: Registry, settings: DiscordSettings, configured: str = "") -> Buttons:
    """Hears them; the id of a button says which operation it calls, on what, and in which constellation."""

    async def called(interaction: Interaction, kind: str, offer: str, identifier: str, of: str | None) -> str:
        if (kind, offer) not in _CALLS:
            raise UserError(_("This button no longer works."))
        name, argument = _CALLS[kind, offer]
        caller = replace(await caller_of(interaction, settings, "button"), constellation=of or configured)
        result = await registry.call(name, caller, {argument: identifier})
        return "\n".join(result.lines(Markdown()))

    async def pressed(interaction: Interaction, named: re.Match[str]) -> None:
        if await defer(interaction):
            await answer(interaction, called(interaction, *named.groups()))

    return hear_button(PRESS, pressed)
