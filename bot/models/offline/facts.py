"""Does a statement answer a question? Content words, associations, and who the statement is about decide."""

from dataclasses import dataclass

from bot.models.offline.content import content_words, ideas
from bot.models.offline.language import Language
from bot.models.offline.text import detect

_NO_KINDS_NEEDED = frozenset({"home", "origin", "birthday", "age", "name"})
"""Ideas that answer "where", "when" or "who" by themselves."""
_GROUPS = frozenset({"pet", "family", "partner", "age"})
"""Ideas whose words are members: a statement about the dog is one about a pet, but a doctor is not my work."""
_SINGLE = ("home", "work", "name", "age", "birthday", "origin")
"""Ideas of which a person has one at a time, so that the newest statement counts."""


@dataclass(frozen=True)
class Term:
    """One thing a question asks about."""

    word: str
    stem: str
    concepts: frozenset[str]


@dataclass(frozen=True)
class Question:
    language: Language
    terms: tuple[Term, ...]
    required: frozenset[str]
    """Stems without which nothing is an answer: the word after "my", and whose it is."""
    kind: str

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
    stems: frozenset[str]
    concepts: frozenset[str]
    subject: frozenset[str] | None
    """Stems of what it is about; None for the speaker."""
    subject_concepts: frozenset[str]
    owners: frozenset[str]
    owner_concepts: frozenset[str]
    kinds: frozenset[str]

    @property
    def key(self) -> str:
        """Statements with the same key cannot both hold."""
        kinds = ",".join(sorted(self.kinds))
        if self.subject is not None:
            return f"{' '.join(sorted(self.subject))}|{kinds}" if self.subject else self.flat
        single = [name for name in _SINGLE if name in self.concepts]
        return f"self|{single[0]}|{kinds}" if single else self.flat


@dataclass(frozen=True, order=True)
class Fit:
    """How well a fact answers; bigger is better, and a false one does not answer at all."""

    full: bool
    kind: bool
    covered: float
    aside: int
    """Minus the words its subject has beyond the question."""

    def __bool__(self) -> bool:
        return self.covered > 0


NO_FIT = Fit(False, False, 0.0, 0)


def _grouped(text: str, language: Language, which: str) -> frozenset[str]:
    found = getattr(language.grammar, which).finditer(text)
    parts = (part for match in found for part in match.groupdict().values() if part)
    return frozenset(_stem(word, language) for part in parts for word in content_words(part, language))


def _stem(word: str, language: Language) -> str:
    return language.grammar.stem(word)


def _terms(text: str, language: Language) -> tuple[Term, ...]:
    touched = ideas(text, language, asked=True)
    stem, spaced = language.grammar.stem, language.grammar.spaced
    hits = [(hit, name) for name, found in touched.items() for hit in found]
    phrased = {stem(word) for hit, _ in hits for word in hit.split() if " " in hit}
    terms = []
    for word in content_words(text, language):
        if spaced:
            named = {name for hit, name in hits if stem(hit) == stem(word)}
        else:
            named = {name for hit, name in hits if hit in word or word in hit}
        if named or stem(word) not in phrased:
            terms.append(Term(word, stem(word), frozenset(named)))
    seen = frozenset(name for term in terms for name in term.concepts)
    unseen = (Term("", "", frozenset({name})) for name in sorted(touched.keys() - seen))
    return (*terms, *unseen)


def read_question(text: str, language: Language, *, plain: bool = False) -> Question:
    """What a question asks about. `plain` takes every word as it stands ("my dentist's address" is about both)."""
    kind = "" if plain else next((name for name, kind in language.kinds.items() if kind.asked.search(text)), "")
    terms = _terms(text, language)
    if kind:
        others = tuple(term for term in terms if term.word not in language.kinds[kind].words)
        terms = others or terms
    kept = {term.stem for term in terms}
    required = (_grouped(text, language, "mine") | _grouped(text, language, "owners")) & kept
    return Question(language, terms, required, kind)


def read_fact(text: str, fallback: Language) -> Fact:
    language = detect(text, fallback)
    grammar = language.grammar
    text = grammar.mend(text.strip(" .!。！"))
    subject: frozenset[str] | None = None
    about = ""
    found = None if grammar.about_self.match(text) else grammar.subject.match(text)
    if found is not None:
        about = found["subject"]
        subject = frozenset(grammar.stem(word) for word in content_words(about, language))
    elif not grammar.about_self.match(text) and grammar.spaced:
        subject = frozenset(grammar.stem(word) for word in content_words(text, language)[:1])
    owners = _grouped(text, language, "owners")
    introduced = {"name"} if grammar.introduced and grammar.introduced.match(text) else set()
    return Fact(
        language=language,
        flat="".join(content_words(text, language)),
        stems=frozenset(grammar.stem(word) for word in content_words(text, language)),
        concepts=frozenset(ideas(text, language, asked=False)) | introduced,
        subject=subject,
        subject_concepts=frozenset(ideas(about, language, asked=True))
        | ideas(about, language, asked=False).keys() & _GROUPS,
        owners=owners,
        owner_concepts=frozenset(ideas(" ".join(sorted(owners)), language, asked=False)),
        kinds=frozenset(name for name, kind in language.kinds.items() if kind.stated.search(text)),
    )


def _same(one: str, other: str, question: Language) -> bool:
    if one == other:
        return True
    if not question.grammar.spaced:
        return min(len(one), len(other)) > 1 and (one in other or other in one)
    short, long = sorted((one, other), key=len)
    return question.grammar.compounds and len(short) >= 5 and long.startswith(short)


def _among(stem: str, stems: frozenset[str], question: Language) -> bool:
    return stem != "" and any(_same(stem, other, question) for other in stems)


def _answers(term: Term, fact: Fact, question: Language) -> bool:
    if term.concepts & fact.concepts:
        return True
    known = fact.language.concepts
    by_idea_only = any(term.word in known[name].stated for name in term.concepts if name in known)
    return not by_idea_only and _among(term.stem, fact.stems, question)


def _in_subject(term: Term, fact: Fact, question: Language) -> bool:
    if fact.subject is None:
        return False
    return _among(term.stem, fact.subject, question) or bool(term.concepts & fact.subject_concepts)


def fit(question: Question, fact: Fact, *, strict: bool = False) -> Fit:
    """How well a fact answers a question. `strict` wants every word itself, without associations."""
    language, terms = question.language, question.terms
    if strict:
        matched = [term for term in terms if _among(term.stem, fact.stems, language)]
    else:
        matched = [term for term in terms if _answers(term, fact, language)]
    if not matched or (strict and len(matched) < len(terms)):
        return NO_FIT
    asked = frozenset(term.stem for term in terms)
    if not fact.owner_concepts & question.concepts and any(not _among(one, asked, language) for one in fact.owners):
        return NO_FIT
    if question.required - {term.stem for term in matched}:
        return NO_FIT
    topical = [term for term in matched if _in_subject(term, fact, language)]
    if fact.subject is not None and not topical and not any(not term.concepts for term in matched):
        return NO_FIT
    covered = len(matched) / len(terms)
    if covered < 2 / 3 and not any(not _among(term.stem, fact.owners, language) for term in topical):
        return NO_FIT
    beyond = 0 if fact.subject is None else len(fact.subject) - len(topical)
    kind = (
        not question.kind or question.kind in fact.kinds or bool(fact.concepts & question.concepts & _NO_KINDS_NEEDED)
    )
    return Fit(full=covered >= 2 / 3 and kind, kind=kind, covered=covered, aside=-max(beyond, 0))
