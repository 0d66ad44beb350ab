"""The buttons of approval cards. All answers are seen by one person."""

import re
from typing import Any, TypeAlias

from discord import app_commands

from bot.agents.permissions.policy import Approver
from bot.errors import UserError
from bot.interfaces.discord.askers import approver_of
from bot.interfaces.discord.containers import DONE, LONGEST, NO
from bot.interfaces.discord.forms import hear_button, hear_choice
from bot.interfaces.discord.responses import Interaction, defer, tell, text_file
from bot.services.approvals import Approvals
from bot.services.composition import ServedConstellations
from memory.requests import Verdict
from memory.store.ids import ConstellationId
from sources.discord.buttons import LONGER, PATTERN
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
