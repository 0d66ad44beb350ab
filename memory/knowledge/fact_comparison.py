"""Compares two statements: the same, opposed or neither. Rules, no model. Pure."""

import re
import unicodedata
from collections.abc import Iterable
from enum import Enum

from msgspec import Struct

from memory.store.lazy import Pattern, UnicodePattern

SAME = 0.6
"""The share of common words from which two statements count as the same."""
_OPPOSED = 0.4
"""Less is enough for opposed ones: "prefers a dark theme" and "prefers a light theme" share two of four words."""
LEAST_WORDS = 3
"""Shorter statements say too little to be kept; one about a person starts with that person."""

_PAIRED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_TOKEN = UnicodePattern(rf"(?V1)[{_PAIRED}]+|[[\p{{L}}\p{{N}}\p{{M}}]--[{_PAIRED}]]+")
_RUN = UnicodePattern(rf"[{_PAIRED}]")
_SPOKEN = UnicodePattern(r"[\p{L}\p{M}\p{N}]+")
_JOINTS = str.maketrans("", "", "_'’")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_LIKES = _set(
    "like likes love loves enjoy enjoys prefer prefers want wants mag liebt bevorzugt möchte trinkt isst 好き"
)
_HATES = _set("hate hates dislike dislikes detests hasst 嫌い 苦手")
_NOT = _set("not never dont doesnt didnt isnt arent cannot cant without nicht nie niemals kein keine keinen ohne no")
_JAPANESE = UnicodePattern("(?:が|は)?(?P<word>大好き|好き|嫌い|苦手)(?:じゃない|ではない)?(?:です|だ)?$")
_ALSO = UnicodePattern(r"\b(?:also|too|both|as well|auch|ebenfalls)\b|も(?:大好き|好き|嫌い|苦手)")
_COMPARED = UnicodePattern(
    r"\b(?:over|instead of|rather than|more than|than|statt|anstatt|anstelle von|lieber als|als)\b"
)
_SMALL = _set(
    "over instead rather than the and for with that this are was were has have does did would should could more most "
    "very really much statt anstatt lieber als der die das den dem ein eine einen einem einer und für mit von auf sehr "
    "gern gerne immer always usually user person his her their them"
)
_EXCLUSIVE = _set("prefer prefers lives bevorzugt wohnt")
_ONE_VALUE = UnicodePattern(
    r"(wants to be called|(?:meine? .+ )?heißt|pronouns are|favou?rite .+? (?:is|are)|lieblings\w+ (?:ist|sind)"
    r"|my (?:\S+ )*(?:name|birthday|address|number) is) (.+)",
    re.IGNORECASE,
)
"""Properties with one value at a time: a new value replaces the old one."""
VALUE = Pattern(
    r"(.+? (?:is called|is named|is|are|lives in|works (?:at|for)|ist|sind|heißt|wohnt in|arbeitet bei)) .+",
    re.IGNORECASE,
)
_HEADS = _set("called heißt pronouns")
_PAIRS = """dark/light solid/dashed tabs/spaces left/right before/after hot/cold always/never short/long
    formal/informal metric/imperial early/late on/off enabled/disabled public/private sync/async
    hell/dunkel kurz/lang immer/nie heiß/kalt links/rechts vor/nach früh/spät dunkles/helles dunkle/helle
    du/sie"""
_OPPOSITES = tuple(frozenset(pair.split("/")) for pair in _PAIRS.split())


class Relation(Enum):
    """How a new statement relates to a known one."""

    SAME = "same"
    OPPOSED = "opposed"
    OTHER = "other"


class _Sense(Struct, frozen=True):
    """A statement prepared for comparison: its words, the meaningful ones, and whether it is negated."""

    words: frozenset[str]
    content: frozenset[str]
    denies: bool
    first: frozenset[str]
    """What is preferred over something else; empty if nothing is compared."""


def words(text: str) -> frozenset[str]:
    """The words of a statement in lower case: at least three letters, or with a digit; unspaced scripts by pairs."""
    return frozenset(_tokens(text))


def _tokens(text: str) -> Iterable[str]:
    folded = _folded(text).translate(_JOINTS)
    for token in _TOKEN.findall(folded):
        if _RUN.match(token):
            yield from (token[at : at + 2] for at in range(max(1, len(token) - 1)))
        elif len(token) > 2 or any(each.isdigit() for each in token):
            yield token


def _folded(text: str) -> str:
    """In lower case, and in American spelling where a rule reads both."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return folded.replace("favourite", "favorite").replace("colour", "color")


def is_unspaced(text: str) -> bool:
    """Whether some of a text is in a script without spaces between words."""
    return not text.isascii() and _RUN.search(text) is not None


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Common words divided by all words: 0 to 1; two empty sets count as 1."""
    if not one and not other:
        return 1.0
    return len(one & other) / len(one | other)


