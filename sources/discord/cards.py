"""Discord's colored containers: results and cards, with buttons, menus and pages.

A button's id contains only the question's id and the answer. Clicks and choices are handled by id, so they work after a
restart, and rights are checked then.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import discord
from msgspec import Struct

from sources.base import Buttons, Pressed
from texts import _, gettext_noop

_OF = r"(?::(?P<of>con_[0-9a-z]{1,40}))?"
"""The constellation that asks, if it is not the configured one."""

PATTERN = re.compile(r"carina:permit:(?P<offer>[a-z]{1,10}):(?P<request>[0-9]{1,19})" + _OF)
"""Matches the custom id of an answer to a question."""

LONGER = re.compile(r"carina:permit-for:(?P<request>[0-9]{1,19})" + _OF)
"""Matches the menu that allows a question's call for longer; the choice is the answer."""

PRESS = re.compile(
    r"carina:(?P<kind>reminder|retry|preference|pairing):(?P<offer>[a-z]{1,10}):"
    r"(?P<id>[0-9]{1,19}|ent_[0-9a-z]{1,20}|discord:[0-9]{1,20})" + _OF
)
"""Matches a button that calls an operation: for a reminder, a given-up message, an inference, or a person."""

SNOOZE = re.compile(r"carina:snooze:(?P<id>[0-9]{1,19})" + _OF)
"""Matches the menu that postpones a reminder; the choice is an argument of the operation and its value."""

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
    "let": (gettext_noop("Allow"), discord.ButtonStyle.success),
    "block": (gettext_noop("Deny"), discord.ButtonStyle.danger),
    "ignore": (gettext_noop("Ignore"), discord.ButtonStyle.secondary),
    "allow": (gettext_noop("Use it"), discord.ButtonStyle.success),
    "refuse": (gettext_noop("Forget it"), discord.ButtonStyle.danger),
    "done": (gettext_noop("Done"), discord.ButtonStyle.success),
    "retry": (gettext_noop("Try again"), discord.ButtonStyle.primary),
    "once": (gettext_noop("Allow once"), discord.ButtonStyle.success),
    "deny": (gettext_noop("Deny"), discord.ButtonStyle.danger),
    "details": (gettext_noop("Details"), discord.ButtonStyle.secondary),
}


def custom_id(offer: str, request: Pressed, kind: str = "permit", of: str = "") -> str:
    """The id of a button; `PATTERN` and `PRESS` read it."""
    return f"carina:{kind}:{offer}:{request}{f':{of}' if of else ''}"


def button(offer: str, request: Pressed, kind: str = "permit", of: str = "") -> discord.ui.Button[Any]:
    label, style = _LOOKS[offer]
    return discord.ui.Button(label=_(label), style=style, custom_id=custom_id(offer, request, kind, of))


def _menu(kind: str, title: str, offers: Mapping[str, str], buttons: Buttons) -> discord.ui.Select[Any]:
    """A menu of answers; buttons on older cards still work."""
    of = f":{buttons.constellation}" if buttons.constellation else ""
    options = [discord.SelectOption(label=_(label), value=value) for value, label in offers.items()]
    return discord.ui.Select(custom_id=f"carina:{kind}:{buttons.request}{of}", placeholder=title, options=options)


def items_of(buttons: Buttons | None) -> list[discord.ui.Item[Any]]:
    """The buttons and menus of a card; empty if it offers none."""
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


LONGEST = 3_600
"""Characters of an answer; longer ones become pages or a file. Discord's limit is 4,000 including headings."""
_BUTTONS = 5  # per row
_LINES = 20  # per page


class Tone(Enum):
    """The topic of an answer, as the color of its edge."""

    PLAIN = 0x5865F2
    DONE = 0x2E9E5B
    ASKS = 0xE0A100
    REFUSED = 0xD83C3E


class CardStyle(Struct, frozen=True):
    """What surrounds the text of an answer."""

    tone: Tone = Tone.PLAIN
    title: str = ""
    footer: str = ""
    items: Sequence[discord.ui.Item[Any]] = ()


_TONES = {"permit": Tone.ASKS, "pairing": Tone.ASKS, "preference": Tone.ASKS, "retry": Tone.REFUSED}
"""By what a card asks; plain for notices and reminders."""

PLAIN, DONE, NO = CardStyle(), CardStyle(Tone.DONE), CardStyle(Tone.REFUSED)


def container(words: str, looks: CardStyle, file_names: Iterable[str] = ()) -> discord.ui.LayoutView:
    """One answer; `file_names` are those of its files, which Discord shows only if they are named."""
    parts = list[discord.ui.Item[Any]]()
    if looks.title:
        parts.append(discord.ui.TextDisplay(f"### {looks.title}"))
    if words:
        parts.append(discord.ui.TextDisplay(words))
    parts += [discord.ui.File(f"attachment://{name}") for name in file_names]
    if looks.footer:
        parts.append(discord.ui.TextDisplay(f"-# {looks.footer}"))
    parts += rows(looks.items)
    view = discord.ui.LayoutView(timeout=None)
    view.add_item(discord.ui.Container(*parts, accent_color=looks.tone.value))
    view.stop()  # clicks are handled by id: discord.py need not keep the views
    return view


def card(words: str, buttons: Buttons | None, file_names: Iterable[str] = ()) -> discord.ui.LayoutView:
    """A text or question of the service itself, with its buttons; an answered card has none."""
    tone = _TONES.get(buttons.kind, Tone.PLAIN) if buttons is not None and buttons.offers else Tone.PLAIN
    return container(words, CardStyle(tone, items=items_of(buttons)), file_names)


def words_of(message: discord.Message) -> str:
    """The text of a message, also if it is a container."""
    return message.content or "\n".join(_texts(message.components))


def _texts(parts: Iterable[object]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, discord.TextDisplay):
            yield part.content
        elif isinstance(part, discord.Container):
            yield from _texts(part.children)


def paged(lines: Iterable[str]) -> list[str]:
    """Lines as pages, each short enough for one answer."""
    pages, count = [""], 0
    for line in lines:
        text = line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
        if count and (count == _LINES or len(pages[-1]) + len(text) >= LONGEST):
            pages.append("")
            count = 0
        pages[-1] += f"\n{text}" if count else text
        count += 1
    return pages


def rows(items: Iterable[discord.ui.Item[Any]]) -> list[discord.ui.ActionRow[Any]]:
    """Buttons side by side, a menu on a row of its own."""
    found = list[list[discord.ui.Item[Any]]]()
    for item in items:
        wide = not isinstance(item, discord.ui.Button)
        if wide or not found or len(found[-1]) == _BUTTONS or not isinstance(found[-1][0], discord.ui.Button):
            found.append([])
        found[-1].append(item)
    return [discord.ui.ActionRow(*row) for row in found]
