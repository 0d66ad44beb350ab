"""What a question asks about, what a statement states, and whether one answers the other.

Content words, associations, possessives and the expected kind of answer decide.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from bot.models.offline.language import Language, detect

_MOST = 2 / 3  # the part of a question which an answer to more than yes or no covers at least
_NEAR, _SHORTEST = 0.8, 5  # how alike a misspelt word is; shorter words are too near to others


def _joined(groups: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*groups)


def _stems(text: str, language: Language) -> frozenset[str]:
    return frozenset(map(language.stem, language.content_words(text)))


def _grouped(text: str, language: Language, which: str) -> list[frozenset[str]]:
    """The stems of every match of a pattern, its groups taken together."""
    return [stems for found in language.groups(which, text) if (stems := _stems(found, language))]


def _meant(concepts: Iterable[str], text: str, language: Language) -> frozenset[str]:
    """Ideas as a text means them: a negation turns some over (what is not eaten is a diet)."""
    turned: Mapping[str, str] = language.data["negated"] if language.search("negated", text) else {}
    return frozenset(turned.get(name, name) for name in concepts)


class Term(NamedTuple):
    """One thing a question asks about: `concepts` answer it here (a negation turns some over), `named` by itself."""

    word: str
    stem: str
    concepts: frozenset[str]
    named: frozenset[str]


class Question:
    """What a question asks about. `plain` takes every word as it stands ("my dentist's address" is about both).

    `open`: it wants more than a yes or a no. `own`: it names the speaker. `other`: it is about somebody else, whom a
    word like "she" stands for. `names`: stems of names, where writing shows them. `required`: stems without which
    nothing is an answer, the word after "my", and whose it is.
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
        self.concepts = _joined(term.concepts for term in self.terms)
        self.names = _joined(_grouped(text, language, "names"))
        whose = _joined((*_grouped(text, language, "mine"), *_grouped(text, language, "owners"), self.names))
        self.required = {each.stem for each in self.terms if each.stem in whose or (self.open and each.word.isdigit())}

    def _read(self, text: str) -> list[Term]:
        language, terms = self.language, []
        touched = language.ideas(text, asked=True)
        hits = [(hit, name) for name, found in touched.items() for hit in found]
        phrased = {language.stem(word) for hit, _ in hits for word in hit.split() if " " in hit}
        for word in language.content_words(text):
            stem = language.stem(word)
            if language.spaced:
                named = frozenset(name for hit, name in hits if language.stem(hit) == stem)
            else:
                named = frozenset(name for hit, name in hits if hit in word or word in hit)
            if named or stem not in phrased:
                meant = _meant(named, text, language)
                either = () if self.open or not meant & {"like", "dislike"} else ("like", "dislike")
                terms.append(Term(word, stem, meant.union(either), named))
        unseen = sorted(_meant(touched, text, language) - _joined(term.concepts for term in terms))
        return [*terms, *(Term("", "", frozenset({name}), frozenset({name})) for name in unseen)]


class Fact:
    """What a statement states.

    `flat`: its words in one order; a statement and its denial have the same. `subject`: stems of what it is about, None
    for the speaker. `value`: stems of what is said of it. `owners`: for each possession the names of whose it is ("my
    sister Anna's": sister or Anna). `affirmed`: ideas that it answers with more than a no.
    """

    def __init__(self, text: str, fallback: Language) -> None:
        self.language = language = detect(text, fallback.code)
        text = language.replaced("spell", language.mend(text.strip(" .!。！")))
        ordered = language.rewrite("order", text)
        own = language.begins("about_self", ordered) is not None
        found = None if own else language.begins("subject", ordered)
        about, rest = (found["subject"], found["rest"]) if found else ("", ordered)
        self.words = language.content_words(text)
        self.stems = _stems(text, language)
        self.flat = " ".join(sorted(self.stems))
        self.subject = _stems(about, language) if found or (not own and language.spaced) else None
        members = language.ideas(about, asked=False).keys() & language.words("groups")
        self.subject_concepts = language.ideas(about, asked=True).keys() | members
        self.value = _stems(rest, language) - (self.subject or frozenset())
        self.owners = _grouped(text, language, "owners")
        self.owner_concepts = language.ideas(" ".join(sorted(_joined(self.owners))), asked=False).keys()
        plain = language.ideas(text, asked=False)
        implied = (name for name in ("implied_name", "implied_age") if language.begins(name, ordered))
        self.concepts = _meant(plain, text, language).union(name.removeprefix("implied_") for name in implied)
        self.affirmed = self.concepts - plain.keys() if language.search("denied", text) else self.concepts
        self.kinds = {kind for kind in language.data["kinds_stated"] if language.search(kind, text, "kinds_stated")}
        self.past = language.search("past", text) is not None

    @property
    def key(self) -> str:
        """Statements with the same key cannot both hold."""
        if self.subject:
            return f"{' '.join(sorted(self.subject))}|{sorted(self.kinds & self.language.words('telling'))}"
        single = sorted(self.concepts & self.language.words("single")) if self.subject is None else ()
        return single[0] if single else self.flat


