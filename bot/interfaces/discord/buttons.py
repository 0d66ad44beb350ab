"""Buttons under the bot's messages: Allow, Deny and Details of a request, Done and Snooze of a reminder, and others.

They are recognized by their ids (`components.py`), even after a restart. Yes and No are in `questions.py`, buttons
under lists in `row_actions.py`.
"""

import re
from collections.abc import Mapping

from bot.agents.permissions.who_may import Approver
from bot.errors import UserError
from bot.interfaces.discord.callers import approver_of
from bot.interfaces.discord.commands import Commands
from bot.interfaces.discord.components import hear_button, hear_choice
from bot.interfaces.discord.responses import Interaction, Tree, defer, tell, text_file
from bot.services.composition import ServedConstellations
from bot.services.people.approvals import Approvals
from memory.requests import Verdict
from memory.store.ids import ConstellationId
from sources.discord.cards import DONE, LONGER, LONGEST, NO, PATTERN, PRESS, SNOOZE
from texts import _, error_sentence


def install_approvals(tree: Tree, served: ServedConstellations) -> None:
    """Have the buttons and menus of every card heard, also of those sent before a restart."""

    async def answered(interaction: Interaction, named: re.Match[str], offer: str) -> None:
        if not await defer(interaction):
            return
        constellation = ConstellationId(named["of"]) if named["of"] else served.shared.configured
        if not served.shared.constellations.has(constellation):
            await tell(interaction, _("The constellation that asked this was deleted."), looks=NO)
            return
        who, request = approver_of(interaction), int(named["request"])
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
"""By what a button stands under and what it offers: the operation, and the argument that holds its ID."""


def install_operations(tree: Tree, commands: Commands, configured: str) -> None:
    """Hear them; the id of a button says which operation it calls, on what, and in which constellation."""

    async def pressed(interaction: Interaction, named: re.Match[str]) -> None:
        if not await defer(interaction):
            return
        if (call := _CALLS.get((named["kind"], named["offer"]))) is None:
            await tell(interaction, _("This button no longer works."), looks=NO)
            return
        name, argument = call
        await commands.answer(interaction, name, {argument: named["id"]}, constellation=named["of"] or configured)

    async def put_off(interaction: Interaction, named: re.Match[str], chosen: str) -> None:
        argument, _equals, value = chosen.partition("=")
        if await defer(interaction):
            given = {"reminder": named["id"], argument: value}
            await commands.answer(interaction, "remind.snooze", given, constellation=named["of"] or configured)

    tree.client.add_dynamic_items(hear_button(PRESS, pressed), hear_choice(SNOOZE, put_off))
