"""The specifics of a text (numbers, names, acronyms) that a merge must keep; and whether two texts say the same.

Both err on the side of keeping: a word wrongly taken for a name only prevents a merge.
"""

from collections.abc import Iterable
from functools import lru_cache

from memory.store.fulltext import content_words
from memory.store.lazy import UnicodePattern

_WORD = UnicodePattern(r"[\p{L}\p{M}\p{N}]+(?:['’.,:/@-][\p{L}\p{M}\p{N}]+)*")
_MARKS = r".,;:!…。、，；：！「」『』・\"'“”„’«»()\[\]*_`-"  # marks between words without a meaning of their own
_TOKEN = UnicodePattern(rf"{_WORD.pattern}|[^\s\p{{L}}\p{{M}}\p{{N}}{_MARKS}]|(?<!\p{{L}})-(?=\p{{N}})")
_UNCASED = UnicodePattern(r"[\p{Lo}]")
_NEGATIONS = frozenset(
    (
        *("no", "not", "never", "none", "nothing", "nobody", "without", "cannot", "can't", "don't", "doesn't"),
        *("isn't", "won't", "nicht", "kein", "keine", "keinen", "nie", "niemals", "nichts", "ohne"),
        *("ない", "なし", "不", "没"),
    )
)


def specifics(text: str) -> frozenset[str]:
    """The names, numbers and acronyms of a text in lower case; in scripts without capitals, every word.

    A name is a capitalized content word, wherever it stands. Negations count, too.
    """
    found: set[str] = set()
    for match in _WORD.finditer(text):
        word = match[0].replace("’", "'")
        folded = word.casefold().removesuffix("'s")
        if any(char.isdigit() for char in word) or folded in _NEGATIONS or word.casefold() in _NEGATIONS:
            found.add(folded)
        elif _UNCASED.search(word):
            found.update(content_words(word))
        elif word != word.lower() and (_is_acronym(word) or _carries(folded)):
            found.add(folded)
    return frozenset(found)


@lru_cache(maxsize=4096)
def _carries(word: str) -> bool:
    return bool(content_words(word))


def _is_acronym(word: str) -> bool:
    return len(word) > 1 and word.isupper()


def lost(sources: Iterable[str], text: str) -> frozenset[str]:
    """Specifics of the sources that the text lacks."""
    wanted = frozenset().union(*(specifics(source) for source in sources))
    return wanted - _held(text)


def invented(sources: Iterable[str], text: str) -> frozenset[str]:
    held = frozenset().union(*(_held(source) for source in sources))
    return specifics(text) - held


def unsaid(sources: Iterable[str], text: str) -> frozenset[str]:
    """Names, numbers and acronyms of a text that no source has, without negations: for paraphrases."""
    return invented(sources, text) - _NEGATIONS


def _held(text: str) -> frozenset[str]:
    """Every word of a text, in the forms that `specifics` uses."""
    words = (match[0].replace("’", "'").casefold().removesuffix("'s") for match in _WORD.finditer(text))
    return frozenset(words) | specifics(text)


def same_words(text: str) -> tuple[str, ...]:
    """A key that is equal for two texts that certainly say the same: every word and sign in order.

    Case counts only in acronyms ("US" is not "us"); punctuation between words does not count, but a question mark does.
    """
    return tuple(
        token if _is_acronym(token) else token.casefold().replace("’", "'")
        for token in (match[0] for match in _TOKEN.finditer(text))
    )
