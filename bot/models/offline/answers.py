"""Questions: what is found in memory, chosen and said with its source; or honestly that nothing was found."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.models.base import Call
from bot.models.offline.intents import Forget, is_question, statements, understand
from bot.models.offline.language import words
from bot.models.offline.statements import Fact, Question, clauses, fit, misspelt, names_all, read_fact, read_question
from bot.models.offline.text import detect, queries, sentences
from bot.models.offline.turn import Desk, Lines, Record, Step

_SHOWN, _LONG_TEXT, _LONGEST_ENTRY = 5, 300, 4_000
_HITS, _NEWEST = 20, 50
_SAID = "constellation_messages"  # what somebody told one agent, or wanted forgotten, another knows too
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_TAKING_BACK = "forget delete erase remove vergiss vergessen lösche streiche entferne 忘れて 消して 削除"
_SHARED = words(
    "allergy eat diet drink abstain like dislike pet family children siblings parents health language partner"
)
"""Ideas that several statements may answer together."""


@dataclass(frozen=True)
class Found:
    """A statement in memory."""

    record: Record
    text: str
    fact: Fact
    own: bool

    @property
    def when(self) -> tuple[datetime, int, str]:
        """Orders statements by time; of one moment by number."""
        return _when(self.record)


def _when(record: Record) -> tuple[datetime, int, str]:
    return record.at or _LONG_AGO, len(record.id), record.id


# ----------------------------------------------------------------------------------------------------- finding it


def search_said(step: str, wanted: Iterable[str], desk: Desk) -> tuple[Call, ...]:
    """Searches in what the person said in conversation, and for what they wanted forgotten."""
    taken = desk.call(f"{step}_taken0", "search", query=_TAKING_BACK, domain=_SAID, author="me", limit=50)
    return (*_searches(step, wanted, desk, domain=_SAID, author="me"), taken)


def _searches(step: str, wanted: Iterable[str], desk: Desk, **conditions: str) -> tuple[Call, ...]:
    return tuple(
        desk.call(f"{step}{number}", "search", query=query, limit=_HITS, **conditions)
        for number, query in enumerate(wanted)
    )


def _hits(step: str, count: int, desk: Desk) -> Iterator[Record]:
    """What the searches of one step found, each record once."""
    seen: set[str] = set()
    for number in range(count):
        records = desk.records(f"{step}{number}", "entry")
        yield from (record for record in records if record.id not in seen)
        seen.update(record.id for record in records)


def _entries_found(records: Iterable[Record], desk: Desk) -> list[Found]:
    """The statements of these records; of what somebody said twice, or took back, only the newest."""
    current: dict[tuple[bool, str], Found] = {}
    for record in records:
        if record.id in desk.turn.gone or record.role == "assistant":
            continue
        for shown, clause in _stated(record, desk):
            one = Found(record, shown, read_fact(clause, desk.language), record.told_by(desk.speaker))
            known = current.get((one.own, one.fact.flat))
            if known is None or known.when < one.when:
                current[one.own, one.fact.flat] = one
    return list(current.values())


def said_found(step: str, calls: tuple[Call, ...], desk: Desk) -> list[Found]:
    """What the person said in conversation, without what they wanted forgotten afterwards."""
    said = _entries_found(_hits(step, len(calls) - 1, desk), desk)
    taken = [(_when(record), what) for record in _hits(f"{step}_taken", 1, desk) for what in _taken(record, desk)]
    return [one for one in said if not any(one.when < when and names_all(what, one.fact) for when, what in taken)]


def _taken(record: Record, desk: Desk) -> Iterator[Question]:
    """What a message wanted forgotten."""
    language = detect(record.text, desk.language.code)
    if record.role == "assistant" or record.text.strip() in desk.turn.said:
        return
    for intent in understand(record.text, language, desk.turn.now):
        if isinstance(intent, Forget):
            yield read_question(intent.what, language, plain=True)


def _stated(record: Record, desk: Desk) -> Iterator[tuple[str, str]]:
    """The statements in a record: of a message only what states something, of a long entry its sentences.

    Each as it is shown and as it is read: a clause that cannot stand alone is shown with its sentence.
    """
    language = detect(record.text, desk.language.code)
    if record.kind == "message":
        here = record.text.strip() in desk.turn.said
        texts = [] if here else list(statements(record.text, language, desk.turn.now))
    elif len(record.text) > _LONG_TEXT or record.kind == "block":
        text = record.text[:_LONGEST_ENTRY]
        texts = [text[start:end].strip() for start, end in sentences(text, language)]
    else:
        texts = [] if is_question(record.text, language) else [record.text]
    for text in texts:
        for clause in clauses(text, language):
            yield (clause if language.spaced else text), clause


# ------------------------------------------------------------------------------------------------------ telling it


def ask(asked: str, desk: Desk) -> Step:
    """Entries that search finds first; then the newest entries and what the person said in conversation.

    The newest are read as they stand: a full text index misses the parts of a long word (Nuss in Nussallergie).
    """
    question = read_question(asked, desk.language)
    if not question.terms:
        return unknown(desk)
    wanted = queries(question.words, question.concepts, desk.language) or (asked[:200],)
    first = _searches("find", wanted, desk, domain="archival_memory")
    newest = desk.call("newest0", "search", query="", domain="archival_memory", limit=_NEWEST)
    together = bool(question.concepts & _SHARED)
    if calls := desk.pending(*first, *([newest] if together else ())):
        return calls
    stored = [*_hits("find", len(first), desk), *(_hits("newest", 1, desk) if together else ())]
    if lines := _tell(_entries_found(stored, desk), question, desk):
        return lines
    said = search_said("heard", wanted, desk)
    if calls := desk.pending(newest, *said):
        return calls
    entries = _entries_found([*_hits("find", len(first), desk), *_hits("newest", 1, desk)], desk)
    heard = said_found("heard", said, desk)
    return (
        _tell(entries, question, desk)
        or _tell(heard, question, desk)
        or _of_others([*entries, *heard], asked, desk)
        or _slips(entries, question, desk)
        or unknown(desk)
    )


def unknown(desk: Desk) -> Lines:
    """Nothing was found."""
    return Lines(desk.language.say("unknown"), beyond=True)


def _tell(found: list[Found], question: Question, desk: Desk) -> Lines | None:
    """The best of what was found, the newest where statements contradict each other."""
    fitting = [(one, judged) for one in found if (judged := fit(question, one.fact))]
    own = [(one, judged) for one, judged in fitting if one.own]
    full = [(one, judged) for one, judged in own if judged.full]
    pool = full or own or [(one, judged) for one, judged in fitting if judged.full]
    if not pool:
        return None
    best = max(judged for _, judged in pool)
    newest: dict[str, Found] = {}
    older: dict[str, Found] = {}
    for one in sorted((one for one, judged in pool if judged == best), key=lambda one: one.when, reverse=True):
        if newest.setdefault(one.fact.key, one) is not one:
            older.setdefault(one.fact.key, one)
    together = question.kind != "count" and (question.concepts & _SHARED or len(question.terms) == 1)
    return _say(list(newest.values())[: _SHOWN if together else 1], older, desk, full=best.full)


def _of_others(found: list[Found], asked: str, desk: Desk) -> Lines | None:
    """What somebody else said of themselves, where it is asked for by their name ("Annie's cat")."""
    whose = desk.language.search("theirs", asked)
    if whose is None:
        return None
    own = f"{asked[: whose.start()]}{desk.language.my}{asked[whose.end() :]}"
    name = whose["name"].casefold()
    theirs = [one for one in found if not one.own and name in desk.name(one.record).casefold().split()]
    return _tell(theirs, read_question(own, desk.language), desk)


def _slips(found: list[Found], question: Question, desk: Desk) -> Lines | None:
    """The newest of one's own statements that would answer if a word of the question were misspelt."""
    near = [one for one in found if one.own and misspelt(question, one.fact)]
    return _say([max(near, key=lambda one: one.when)], {}, desk, full=False) if near else None


