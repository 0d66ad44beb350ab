"""What a question asks about, what a statement states, and whether one answers the other.

Content words, associations and whose something is decide, and what sort of answer is wanted.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from bot.models.offline.language import Language, words
from bot.models.offline.text import close, content_words, detect, ideas
from memory.store.records import replace

_GROUPS = words("pet family children siblings parents partner age")
"""Ideas whose words are members: a statement about the dog is one about a pet, but a doctor is not my work."""
_SINGLE = ("home", "work", "name", "age", "birthday", "origin")
"""Ideas of which a person has one at a time, so that the newest statement counts."""
_TELLING_KEYS = words("place time name colour age")
"""Kinds of answers that tell statements about the same thing apart."""
_NEGATED = {"like": "dislike", "dislike": "like", "eat": "diet", "drink": "abstain"}
"""What an idea becomes under a negation: what is not eaten is a diet."""
_POLAR = {"like": words("dislike"), "dislike": words("like")}
"""Ideas that answer each other where a yes or a no is wanted."""
_TELLING, _TOLD_BY_IDEAS = words("home origin birthday age name"), words("place time name age")
"""Ideas that answer "where", "when", "who" or "how old" by themselves."""


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
        return frozenset(name for term in self.terms for name in term.concepts)

    @property
    def stems(self) -> frozenset[str]:
        return frozenset(term.stem for term in self.terms)


class Fact(Struct, frozen=True):
    language: Language
    flat: str
    """Its content words in one order; a statement and its denial have the same."""
    stems: frozenset[str]
    concepts: frozenset[str]
    subject: frozenset[str] | None
    """Stems of what it is about; None for the speaker."""
    said: frozenset[str]
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
    def value(self) -> frozenset[str]:
        """What is said, without the words of the subject."""
        return self.said - (self.subject or frozenset())

    @property
    def key(self) -> str:
        """Statements with the same key cannot both hold."""
        if self.subject is not None:
            kinds = ",".join(sorted(self.kinds & _TELLING_KEYS))
            return f"{' '.join(sorted(self.subject))}|{kinds}" if self.subject else self.flat
        return next((f"self|{name}" for name in _SINGLE if name in self.concepts), self.flat)


def _stems(texts: Iterable[str], language: Language) -> frozenset[str]:
    return frozenset(language.stem(word) for text in texts for word in content_words(text, language))


def _grouped(text: str, language: Language, which: str) -> tuple[frozenset[str], ...]:
    """The stems of every match of a pattern, its groups taken together."""
    return tuple(stems for groups in language.groups(which, text) if (stems := _stems(groups, language)))


def _joined(groups: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset(stem for group in groups for stem in group)


def _turned_over(concepts: Iterable[str], *, negated: bool) -> frozenset[str]:
    return frozenset(_NEGATED.get(name, name) if negated else name for name in concepts)


def _terms(text: str, language: Language) -> tuple[Term, ...]:
    touched = ideas(text, language, asked=True)
    negated, polar = language.search("negated", text) is not None, language.search("asks", text) is None
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
            meant = _turned_over(named, negated=negated)
            other = _joined(_POLAR.get(name, frozenset()) for name in meant) if polar else frozenset()
            terms.append(Term(word, stem, meant | other, frozenset(named)))
    unseen = sorted(_turned_over(touched, negated=negated) - _joined(term.concepts for term in terms))
    return (*terms, *(Term("", "", frozenset({name}), frozenset({name})) for name in unseen))


def _kind(text: str, terms: tuple[Term, ...], language: Language) -> tuple[str, tuple[Term, ...]]:
    """What sort of answer is wanted, and the terms without the words that only say so."""
    for name, kind in language.kinds.items():
        if kind.asked.search(text):
            left = (each for each in terms if each.word not in kind.words and (each.word or each.named != {name}))
            return name, tuple(left) or terms
    return "", terms


def read_question(text: str, language: Language, *, plain: bool = False) -> Question:
    """What a question asks about. `plain` takes every word as it stands ("my dentist's address" is about both)."""
    terms = _terms(text, language)
    kind, terms = ("", terms) if plain else _kind(text, terms, language)
    kept = frozenset(term.stem for term in terms)
    required = _joined((*_grouped(text, language, "mine"), *_grouped(text, language, "owners")))
    names = _joined(_grouped(text, language, "names"))
    asks, own = language.search("asks", text) is not None, language.search("speaker", text) is not None
    numbers = frozenset(term.stem for term in terms if term.word.isdigit()) if asks else frozenset()
    return Question(
        language=language,
        terms=terms,
        required=(required | names | numbers) & kept,
        kind=kind,
        open=asks,
        own=own,
        other=not own and language.search("others", text) is not None,
        names=names,
    )


def clauses(text: str, language: Language) -> tuple[str, ...]:
    """The statements of one sentence; the sentence itself where a part of it would state nothing."""
    (between,) = language.patterns("search", "clauses")
    parts = tuple(part.strip() for part in between.split(text) if part.strip())
    ordered = [language.order(part) for part in parts]
    whole = all(language.begins("about_self", part) or language.begins("subject", part) for part in ordered)
    return parts if len(parts) > 1 and whole else (text,)


def read_fact(text: str, fallback: Language) -> Fact:
    language = detect(text, fallback.code)
    text = language.spell(language.mend(text.strip(" .!。！")))
    ordered = language.order(text)
    subject: frozenset[str] | None = None
    about, rest = "", ordered
    own = language.begins("about_self", ordered) is not None
    found = None if own else language.begins("subject", ordered)
    if found is not None:
        about, rest = found["subject"], found["rest"]
        subject = _stems((about,), language)
    elif not own and language.spaced:
        subject = frozenset()
    owners = _grouped(text, language, "owners")
    plain = frozenset(ideas(text, language, asked=False))
    stated = _turned_over(plain, negated=language.search("negated", text) is not None)
    implied = (name for name in language.names("implied_") if language.begins(name, ordered))
    stated |= {name.removeprefix("implied_") for name in implied}
    stems, members = _stems((text,), language), ideas(about, language, asked=False).keys() & _GROUPS
    return Fact(
        language=language,
        flat=" ".join(sorted(stems)),
        stems=stems,
        concepts=stated,
        subject=subject,
        said=_stems((rest,), language),
        subject_concepts=frozenset(ideas(about, language, asked=True)) | members,
        owners=owners,
        owner_concepts=frozenset(ideas(" ".join(sorted(_joined(owners))), language, asked=False)),
        kinds=frozenset(name for name, kind in language.kinds.items() if kind.stated.search(text)),
        affirmed=stated - plain if language.search("denied", text) else stated,
        past=language.search("past", text) is not None,
    )


# ------------------------------------------------------------------------------------------- does one answer the other


class Fit(NamedTuple):
    """How well a fact answers; bigger is better."""

    full: bool
    kind: bool
    present: bool
    covered: float


def _same(one: str, other: str, language: Language) -> bool:
    if one == other:
        return True
    if not language.spaced:
        return min(len(one), len(other)) > 1 and (one in other or other in one)
    short, long = sorted((one, other), key=len)
    return language.compounds and len(short) >= 5 and long.startswith(short)


def _among(stem: str, stems: frozenset[str], language: Language) -> bool:
    return stem != "" and any(_same(stem, other, language) for other in stems)


def _answers(term: Term, fact: Fact, question: Question) -> bool:
    if term.concepts & (fact.affirmed if question.open else fact.concepts):
        return True
    known = fact.language.ideas
    stated = frozenset(word for name in term.named if name in known for word in known[name].stated)
    spaced = question.language.spaced
    by_idea_only = any(term.word in (word.split() if spaced else word) for word in stated)
    associated = bool(term.concepts & fact.concepts)
    return (associated or not by_idea_only) and _among(term.stem, fact.stems, question.language)


def _in_subject(term: Term, fact: Fact, question: Question) -> bool:
    if fact.subject is None:
        return False
    return _among(term.stem, fact.subject, question.language) or bool(term.concepts & fact.subject_concepts)


def _of_another(question: Question, fact: Fact) -> bool:
    """Whether a fact is about what belongs to somebody whom the question does not name."""
    if fact.owner_concepts & question.concepts or question.kind == "owner":
        return False
    if (question.kind == "name" and _names_value(question, fact)) or question.names & fact.value:
        return False
    return not _all_owned(question, fact)


def _all_owned(question: Question, fact: Fact) -> bool:
    """Whether a question names everybody whom a fact names as an owner."""
    return all(any(_among(stem, question.stems, question.language) for stem in owner) for owner in fact.owners)


def _names_value(question: Question, fact: Fact) -> bool:
    """Whether a question names what is said, and wants to know of whom ("who is Mia?", "who lives in Graz?")."""
    if question.own if fact.subject is None else question.required & fact.subject:
        return False
    stems = [term.stem for term in question.terms if term.stem]
    return bool(stems) and all(_among(stem, fact.value, question.language) for stem in stems)


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
    of_others = question.other or (not question.own and len(matched) < len(question.terms))
    if (fact.subject is None and of_others) or (covered < 2 / 3 and not _near(question, fact, matched, topical)):
        return None
    kind = (
        not question.kind
        or question.kind in fact.kinds
        or (question.kind in _TOLD_BY_IDEAS and bool(fact.concepts & question.concepts & _TELLING))
    )
    enough = 2 / 3 if question.open else 1
    return Fit(covered >= enough and kind, kind, not fact.past, covered)


def _near(question: Question, fact: Fact, matched: list[Term], topical: list[Term]) -> bool:
    """Whether a fact that leaves much of a question open is worth telling as the nearest."""
    owners = _joined(fact.owners)
    if any(not _among(term.stem, owners, question.language) for term in topical):
        return True
    if fact.subject is not None or 2 * len(matched) < len(question.terms):
        return False
    return any(term.stem and not term.concepts for term in matched)


def names_all(question: Question, fact: Fact) -> bool:
    """Whether every word of a question stands in a fact, without associations."""
    stems = [term.stem for term in question.terms if term.stem]
    whose = _all_owned(question, fact) or _names_value(question, fact)
    return whose and bool(question.terms) and all(_among(stem, fact.stems, question.language) for stem in stems)


def misspelt(question: Question, fact: Fact) -> bool:
    """Whether a fact would answer if words of a question were spelt as they are in the fact."""
    spelt: dict[str, str] = {}
    for term in question.terms:
        known = not term.stem or _among(term.stem, fact.stems, question.language)
        slips = [] if known else sorted(stem for stem in fact.stems if close(term.stem, stem))
        if slips:
            spelt[term.stem] = slips[0]
    if not spelt:
        return False
    terms = tuple(term._replace(stem=spelt.get(term.stem, term.stem)) for term in question.terms)
    required = frozenset(spelt.get(stem, stem) for stem in question.required)
    return fit(replace(question, terms=terms, required=required), fact) is not None
