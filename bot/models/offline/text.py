"""Text as it comes in: made harmless, cut into sentences and words, told apart by language; and what it is about."""

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator

from bot.models.offline.language import Language, language, spoken
from memory.store import fulltext
from sources.text import without_call_behind

LONGEST = 4_000
"""Characters of a message that are read; a longer one is too long for rules."""
_MOST_SENTENCES = 40
_WORD = r"[^\W_]+(?:['’][^\W_]+)*"
_RUNS = r"[\u3400-\u9fff々]+|[\u30a1-\u30fa\u30fcー]+|[\u3041-\u309f]+|[a-z0-9]+(?:['.-][a-z0-9]+)*|[\uac00-\ud7a3]+"
"""Words of a writing without spaces: runs of one script."""
_KANA = r"[\u3041-\u309f]+"
_QUOTED = r"“[^”]*”|„[^“”]*[“”]|「[^」]*」|『[^』]*』|«[^»]*»|‹[^›]*›|\"[^\"]*\"|`[^`]*`"
_ABBREVIATIONS = (
    "dr|mr|mrs|ms|st|prof|no|nr|str|ca|bzw|usw|etc|vs|jr|sr|ave|rd|inc|ltd|approx|tel|evtl|inkl|hr|fr|[^\\W\\d_]"
)
_ADDRESS = r"^(?:\s{0,8}(?:<@[!&]?\d{1,25}>|@[\w.-]{1,40})[,:]?\s{1,8}(?=\S)){1,5}"
"""Mentions before the first word say who is spoken to."""
_SHORTEST_LAST, _SHORTEST_FIRST = 5, 8
"""Letters of a last and of a first part of a compound that is an idea by itself (Nuss-allergie)."""
_MOST_SEARCHED = 16
"""Words of a query that search looks at, the last of which may have been cut off (memory/store/fulltext.py)."""
_MOST_QUERIES, _MOST_WORDS = 8, 24
_SHORTEST_CLOSE = 5
"""Letters of a word that may be misspelt; shorter ones are too near to others."""


def uncalled(said: str, name: str) -> str:
    """What is said to somebody of that name, without the name around it; as it is where nothing is.

    Before the words it is taken off with a colon or comma ("Anchor: hi"), after them as a mention ("hi @Anchor").
    """
    if not name:
        return said
    called = rf"\A\s{{0,8}}(?:(?:hey|hi|hello|ok|okay|hallo)\s+)?@?{re.escape(name)}\s{{0,8}}[:,]\s*(?=\S)"
    return without_call_behind(re.sub(called, "", said, flags=re.IGNORECASE), f"@{re.escape(name)}")


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
    part, scores = text[:2_000].lower(), {}
    found = re.findall(_WORD, part)
    for code, each in spoken().items():
        scripted = each.script.search(part) is not None
        scores[code] = sum(map(each.marks.__contains__, found)) + (2 if each.spaced else 1_000) * scripted
    return [code for code, score in scores.items() if score == max(scores.values())]


@functools.cache
def _sentence(months: str) -> re.Pattern[str]:
    """A sentence: up to a mark that ends one, which behind an abbreviation or a number ("3. Mai") is none."""
    unended = rf"(?<![\w'’])(?:(?i:{_ABBREVIATIONS})|\d{{1,2}}(?=\.\W{{1,9}}(?:[a-zäöüß]|{months})))\."
    return re.compile(rf"(?:{_QUOTED}|{unended}|[.!?](?=\S)|[^.!?\n。！？])*(?:[.!?\n。！？]|\Z)")


