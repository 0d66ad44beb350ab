"""Names in text: some that cannot forge structure, those of places, and those by which somebody is addressed."""

import re

from memory.store.lazy import Pattern, UnicodePattern
from sources.text import ANGLES, BREAKS, SQUARES, bounded, one_line, visible
from texts import _, gettext_noop

MAX_NAME = 64
_TERMINAL = gettext_noop("the terminal")
_PLACES = {
    "the dashboard with ": gettext_noop("the dashboard chat with {name}"),
    "direct messages with ": gettext_noop("direct messages with {name}"),
    "direct messages": gettext_noop("direct messages"),
    "the direct messages with ": gettext_noop("the direct messages with {name}"),
    "patrol:source-": gettext_noop("the news from {name}"),
    "patrol:": gettext_noop("the patrol “{name}”"),
    "terminal:local": _TERMINAL,
    "bluesky:account": gettext_noop("the Bluesky account"),
}
"""Places without a name of their own, by how what they are called begins where they are kept."""

_MARKS = UnicodePattern(r"[\p{M}\U0001d159]+")
"""Combining marks, and a note without a head: no name on their own."""
_FORGERS = str.maketrans(
    {
        "`": None,
        "\u2800": " ",
        **dict.fromkeys(ANGLES, "‹"),
        **dict.fromkeys(">＞﹥›〉〉⟩❭❯❱⟫⦒⧽﹀˃ᐳ", "›"),
        **dict.fromkeys(SQUARES, "("),
        **dict.fromkeys("]］】〕〗〙〛⟧❳⁆⦌⦎⦐⦘⧙⧛⟆⟭﹈﹞︘︺︼⸣⸥⹖⹘⌉⌋⎤⎦⦊⦔⦖", ")"),
        **dict.fromkeys(":：﹕︓꞉∶ː˸։׃܃܄፡⁚ꓽ᛬", "-"),
    }
)
"""Characters in names that our lines are made of, or that look like those."""
_PARENTHESES = str.maketrans(dict.fromkeys("()（）﹙﹚⁽⁾₍₎❨❩❪❫⟮⟯⦅⦆⦇⦈⸨⸩⹙⹚⹛⹜｟｠︵︶·", " "))
_IDENTIFIED = Pattern(
    r"[(（﹙⁽₍❨❪⟮⦅⦇⸨⹙⹛｟︵].{0,20}?(?:\d{5}|discord|bluesky|bsky|terminal|\bdid\b|\butc\b)", re.IGNORECASE
)
"""A name with an id in parentheses, as in our lines."""
_HEADING = Pattern(r"^[\s#=*_~|+\-•]+(?=\S)")
_SPOKEN_OF = Pattern(
    r"\b(?:is|are|was|of|about|with|to|from|for|by|than|and|or|like|love|hate|called|named|ist|sind|war|von|über|mit|"
    r"an|für|als|wie|und|oder|mag|liebe|hasse|heißt)\s*$",
    re.IGNORECASE,
)
"""Words before a name that is part of the sentence."""


def flatten(name: str, limit: int = MAX_NAME) -> str:
    """A name as one line that cannot pass for a heading, a tag, a quote or "name: text".

    Empty if nothing visible remains; the caller then shows an id.
    """
    line = one_line(name, limit=4 * limit).translate(_FORGERS)
    if _IDENTIFIED.search(line):
        line = line.translate(_PARENTHESES)
    line = BREAKS.sub(" ", line).strip()
    line = bounded(_HEADING.sub("", line).strip(), limit)
    return line if visible(_MARKS.sub("", line)) else ""


def place_title(name: str) -> str:
    """A place in the language of whoever is being answered: sources and the store name places in English."""
    if name == _TERMINAL:
        return _(name)
    for beginning, form in _PLACES.items():
        if name.startswith(beginning):
            return _(form, name=name.removeprefix(beginning))
    channel, inside, server = name.rpartition(" in ")
    return _("{channel} in {server}", channel=channel, server=server) if inside and name.startswith("#") else name


def source_name(source: str) -> str:
    """The name of a place's source for people; others, such as a data source's, stand as they are."""
    names = {"api": "API", "bluesky": "Bluesky", "dashboard": _("Dashboard"), "discord": "Discord"}
    return names.get(source, _("Terminal") if source == "terminal" else source)


def uncalled(said: str, name: str) -> str:
    """What is said to somebody without their name: before a colon or comma ("Anchor: hi"), or behind ("hi @Anchor")."""
    if not name:
        return said
    called = rf"\A\s{{0,8}}(?:(?:hey|hi|hello|ok|okay|hallo)\s+)?@?{re.escape(name)}\s{{0,8}}[:,]\s*(?=\S)"
    return without_call_behind(re.sub(called, "", said, flags=re.IGNORECASE), f"@{re.escape(name)}")


def without_call_behind(said: str, called: str) -> str:
    """A text without a name at its end that only addresses somebody; `called` is a pattern for it.

    Unchanged if the name is part of the sentence ("what do you know about @Carina?").
    """
    sign = rf"(?<=\S)\s{{0,8}}([,、]?)\s{{0,8}}(?:{called})\s{{0,8}}([.!?。！？…]{{0,12}})\s*\Z"
    last = re.search(sign, said, re.IGNORECASE)
    if last is None or (not last[1] and _SPOKEN_OF.search(said[: last.start()])):
        return said
    return said[: last.start()] + last[2]
