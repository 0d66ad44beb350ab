"""Questions: what is found in memory, chosen and said with its source; or honestly that nothing was found."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.models.offline.content import query
from bot.models.offline.desk import Desk, Lines, Step
from bot.models.offline.facts import Fact, Fit, Question, fit, read_fact, read_question
from bot.models.offline.intents import Ask, is_question, statements
from bot.models.offline.records import Record, read_list, rows_searched
from bot.models.offline.text import detect, sentences

_SHOWN = 5
_HITS = 20
_LONG_TEXT = 300
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_SHARED = frozenset({"allergy", "eat", "drink", "like", "dislike", "pet", "family", "health", "language", "partner"})
"""Ideas that several statements may answer together."""


@dataclass(frozen=True)
class Found:
    """A statement in memory, judged against the question."""

    record: Record
    text: str
    fact: Fact
    fit: Fit
    own: bool

    @property
    def at(self) -> datetime:
        return self.record.at or _LONG_AGO


def ask(intent: Ask, desk: Desk) -> Step:
    """Entries that search finds first; then the newest entries and what the person said in conversation."""
    question = read_question(intent.question, desk.language)
    if not question.terms:
        return unknown(desk, {})
    desk.need("search")
    wanted = query(question.words, question.concepts, desk.language) or intent.question[:200]
    first = desk.call("find", "search", query=wanted, domain="archival_memory", limit=_HITS)
    if calls := desk.pending((first,)):
        return calls
    entries = desk.data("find")
    if lines := _tell(_judge(entries, question, desk), question, desk):
        return lines
    more = [desk.call("heard", "search", query=wanted, domain="conversations", author="me", limit=_HITS)]
    if "recall" in desk.turn.tools:
        more.append(desk.call("newest", "recall", operation="read"))
    if calls := desk.pending(tuple(more)):
        return calls
    messages = desk.data("heard")
    for part in ([_newest(question, desk)] if len(more) > 1 else []) + [_judge(messages, question, desk)]:
        if lines := _tell(part, question, desk):
            return lines
    return unknown(desk, {**rows_searched(messages), **rows_searched(entries)})


def unknown(desk: Desk, searched: dict[str, int]) -> Lines:
    phrases = desk.language.phrases
    looked = ""
    if searched:
        entries, messages = searched.get("archival", 0), searched.get("messages", 0)
        looked = phrases.looked.format(entries=entries, messages=messages)
    return Lines(phrases.unknown.format(looked=looked), hint=True)


def _newest(question: Question, desk: Desk) -> list[Found]:
    """The newest entries as they stand: a full text index misses the parts of a long word (Nuss in Nussallergie)."""
    return _match(read_list(desk.data("newest"), "entries", "entry") or (), question, desk)


def _judge(data: object, question: Question, desk: Desk) -> list[Found]:
    records = read_list(data, "hits", "entry")
    if records is None:
        raise desk.unreadable()
    return _match(records, question, desk)


def _match(records: Iterable[Record], question: Question, desk: Desk) -> list[Found]:
    found = []
    for record in records:
        if record.id in desk.turn.gone or record.role == "assistant":
            continue
        for text in _stated(record, desk):
            fact = read_fact(text, desk.language)
            if judged := fit(question, fact):
                found.append(Found(record, text, fact, judged, record.told_by(desk.speaker)))
    return found


def _stated(record: Record, desk: Desk) -> Iterable[str]:
    """The statements in a record: of a message only what states something, of a long entry its sentences."""
    language = detect(record.text, desk.language)
    if record.kind == "message":
        return () if record.text.strip() in desk.turn.said else statements(record.text, language, desk.turn.now)
    if len(record.text) > _LONG_TEXT or record.kind == "block":
        text = record.text[:4_000]
        return [text[start:end].strip() for start, end in sentences(text)]
    return () if is_question(record.text, language) else (record.text,)


def _tell(found: list[Found], question: Question, desk: Desk) -> Lines | None:
    """The best of what was found, the newest where statements contradict each other."""
    own = [one for one in found if one.own]
    full = [one for one in own if one.fit.full]
    pool = full or own or [one for one in found if one.fit.full]
    if not pool:
        return None
    best = max(one.fit for one in pool)
    chosen = sorted((one for one in pool if one.fit == best), key=lambda one: (one.at, one.record.id), reverse=True)
    newest: dict[str, Found] = {}
    older: dict[str, Found] = {}
    for one in chosen:
        if one.fact.key not in newest:
            newest[one.fact.key] = one
        elif one.fact.flat != newest[one.fact.key].fact.flat:
            older.setdefault(one.fact.key, one)
    shown = list(newest.values())[: _SHOWN if question.concepts & _SHARED or len(question.terms) == 1 else 1]
    return _say(shown, older, best, desk)


def _say(shown: list[Found], older: dict[str, Found], best: Fit, desk: Desk) -> Lines:
    phrases = desk.language.phrases
    if len(shown) == 1:
        parts = [_one(shown[0], desk)]
    else:
        parts = [phrases.told_list, *(f"- {_listed(one, desk)}" for one in shown)]
    if not best.full:
        parts.insert(0, phrases.nearest)
    parts += [
        phrases.earlier.format(fact=desk.turned(past.text), source=desk.source(past.record))
        for key, past in older.items()
        if any(one.fact.key == key for one in shown) and past.own
    ]
    return Lines("\n".join(parts))


def _one(one: Found, desk: Desk) -> str:
    phrases, source = desk.language.phrases, desk.source(one.record)
    if one.record.kind == "block":
        return phrases.noted.format(fact=phrases.quote.format(one.text[:_LONG_TEXT]), source=source)
    if not one.own:
        quoted = phrases.quote.format(" ".join(one.text[:_LONG_TEXT].split()))
        return phrases.other_told.format(speaker=desk.name(one.record), fact=quoted, source=source)
    turned = _turned(one, desk)
    return (phrases.told if desk.flows(turned) else phrases.told_colon).format(fact=turned, source=source)


def _listed(one: Found, desk: Desk) -> str:
    if not one.own:
        quoted = desk.language.phrases.quote.format(" ".join(one.text[:_LONG_TEXT].split()))
        return f"{desk.name(one.record)}: {quoted}{desk.source(one.record)}"
    return f"{_turned(one, desk)}{desk.source(one.record)}"


def _turned(one: Found, desk: Desk) -> str:
    """In the language it was said in; another language than the answer's is quoted."""
    if one.fact.language.code == desk.language.code:
        return desk.turned(one.text)
    return desk.language.phrases.quote.format(" ".join(one.text[:_LONG_TEXT].split()))
