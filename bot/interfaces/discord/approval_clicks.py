"""Clicks on the buttons of an approval card (Allow, Deny, Details) and of a listed request, recognized by their ids.

They also work after a restart (`components.py`). `sources.discord.cards` draws the buttons, and
`bot.agents.permissions.approval_card_text` writes the text; `who_may_approve` beside it decides whose click counts.
"""

import re
from typing import Any
from urllib.parse import urlencode

import discord

from bot.agents.permissions.roles_and_rights import Approver
from bot.errors import UserError
from bot.interfaces.discord.callers import approver_of
from bot.interfaces.discord.commands import Items
from bot.interfaces.discord.components import hear, select
from bot.interfaces.discord.responses import Interaction, Tree, defer, tell, text_file
from bot.services.people.approvals import Approvals, PermitList, RequestDetails
from bot.services.served_constellations import ServedConstellations
from memory.permission_requests import Verdict
from memory.store.ids import ConstellationId
from sources.discord.cards import DONE, LONGEST, NO, PATTERN, call_id
from texts import _, error_sentence


def install_approvals(tree: Tree, served: ServedConstellations) -> None:
    """Handle the buttons and menus of all cards, also of those sent before a restart."""

    async def answered(interaction: Interaction, named: re.Match[str], chosen: str) -> None:
        if not await defer(interaction):
            return
        offer = chosen or named["offer"]
        constellation = ConstellationId(named["of"]) if named["of"] else served.shared.configured
        if not served.shared.constellations.has(constellation):
            await tell(interaction, _("The constellation that asked for this was deleted."), looks=NO)
            return
        who, request = approver_of(interaction), int(named["request"])
        async with served.use(constellation) as services:
            if offer == "details":
                await _details(interaction, services.approvals, request, who)
            elif offer in list(Verdict):
                ruling = await services.approvals.answer(request, who, Verdict(offer))
                await tell(interaction, ruling.words, looks=DONE if ruling.counted else NO)
            else:
                await tell(interaction, _("This button no longer works. Use the command instead."), looks=NO)

    tree.client.add_dynamic_items(hear(PATTERN, answered))


def _choice(found: PermitList) -> list[discord.ui.Item[Any]]:
    options = ((urlencode({"request": each.id}), each.choice[1]) for each in found.requests)
    return select(call_id("permits.show", {}), options, _("Choose one"))


def _answers(found: RequestDetails) -> list[discord.ui.Item[Any]]:
    given = {"request": found.id}
    yes = discord.ui.Button[Any](
        label=_("Allow once"), style=discord.ButtonStyle.success, custom_id=call_id("approve", given)
    )
    no = discord.ui.Button[Any](label=_("Deny"), style=discord.ButtonStyle.danger, custom_id=call_id("deny", given))
    return [yes, no] if found.waiting else []


ITEMS: Items = {"permits.list": _choice, "permits.show": _answers}
"""Buttons and menus under the results of these operations: a request is answered where its arguments are shown."""


async def _details(interaction: Interaction, approvals: Approvals, request: int, who: Approver) -> None:
    try:
        found = await approvals.details(request, who)
    except UserError as error:
        await tell(interaction, error_sentence(error), looks=NO)
        return
    shown = f"{found.text}\n```json\n{found.arguments}\n```"
    if len(shown) <= LONGEST:
        await tell(interaction, shown)
        return
    await tell(interaction, found.text, file=text_file(interaction, found.arguments, f"request-{request}.json"))