def fingerprint(text: str) -> str:
    """The letters and digits of a statement: equal for texts that differ only in case, spaces and punctuation."""
    return "".join(each for each in _folded(text) if each.isalnum())


def are_near(new: frozenset[str], old: frozenset[str]) -> bool:
    """Whether two statements share a word besides the verb; if not, they need not be compared."""
    return not (new & old).isdisjoint(new - _LIKES - _SMALL) or bool(new & _HEADS and old & _HEADS)


def speaks_of_the_same(new: str, old: str) -> bool:
    """Whether a correction can refer to a statement: they share something and differ in something."""
    one, other = _sense(new), _sense(old)
    return bool(one.content & other.content) and new != old


def names_same_property(new: str, old: str) -> bool:
    """Whether two statements name the same property, such as "my sister's name is", with any values."""
    values = VALUE.fullmatch(new), VALUE.fullmatch(old)
    return values[0] is not None and values[1] is not None and fingerprint(values[0][1]) == fingerprint(values[1][1])


def says_instead(new: str, old: str) -> bool:
    """Whether a correction says something else with the same verb: "likes blues" after "likes jazz"."""
    one, other = _JAPANESE.search(new), _JAPANESE.search(old)
    same = one[0] == other[0] if one and other else new.partition(" ")[0] == old.partition(" ")[0]
    return same and new != old and _ALSO.search(new) is None


def _sense(text: str) -> _Sense:
    folded = _folded(text)
    denies = False
    if found := _JAPANESE.search(folded.strip("。. ")):
        denies = (found["word"] in _HATES) ^ ("ない" in found[0])
        folded = folded[: found.start()]
    all_words = words(text)
    spoken = _SPOKEN.findall(folded.translate(_JOINTS))
    denies ^= bool(sum(word in _NOT or word in _HATES for word in spoken) % 2)
    left, compared, _ = _cut(folded)
    plain = _LIKES | _HATES | _NOT | _SMALL
    return _Sense(all_words, words(folded) - plain, denies, (words(left) - plain) if compared else frozenset())


def _cut(folded: str) -> tuple[str, str, str]:
    found = _COMPARED.search(folded)
    return (folded, "", "") if found is None else (folded[: found.start()], found[0], folded[found.end() :])


def relation(new: str, old: str) -> Relation:
    """How one statement relates to another."""
    if fingerprint(new) == fingerprint(old):
        return Relation.SAME
    values = _ONE_VALUE.fullmatch(new), _ONE_VALUE.fullmatch(old)
    if values[0] and values[1] and fingerprint(values[0][1]) == fingerprint(values[1][1]):
        return Relation.OPPOSED
    one, other = _sense(new), _sense(old)
    share = jaccard(one.words, other.words)
    if one.denies is not other.denies:
        # Without words of liking and negation, only the topic is left.
        return Relation.OPPOSED if jaccard(one.content, other.content) >= SAME else Relation.OTHER
    mine, theirs = _unlike(one.content, other.content), _unlike(other.content, one.content)
    if mine and theirs:
        return Relation.OPPOSED if share >= _OPPOSED and _replaces(one, other, mine, theirs, (new, old)) else _OTHER
    if one.first and other.first and _unlike(one.first, other.first) and _unlike(other.first, one.first):
        return Relation.OPPOSED  # the same two, in reverse order
    return Relation.SAME if share >= SAME else Relation.OTHER


_OTHER = Relation.OTHER


def _unlike(mine: frozenset[str], theirs: frozenset[str]) -> frozenset[str]:
    """My words without any form in theirs: "border" matches "borders"."""
    return frozenset(word for word in mine if not any(_inflected(word, other) for other in theirs))


def _inflected(one: str, other: str) -> bool:
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return len(short) >= 4 and len(long) - len(short) <= 3 and long.startswith(short) and not short[-1].isdigit()


def _replaces(one: _Sense, other: _Sense, mine: frozenset[str], theirs: frozenset[str], texts: tuple[str, str]) -> bool:
    """Whether one says something that cannot be true together with the other."""
    if not one.content & other.content:
        return False  # only the verb in common
    if any(pair & mine and pair & theirs for pair in _OPPOSITES):
        return True
    if any(word[-1].isdigit() for word in mine) and any(word[-1].isdigit() for word in theirs):
        return True  # another version, number or time
    if (one.words | one.content) & _EXCLUSIVE and (other.words | other.content) & _EXCLUSIVE:
        return True
    purposes = [text.casefold().replace(" für ", " for ").partition(" for ")[2].strip(" .") for text in texts]
    return bool(purposes[0]) and purposes[0] == purposes[1]
