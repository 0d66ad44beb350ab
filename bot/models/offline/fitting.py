"""Does a statement answer a question? Words, associations and who it is about decide, and what sort of answer it is."""

from dataclasses import dataclass, replace

from bot.models.offline.facts import Fact, Question, Term
from bot.models.offline.language import Language

_TELLING = frozenset({"home", "origin", "birthday", "age", "name"})
_TOLD_BY_IDEAS = frozenset({"place", "time", "name", "age"})
"""Ideas that answer "where", "when", "who" or "how old" by themselves."""
_SOFT = frozenset({"eat", "diet", "drink", "abstain"})
"""Ideas that a question may name as a sort ("what food do I like"), where an answer often does not."""
_SHORTEST_CLOSE = 5
"""Letters of a word that may be misspelt; shorter ones are too near to others."""


@dataclass(frozen=True, order=True)
class Fit:
    """How well a fact answers; bigger is better, and a false one does not answer at all."""

    full: bool
    kind: bool
    present: bool
    """Not about what was once."""
    covered: float
    aside: int
    """Minus the words its subject has beyond the question."""

    def __bool__(self) -> bool:
        return self.covered > 0


NO_FIT = Fit(False, False, False, 0.0, 0)


def close(one: str, other: str) -> bool:
    """Whether two words differ by one slip of typing: a letter too many, too few, wrong, or two swapped."""
    short, long = sorted((one, other), key=len)
    if not (one.isalpha() and other.isalpha()):
        return False
    if len(short) < _SHORTEST_CLOSE - 1 or len(long) < _SHORTEST_CLOSE or len(long) - len(short) > 1:
        return False
    start = next((at for at, letter in enumerate(short) if letter != long[at]), len(short))
    if len(short) != len(long):
        return short[start:] == long[start + 1 :]
    swapped = short[start : start + 2] == long[start : start + 2][::-1]
    return short[start + 1 :] == long[start + 1 :] or (swapped and short[start + 2 :] == long[start + 2 :])


def _same(one: str, other: str, question: Language) -> bool:
    if one == other:
        return True
    if not question.grammar.spaced:
        return min(len(one), len(other)) > 1 and (one in other or other in one)
    short, long = sorted((one, other), key=len)
    return question.grammar.compounds and len(short) >= 5 and long.startswith(short)


def _among(stem: str, stems: frozenset[str], question: Language) -> bool:
    return stem != "" and any(_same(stem, other, question) for other in stems)


def _answers(term: Term, fact: Fact, question: Question) -> bool:
    associated = bool(term.concepts & fact.concepts)
    if term.concepts & (fact.affirmed if question.open else fact.concepts):
        return True
    known = fact.language.concepts
    stated = frozenset(word for name in term.named if name in known for word in known[name].stated)
    spaced = question.language.grammar.spaced
    by_idea_only = any(term.word in (word.split() if spaced else word) for word in stated)
    return (associated or not by_idea_only) and _among(term.stem, fact.stems, question.language)


def _in_subject(term: Term, fact: Fact, question: Language) -> bool:
    if fact.subject is None:
        return False
    return _among(term.stem, fact.subject, question) or bool(term.concepts & fact.subject_concepts)


def _of_another(question: Question, fact: Fact) -> bool:
    """Whether a fact is about what belongs to somebody whom the question does not name."""
    if fact.owner_concepts & question.concepts or question.kind == "owner":
        return False
    if (question.kind == "name" and _names_value(question, fact)) or question.names & fact.value:
        return False
    asked = frozenset(term.stem for term in question.terms)
    return any(not any(_among(stem, asked, question.language) for stem in owner) for owner in fact.owners)


def _names_value(question: Question, fact: Fact) -> bool:
    """Whether a question names what is said, and wants to know of whom ("who is Mia?", "who lives in Graz?")."""
    if question.own if fact.subject is None else question.required & fact.subject:
        return False
    stems = [term.stem for term in question.terms if term.stem]
    return bool(stems) and all(_among(stem, fact.value, question.language) for stem in stems)


def fit(question: Question, fact: Fact) -> Fit:
    """How well a fact answers a question."""
    language, terms = question.language, question.terms
    matched = [term for term in terms if _answers(term, fact, question)]
    if not matched or question.required - {term.stem for term in matched} or _of_another(question, fact):
        return NO_FIT
    topical = [term for term in matched if _in_subject(term, fact, language)]
    if fact.subject is not None and not topical and not any(not term.concepts for term in matched):
        return NO_FIT
    covered = len(matched) / len(terms)
    if fact.subject is None and _of_others(question, matched):
        return NO_FIT
    if covered < 2 / 3 and not _near(question, fact, matched, topical):
        return NO_FIT
    beyond = 0 if fact.subject is None else len(fact.subject) - len(topical)
    kind = (
        not question.kind
        or question.kind in fact.kinds
        or (question.kind in _TOLD_BY_IDEAS and bool(fact.concepts & question.concepts & _TELLING))
        or (question.kind == "name" and _names_value(question, fact))
    )
    enough = 2 / 3 if question.open else 1
    return Fit(covered >= enough and kind, kind, not fact.past, covered, -max(beyond, 0))


def _of_others(question: Question, matched: list[Term]) -> bool:
    """Whether a question is about somebody or something else than the speaker, of whom a fact is."""
    if not question.language.grammar.spaced:
        return question.other or bool(question.topic - {term.stem for term in matched})
    return question.other or (not question.own and len(matched) < len(question.terms))


def _near(question: Question, fact: Fact, matched: list[Term], topical: list[Term]) -> bool:
    """Whether a fact that leaves much of a question open is worth telling as the nearest."""
    owners = frozenset(stem for owner in fact.owners for stem in owner)
    if any(not _among(term.stem, owners, question.language) for term in topical):
        return True
    if fact.subject is not None or 2 * len(matched) < len(question.terms):
        return False
    left = [term for term in question.terms if term not in matched]
    sorts = all(term.concepts and term.concepts <= _SOFT for term in left)
    return sorts or any(term.stem and not term.concepts for term in matched)


def names_all(question: Question, fact: Fact) -> bool:
    """Whether every word of a question stands in a fact, without associations."""
    language = question.language
    asked = frozenset(term.stem for term in question.terms)
    owned = all(any(_among(stem, asked, language) for stem in owner) for owner in fact.owners)
    return (
        (owned or _names_value(question, fact))
        and bool(question.terms)
        and all(_among(term.stem, fact.stems, language) for term in question.terms if term.stem)
    )


def misspelt(question: Question, fact: Fact) -> bool:
    """Whether a fact would answer if words of a question were spelt as they are in the fact."""
    spelt: dict[str, str] = {}
    for term in question.terms:
        if term.stem and not _among(term.stem, fact.stems, question.language):
            slips = sorted(stem for stem in fact.stems if close(term.stem, stem))
            if slips:
                spelt[term.stem] = slips[0]
    if not spelt:
        return False
    terms = tuple(replace(term, stem=spelt.get(term.stem, term.stem)) for term in question.terms)
    required = frozenset(spelt.get(stem, stem) for stem in question.required)
    return bool(fit(replace(question, terms=terms, required=required), fact))
