"""The question that a command asks first, with its buttons Yes and No. Only the person who used the command can answer,
once."""

import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import discord
from msgspec import Struct

from bot.interfaces.discord.components import Heard, hear
from bot.interfaces.discord.responses import Interaction, change, defer
from bot.services.results import Markdown
from memory.store.recent_values import RecentValues
from sources.discord.cards import PLAIN
from texts import _, gettext_noop

_ID = re.compile(r"carina:sure:(?P<name>[a-z._-]+):(?P<answer>yes|no):(?P<token>[0-9a-f]+)")
_SECONDS = 900.0
_MOST = 1_000
_OVER = gettext_noop("This question was already answered or has expired, so nothing was done. Use the command again.")


Confirmed: TypeAlias = Callable[..., Awaitable[None]]
"""Calls a confirmed operation: takes the interaction, its name, its arguments, and fields of the caller."""


class OpenQuestion(Struct, frozen=True):
    """An operation that waits for confirmation, with the question."""

    person: int
    name: str
    given: Mapping[str, Any]
    question: str


@dataclass(frozen=True)
class Questions:
    """The open questions. Each can be answered once, by the person who was asked."""

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
        """Remove and return an open question; None if it expired, was answered, or is somebody else's."""
        until, asked = self._open.get(token, (0.0, None))
        if asked is None or asked.person != person or until <= self.clock():
            return None
        del self._open[token]
        return asked

    def button(self, confirmed: Confirmed) -> Heard:
        """The handler of the buttons; the confirmed operation checks rights again."""

        async def pressed(interaction: Interaction, named: re.Match[str], _chosen: str) -> None:
            if not await defer(interaction, quietly=True):
                return
            asked = self.take(named["token"], interaction.user.id)
            if asked is None:
                await change(interaction, _(_OVER), PLAIN)
            elif named["answer"] == "no":
                await change(interaction, _("Nothing was done."), PLAIN)
            else:
                quoted = Markdown().text(asked.question).replace("\n", "\n> ")
                await change(interaction, _("You confirmed this:\n> {question}", question=quoted), PLAIN)
                await confirmed(interaction, asked.name, asked.given, sure=True, shown=asked.question)

        return hear(_ID, pressed)
