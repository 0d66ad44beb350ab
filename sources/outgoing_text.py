"""Cleans outgoing text: no invisible characters, and no link that hides its target.

Models repeat what they read somewhere, and people read answers as ours. Bidi marks, zero-width characters and control
characters smuggle messages past readers and forge lines. Discord shows `[words](address)` as the words only, so the
address is written out, unless the words are its host. The function is idempotent, so a text may pass several times; it
never grows.
"""

import re
from bisect import bisect_right
from operator import itemgetter
from urllib.parse import urlsplit

from memory.store.lazy import Match, UnicodePattern
from sources.text import TERMINAL, sendable

_BREAKS = UnicodePattern(r"[\u2028\u2029]")

_UNSEEN = UnicodePattern(
    "(?V1)"
    + TERMINAL
    + r"""|
    [\p{Cc}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB--[\n\t\u200c\u200d\p{Variation_Selector}\U000E0020-\U000E007F]]
    # Joiners belong to emoji and to scripts that are written with them, elsewhere they are seen by nobody.
    | (?<![\p{L}\p{M}--[\p{Latin}\p{Greek}\p{Cyrillic}\p{Han}\p{Variation_Selector}]]) \u200c
    | (?<![\p{L}\p{M}--[\p{Latin}\p{Greek}\p{Cyrillic}\p{Han}\p{Variation_Selector}]]
        |[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F](?=\u200d\p{Extended_Pictographic})) \u200d
    | (?<![^\s\p{Default_Ignorable_Code_Point}]) \p{Variation_Selector}
    # Tags spell the flags of regions behind a black flag.
    | (?<!\U0001F3F4 [\U000E0020-\U000E007E]{0,16}) [\U000E0020-\U000E007F]
    """,
    re.VERBOSE,
)

_TARGET = r"\(\s*<?(?P<url>(?:[a-z][a-z0-9+.\-]*://|mailto:|tel:)(?:[^\s()<>]|\([^\s()<>]*\))*)>?(?:\s+[\"'][^\"']*[\"'])?\s*\)"
_ESCAPE = r"(?P<escape>(?<!\\)(?:\\\\)*\\)?"  # an odd number of backslashes
_WORDS = r"(?P<words>(?:[^\[\]\\]|\\(?!\[|\]\().|\[[^\[\]]*\]){0,300}+\\?)"
_MASKED = UnicodePattern(rf"{_ESCAPE}\[{_WORDS}\]{_TARGET}", re.IGNORECASE)
_STILL_MASKED = UnicodePattern(r"\]\((?=\s*<?(?:[a-z][a-z0-9+.\-]*://|mailto:|tel:))", re.IGNORECASE)

_CODE = UnicodePattern(
    r"```(?:[a-z0-9_+\-.#]+\n)?(?=\s*[^`\s])[^`]*+```(?!`)|`(?=[^\S\n]*[^`\s])[^`\n]*+`(?!`)", re.IGNORECASE
)
_PLAIN_SAMPLE = UnicodePattern(r"`+[^*_~|<>\[\]()`]*\[[^*_~|<>\[\]()`]*\]\([^*~|<>\[\]()`\s]*\)[^*~|<>\[\]()`]*`+")


