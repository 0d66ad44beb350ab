"""Buttons as Discord has them. Their ids carry the question's id and the answer, nothing else, and work for ever."""

import re
from typing import Any

import discord

from memory.ids import RequestId
from sources.base import Buttons

PATTERN = re.compile(r"carina:permit:(?P<offer>[a-z]{1,10}):(?P<request>[0-9]{1,19})")
"""Matches the custom id of an answer to a question."""

_LOOKS = {
    "once": ("Once", discord.ButtonStyle.success),
    "hour": ("For 1 hour", discord.ButtonStyle.primary),
    "always": ("Always for this", discord.ButtonStyle.secondary),
    "deny": ("Deny", discord.ButtonStyle.danger),
    "details": ("Details", discord.ButtonStyle.secondary),
}


def custom_id(offer: str, request: RequestId) -> str:
    """The id of a button; `PATTERN` reads it."""
    return f"carina:permit:{offer}:{request}"


def button(offer: str, request: RequestId) -> discord.ui.Button[Any]:
    """One button as it is shown."""
    label, style = _LOOKS[offer]
    return discord.ui.Button(label=label, style=style, custom_id=custom_id(offer, request))


def view_of(buttons: Buttons | None) -> discord.ui.View | None:
    """The row of buttons under a message; None for none, which also takes them away from a message that is edited."""
    if buttons is None:
        return None
    view = discord.ui.View(timeout=None)
    for offer in (*buttons.offers, "details"):
        view.add_item(button(offer, buttons.request))
    view.stop()  # what is pressed is heard by one handler for all cards: discord.py need not keep each view
    return view
