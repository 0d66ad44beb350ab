"""Buttons as Discord has them. Their ids carry the question's id and the answer, nothing else, and work for ever."""

import re
from collections.abc import Mapping
from typing import Any

import discord

from sources.base import Buttons, Pressed
from texts import _, gettext_noop

_OF = r"(?::(?P<of>con_[0-9a-z]{1,40}))?"
"""The constellation that asks, where it is not the configured one."""

PATTERN = re.compile(r"carina:permit:(?P<offer>[a-z]{1,10}):(?P<request>[0-9]{1,19})" + _OF)
"""Matches the custom id of an answer to a question."""

LONGER = re.compile(r"carina:permit-for:(?P<request>[0-9]{1,19})" + _OF)
"""Matches the id of the menu under a question that allows it for longer; what is chosen is the answer."""

PRESS = re.compile(
    r"carina:(?P<kind>reminder|retry|preference|pairing):(?P<offer>[a-z]{1,10}):"
    r"(?P<id>[0-9]{1,19}|ent_[0-9a-z]{1,20}|discord:[0-9]{1,20})" + _OF
)
"""Matches the id of a button that calls an operation: of a reminder, of what was given up or inferred, of a person."""

SNOOZE = re.compile(r"carina:snooze:(?P<id>[0-9]{1,19})" + _OF)
"""Matches the id of the menu that puts a reminder off; what is chosen is an argument of the operation and its value."""

_LONGER = {
    "hour": gettext_noop("For 1 hour"),
    "always": gettext_noop("Always for this"),
}
_SNOOZES = {
    "minutes=10": gettext_noop("10 minutes"),
    "minutes=60": gettext_noop("1 hour"),
    "until=evening": gettext_noop("This evening"),
    "until=morning": gettext_noop("Tomorrow morning"),
}
_LOOKS = {
    "let": ("Allow", discord.ButtonStyle.success),
    "block": ("Deny", discord.ButtonStyle.danger),
    "ignore": ("Ignore", discord.ButtonStyle.secondary),
    "allow": ("Use it", discord.ButtonStyle.success),
    "refuse": ("Forget it", discord.ButtonStyle.danger),
    "snooze": ("Snooze", discord.ButtonStyle.secondary),
    "done": ("Done", discord.ButtonStyle.success),
    "retry": ("Try again", discord.ButtonStyle.primary),
    "once": ("Allow once", discord.ButtonStyle.success),
    "hour": ("For 1 hour", discord.ButtonStyle.primary),
    "always": ("Always for this", discord.ButtonStyle.secondary),
    "deny": ("Deny", discord.ButtonStyle.danger),
    "details": ("Details", discord.ButtonStyle.secondary),
}


def custom_id(offer: str, request: Pressed, kind: str = "permit", of: str = "") -> str:
    """The id of a button; `PATTERN` and `PRESS` read it."""
    return f"carina:{kind}:{offer}:{request}{f':{of}' if of else ''}"


def button(offer: str, request: Pressed, kind: str = "permit", of: str = "") -> discord.ui.Button[Any]:
    label, style = _LOOKS[offer]
    return discord.ui.Button(label=label, style=style, custom_id=custom_id(offer, request, kind, of))


def _menu(kind: str, title: str, offers: Mapping[str, str], buttons: Buttons) -> discord.ui.Select[Any]:
    """A choice among answers; buttons that were sent before there was one still work."""
    of = f":{buttons.constellation}" if buttons.constellation else ""
    options = [discord.SelectOption(label=_(label), value=value) for value, label in offers.items()]
    return discord.ui.Select(custom_id=f"carina:{kind}:{buttons.request}{of}", placeholder=title, options=options)


def items_of(buttons: Buttons | None) -> list[discord.ui.Item[Any]]:
    """The buttons and menus under a card; none where it offers nothing."""
    if buttons is None or not buttons.offers:
        return []
    found = list[discord.ui.Item[Any]]()
    more = ("details",) if buttons.kind == "permit" else ()
    for offer in (*buttons.offers, *more):
        if offer == "snooze":
            found.append(_menu("snooze", _("Snooze"), _SNOOZES, buttons))
        elif offer not in _LONGER:
            found.append(button(offer, buttons.request, buttons.kind, buttons.constellation))
    if longer := {each: _LONGER[each] for each in buttons.offers if each in _LONGER}:
        found.append(_menu("permit-for", _("Allow for longer"), longer, buttons))
    return found