_MARKUP = UnicodePattern(
    r"""
    ^```[a-z0-9_+\-.#]*\n (?P<block>.*?) (?:\n?```$ | \Z)
    | (?<!`) (?P<ticks>`++) (?P<as_is>[^`\n]+) (?P=ticks)
    | \\ (?P<as_is>[\\*_`~|>\[\]\#@<&-])
    | (?P<mark>\*\*\*|\*\*|~~|\|\||(?<![\w*])(?:\*|__)) (?=[^\s*])
    | ^ (?:-\#|\#{1,3}) [ ]
    | \[[^\[\]\n]+\] \( (?P<as_is>https?://[^\s()]+) \)
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_INSIDE = r"(?:\\.|[^\n\\])"
_CLOSED = {
    mark: UnicodePattern(rf"({_INSIDE}+?)(?<=[^\s*]){re.escape(mark)}{after}|{_INSIDE}*+", re.DOTALL)
    for after, marks in ((r"(?!\*)", ("***", "**", "~~", "||")), (r"(?![\w*])", ("*", "__")))
    for mark in marks
}
"""By mark, what stands between it and the one that closes it in the same line; else the rest of the line."""


def seen(text: str) -> str:
    """The text without invisible characters: controls except line breaks and tabs, bidi and zero-width marks,
    surrogates.

    Joiners and variation selectors stay where emoji and scripts need them.
    """
    text = _BREAKS.sub("\n", sendable(text))
    while (without := _UNSEEN.sub("", text)) != text:
        text = without
    return text


def outgoing(text: str) -> str:
    """A message for a platform that renders Markdown."""
    text = seen(text)
    while (shown := _unmasked(text)) != text:
        text = shown
    return text


def without_markup(text: str, nested: int = 8) -> str:
    """Markdown as plain text, for platforms that do not render it. Code stays as it is, and so do marks nested
    deeper than `nested`."""

    parts, at = list[str](), 0
    unclosed: dict[str, int] = {}  # by mark, up to where none closes it, which is looked for once in a line
    while nested and (found := _MARKUP.search(text, at)):
        parts.append(text[at : found.start()])
        mark, at = found["mark"], found.end()
        if not mark:
            parts.append(found["block"] or found["as_is"] or "")
            continue
        said = _CLOSED[mark].match(text, at) if at >= unclosed.get(mark, 0) else None
        if said and said[1]:
            parts.append(without_markup(said[1], nested - 1))
            at = said.end()
        else:
            unclosed[mark] = said.end() if said else unclosed[mark]
            at = found.start() + 1
            parts.append(text[found.start()])
    return "".join([*parts, text[at:]])


def _unmasked(text: str) -> str:
    samples = _samples(text)

    def shown(link: Match) -> str:
        if _within(samples, link) or _names_its_host(link):
            return link[0]
        if link["escape"]:  # Discord shows these brackets; without the backslash, there is room to part them
            return f"{link['escape'][1:]}[{link['words']}] ({link['url']})"
        words = link["words"].strip()
        return f"{words} ({link['url']})" if words else link["url"]

    def parted(rest: Match) -> str:
        """The bracket in a form that Discord cannot take for part of a link."""
        return rest[0] if _within(samples, rest) or _within(named, rest) else "] "

    shorter = _MASKED.sub(shown, text)
    if shorter != text:
        return shorter
    named = [link.span() for link in _MASKED.finditer(text) if _names_its_host(link)]
    return _STILL_MASKED.sub(parted, text)


def _within(spans: list[tuple[int, int]], found: Match) -> bool:
    place = bisect_right(spans, found.start(), key=itemgetter(0))
    return place > 0 and found.end() <= spans[place - 1][1]


def _names_its_host(link: Match) -> bool:
    words, url = link["words"].strip().casefold(), link["url"].casefold()
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return words in {url, host, host.removeprefix("www."), url.partition("://")[2].rstrip("/")} - {""}


def _samples(text: str) -> list[tuple[int, int]]:
    """Where Markdown is shown literally, as code: links there are examples.

    Counted from the beginning, as long as Discord certainly reads the marks the same way.
    """
    found: list[tuple[int, int]] = []
    at = text.find("`")
    while at >= 0:
        code = _CODE.match(text, at)
        line = text.rfind("\n", 0, at) + 1 if text.startswith("```", at) else max(at - 1, 0)
        begins = not text[line:at].strip()
        if code is None or not begins or (_STILL_MASKED.search(code[0]) and not _PLAIN_SAMPLE.fullmatch(code[0])):
            break
        if re.search(r"[*_~|<>\]]", code[0]) and not _PLAIN_SAMPLE.fullmatch(code[0]):
            break
        found.append(code.span())
        at = text.find("`", code.end())
    return found
