"""Text as it comes in: made harmless, cut into sentences and words, told apart by language; and what it is about."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import date

from bot.models.offline.language import Language, language, others, spoken, words
from memory.store import fulltext
from sources.text import without_call_behind

LONGEST = 4_000
"""Characters of a message that are read; a longer one is too long for rules."""
_MOST_SENTENCES = 40
_ENDS = ".!?\n。！？"
_WORD = r"[^\W_]+(?:['’][^\W_]+)*"
_RUNS = r"[\u3400-\u9fff々]+|[\u30a1-\u30fa\u30fcー]+|[\u3041-\u309f]+|[a-z0-9]+(?:['.-][a-z0-9]+)*|[\uac00-\ud7a3]+"
"""Words of a writing without spaces: runs of one script."""
_KANA = r"[\u3041-\u309f]+"
_QUOTES = {"“": "”", "„": "“”", "「": "」", "『": "』", "«": "»", "‹": "›", '"': '"', "`": "`"}
_ABBREVIATIONS = words(
    "dr mr mrs ms st prof no nr str ca bzw usw etc vs jr sr ave rd inc ltd approx tel evtl inkl hr fr"
)
_ADDRESS = r"^(?:\s{0,8}(?:<@[!&]?\d{1,25}>|@[\w.-]{1,40})[,:]?\s{1,8}(?=\S)){1,5}"
"""Mentions before the first word say who is spoken to."""
_SHORTEST_LAST, _SHORTEST_FIRST = 5, 8
"""Letters of a last and of a first part of a compound that is an idea by itself (Nuss-allergie)."""
_MOST_SEARCHED = 16
"""Words of a query that search looks at, the last of which may have been cut off (memory/store/fulltext.py)."""
_MOST_QUERIES, _MOST_WORDS = 8, 24
_DATE = r"m\d\dd\d\d"
_SHORTEST_CLOSE = 5
"""Letters of a word that may be misspelt; shorter ones are too near to others."""


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
    if not part.isprintable():
        kept = (each if each in "\n\u200d" or not unicodedata.category(each).startswith("C") else " " for each in part)
        part = "".join(kept)
    return re.sub(_ADDRESS, "", part.strip())


def detect(text: str, fallback: str = "en") -> Language:
    """The language of a text; the fallback where nothing tells (a number, a name, "ok")."""
    best = told(text)
    return language(fallback if fallback in best else best[0])


def told(text: str) -> list[str]:
    """The languages that a text may be in: more than one where nothing tells."""
    part = text[:2_000].lower()
    found = re.findall(_WORD, part)
    scores = {}
    for each in spoken():
        scripted = each.script is not None and each.script.search(part) is not None
        scores[each.code] = sum(map(each.marks.__contains__, found))
        scores[each.code] += 2 * scripted if each.spaced else 1_000 * scripted
    best = max(scores.values())
    return [code for code, score in scores.items() if score == best]


def _ends_sentence(text: str, position: int, start: int, months: frozenset[str]) -> bool:
    mark = text[position]
    if mark in "\n。！？":
        return True
    following = text[position + 1 : position + 2]
    if following and not following.isspace():
        return False
    if mark != ".":
        return True
    last = re.findall(_WORD, text[max(start, position - 30) : position])
    word = last[-1].lower() if last else ""
    if word.isdigit():
        after = re.search(_WORD, text[position : position + 30])
        return len(word) > 2 or after is None or not (after[0].islower() or after[0] in months)
    return not (len(word) == 1 or word in _ABBREVIATIONS)


def sentences(text: str, spoken_in: Language) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence. Quoted speech is not cut: what stands in quotes is part of its sentence."""
    start, closing, count, months = 0, "", 0, frozenset(spoken_in.months)
    for position, letter in enumerate(text):
        if closing:
            closing = "" if letter in closing else closing
        elif letter in _QUOTES and any(mark in text[position + 1 :] for mark in _QUOTES[letter]):
            closing = _QUOTES[letter]
        elif letter in _ENDS and count < _MOST_SENTENCES and _ends_sentence(text, position, start, months):
            if text[start : position + 1].strip():
                yield start, position + 1
                count += 1
            start = position + 1
    if text[start:].strip():
        yield start, len(text)


def tokens(text: str, spoken_in: Language) -> list[str]:
    """Words in the order they stand, lower case, compatibility forms joined (full-width digits, half-width kana)."""
    flat = unicodedata.normalize("NFKC", text[:LONGEST]).lower().replace("’", "'")
    return re.findall(_WORD if spoken_in.spaced else _RUNS, flat)


def close(one: str, other: str) -> bool:
    """Whether two words differ by one slip of typing: a letter too many, too few, wrong, or two swapped."""
    short, long = sorted((one, other), key=len)
    if not (one.isalpha() and other.isalpha()):
        return False
    if len(short) < _SHORTEST_CLOSE - 1 or len(long) < _SHORTEST_CLOSE or len(long) - len(short) > 1:
        return False
    start = next((at for at, letter in enumerate(short) if letter != long[at]), len(short))
    if len(short) != len(long):
        return short[start:] == long[start + 1 :]
    swapped = short[start : start + 2] == long[start : start + 2][::-1]
    return short[start + 1 :] == long[start + 1 :] or (swapped and short[start + 2 :] == long[start + 2 :])