def sentences(text: str, spoken_in: Language) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence. Quoted speech is not cut: what stands in quotes is part of its sentence."""
    found = [
        each.span() for each in _sentence(spoken_in.say("months").replace(" ", "|")).finditer(text) if each[0].strip()
    ]
    yield from found[:_MOST_SENTENCES]
    if found[_MOST_SENTENCES:]:
        yield found[_MOST_SENTENCES][0], len(text)


def tokens(text: str, spoken_in: Language) -> list[str]:
    """Words in the order they stand, lower case, compatibility forms joined (full-width digits, half-width kana)."""
    flat = unicodedata.normalize("NFKC", text[:LONGEST]).lower().replace("’", "'")
    return re.findall(_WORD if spoken_in.spaced else _RUNS, flat)


def close(one: str, other: str, shortest: int = _SHORTEST_CLOSE, *, wrong: bool = True) -> bool:
    """Whether two words differ by one slip: a letter too many, too few, two swapped, or perhaps a wrong one."""
    short, long = sorted((one, other), key=len)
    if not (one.isalpha() and other.isalpha() and len(long) >= shortest and len(short) >= shortest - 1):
        return False
    at = next((at for at, letter in enumerate(short) if letter != long[at]), len(short))
    left, right = short[at:], long[at:]
    if len(left) != len(right):
        return left == right[1:]
    return (wrong and left[1:] == right[1:]) or left == right[1::-1] + right[2:]


# ------------------------------------------------------------------------------------------------ what it is about


def content_words(text: str, spoken_in: Language) -> tuple[str, ...]:
    """The words that carry meaning, lower case, each once, in order."""
    found: list[str] = []
    for token in tokens(text, spoken_in):
        kana = re.fullmatch(_KANA, token)
        for word in spoken_in.split("glue", token) if kana else (token.removesuffix("'s"),):
            short = len(word) < 2 and not word.isdigit() and (spoken_in.spaced or kana or word.isascii())
            if not short and (word not in spoken_in.stops or (word in spoken_in.telling and not kana)):
                found.append(word)
    return tuple(dict.fromkeys(found))[:_MOST_WORDS]


def ideas(text: str, spoken_in: Language, *, asked: bool) -> dict[str, frozenset[str]]:
    """Ideas that a text touches, each with the words that did: without spaces at any place, in compounds as a part."""
    stems, gap = list(map(spoken_in.stem, tokens(text, spoken_in))), " " * spoken_in.spaced
    parts = [stem[at:] for stem in stems for at in range(1, len(stem) - _SHORTEST_LAST) if spoken_in.compounds]
    line, found = f"{gap}{gap.join((*stems, *parts))}{gap}", {}
    for name, terms in (spoken_in.asked if asked else spoken_in.stated).items():
        meant = {term: spoken_in.stem(term) for term in terms}
        begins = {stem for stem in meant.values() if spoken_in.compounds and len(stem) >= _SHORTEST_FIRST}
        found[name] = frozenset(
            term for term, stem in meant.items() if f"{gap}{stem}{'' if stem in begins else gap}" in line
        )
    longer = [] if gap else [term for hit in found.values() for term in hit]  # 叔母 is no 母
    kept = {
        name: frozenset(term for term in hit if not any(term in each and term != each for each in longer))
        for name, hit in found.items()
    }
    return {name: hit for name, hit in kept.items() if hit}


def queries(asked: Iterable[str], touched: Iterable[str], spoken_in: Language) -> tuple[str, ...]:
    """Queries of full text search: the words as they stand and in their other forms, and what answers them.

    What answers comes in every language, since people tell things in several. A query holds as many words as search
    looks at.
    """
    parts, touched = list(asked), sorted(touched)
    parts += [form for word in tuple(parts) for form in spoken_in.variants(word)]
    for other in sorted(map(language, spoken() if touched else ()), key=lambda each: each is not spoken_in):
        terms = [term for name in touched for term in sorted(other.stated.get(name, ()))]
        parts += [word for term in terms for word in term.split() if len(word) > 2 or not other.spaced]
        parts += [form for term in terms for form in other.variants(term) if not other.spaced]
    found: list[str] = []
    for part in dict.fromkeys(parts):
        both = f"{found[-1]} {part}" if found else part
        if found and len(fulltext.terms(both, mode="any")) < _MOST_SEARCHED:
            found[-1] = both
        else:
            found.append(part)
    return tuple(found[:_MOST_QUERIES])
