"""Results as Discord shows them: a colored container with words, what can be done next, and pages.

What is pressed or chosen is heard by its id, so it works after a restart, and who may do it is decided then.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import discord

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


PLAIN, DONE, NO = Looks(), Looks(Tone.DONE), Looks(Tone.REFUSED)


def container(words: str, looks: Looks, file_name: str = "") -> discord.ui.LayoutView:
    """One answer; `file_name` is that of the file that goes with it, which Discord shows only where it is named."""
    parts = list[discord.ui.Item[Any]]()
    if looks.title:
        parts.append(discord.ui.TextDisplay(f"### {looks.title}"))
    if words:
        parts.append(discord.ui.TextDisplay(words))
    if file_name:
        parts.append(discord.ui.File(f"attachment://{file_name}"))
    if looks.footer:
        parts.append(discord.ui.TextDisplay(f"-# {looks.footer}"))
    parts += rows(looks.items)
    view = discord.ui.LayoutView(timeout=None)
    view.add_item(discord.ui.Container(*parts, accent_color=looks.tone.value))
    view.stop()  # what is pressed is heard by its id: discord.py need not keep each view
    return view


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
