"""What Discord shows in a colored container: results and cards, with what can be done next, and pages.

What is pressed or chosen is heard by its id, so it works after a restart, and who may do it is decided then.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import discord

from sources.base import Buttons
from sources.discord.buttons import items_of

LONGEST = 3_600
"""Characters of an answer; what is longer goes into pages or a file. Discord takes 4,000 with headings and all."""
_BUTTONS = 5  # of one row
_LINES = 20  # of one page


class Tone(Enum):
    """What an answer is about, as the color at its edge."""

    PLAIN = 0x5865F2
    DONE = 0x2E9E5B
    ASKS = 0xE0A100
    REFUSED = 0xD83C3E


@dataclass(frozen=True)
class Looks:
    """What stands around the words of an answer."""

    tone: Tone = Tone.PLAIN
    title: str = ""
    footer: str = ""
    items: Sequence[discord.ui.Item[Any]] = ()


_TONES = {"permit": Tone.ASKS, "pairing": Tone.ASKS, "preference": Tone.ASKS, "retry": Tone.REFUSED}
"""By what a card asks; one that tells or reminds is plain."""

PLAIN, DONE, NO = Looks(), Looks(Tone.DONE), Looks(Tone.REFUSED)


def container(words: str, looks: Looks, file_names: Iterable[str] = ()) -> discord.ui.LayoutView:
    """One answer; `file_names` are those of its files, which Discord shows only where they are named."""
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
    view.stop()  # what is pressed is heard by its id: discord.py need not keep each view
    return view


def card(words: str, buttons: Buttons | None, file_names: Iterable[str] = ()) -> discord.ui.LayoutView:
    """What the service itself says or asks, with its buttons; a card that was answered has none."""
    tone = _TONES.get(buttons.kind, Tone.PLAIN) if buttons is not None and buttons.offers else Tone.PLAIN
    return container(words, Looks(tone, items=items_of(buttons)), file_names)


def words_of(message: discord.Message) -> str:
    """The words of a message, also of one that is a container."""
    return message.content or "\n".join(_texts(message.components))


def _texts(parts: Iterable[object]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, discord.TextDisplay):
            yield part.content
        elif isinstance(part, discord.Container):
            yield from _texts(part.children)


def paged(lines: Iterable[str]) -> list[str]:
    """Lines as pages of an answer, none of them too long for one."""
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
