"""What a question asks about, and what a statement states: content words, associations, and whose they are."""

from collections.abc import Iterable
from dataclasses import dataclass

from bot.models.offline.content import content_words, ideas
from bot.models.offline.language import Language
from bot.models.offline.text import detect

_GROUPS = frozenset({"pet", "family", "children", "siblings", "parents", "partner", "age"})
"""Ideas whose words are members: a statement about the dog is one about a pet, but a doctor is not my work."""
_SINGLE = ("home", "work", "name", "age", "birthday", "origin")
"""Ideas of which a person has one at a time, so that the newest statement counts."""
_TELLING = frozenset({"place", "time", "name", "colour", "age"})
"""Kinds of answers that tell statements about the same thing apart."""
_NEGATED = {"like": "dislike", "dislike": "like", "eat": "diet", "drink": "abstain"}
"""What an idea becomes under a negation: what is not eaten is a diet."""
_LONG_NUMBER = 3
"""Digits of a number that says what a question is about; "what is 2+2?" is not about everything with a 2."""
_POLAR = {"like": frozenset({"dislike"}), "dislike": frozenset({"like"})}
"""Ideas that answer each other where a yes or a no is wanted."""


@dataclass(frozen=True)
class Term:
    """One thing a question asks about."""

    word: str
    stem: str
    concepts: frozenset[str]
    """Ideas that answer it here: a negation turns some over."""
    named: frozenset[str]
    """Ideas of the word by itself."""


@dataclass(frozen=True)
class Question:
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
    topic: frozenset[str]
    """Without spaces: stems of what it is about."""
    names: frozenset[str]
    """Stems of names that it mentions, where writing shows them."""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(term.word for term in self.terms if term.word)

    @property
    def concepts(self) -> frozenset[str]:
        return frozenset(name for term in self.terms for name in term.concepts)


@dataclass(frozen=True)
class Fact:
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
        kinds = ",".join(sorted(self.kinds & _TELLING))
        if self.subject is not None:
            return f"{' '.join(sorted(self.subject))}|{kinds}" if self.subject else self.flat
        single = [name for name in _SINGLE if name in self.concepts]
        return f"self|{single[0]}" if single else self.flat


def _grouped(text: str, language: Language, which: str) -> tuple[frozenset[str], ...]:
    """The stems of every match of a pattern, its groups taken together."""
    found = getattr(language.grammar, which).finditer(text)
    groups = (_stems((part for part in match.groups() if part), language) for match in found)
    return tuple(group for group in groups if group)


def _stems(texts: Iterable[str], language: Language) -> frozenset[str]:
    return frozenset(language.grammar.stem(word) for text in texts for word in content_words(text, language))


