"""Buttons that call an operation, also after a restart: under reminders, what was given up, and what was inferred."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from discord import app_commands

from bot.agents.permissions.policy import Approver
from bot.errors import UserError
from bot.interfaces.discord.callers import approver_of, caller_of
from bot.interfaces.discord.forms import Buttons, Choices, hear_button, hear_choice
from bot.interfaces.discord.responses import Interaction, answer, defer, tell, text_file
from bot.services.composition import ServedConstellations
from bot.services.people.approvals import Approvals
from bot.services.registry import Registry
from bot.services.results import Markdown
from memory.requests import Verdict
from memory.store.ids import ConstellationId
from sources.discord.cards import DONE, LONGER, LONGEST, NO, PATTERN, PRESS, SNOOZE
from sources.discord.settings import DiscordSettings
from texts import _, error_sentence

Tree: TypeAlias = app_commands.CommandTree[Any]


def install_approvals(tree: Tree, served: ServedConstellations) -> None:
    """Have the buttons and menus of every card heard, also of those sent before a restart."""

    async def answered(interaction: Interaction, named: re.Match[str], offer: str) -> None:
        if not await defer(interaction):
            return
        constellation = ConstellationId(named["of"]) if named["of"] else served.shared.configured
        if not served.shared.constellations.has(constellation):
            await tell(interaction, _("The constellation that asked this was deleted."), looks=NO)
            return
        who, request = approver_of(interaction, "button"), int(named["request"])
        async with served.use(constellation) as services:
            if offer == "details":
                await _details(interaction, services.approvals, request, who)
            elif offer in list(Verdict):
                ruling = await services.approvals.answer(request, who, Verdict(offer))
                await tell(interaction, ruling.words, looks=DONE if ruling.counted else NO)
            else:
                await tell(interaction, _("This button no longer works."), looks=NO)

    async def pressed(interaction: Interaction, named: re.Match[str]) -> None:
        await answered(interaction, named, named["offer"])

    tree.client.add_dynamic_items(hear_button(PATTERN, pressed), hear_choice(LONGER, answered))


async def _details(interaction: Interaction, approvals: Approvals, request: int, who: Approver) -> None:
    try:
        words, arguments = await approvals.details(request, who)
    except UserError as error:
        await tell(interaction, error_sentence(error), looks=NO)
        return
    shown = f"{words}\n```json\n{arguments}\n```"
    if len(shown) <= LONGEST:
        await tell(interaction, shown)
        return
    await tell(interaction, words, file=text_file(interaction, arguments, f"request-{request}.json"))


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
            raise UserError("This button no longer works.")
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
