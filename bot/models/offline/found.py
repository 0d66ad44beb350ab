"""Statements in memory: looked for in entries and in conversation, read, and without what was taken back."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.models.base import Call
from bot.models.offline.desk import Desk
from bot.models.offline.facts import Fact, Question, clauses, read_fact, read_question
from bot.models.offline.fitting import names_all
from bot.models.offline.intents import Forget, is_question, statements, understand
from bot.models.offline.records import Record, read_list
from bot.models.offline.text import detect, sentences

_HITS = 20
_NEWEST = 50
_SAID = "constellation_messages"  # what somebody told one agent, or wanted forgotten, another knows too
_LONG_TEXT = 300
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_TAKING_BACK = "forget delete erase remove vergiss vergessen lösche streiche entferne 忘れて 消して 削除"


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


def search_entries(step: str, wanted: Iterable[str], desk: Desk) -> tuple[Call, ...]:
    """Searches in what was stored."""
    return _searches(step, wanted, desk, domain="archival_memory")


def newest_entries(step: str, desk: Desk) -> tuple[Call, ...]:
    """The newest entries as they stand: a full text index misses the parts of a long word (Nuss in Nussallergie)."""
    return (desk.call(f"{step}0", "search", query="", domain="archival_memory", limit=_NEWEST),)


def search_said(step: str, wanted: Iterable[str], desk: Desk) -> tuple[Call, ...]:
    """Searches in what the person said in conversation, and for what they wanted forgotten."""
    taken = desk.call(f"{step}_taken0", "search", query=_TAKING_BACK, domain=_SAID, author="me", limit=50)
    return (*_searches(step, wanted, desk, domain=_SAID, author="me"), taken)


def _searches(step: str, wanted: Iterable[str], desk: Desk, **conditions: str) -> tuple[Call, ...]:
    return tuple(
        desk.call(f"{step}{number}", "search", query=query, limit=_HITS, **conditions)
        for number, query in enumerate(wanted)
    )


def hits(step: str, calls: tuple[Call, ...], desk: Desk) -> Iterator[Record]:
    """What the searches of one step found, each record once."""
    seen: set[str] = set()
    for number in range(sum(call.id.startswith(f"{desk.ident}_{step}") for call in calls)):
        records = read_list(desk.data(f"{step}{number}"), "hits", "entry")
        if records is None:
            raise desk.unreadable()
        yield from (record for record in records if record.id not in seen)
        seen.update(record.id for record in records)


def entries_found(records: Iterable[Record], desk: Desk) -> list[Found]:
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
    said = list(hits(step, calls[:-1], desk))
    taken = [
        (_when(record), what) for record in hits(f"{step}_taken", calls[-1:], desk) for what in _taken(record, desk)
    ]
    return [
        one
        for one in entries_found(said, desk)
        if not any(one.when < when and names_all(what, one.fact) for when, what in taken)
    ]


def _taken(record: Record, desk: Desk) -> Iterator[Question]:
    """What a message wanted forgotten."""
    language = detect(record.text, desk.language)
    if record.role == "assistant" or record.text.strip() in desk.turn.said:
        return
    for intent in understand(record.text, language, desk.turn.now):
        if isinstance(intent, Forget):
            yield read_question(intent.what, language, plain=True)


def _stated(record: Record, desk: Desk) -> Iterator[tuple[str, str]]:
    """The statements in a record: of a message only what states something, of a long entry its sentences.

    Each as it is shown and as it is read: a clause that cannot stand alone is shown with its sentence.
    """
    language = detect(record.text, desk.language)
    if record.kind == "message":
        if record.text.strip() in desk.turn.said:
            return
        texts = list(statements(record.text, language, desk.turn.now))
    elif len(record.text) > _LONG_TEXT or record.kind == "block":
        text = record.text[:4_000]
        texts = [text[start:end].strip() for start, end in sentences(text)]
    else:
        texts = [] if is_question(record.text, language) else [record.text]
    for text in texts:
        for clause in clauses(text, language):
            yield (clause if language.grammar.spaced else text), clause
