"""What a question asks about, what a statement states, and whether one answers the other.

Content words, associations and whose something is decide, and what sort of answer is wanted.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from bot.models.offline.language import Language
from bot.models.offline.text import close, content_words, detect, ideas
from memory.store.records import replace

_MOST_OPEN = 2 / 3
"""The part of a question that an answer to more than yes or no covers."""
_SHORTEST_PART = 5
"""Letters that two words of a compound begin with in common."""


class Term(NamedTuple):
    """One thing a question asks about: `concepts` answer it here (a negation turns some over), `named` by itself."""

    word: str
    stem: str
    concepts: frozenset[str]
    named: frozenset[str]


class Question(Struct, frozen=True):
    language: Language
    terms: tuple[Term, ...]
    required: frozenset[str]
    """Stems without which nothing is an answer: the word after "my", and whose it is."""
    kind: str
    open: bool
    """Whether it wants more than a yes or a no."""
    own: bool
    """Whether it names the speaker."""
    other: bool
    """Whether it is about somebody else, whom a word like "she" stands for."""
    names: frozenset[str]
    """Stems of names that it mentions, where writing shows them."""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(term.word for term in self.terms if term.word)

    @property
    def concepts(self) -> frozenset[str]:
        return _joined(term.concepts for term in self.terms)

    @property
    def stems(self) -> list[str]:
        return [term.stem for term in self.terms if term.stem]


class Fact(Struct, frozen=True):
    language: Language
    stems: frozenset[str]
    concepts: frozenset[str]
    subject: frozenset[str] | None
    """Stems of what it is about; None for the speaker."""
    value: frozenset[str]
    """Stems of what is said about the subject."""
    subject_concepts: frozenset[str]
    owners: tuple[frozenset[str], ...]
    """For each possession the names of whose it is ("my sister Anna's": sister or Anna)."""
    owner_concepts: frozenset[str]
    kinds: frozenset[str]
    affirmed: frozenset[str]
    """Ideas that it answers with more than a no."""
    past: bool

    @property
    def flat(self) -> str:
        """Its words in one order; a statement and its denial have the same."""
        return " ".join(sorted(self.stems))

    @property
    def key(self) -> str:
        """Statements with the same key cannot both hold."""
        if self.subject:
            return f"{' '.join(sorted(self.subject))}|{sorted(self.kinds & self.language.words('telling'))}"
        single = sorted(self.concepts & self.language.words("single")) if self.subject is None else ()
        return single[0] if single else self.flat


def _stems(texts: Iterable[str], language: Language) -> frozenset[str]:
    return frozenset(language.stem(word) for text in texts for word in content_words(text, language))


def _grouped(text: str, language: Language, which: str) -> tuple[frozenset[str], ...]:
    """The stems of every match of a pattern, its groups taken together."""
    return tuple(stems for groups in language.groups(which, text) if (stems := _stems(groups, language)))


def _joined(groups: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*groups)


def _meant(concepts: Iterable[str], text: str, language: Language) -> frozenset[str]:
    """Ideas as a text means them: a negation turns some over (what is not eaten is a diet)."""
    return (
        frozenset(language.negated.get(name, name) for name in concepts)
        if language.search("negated", text)
        else frozenset(concepts)
    )


def _terms(text: str, language: Language) -> tuple[Term, ...]:
    touched, polar = ideas(text, language, asked=True), not language.search("asks", text)
    hits = [(hit, name) for name, found in touched.items() for hit in found]
    phrased = {language.stem(word) for hit, _ in hits for word in hit.split() if " " in hit}
    terms = []
    for word in content_words(text, language):
        stem = language.stem(word)
        if language.spaced:
            named = {name for hit, name in hits if language.stem(hit) == stem}
        else:
            named = {name for hit, name in hits if hit in word or word in hit}
        if named or stem not in phrased:
            meant = _meant(named, text, language)
            either = meant & {"like", "dislike"} and {"like", "dislike"} if polar else ()
            terms.append(Term(word, stem, meant.union(either), frozenset(named)))
    unseen = sorted(_meant(touched, text, language) - _joined(term.concepts for term in terms))
    return (*terms, *(Term("", "", frozenset({name}), frozenset({name})) for name in unseen))


def read_question(text: str, language: Language, *, plain: bool = False) -> Question:
    """What a question asks about. `plain` takes every word as it stands ("my dentist's address" is about both)."""
    terms = _terms(text, language)
    kind = (
        ""
        if plain
        else next((name for name in language.names("kinds_asked") if language.search(name, text, "kinds_asked")), "")
    )
    if kind:  # without the words that only say so
        only = language.words(kind, "kinds_words")
        left = tuple(each for each in terms if each.word not in only and (each.word or each.named != {kind}))
        terms = left or terms
    names = _joined(_grouped(text, language, "names"))
    asks, own = language.search("asks", text) is not None, language.search("speaker", text) is not None
    numbers = {term.stem for term in terms if asks and term.word.isdigit()}
    required = _joined((*_grouped(text, language, "mine"), *_grouped(text, language, "owners"), names)) | numbers
    return Question(
        language=language,
        terms=terms,
        required=required & {term.stem for term in terms},
        kind=kind,
        open=asks,
        own=own,
        other=not own and language.search("others", text) is not None,
        names=names,
    )


def clauses(text: str, language: Language) -> tuple[str, ...]:
    """The statements of one sentence; the sentence itself where a part of it would state nothing."""
    parts = tuple(part.strip() for part in language.split("clauses", text) if part.strip())
    ordered = map(language.order, parts)
    whole = all(language.begins("about_self", part) or language.begins("subject", part) for part in ordered)
    return parts if len(parts) > 1 and whole else (text,)


def read_fact(text: str, fallback: Language) -> Fact:
    language = detect(text, fallback.code)
    text = language.replaced("spell", language.mend(text.strip(" .!。！")))
    ordered = language.order(text)
    own = language.begins("about_self", ordered) is not None
    found = None if own else language.begins("subject", ordered)
    about, rest = (found["subject"], found["rest"]) if found else ("", ordered)
    subject = _stems((about,), language) if found or (not own and language.spaced) else None
    owners = _grouped(text, language, "owners")
    plain = ideas(text, language, asked=False)
    implied = (name for name in language.names("begin", "implied_") if language.begins(name, ordered))
    stated = _meant(plain, text, language).union(name.removeprefix("implied_") for name in implied)
    members = ideas(about, language, asked=False).keys() & language.words("groups")
    return Fact(
        language=language,
        stems=_stems((text,), language),
        concepts=stated,
        subject=subject,
        value=_stems((rest,), language) - (subject or frozenset()),
        subject_concepts=frozenset(ideas(about, language, asked=True)) | members,
        owners=owners,
        owner_concepts=frozenset(ideas(" ".join(sorted(_joined(owners))), language, asked=False)),
        kinds=frozenset(k for k in language.names("kinds_stated") if language.search(k, text, "kinds_stated")),
        affirmed=stated - plain.keys() if language.search("denied", text) else stated,
        past=language.search("past", text) is not None,
    )


# ------------------------------------------------------------------------------------------- does one answer the other


class Fit(NamedTuple):
    """How well a fact answers; bigger is better."""

    full: bool
    kind: bool
    present: bool
    covered: float


def _among(stem: str, stems: Iterable[str], language: Language) -> bool:
    """Whether a word is one of these, or without spaces and in compounds a part of one."""
    pairs = [sorted((stem, other), key=len) for other in stems if stem]
    if not language.spaced:
        return any(short == long or (len(short) > 1 and short in long) for short, long in pairs)
    part = _SHORTEST_PART if language.compounds else 100
    return any(short == long or (len(short) >= part and long.startswith(short)) for short, long in pairs)


def _answers(term: Term, fact: Fact, question: Question) -> bool:
    if term.concepts & (fact.affirmed if question.open else fact.concepts):
        return True
    stated = _joined(fact.language.stated.get(name, frozenset()) for name in term.named)
    by_idea_only = any(term.word in (word.split() if question.language.spaced else word) for word in stated)
    return (bool(term.concepts & fact.concepts) or not by_idea_only) and _among(
        term.stem, fact.stems, question.language
    )


def _in_subject(term: Term, fact: Fact, question: Question) -> bool:
    named = _among(term.stem, fact.subject or (), question.language)
    return fact.subject is not None and (named or bool(term.concepts & fact.subject_concepts))


def _all_owned(question: Question, fact: Fact) -> bool:
    """Whether a question names everybody whom a fact names as an owner."""
    return all(any(_among(stem, question.stems, question.language) for stem in owner) for owner in fact.owners)


def _names_value(question: Question, fact: Fact) -> bool:
    """Whether a question names what is said, and wants to know of whom ("who is Mia?", "who lives in Graz?")."""
    if question.own if fact.subject is None else question.required & fact.subject:
        return False
    return bool(question.stems) and all(_among(stem, fact.value, question.language) for stem in question.stems)


def _of_another(question: Question, fact: Fact) -> bool:
    """Whether a fact is about what belongs to somebody whom the question does not name."""
    return not (
        fact.owner_concepts & question.concepts
        or question.kind == "owner"
        or question.names & fact.value
        or (question.kind == "name" and _names_value(question, fact))
        or _all_owned(question, fact)
    )


def fit(question: Question, fact: Fact) -> Fit | None:
    """How well a fact answers a question; None where it does not."""
    terms = question.terms
    matched = [term for term in terms if _answers(term, fact, question)]
    if not matched or question.required - {term.stem for term in matched} or _of_another(question, fact):
        return None
    topical = [term for term in matched if _in_subject(term, fact, question)]
    if fact.subject is not None and not topical and all(term.concepts for term in matched):
        return None
    covered = len(matched) / len(terms)
    of_others = question.other or (not question.own and len(matched) < len(terms))
    if (fact.subject is None and of_others) or (covered < _MOST_OPEN and not _near(question, fact, matched, topical)):
        return None
    telling = fact.concepts & question.concepts & fact.language.words("giving")
    kind = (
        not question.kind
        or question.kind in fact.kinds
        or bool(question.kind in fact.language.words("by_idea") and telling)
    )
    enough = _MOST_OPEN if question.open else 1
    return Fit(covered >= enough and kind, kind, not fact.past, covered)


def _near(question: Question, fact: Fact, matched: list[Term], topical: list[Term]) -> bool:
    """Whether a fact that leaves much of a question open is worth telling as the nearest."""
    if any(not _among(term.stem, _joined(fact.owners), question.language) for term in topical):
        return True
    half = fact.subject is None and 2 * len(matched) >= len(question.terms)
    return half and any(term.stem and not term.concepts for term in matched)


def names_all(question: Question, fact: Fact) -> bool:
    """Whether every word of a question stands in a fact, without associations."""
    whose = _all_owned(question, fact) or _names_value(question, fact)
    return (
        whose and bool(question.terms) and all(_among(stem, fact.stems, question.language) for stem in question.stems)
    )


def misspelt(question: Question, fact: Fact) -> bool:
    """Whether a fact would answer if words of a question were spelt as they are in the fact."""
    spelt: dict[str, str] = {}
    for stem in question.stems:
        slips = sorted(known for known in fact.stems if close(stem, known))
        if slips and not _among(stem, fact.stems, question.language):
            spelt[stem] = slips[0]
    terms = tuple(term._replace(stem=spelt.get(term.stem, term.stem)) for term in question.terms)
    required = frozenset(spelt.get(stem, stem) for stem in question.required)
    return bool(spelt) and fit(replace(question, terms=terms, required=required), fact) is not None