def clauses(text: str, language: Language) -> tuple[str, ...]:
    """The statements of one sentence; the sentence itself where a part of it would state nothing."""
    parts = tuple(part.strip() for part in language.split("clauses", text) if part.strip())
    ordered = [language.rewrite("order", part) for part in parts]
    whole = all(language.begins("about_self", part) or language.begins("subject", part) for part in ordered)
    return parts if len(parts) > 1 and whole else (text,)


class Fit(NamedTuple):
    """How well a fact answers; bigger is better."""

    full: bool
    kind: bool
    present: bool
    covered: float


def _answers(term: Term, fact: Fact, question: Question) -> bool:
    if term.concepts & (fact.affirmed if question.open else fact.concepts):
        return True
    stated = _joined(fact.language.stated.get(name, frozenset()) for name in term.named)
    by_idea_only = any(term.word in (word.split() if question.language.spaced else word) for word in stated)
    associated = term.concepts & fact.concepts or not by_idea_only
    return bool(associated) and question.language.among(term.stem, fact.stems)


def _all_owned(question: Question, fact: Fact) -> bool:
    """Whether a question names everybody whom a fact names as an owner."""
    return all(any(question.language.among(stem, question.stems) for stem in owner) for owner in fact.owners)


def _names_value(question: Question, fact: Fact) -> bool:
    """Whether a question names what is said, and wants to know of whom ("who is Mia?", "who lives in Graz?")."""
    about = question.own if fact.subject is None else question.required & fact.subject
    return not about and _all_among(question, fact.value)


def _all_among(question: Question, stems: Iterable[str]) -> bool:
    return bool(question.stems) and all(question.language.among(stem, stems) for stem in question.stems)


def fit(question: Question, fact: Fact) -> Fit | None:
    """How well a fact answers a question; None where it does not."""
    terms, among = question.terms, question.language.among
    matched = [term for term in terms if _answers(term, fact, question)]
    owned = (
        fact.owner_concepts & question.concepts
        or question.kind == "owner"
        or question.names & fact.value
        or (question.kind == "name" and _names_value(question, fact))
        or _all_owned(question, fact)
    )
    if not matched or question.required - {term.stem for term in matched} or not owned:
        return None
    about, ideas = fact.subject or (), fact.subject_concepts
    topical = [each for each in matched if among(each.stem, about) or each.concepts & ideas]
    covered = len(matched) / len(terms)
    if fact.subject is None:  # of the speaker
        near = 2 * covered >= 1 and any(term.stem and not term.concepts for term in matched)
        fits = not question.other and (question.own or covered == 1)
    else:
        near = any(not among(term.stem, _joined(fact.owners)) for term in topical)
        fits = bool(topical) or not all(term.concepts for term in matched)
    if not fits or (covered < _MOST and not near):
        return None
    by_idea = fact.concepts & question.concepts & fact.language.words("giving")
    kinds = fact.kinds | {""} | (fact.language.words("by_idea") if by_idea else frozenset())
    full = covered >= (_MOST if question.open else 1) and question.kind in kinds
    return Fit(full, question.kind in kinds, not fact.past, covered)


def names_all(question: Question, fact: Fact) -> bool:
    """Whether every word of a question stands in a fact, without associations."""
    return (_all_owned(question, fact) or _names_value(question, fact)) and _all_among(question, fact.stems)


def misspelt(question: Question, fact: Fact) -> Fit | None:
    """How nearly a fact would answer if words of a question were spelt as they are in the fact."""
    language, text = question.language, question.text
    for word in question.words:
        spelt = language.among(language.stem(word), fact.stems) or len(word) < _SHORTEST or not word.isalpha()
        near = next(iter(() if spelt else get_close_matches(word, filter(str.isalpha, fact.words), 1, _NEAR)), word)
        text = re.sub(rf"(?i)(?<!\w){re.escape(word)}(?!\w)", near, text) if near != word else text
    fitting = fit(Question(text, language), fact) if text != question.text else None
    return fitting._replace(full=False) if fitting else None