# ------------------------------------------------------------------------------------------------------- its days


def month_and_day(found: re.Match[str], spoken_in: Language) -> tuple[int, int]:
    groups = found.groupdict()
    number, name = groups["day"] or groups["day2"], groups["month"] or groups["month2"]
    lowered = [month.lower() for month in spoken_in.months]
    return int(name) if name.isdigit() else lowered.index(name.lower()) + 1, int(number)


def date_words(day: date, spoken_in: Language) -> str:
    return spoken_in.written(day=day.day, month=spoken_in.months[day.month - 1], number=day.month, year=day.year)


def _dates_as_words(text: str, spoken_in: Language) -> str:
    """A text with each date as a word that is the same in every language (5 May, May 5th, 5. Mai: m05d05)."""

    def word(found: re.Match[str]) -> str:
        month, day = month_and_day(found, spoken_in)
        name = "" if not 1 <= month <= 12 else spoken_in.months[month - 1]
        return f" {name} m{month:02}d{day:02} "

    for pattern in spoken_in.patterns("search", "date"):
        text = pattern.sub(word, text)
    return text


# ------------------------------------------------------------------------------------------------ what it is about


def content_words(text: str, spoken_in: Language) -> tuple[str, ...]:
    """The words that carry meaning, lower case, each once, in order."""
    found: list[str] = []
    stops = spoken_in.stops
    for token in tokens(_dates_as_words(text[:LONGEST], spoken_in), spoken_in):
        if re.fullmatch(_KANA, token):
            glue = spoken_in.patterns("search", "glue")
            parts = glue[0].split(token) if glue else [token]
            found.extend(part for part in parts if len(part) > 1 and part not in stops)
        elif spoken_in.spaced or token.isascii():
            word = token.removesuffix("'s")
            if (word not in stops or word in spoken_in.asked) and (len(word) > 1 or word.isdigit()):
                found.append(word)
        elif token not in stops:
            found.append(token)
    return tuple(dict.fromkeys(found))[:_MOST_WORDS]


def ideas(text: str, spoken_in: Language, *, asked: bool) -> dict[str, frozenset[str]]:
    """Ideas that a text touches, each with the words that did. What is asked in a phrase is not asked by word."""
    found: dict[str, set[str]] = {}
    listed = {name: idea.asked if asked else idea.stated for name, idea in spoken_in.ideas.items()}
    if not spoken_in.spaced:
        return _inside("".join(tokens(text, spoken_in)), listed)
    line = f" {' '.join(tokens(text, spoken_in))} "
    rest = line
    for phrase, name in ((phrase, name) for name, terms in listed.items() for phrase in terms if " " in phrase):
        if f" {phrase} " in line:
            found.setdefault(name, set()).add(phrase)
            rest = rest.replace(f" {phrase} ", " ") if asked else rest
    stems = {spoken_in.stem(word) for word in rest.split()}
    if spoken_in.compounds:
        stems |= {stem[at:] for stem in stems for at in range(1, len(stem) - _SHORTEST_LAST)}
    for name, terms in listed.items():
        for term in terms:
            if " " not in term and _stands(spoken_in.stem(term), stems, spoken_in):
                found.setdefault(name, set()).add(term)
    return {name: frozenset(hit) for name, hit in found.items()}


def _stands(stem: str, stems: set[str], spoken_in: Language) -> bool:
    """Whether a word is there, in a language of compounds also as the beginning of one (Lieblings-farbe)."""
    begins = spoken_in.compounds and len(stem) >= _SHORTEST_FIRST
    return stem in stems or (begins and any(other.startswith(stem) for other in stems))


def _inside(line: str, listed: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """The same without spaces: any place in the line counts, and the longest term wins."""
    hits = {term for terms in listed.values() for term in terms if term in line}
    hits = {term for term in hits if not any(term != other and term in other for other in hits)}
    return {name: found for name, terms in listed.items() if (found := terms & hits)}


def queries(asked: Iterable[str], touched: Iterable[str], spoken_in: Language) -> tuple[str, ...]:
    """Queries of full text search: the words as they stand and in their other forms, and what answers them.

    What answers comes in every language, since people tell things in several. A query holds as many words as search
    looks at.
    """
    parts, touched = list(asked), set(touched)
    parts += [form for word in tuple(parts) for form in spoken_in.variants(word)]
    for other in (spoken_in, *others(spoken_in)) if touched else ():
        for name in sorted(touched & other.ideas.keys()):
            parts += _searched(other, name)
    found: list[str] = []
    for part in dict.fromkeys(part for part in parts if not re.fullmatch(_DATE, part)):
        both = f"{found[-1]} {part}" if found else part
        if found and len(fulltext.terms(both, mode="any")) < _MOST_SEARCHED:
            found[-1] = both
        else:
            found.append(part)
    return tuple(found[:_MOST_QUERIES])


def _searched(spoken_in: Language, name: str) -> list[str]:
    """What answers an idea, as words of a query."""
    terms, spaced = spoken_in.ideas[name].stated, spoken_in.spaced
    found = [word for term in sorted(terms) for word in term.split() if len(word) > 2 or not spaced]
    return found if spaced else [*found, *(form for term in found for form in spoken_in.variants(term))]
