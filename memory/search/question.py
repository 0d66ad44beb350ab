"""What a text asks for, as far as its words tell."""

from dataclasses import dataclass

import regex

from memory.store.fulltext import Term, all_words, match_query, terms
from memory.store.patterns import UnicodePattern

COLOURED = "\ufe0f"
"""Follows a sign that is to be drawn in colour; some keyboards write it and some do not."""
_WHEN = frozenset(("when", "wann", "date", "datum"))
_WHEN_PHRASE = UnicodePattern(
    r"\b(?:how (?:long|old|recently)|(?:what|which) (?:day|month|season|time|week|year)|"
    r"wie (?:lang|lange|alt)|seit wann|welche[mnrs]? (?:jahr|monat|tag|uhrzeit|woche))\b|"
    r"いつ|何(?:時|日|曜日|月|年|歳)|どのくらい前",
    regex.IGNORECASE,
)
_SIGN = UnicodePattern(r"\X")
_SYMBOL = UnicodePattern(r"\p{S}")
_LOOKED_AT, _MOST_SYMBOLS = 200, 8  # characters
_NAME = frozenset(("where", "who", "whom", "whose", "which", "name", "names", "called", "wo", "wer", "wem", "wen"))


_FIRST_PERSON = frozenset(
    ("i", "my", "me", "mine", "myself", "ich", "mir", "mich", "mein", "meine", "meiner", "meines", "meinem", "meinen")
)
_FIRST_PERSON_PHRASE = UnicodePattern(r"[私僕俺]|わたし|ぼく|おれ")


@dataclass(frozen=True)
class Asked:
    """A text as a question to the index.

    `every` matches the rows with all its words; `terms` are what to look for one by one. A `sentence` has more
    than keywords: then rows are found as well that have none of the words but answer those that have them. `when`
    and `name`: the answer is a time, or somebody's or something's name; `first_person`: it is about who asks.
    """

    every: str
    terms: tuple[Term, ...]
    sentence: bool
    when: bool
    name: bool
    first_person: bool = False


def symbols(text: str) -> tuple[str, ...]:
    """The emoji and other symbols of a text, each once and as they are drawn without colour; no marks of sentences.

    No word has them, so the index does not: who writes nothing else looks for them as they stand.
    """
    found = (sign.replace(COLOURED, "") for sign in _SIGN.findall(text[:_LOOKED_AT]) if _SYMBOL.search(sign))
    return tuple(dict.fromkeys(found))[:_MOST_SYMBOLS]


def understood(text: str) -> Asked | None:
    """None when there is no word in the text."""
    every = match_query(text, mode="all")
    if every is None:
        return None
    words, content = set(all_words(text)), tuple(terms(text, mode="any"))
    return Asked(
        every=every,
        terms=content,
        sentence=bool(words - {term.word for term in content}),
        when=bool(words & _WHEN) or _WHEN_PHRASE.search(text) is not None,
        name=bool(words & _NAME),
        first_person=bool(words & _FIRST_PERSON) or _FIRST_PERSON_PHRASE.search(text) is not None,
    )
