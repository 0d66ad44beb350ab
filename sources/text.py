"""Text for platforms: names that cannot forge structure, and only characters that can be seen and sent."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable

from memory.store.lazy import Pattern, UnicodePattern
from texts import _, gettext_noop

_TERMINAL = gettext_noop("the terminal")
_PLACES = {
    "the dashboard with ": gettext_noop("the dashboard with {name}"),
    "direct messages with ": gettext_noop("direct messages with {name}"),
    "direct messages": gettext_noop("direct messages"),
    "the direct messages with ": gettext_noop("the direct messages with {name}"),
    "patrol:source-": gettext_noop("the news from {name}"),
    "patrol:": gettext_noop("the patrol {name}"),
    "terminal:local": _TERMINAL,
    "bluesky:account": gettext_noop("the account on Bluesky"),
}
"""Places without a name of their own, by how what they are called begins where they are kept."""

MAX_NAME = 64
MAX_LINE = 300

# Controls (Cc), surrogates (Cs), private use (Co), line and paragraph separators (Zl, Zp), formats (Cf: bidi overrides,
# zero-width spaces, tags) and fillers (DI). What emoji and several scripts are written with stays in its place:
# a joiner behind a letter that is not Latin, one variation selector behind a character, a tagged flag of Britain.
TERMINAL = r"(?:\x1b\[|\x9b)[0-?]*[\x20-/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
"""Escape sequences of terminals: invisible to readers, so they are removed."""
_UNSEEN = UnicodePattern(
    rf"(?V1){TERMINAL}|"
    r"\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|"
    r"\U000e0077\U000e006c\U000e0073)\U000e007f(*SKIP)(*FAIL)|"
    r"(?<=[^\x00-\x7f\u200c\u200d])[\u200c\u200d](*SKIP)(*FAIL)|"
    r"(?<=[^\s\ufe00-\ufe0f])[\ufe00-\ufe0f](*SKIP)(*FAIL)|"
    r"(?<=\p{Han})[\U000e0100-\U000e01ef](*SKIP)(*FAIL)|"
    r"(?<=\p{Mongolian})[\u180b-\u180d\u180f](*SKIP)(*FAIL)|"
    r"[\p{Cc}\p{Cs}\p{Co}\p{Cf}\p{Zl}\p{Zp}\p{DI}]"
)
_BREAKS = UnicodePattern(r"[\s\x1c-\x1f\x85\p{Zl}\p{Zp}]+")
_LINE_ENDS = Pattern("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_INVISIBLE = UnicodePattern(r"[\s\u2800\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]*")
_MARKS = UnicodePattern(r"[\p{M}\U0001d159]+")
"""Combining marks, and a note without a head: no name on their own."""
SQUARES = "[［【〔〖〘〚⟦❲⁅⦋⦍⦏⦗⧘⧚⟅⟬﹇﹝︗︹︻⸢⸤⹕⹗⌈⌊⎡⎣⦉⦓⦕"
ANGLES = "\u2329︽<＜﹤‹〈〈⟨❬❮❰⟪⦑⧼︿˂ᐸ"
"""Characters that look like the brackets at the beginning of our lines and tags."""
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
CLUSTER = UnicodePattern(r"\X")


def cells(text: str) -> int:
    """The width in a column: East Asian characters take two cells, combining ones none."""
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text)
    return len(text) + wide - sum(unicodedata.combining(each) > 0 for each in text)


def visible(text: str) -> bool:
    """Whether a reader would see anything at all."""
    return _INVISIBLE.fullmatch(text) is None


def sendable(text: str) -> str:
    """The text without surrogates, which no platform accepts."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def one_line(text: str, limit: int = MAX_LINE) -> str:
    """A text as one line of limited length, without invisible characters."""
    line = without_unseen(_BREAKS.sub(" ", text)).strip()
    return _bounded(line.replace("```", "'''"), limit)


def without_unseen(text: str) -> str:
    """The text without invisible characters; its lines end with a line feed."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join("\t".join(map(_seen, line.split("\t"))) for line in _LINE_ENDS.split(text))


def _seen(part: str) -> str:
    return part if part.isascii() and part.isprintable() else _UNSEEN.sub("", part)


def flatten(name: str, limit: int = MAX_NAME) -> str:
    """A name as one line that cannot pass for a heading, a tag, a quote or "name: text".

    Empty if nothing visible remains; the caller then shows an id.
    """
    line = one_line(name, limit=4 * limit).translate(_FORGERS)
    if _IDENTIFIED.search(line):
        line = line.translate(_PARENTHESES)
    line = _BREAKS.sub(" ", line).strip()
    line = _bounded(_HEADING.sub("", line).strip(), limit)
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


def _bounded(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: end_within(text, limit - 1, len)].rstrip() + "…"


def end_within(text: str, room: int, measure: Callable[[str], float]) -> int:
    """The end of the last grapheme that fits; a single one that is too long is cut between code points."""
    end, used = 0, 0.0
    for cluster in CLUSTER.finditer(text):
        used += measure(cluster[0])
        if used > room:
            break
        end = cluster.end()
    if end == 0:
        fitting = bisect_right(range(1, len(text) + 1), float(room), key=lambda count: measure(text[:count]))
        end = max(1, fitting)
    return end