def _say(shown: list[Found], older: dict[str, Found], desk: Desk, *, full: bool) -> Lines:
    say = desk.language.say
    if len(shown) == 1:
        parts = [_one(shown[0], desk)]
    else:
        parts = [say("told_list"), *(f"- {_listed(one, desk)}" for one in shown)]
    if not full:
        parts.insert(0, say("nearest"))
    parts += [
        say("earlier", fact=desk.language.shown(past.text), source=desk.source(past.record))
        for key, past in older.items()
        if past.own and any(one.fact.key == key for one in shown)
    ]
    return Lines("\n".join(parts), beyond=not full)


def _quoted(one: Found, desk: Desk) -> str:
    return desk.language.quote(" ".join(one.text[:_LONG_TEXT].split()))


def _turned(one: Found, desk: Desk) -> str:
    """In the language it was said in; another language than the answer's is quoted."""
    return desk.language.shown(one.text) if one.fact.language.code == desk.language.code else _quoted(one, desk)


def _one(one: Found, desk: Desk) -> str:
    language, source = desk.language, desk.source(one.record)
    if one.record.kind == "block":
        return language.say("noted", fact=_quoted(one, desk), source=source)
    if not one.own:
        return language.say("other_told", speaker=desk.name(one.record), fact=_quoted(one, desk), source=source)
    turned = _turned(one, desk)
    flows = language.begins("flowing", turned) is not None
    return language.say("told" if flows else "told_colon", fact=turned, source=source)


def _listed(one: Found, desk: Desk) -> str:
    words = _turned(one, desk) if one.own else f"{desk.name(one.record)}: {_quoted(one, desk)}"
    return f"{words}{desk.source(one.record)}"
