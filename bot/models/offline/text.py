"""Text as it comes in: made harmless, cut into sentences, told apart by language."""

import re
import unicodedata
from collections.abc import Iterator

from bot.models.offline.english import ENGLISH
from bot.models.offline.german import GERMAN
from bot.models.offline.japanese import JAPANESE
from bot.models.offline.language import Language, words
from sources.text import without_call_behind

LANGUAGES = (ENGLISH, GERMAN, JAPANESE)

_MONTHS = frozenset(month for language in LANGUAGES for month in language.calendar.months)

LONGEST = 4_000
"""Characters of a message that are read; a longer one is too long for rules."""
_MOST_SENTENCES = 40

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_QUOTES = {"“": "”", "„": "“”", "「": "」", "『": "』", "«": "»", "‹": "›", '"': '"', "`": "`"}
_ABBREVIATIONS = words(
    "dr mr mrs ms st prof no nr str ca bzw usw etc vs jr sr ave rd inc ltd approx tel evtl inkl hr fr"
)


_ADDRESS = re.compile(r"^(?:\s{0,8}(?:<@[!&]?\d{1,25}>|@[\w.-]{1,40})[,:]?\s{1,8}(?=\S)){1,5}")
"""Mentions before the first word say who is spoken to."""


def uncalled(said: str, name: str) -> str:
    """What is said to somebody of that name, without the name around it; as it is where nothing is.

    Before the words it is taken off with a colon or comma ("Anchor: hi"), after them as a mention ("hi @Anchor").
    """
    if not name:
        return said
    called = rf"\s{{0,8}}(?:(?:hey|hi|hello|ok|okay|hallo)\s+)?@?{re.escape(name)}\s{{0,8}}[:,]\s*(?=\S)"
    if found := re.match(called, said, re.IGNORECASE):
        said = said[found.end() :]
    return without_call_behind(said, f"@{re.escape(name)}")


def clean(text: str) -> str:
    """The beginning of a message without control characters; never longer than one more than `LONGEST`."""
    part = text[: LONGEST + 1].replace("’", "'")
    kept = (
        letter if letter in "\n\u200d" or not unicodedata.category(letter).startswith("C") else " " for letter in part
    )
    return _ADDRESS.sub("", "".join(kept).strip())


def one_line(text: str, longest: int) -> str:
    """Somebody's words as part of a line: no line breaks, no control characters, cut where it is long."""
    part = " ".join(clean(text[: longest * 4]).split())
    return part if len(part) <= longest else part[: longest - 1].rstrip() + "…"


def detect(text: str, fallback: Language = ENGLISH) -> Language:
    """The language of a text; the fallback where nothing tells (a number, a name, "ok")."""
    part = text[:2_000].lower()
    found = _WORD.findall(part)

    def score(language: Language) -> int:
        scripted = language.script is not None and language.script.search(part) is not None
        known = sum(word in language.marks for word in found)
        return known + (1_000 if scripted and not language.grammar.spaced else 2 * scripted)

    scores = {language.code: score(language) for language in LANGUAGES}
    best = max(scores.values())
    if best == 0 or scores[fallback.code] == best:
        return fallback
    return next(language for language in LANGUAGES if scores[language.code] == best)


def _ends_sentence(text: str, position: int, start: int) -> bool:
    mark = text[position]
    if mark in "\n。！？":
        return True
    following = text[position + 1 : position + 2]
    if mark not in ".!?" or not (following == "" or following.isspace()):
        return False
    if mark != ".":
        return True
    last = _WORD.findall(text[max(start, position - 30) : position])
    word = last[-1].lower() if last else ""
    if word.isdigit():
        after = _WORD.search(text[position : position + 30])
        return len(word) > 2 or after is None or not (after[0].islower() or after[0] in _MONTHS)
    return not (len(word) == 1 or word in _ABBREVIATIONS)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence. Quoted speech is not cut: what stands in quotes is part of its sentence."""
    start, closing, count = 0, "", 0
    for position, letter in enumerate(text):
        if closing:
            closing = "" if letter in closing else closing
        elif letter in _QUOTES and any(mark in text[position + 1 :] for mark in _QUOTES[letter]):
            closing = _QUOTES[letter]
        elif count < _MOST_SENTENCES and _ends_sentence(text, position, start):
            if text[start : position + 1].strip():
                yield start, position + 1
                count += 1
            start = position + 1
    if text[start:].strip():
        yield start, len(text)


def tokens(text: str, language: Language) -> list[str]:
    """Words in the order they stand, lower case, compatibility forms joined (full-width digits, half-width kana)."""
    flat = unicodedata.normalize("NFKC", text[:LONGEST]).lower().replace("’", "'")
    return _WORD.findall(flat) if language.grammar.spaced else _RUNS.findall(flat)


_RUNS = re.compile(
    r"[\u3400-\u9fff々]+|[\u30a1-\u30fa\u30fcー]+|[\u3041-\u309f]+|[a-z0-9]+(?:['.-][a-z0-9]+)*|[\uac00-\ud7a3]+"
)
