"""Content words: what a sentence is about once grammar is taken away, and which ideas it touches."""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from bot.models.offline.days import dates_as_words
from bot.models.offline.language import Language
from bot.models.offline.text import LANGUAGES, LONGEST, tokens
from memory import fulltext

_KANA = re.compile(r"[\u3041-\u309f]+")
_SHORTEST_LAST = 5
"""Letters of a last part that is an idea by itself (Nuss-allergie)."""
_SHORTEST_FIRST = 8
"""Letters of a first part that is an idea by itself."""
_MOST_SEARCHED = 16
"""Words of a query that search looks at, the last of which may have been cut off (memory/fulltext.py)."""
_MOST_QUERIES = 8
_DATE = re.compile(r"m\d\dd\d\d")
_MOST = 24
"""Content words taken from one text; more say nothing more."""


def content_words(text: str, language: Language) -> tuple[str, ...]:
    """The words that carry meaning, lower case, each once, in order."""
    stops, glue = language.grammar.stops, language.grammar.glue
    asked = {word for idea in language.concepts.values() for word in idea.asked}
    found: list[str] = []
    for token in tokens(dates_as_words(text[:LONGEST], language.calendar), language):
        if _KANA.fullmatch(token):
            parts = glue.split(token) if glue else [token]
            found.extend(part for part in parts if len(part) > 1 and part not in stops)
        elif language.grammar.spaced or token.isascii():
            word = token.removesuffix("'s")
            if (word not in stops or word in asked) and (len(word) > 1 or word.isdigit()):
                found.append(word)
        elif token not in stops:
            found.append(token)
    return tuple(dict.fromkeys(found))[:_MOST]


def padded(text: str, language: Language) -> str:
    """The words with single spaces around them, so that a phrase can be looked for as a whole."""
    found = tokens(text, language)
    return f" {' '.join(found)} " if language.grammar.spaced else "".join(found)


def ideas(text: str, language: Language, *, asked: bool) -> dict[str, frozenset[str]]:
    """Concepts that a text touches, each with the words that did. What is asked in a phrase is not asked by word."""
    line = padded(text, language)
    grammar = language.grammar
    found: dict[str, set[str]] = {}
    listed = {name: idea.asked if asked else idea.stated for name, idea in language.concepts.items()}
    if not grammar.spaced:
        return _inside(line, listed)
    phrases = [(phrase, name) for name, terms in listed.items() for phrase in terms if " " in phrase]
    rest = line
    for phrase, name in phrases:
        if f" {phrase} " in line:
            found.setdefault(name, set()).add(phrase)
            if asked:
                rest = rest.replace(f" {phrase} ", " ")
    stems = {grammar.stem(word) for word in rest.split()}
    if grammar.compounds:
        stems |= {stem[at:] for stem in stems for at in range(1, len(stem) - _SHORTEST_LAST)}
    for name, term, stem in _stemmed(language.code, asked=asked):
        if _stands(stem, stems, language):
            found.setdefault(name, set()).add(term)
    return {name: frozenset(hit) for name, hit in found.items()}


@cache
def _stemmed(code: str, *, asked: bool) -> tuple[tuple[str, str, str], ...]:
    """The single words of a language's concepts: concept, word, stem."""
    language = next(language for language in LANGUAGES if language.code == code)
    return tuple(
        (name, term, language.grammar.stem(term))
        for name, idea in language.concepts.items()
        for term in sorted(idea.asked if asked else idea.stated)
        if " " not in term
    )


def _stands(stem: str, stems: set[str], language: Language) -> bool:
    """Whether a word is there, in a language of compounds also as the beginning of one (Lieblings-farbe)."""
    begins = language.grammar.compounds and len(stem) >= _SHORTEST_FIRST
    return stem in stems or (begins and any(other.startswith(stem) for other in stems))


def _inside(line: str, listed: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """The same without spaces: any place in the line counts, and the longest term wins."""
    hits = {term for terms in listed.values() for term in terms if term in line}
    hits = {term for term in hits if not any(term != other and term in other for other in hits)}
    return {name: found for name, terms in listed.items() if (found := terms & hits)}


def queries(words: Iterable[str], concepts: Iterable[str], language: Language) -> tuple[str, ...]:
    """Queries of full text search: the words as they stand and in their other forms, and what answers them.

    What answers comes in every language, since people tell things in several. A query holds as many words as search
    looks at.
    """
    parts = list(words)
    parts += [form for word in tuple(parts) for form in language.grammar.variants(word)]
    for other in (language, *(other for other in LANGUAGES if other is not language)):
        for name in sorted(set(concepts) & other.concepts.keys()):
            parts += _searched(other, name)
    found: list[str] = []
    for part in dict.fromkeys(part for part in parts if not _DATE.fullmatch(part)):
        both = f"{found[-1]} {part}" if found else part
        if found and len(fulltext.terms(both, mode="any")) < _MOST_SEARCHED:
            found[-1] = both
        else:
            found.append(part)
    return tuple(found[:_MOST_QUERIES])


def _searched(language: Language, name: str) -> list[str]:
    """What answers a concept, as words of a query."""
    terms = language.concepts[name].stated
    found = [word for term in sorted(terms) for word in term.split() if len(word) > 2 or not language.grammar.spaced]
    if not language.grammar.spaced:
        found += [form for term in found for form in language.grammar.variants(term)]
    return found
