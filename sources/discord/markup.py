"""Discord's own forms: lengths, URLs of messages, the invitation with the least necessary permissions, and
Markdown tables as code blocks, since Discord does not support them.

Imports no library.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from urllib.parse import urlencode

from memory.people.audience import Audience
from memory.store.ids import PlaceId
from memory.store.lazy import Pattern
from sources.text import cells

BLOCKS_ARE_FOR = (
    "Notes on this Discord channel.",
    "Notes on this Discord thread.",
    "About the speaker, from this place.",
)
"""What models are told of the blocks of a channel, a thread and a person."""
_ADD_REACTIONS = 1 << 6
_VIEW_CHANNEL = 1 << 10
_SEND_MESSAGES = 1 << 11
_ATTACH_FILES = 1 << 15
_READ_MESSAGE_HISTORY = 1 << 16
_MANAGE_WEBHOOKS = 1 << 29
_CREATE_PUBLIC_THREADS = 1 << 35
_SEND_MESSAGES_IN_THREADS = 1 << 38


PERMISSIONS = _VIEW_CHANNEL | _READ_MESSAGE_HISTORY | _SEND_MESSAGES | _SEND_MESSAGES_IN_THREADS
PERMISSIONS |= _ATTACH_FILES | _ADD_REACTIONS
PERMISSIONS |= _MANAGE_WEBHOOKS | _CREATE_PUBLIC_THREADS  # for agents' own names, and to open threads


def units(text: str) -> int:
    """Length in UTF-16 units: what Discord's clients count, and never less than what its servers count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def invite_url(application_id: int) -> str:
    """Where an administrator of a guild adds the bot."""
    query = {"client_id": application_id, "scope": "bot applications.commands", "permissions": PERMISSIONS}
    return f"https://discord.com/oauth2/authorize?{urlencode(query)}"


def application_of(token: str) -> int | None:
    """The application of a bot token, from the token alone; None for an invalid token."""
    head = token.strip().removeprefix("Bot ").partition(".")[0]
    try:
        number = base64.b64decode(head + "=" * (-len(head) % 4), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return int(number) if number.isdecimal() else None


_DISCORD = "discord:"


def message_link(place: PlaceId, kind: str, audiences: Iterable[Audience], external_id: str) -> str:
    """The URL of a message; empty if there is none (the terminal), or too little is known of the place.

    `kind` is the place's, `audiences` its audience and wider ones: they name its guild.
    """
    channel = place.removeprefix(_DISCORD)
    if not (place.startswith(_DISCORD) and channel.isdecimal() and external_id.isdecimal()):
        return ""
    guilds = [audience.removeprefix(f"guild:{_DISCORD}") for audience in audiences if audience.startswith("guild:")]
    guild = "@me" if kind in ("direct", "group") else next(iter(guilds), "")
    return f"https://discord.com/channels/{guild}/{channel}/{external_id}" if guild else ""


_RULE = Pattern(r"\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?")
_FENCE = Pattern(r"\s*(```|~~~)")
_CELL = Pattern(r"(?<!\\)\|")
_MARKS = Pattern(r"\*\*|__|`")
_WIDEST = 90  # cells per line; a wider table becomes one paragraph per row


def tables_as_code(text: str) -> str:
    """A text with aligned tables; everything else, and code, unchanged."""
    return "\n".join(_lines(text.split("\n"))) if "|" in text else text


def _lines(lines: Sequence[str]) -> Iterator[str]:
    place, fence = 0, ""
    while place < len(lines):
        line = lines[place]
        if found := _FENCE.match(line):
            fence = "" if fence == found[1] else fence or found[1]
        rows = [] if fence else _table(lines, place)
        if rows:
            yield from _drawn(rows)
            place += len(rows) + 1  # the line of dashes
        else:
            yield line
            place += 1


def _table(lines: Sequence[str], place: int) -> list[list[str]]:
    first, *rule = lines[place : place + 2]
    if not rule or "|" not in first or "|" not in rule[0] or not _RULE.fullmatch(rule[0].strip()):
        return []
    head = _cells(first)
    if len(head) != len(_cells(rule[0])):
        return []
    rows = [head]
    for line in islice(lines, place + 2, None):
        if "|" not in line:
            break
        cells = _cells(line)
        rows.append([*cells, *[""] * len(head)][: max(len(head), 1)])
    return rows


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [_MARKS.sub("", cell.strip()).replace(r"\|", "|") for cell in _CELL.split(inner)]


def _drawn(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + 2 * len(widths) > _WIDEST:
        for row in rows[1:]:
            yield "; ".join(f"**{name}**: {cell}" for name, cell in zip(rows[0], row, strict=True) if cell)
        return
    yield "```"
    for number, row in enumerate(rows):
        yield "  ".join(cell + " " * (width - cells(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        if number == 0:
            yield "  ".join("─" * width for width in widths)
    yield "```"
