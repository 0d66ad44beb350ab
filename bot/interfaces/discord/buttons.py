"""Buttons under the bot's messages: Allow, Deny and Details of a request, and Yes and No under the question that a
command asks first.

They are recognized by their ids (`components.py`), even after a restart; a question is answered once, by whoever gave
the command. Buttons that call an operation are heard in `commands.py`.
"""

import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import discord
from msgspec import Struct

from bot.agents.permissions.who_may import Approver
from bot.errors import UserError
from bot.interfaces.discord.callers import approver_of
from bot.interfaces.discord.components import Heard, hear
from bot.interfaces.discord.responses import Interaction, Tree, change, defer, tell, text_file
from bot.services.composition import ServedConstellations
from bot.services.people.approvals import Approvals
from memory.requests import Verdict
from memory.store.ids import ConstellationId
from memory.store.recent import RecentValues
from sources.discord.cards import DONE, LONGEST, NO, PATTERN, PLAIN
from texts import _, error_sentence, gettext_noop


def install_approvals(tree: Tree, served: ServedConstellations) -> None:
    """Have the buttons and menus of every card heard, also of those sent before a restart."""

    async def answered(interaction: Interaction, named: re.Match[str], chosen: str) -> None:
        if not await defer(interaction):
            return
        offer = chosen or named["offer"]
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

    tree.client.add_dynamic_items(hear(PATTERN, answered))


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


_ID = re.compile(r"carina:sure:(?P<name>[a-z._-]+):(?P<answer>yes|no):(?P<token>[0-9a-f]+)")
_SECONDS = 900.0
_MOST = 1_000
_OVER = gettext_noop("This question was already answered or has expired, so nothing was done. Use the command again.")


Confirmed: TypeAlias = Callable[..., Awaitable[None]]
"""Does an operation for somebody who is sure: the interaction, its name, what was given, and fields of the caller."""


class OpenQuestion(Struct, frozen=True):
    """What would be done for whom, and what they are asked before."""

    person: int
    name: str
    given: Mapping[str, Any]
    question: str


@dataclass(frozen=True)
class Questions:
    """Those that stand. Each is answered once, by who asked for it."""

    clock: Callable[[], float] = time.monotonic
    _open: RecentValues[str, tuple[float, OpenQuestion]] = field(
        default_factory=lambda: RecentValues(_MOST), init=False
    )

    def ask(self, asked: OpenQuestion) -> list[discord.ui.Button[Any]]:
        token = secrets.token_hex(8)
        self._open.put(token, (self.clock() + _SECONDS, asked))
        buttons = list[discord.ui.Button[Any]]()
        for said, label, style in (
            ("yes", _("Yes, do it"), discord.ButtonStyle.danger),
            ("no", _("No"), discord.ButtonStyle.secondary),
        ):
            custom_id = f"carina:sure:{asked.name}:{said}:{token}"
            buttons.append(discord.ui.Button(label=label, style=style, custom_id=custom_id))
        return buttons

    def take(self, token: str, person: int) -> OpenQuestion | None:
        """What was asked, where it stands still; from now on it does not."""
        until, asked = self._open.get(token, (0.0, None))
        if asked is None or asked.person != person or until <= self.clock():
            return None
        del self._open[token]
        return asked

    def button(self, confirmed: Confirmed) -> Heard:
        """What hears the buttons; who may do it is decided anew."""

        async def pressed(interaction: Interaction, named: re.Match[str], _chosen: str) -> None:
            if not await defer(interaction, quietly=True):
                return
            asked = self.take(named["token"], interaction.user.id)
            if asked is None:
                await change(interaction, _(_OVER), PLAIN)
            elif named["answer"] == "no":
                await change(interaction, _("Nothing was done."), PLAIN)
            else:
                await change(interaction, asked.question, PLAIN)
                await confirmed(interaction, asked.name, asked.given, sure=True, shown=asked.question)

        return hear(_ID, pressed)