def _joined(groups: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset(stem for group in groups for stem in group)


def _turned_over(concepts: Iterable[str], *, negated: bool) -> frozenset[str]:
    return frozenset(_NEGATED.get(name, name) if negated else name for name in concepts)


def _terms(text: str, language: Language) -> tuple[Term, ...]:
    touched = ideas(text, language, asked=True)
    grammar = language.grammar
    negated = grammar.negated.search(text) is not None
    polar = grammar.asks.search(text) is None
    hits = [(hit, name) for name, found in touched.items() for hit in found]
    phrased = {grammar.stem(word) for hit, _ in hits for word in hit.split() if " " in hit}
    terms = []
    for word in content_words(text, language):
        stem = grammar.stem(word)
        if grammar.spaced:
            named = {name for hit, name in hits if grammar.stem(hit) == stem}
        else:
            named = {name for hit, name in hits if hit in word or word in hit}
        if named or stem not in phrased:
            meant = _turned_over(named, negated=negated)
            other = _joined(_POLAR.get(name, frozenset()) for name in meant) if polar else frozenset()
            terms.append(Term(word, stem, meant | other, frozenset(named)))
    seen = _joined(term.concepts for term in terms)
    unseen = sorted(_turned_over(touched, negated=negated) - seen)
    return (*terms, *(Term("", "", frozenset({name}), frozenset({name})) for name in unseen))


def _kind(text: str, terms: tuple[Term, ...], language: Language) -> tuple[str, tuple[Term, ...]]:
    """What sort of answer is wanted, and the terms without the words that only say so."""
    for name, kind in language.kinds.items():
        if kind.asked.search(text):
            only = frozenset({name})
            others = tuple(each for each in terms if each.word not in kind.words and (each.word or each.named != only))
            return name, others or terms
    return "", terms


def _topic(text: str, language: Language) -> frozenset[str]:
    found = None if language.grammar.spaced else language.grammar.subject.match(text)
    return _stems((found["subject"],), language) if found else frozenset()


def read_question(text: str, language: Language, *, plain: bool = False) -> Question:
    """What a question asks about. `plain` takes every word as it stands ("my dentist's address" is about both)."""
    terms = _terms(text, language)
    if all(term.word.isdigit() and len(term.word) < _LONG_NUMBER for term in terms):
        terms = ()
    kind = ""
    if not plain:
        kind, terms = _kind(text, terms, language)
    kept = {term.stem for term in terms}
    grammar = language.grammar
    required = _joined((*_grouped(text, language, "mine"), *_grouped(text, language, "owners")))
    names = _stems(grammar.names.findall(text) if grammar.names and not text.isupper() else (), language)
    numbers = frozenset(term.stem for term in terms if term.word.isdigit())
    asks = grammar.asks.search(text) is not None
    own = grammar.speaker.search(text) is not None
    return Question(
        language=language,
        terms=terms,
        required=(required | names | (numbers if asks else frozenset())) & kept,
        kind=kind,
        open=asks,
        own=own,
        other=not own and grammar.others.search(text) is not None,
        topic=_topic(text, language) & kept,
        names=names,
    )


def is_statement(text: str, language: Language) -> bool:
    """Whether a clause says something of somebody or something."""
    grammar = language.grammar
    ordered = grammar.order(text)
    return bool(grammar.about_self.match(ordered) or grammar.subject.match(ordered))


def clauses(text: str, language: Language) -> tuple[str, ...]:
    """The statements of one sentence; the sentence itself where a part of it would state nothing."""
    parts = tuple(part.strip() for part in language.grammar.clauses.split(text) if part.strip())
    return parts if len(parts) > 1 and all(is_statement(part, language) for part in parts) else (text,)


def read_fact(text: str, fallback: Language) -> Fact:
    language = detect(text, fallback)
    grammar = language.grammar
    text = grammar.spell(grammar.mend(text.strip(" .!。！")))
    ordered = grammar.order(text)
    subject: frozenset[str] | None = None
    about, rest = "", ordered
    own = grammar.about_self.match(ordered) is not None
    found = None if own else grammar.subject.match(ordered)
    if found is not None:
        about, rest = found["subject"], found["rest"]
        subject = _stems((about,), language)
    elif not own and grammar.spaced:
        subject = frozenset(grammar.stem(word) for word in content_words(text, language)[:1])
    owners = _grouped(text, language, "owners")
    plain = frozenset(ideas(text, language, asked=False))
    stated = _turned_over(plain, negated=grammar.negated.search(text) is not None)
    stated |= {name for name, pattern in grammar.implied.items() if pattern.match(ordered)}
    stems = _stems((text,), language)
    return Fact(
        language=language,
        flat=" ".join(sorted(stems)),
        stems=stems,
        concepts=stated,
        subject=subject,
        said=_stems((rest,), language),
        subject_concepts=frozenset(ideas(about, language, asked=True))
        | ideas(about, language, asked=False).keys() & _GROUPS,
        owners=owners,
        owner_concepts=frozenset(ideas(" ".join(sorted(_joined(owners))), language, asked=False)),
        kinds=frozenset(name for name, kind in language.kinds.items() if kind.stated.search(text)),
        affirmed=stated - plain if grammar.denied.search(text) else stated,
        past=grammar.past.search(text) is not None,
    )
