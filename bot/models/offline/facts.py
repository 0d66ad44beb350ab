"""What a question asks, what a statement states, and whether one answers the other: by words and associations."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple

from bot.models.offline.language import Language, detect

_MOST = 2 / 3  # the share of a question's words that the answer to more than yes or no covers at least
_NEAR, _SHORTEST = 0.8, 5  # minimum similarity of a misspelled word; shorter words are too similar to others


class Term(NamedTuple):
    """One term of a question: `concepts` answer it here (a negation inverts some), `named` by itself."""

    word: str
    stem: str
    concepts: frozenset[str]
    named: frozenset[str]


class Question:
    """What a question asks about. `plain` takes every word as it stands ("my dentist's address" is about both).

    `open`: it wants more than a yes or a no. `own`: it names the speaker. `other`: it is about a "she" or "they".
    `names`: stems of names, where writing shows them. `required`: without these (after "my", whose it is) none answers.
    """

    def __init__(self, text: str, language: Language, *, plain: bool = False) -> None:
        self.text, self.language = text, language
        self.open = language.search("asks", text) is not None
        self.own = language.search("speaker", text) is not None
        self.other = not self.own and language.search("others", text) is not None
        kinds = () if plain else language.data["kinds_asked"]
        self.kind = next((kind for kind in kinds if language.search(kind, text, "kinds_asked")), "")
        terms = self._read(text)
        only = language.words(self.kind, "kinds_words") if self.kind else ()
        telling = [each for each in terms if each.word not in only and (each.word or each.named != {self.kind})]
        self.terms = telling or terms
        self.words = [term.word for term in self.terms if term.word]
        self.stems = [term.stem for term in self.terms if term.stem]
        self.concepts = frozenset[str]().union(*(term.concepts for term in self.terms))
        self.names = frozenset[str]().union(*language.grouped(text, "names"))
        whose = self.names.union(*language.grouped(text, "mine"), *language.grouped(text, "owners"))
        self.required = {each.stem for each in self.terms if each.stem in whose or (self.open and each.word.isdigit())}

    def within(self, stems: Iterable[str]) -> bool:
        return bool(self.stems) and all(self.language.among(stem, stems) for stem in self.stems)

    def _read(self, text: str) -> list[Term]:
        language, terms = self.language, []
        touched = language.ideas(text, asked=True)
        hits = [(hit, name) for name, found in touched.items() for hit in found]
        phrased = {language.stem(word) for hit, _ in hits for word in hit.split() if " " in hit}
        for word in language.content_words(text):
            stem = language.stem(word)
            near = (each for each in hits if not language.spaced and (each[0] in word or word in each[0]))
            named = frozenset(name for _, name in [*near, *(each for each in hits if language.stem(each[0]) == stem)])
            if named or stem not in phrased:
                meant = language.meant(named, text)
                either = () if self.open or not meant & {"like", "dislike"} else ("like", "dislike")
                terms.append(Term(word, stem, meant.union(either), named))
        unseen = sorted(language.meant(touched, text) - frozenset[str]().union(*(term.concepts for term in terms)))
        return [*terms, *(Term("", "", frozenset({name}), frozenset({name})) for name in unseen)]


class Fact:
    """What a statement states.

    `flat`: its words in one order; a statement and its denial have the same. `subject`: stems of what it is about, None
    for the speaker. `value`: of what is said of it. `owners`: for each possession whose it is ("my sister Anna's":
    sister or Anna). `affirmed`: ideas that it answers with more than a no.
    """

    def __init__(self, text: str, fallback: Language) -> None:
        self.language = language = detect(text, fallback.code)
        text = language.rewrite("spell", " ".join(language.rewrite("mend", text.strip(" .!。！")).split()))
        ordered = language.rewrite("order", text)
        own = language.begins("about_self", ordered) is not None
        found = None if own else language.begins("subject", ordered)
        about, rest = (found["subject"], found["rest"]) if found else ("", ordered)
        self.words = language.content_words(text)
        self.stems = language.stems(text)
        self.flat = " ".join(sorted(self.stems))
        self.subject = language.stems(about) if found or (not own and language.spaced) else None
        members = language.ideas(about, asked=False).keys() & language.words("groups")
        self.subject_concepts = language.ideas(about, asked=True).keys() | members
        self.value = language.stems(rest) - (self.subject or frozenset())
        self.owners = language.grouped(text, "owners")
        self.owner_concepts = language.ideas(" ".join(sorted(frozenset[str]().union(*self.owners))), asked=False).keys()
        plain = language.ideas(text, asked=False)
        implied = (name for name in ("implied_name", "implied_age") if language.begins(name, ordered))
        self.concepts = language.meant(plain, text).union(name.removeprefix("implied_") for name in implied)
        self.affirmed = self.concepts - plain.keys() if language.search("denied", text) else self.concepts
        self.kinds = {kind for kind in language.data["kinds_stated"] if language.search(kind, text, "kinds_stated")}
        self.past = language.search("past", text) is not None

    def answers(self, term: Term, question: Question) -> bool:
        if term.concepts & (self.affirmed if question.open else self.concepts):
            return True
        stated = [word for name in term.named for word in self.language.stated.get(name, ())]
        by_idea = any(term.word in (word.split() if question.language.spaced else word) for word in stated)
        near = bool(term.concepts & self.concepts) or not by_idea  # no word that stands for the idea alone
        return near and question.language.among(term.stem, self.stems)

    def owned_in(self, question: Question) -> bool:
        """Whether a question names everybody who is named as an owner."""
        return all(any(question.language.among(stem, question.stems) for stem in owner) for owner in self.owners)

    def value_in(self, question: Question) -> bool:
        """Whether a question names the value, and asks who it belongs to ("who is Mia?", "who lives in Graz?")."""
        about = question.own if self.subject is None else question.required & self.subject
        return not about and question.within(self.value)

    @property
    def key(self) -> str:
        """Statements with the same key cannot both hold."""
        if self.subject:
            return f"{' '.join(sorted(self.subject))}|{sorted(self.kinds & self.language.words('telling'))}"
        single = sorted(self.concepts & self.language.words("single")) if self.subject is None else ()
        return single[0] if single else self.flat


def clauses(text: str, language: Language) -> tuple[str, ...]:
    """The statements of one sentence; the sentence itself if a part of it would state nothing."""
    parts = tuple(part.strip() for part in language.split("clauses", text) if part.strip())
    ordered = [language.rewrite("order", part) for part in parts]
    whole = all(language.begins("about_self", part) or language.begins("subject", part) for part in ordered)
    return parts if len(parts) > 1 and whole else (text,)


class Fit(NamedTuple):
    """How well a fact answers; greater is better."""

    full: bool
    kind: bool
    present: bool
    covered: float


def fit(question: Question, fact: Fact) -> Fit | None:
    """How well a fact answers a question; None if it does not."""
    terms, among = question.terms, question.language.among
    matched = [term for term in terms if fact.answers(term, question)]
    named = question.kind == "owner" or (question.kind == "name" and fact.value_in(question))
    owned = named or fact.owner_concepts & question.concepts or question.names & fact.value
    if not matched or question.required - {term.stem for term in matched} or not (owned or fact.owned_in(question)):
        return None
    about, ideas = fact.subject or (), fact.subject_concepts
    topical = [each for each in matched if among(each.stem, about) or each.concepts & ideas]
    covered = len(matched) / len(terms)
    if fact.subject is None:  # about the speaker
        near = 2 * covered >= 1 and any(term.stem and not term.concepts for term in matched)
        fits = not question.other and (question.own or covered == 1)
    else:
        near = any(not among(term.stem, frozenset[str]().union(*fact.owners)) for term in topical)
        fits = bool(topical) or not all(term.concepts for term in matched)
    if not fits or (covered < _MOST and not near):
        return None
    by_idea = fact.concepts & question.concepts & fact.language.words("giving")
    kinds = fact.kinds | {""} | (fact.language.words("by_idea") if by_idea else frozenset())
    full = covered >= (_MOST if question.open else 1) and question.kind in kinds
    return Fit(full, question.kind in kinds, not fact.past, covered)


def names_all(question: Question, fact: Fact) -> bool:
    """Whether every word of a question is in a fact, without associations."""
    return (fact.owned_in(question) or fact.value_in(question)) and question.within(fact.stems)


def misspelt(question: Question, fact: Fact) -> Fit | None:
    """How well a fact would answer if words of a question were spelled as in the fact."""
    language, text = question.language, question.text
    for word in question.words:
        spelt = language.among(language.stem(word), fact.stems) or len(word) < _SHORTEST or not word.isalpha()
        near = next(iter(() if spelt else get_close_matches(word, filter(str.isalpha, fact.words), 1, _NEAR)), word)
        text = re.sub(rf"(?i)(?<!\w){re.escape(word)}(?!\w)", near, text) if near != word else text
    fitting = fit(Question(text, language), fact) if text != question.text else None
    return fitting._replace(full=False) if fitting else None
