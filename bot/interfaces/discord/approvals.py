"""The buttons of approval cards. All answers are seen by one person."""

import re
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.agents.permissions.policy import Approver
from bot.errors import UserError
from bot.interfaces.discord.askers import approver_of
from bot.interfaces.discord.containers import LONGEST
from bot.interfaces.discord.forms import Door
from bot.interfaces.discord.responses import Interaction, defer, tell, text_file
from bot.services.approvals import Approvals
from bot.services.composition import ServedConstellations
from memory.requests import Verdict
from memory.store.ids import ConstellationId
from sources.discord.buttons import PATTERN
from texts import _

Tree: TypeAlias = app_commands.CommandTree[Any]


def install_approvals(tree: Tree, served: ServedConstellations) -> None:
    """Have the buttons of every card heard, also of those sent before a restart."""
    tree.client.add_dynamic_items(_buttons(served))


def _buttons(served: ServedConstellations) -> type[discord.ui.DynamicItem[discord.ui.Button[Any]]]:
    class Answer(Door, discord.ui.DynamicItem[discord.ui.Button[Any]], template=PATTERN):
        """One button of one card; its id says which."""

        def __init__(self, offer: str, request: int, of: str, shown: discord.ui.Button[Any]) -> None:
            super().__init__(shown)
            self.offer, self.request = offer, request
            self.constellation = ConstellationId(of) if of else served.shared.configured

        @classmethod
        async def from_custom_id(
            cls, _interaction: Interaction, item: discord.ui.Item[Any], match: re.Match[str], /
        ) -> "Answer":
            if not isinstance(item, discord.ui.Button):
                raise TypeError(f"a button has the id {match[0]}, not {type(item).__name__}")
            return cls(match["offer"], int(match["request"]), match["of"] or "", item)

        async def pressed(self, interaction: Interaction) -> None:
            if not await defer(interaction):
                return
            if not served.shared.constellations.has(self.constellation):
                await tell(interaction, "The constellation that asked this was deleted.")
                return
            who = approver_of(interaction, "button")
            async with served.use(self.constellation) as services:
                if self.offer == "details":
                    await _details(interaction, services.approvals, self.request, who)
                elif self.offer in list(Verdict):
                    ruling = await services.approvals.answer(self.request, who, Verdict(self.offer))
                    await tell(interaction, ruling.words)
                else:
                    await tell(interaction, _("This button no longer works."))

    return Answer


async def _details(interaction: Interaction, approvals: Approvals, request: int, who: Approver) -> None:
    try:
        words, arguments = await approvals.details(request, who)
    except UserError as error:
        await tell(interaction, str(error))
        return
    shown = f"{words}\n```json\n{arguments}\n```"
    if len(shown) <= LONGEST:
        await tell(interaction, shown)
        return
    await tell(interaction, words, file=text_file(interaction, arguments, f"request-{request}.json"))
