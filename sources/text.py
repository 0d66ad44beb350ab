"""Text of characters that can be seen and sent, within a length; `sources.names` has names in text."""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable

from memory.store.lazy import Pattern, UnicodePattern

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
BREAKS = UnicodePattern(r"[\s\x1c-\x1f\x85\p{Zl}\p{Zp}]+")
_LINE_ENDS = Pattern("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_INVISIBLE = UnicodePattern(r"[\s\u2800\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]*")
SQUARES = "[［【〔〖〘〚⟦❲⁅⦋⦍⦏⦗⧘⧚⟅⟬﹇﹝︗︹︻⸢⸤⹕⹗⌈⌊⎡⎣⦉⦓⦕"
ANGLES = "\u2329︽<＜﹤‹〈〈⟨❬❮❰⟪⦑⧼︿˂ᐸ"
"""Characters that look like the brackets at the beginning of our lines and tags."""
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
    line = without_unseen(BREAKS.sub(" ", text)).strip()
    return bounded(line.replace("```", "'''"), limit)


def without_unseen(text: str) -> str:
    """The text without invisible characters; its lines end with a line feed."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join("\t".join(map(_seen, line.split("\t"))) for line in _LINE_ENDS.split(text))


def _seen(part: str) -> str:
    return part if part.isascii() and part.isprintable() else _UNSEEN.sub("", part)


def bounded(text: str, limit: int) -> str:
    """The text, cut off with an ellipsis if it is too long."""
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
