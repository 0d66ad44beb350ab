"""Cards on Discord: colored containers for results and questions, with buttons, menus and pages.

A button's id contains only the question's id and the answer, or an operation and its arguments. Clicks and choices are
handled by id, so they work after a restart, and rights are checked then. What an approval card says is written in
`bot.agents.permissions.approval_card_text`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any
from urllib.parse import quote_plus, urlencode

import discord
from msgspec import Struct

from sources.base import Buttons
from texts import _, gettext_noop, speaking

_OF = r"(?::(?P<of>con_[0-9a-z]{1,40}))?"
"""The constellation that asks, if it is not the configured one."""

PATTERN = re.compile(r"carina:permit(?:-for|:(?P<offer>[a-z]{1,10})):(?P<request>[0-9]{1,19})" + _OF)
"""Matches an answer to a question, or the menu that allows its call for longer; there, the choice is the answer."""

_GIVEN = r"(?P<name>[a-z._-]{1,40}):(?P<given>[^:]*)"
_AT = r"(?::(?P<of>(?:con_[0-9a-z]{1,40})?))?"
CALL = re.compile(f"carina:call:{_GIVEN}{_AT}")
"""Matches a button that calls an operation with arguments, or a menu whose choice is more of them: where it stands, or
(`of`) in a constellation, which is the configured one if the name is empty."""
FORM = re.compile(f"carina:form:{_GIVEN}")
"""Matches a form that does so; its fields are more arguments."""
EARLIER = re.compile(r"carina:(?:pairing|preference|reminder|retry|snooze|step|why):.*", re.DOTALL)
"""Matches a button or menu of an earlier version that called an operation."""

_ASCII = re.compile(r"[\x00-\x7f]+")
_CALLS = {
    ("reminder", "done"): ("remind.done", "reminder"),
    ("reminder", "snooze"): ("remind.snooze", "reminder"),
    ("retry", "retry"): ("retry", "message"),
    ("preference", "allow"): ("dream.allow", "entry"),
    ("preference", "refuse"): ("dream.refuse", "entry"),
    ("pairing", "let"): ("pair.let-in", "person"),
    ("pairing", "block"): ("pair.block", "person"),
    ("pairing", "ignore"): ("pair.ignore", "person"),
}
"""By a card's kind and what it offers: the operation, and the argument that holds the card's id."""
_LONGER = {"hour": gettext_noop("For 1 hour"), "always": gettext_noop("Always")}
_SNOOZES = {
    "minutes=10": gettext_noop("10 minutes"),
    "minutes=60": gettext_noop("1 hour"),
    "until=this+evening": gettext_noop("This evening"),
    "until=tomorrow+morning": gettext_noop("Tomorrow morning"),
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


def call_id(name: str, given: Mapping[str, object], kind: str = "call", of: str | None = None) -> str:
    """The id of a button or menu, or of a form (`kind`), that calls an operation; `CALL` or `FORM` reads it."""
    return f"carina:{kind}:{name}:{encoded(given)}{'' if of is None else f':{of}'}"


def encoded(given: Mapping[str, object]) -> str:
    """Arguments in the id of a component. Letters beyond ASCII stay, since an id has 100 characters, of any script."""
    return urlencode(
        given, doseq=True, quote_via=lambda text, *_how: _ASCII.sub(lambda found: quote_plus(found[0]), text)
    )


def _button(offer: str, buttons: Buttons) -> discord.ui.Button[Any]:
    label, style = _LOOKS[offer]
    return discord.ui.Button(label=_(label), style=style, custom_id=_card_id(f"permit:{offer}", offer, buttons))


def _menu(offer: str, title: str, offers: Mapping[str, str], buttons: Buttons) -> discord.ui.Select[Any]:
    """A menu of answers; buttons on older cards still work."""
    options = [discord.SelectOption(label=_(label), value=value) for value, label in offers.items()]
    identifier = _card_id("permit-for", offer, buttons)
    return discord.ui.Select(custom_id=identifier, placeholder=title, options=options)


def _card_id(answers: str, offer: str, buttons: Buttons) -> str:
    if buttons.kind == "permit":
        return f"carina:{answers}:{buttons.request}{f':{buttons.constellation}' if buttons.constellation else ''}"
    name, argument = _CALLS[buttons.kind, offer]
    return call_id(name, {argument: buttons.request}, of=buttons.constellation)


def items_of(buttons: Buttons | None) -> list[discord.ui.Item[Any]]:
    """The buttons and menus of a card; empty if it offers none."""
    if buttons is None or not buttons.offers:
        return []
    found = list[discord.ui.Item[Any]]()
    more = ("details",) if buttons.kind == "permit" else ()
    with speaking(buttons.language):
        for offer in (*buttons.offers, *more):
            if offer == "snooze":
                found.append(_menu("snooze", _("Snooze"), _SNOOZES, buttons))
            elif offer not in _LONGER:
                found.append(_button(offer, buttons))
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
