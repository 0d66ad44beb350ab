"""Everything else a person may want: remember, forget, list, look back, and small talk."""

from datetime import datetime

from bot.models.base import Call
from bot.models.offline.answers import ask
from bot.models.offline.content import query
from bot.models.offline.desk import Desk, Failed, Lines, Saved, Step
from bot.models.offline.facts import fit, read_fact, read_question
from bot.models.offline.intents import (
    Ask,
    Forget,
    Intent,
    ListKnown,
    LookBack,
    Remember,
    Say,
    Statement,
    TooLong,
)
from bot.models.offline.records import Record, read_flag, read_list, read_number, read_one
from bot.models.offline.text import LONGEST, one_line

_MOST_DELETED = 20
_MOST_LISTED = 30
_MOST_SAID = 12
_LONGEST_LINE = 160


def act(intent: Intent, desk: Desk) -> Step:
    """The next step of one intent: calls that are missing, or what there is to say."""
    try:
        match intent:
            case Remember():
                return _remember(intent, desk)
            case Ask():
                return ask(intent, desk)
            case Forget():
                return _forget(intent, desk)
            case ListKnown():
                return _list_known(desk)
            case LookBack():
                return _look_back(intent, desk)
            case Say(phrase, friendly):
                hint = friendly or phrase in ("cannot", "help")
                return Lines(str(getattr(desk.language.phrases, phrase)), friendly=friendly, hint=hint)
            case TooLong(length):
                return Lines(desk.language.phrases.too_long.format(length=length, limit=LONGEST))
            case Statement():
                return Lines(desk.language.phrases.statement, friendly=True, hint=True)
    except Failed as failed:
        return failed.lines


def _remember(intent: Remember, desk: Desk) -> Step:
    desk.need("recall")
    call = desk.call("save", "recall", operation="insert", content=intent.fact)
    if calls := desk.pending((call,)):
        return calls
    data, phrases = desk.data("save"), desk.language.phrases
    fact = desk.turned(intent.fact)
    if read_flag(data, "already"):
        known = read_one(data)
        return Lines(phrases.already.format(fact=fact, source=desk.source(known) if known else ""))
    return Saved(phrases.saved.format(fact=fact), fact=fact)


def _forget(intent: Forget, desk: Desk) -> Step:
    desk.need("search")
    desk.need("recall")
    question = read_question(intent.what, desk.language, plain=True)
    wanted = query(question.words, (), desk.language)
    if calls := desk.pending((desk.call("find", "search", query=wanted, domain="archival_memory", limit=50),)):
        return calls
    hits = read_list(desk.data("find"), "hits", "entry")
    if hits is None:
        raise desk.unreadable()
    meant = [
        hit
        for hit in hits
        if hit.kind == "entry"
        and hit.id
        and hit.id not in desk.turn.gone
        and fit(question, read_fact(hit.text, desk.language), strict=True)
    ]
    own = [hit for hit in meant if hit.told_by(desk.speaker)][:_MOST_DELETED]
    if not own:
        return Lines(_nothing_to_forget(intent, meant, desk))
    desk.turn.gone.update(hit.id for hit in own)
    calls = tuple(_delete(hit, number, desk) for number, hit in enumerate(own))
    return desk.pending(calls) or _forgotten(intent, own, desk)


def _nothing_to_forget(intent: Forget, meant: list[Record], desk: Desk) -> str:
    phrases = desk.language.phrases
    if meant:
        return phrases.forget_others.format(speaker=desk.name(meant[0]))
    return phrases.forget_nothing.format(what=phrases.quote.format(one_line(intent.what, _LONGEST_LINE)))


def _delete(hit: Record, number: int, desk: Desk) -> Call:
    return desk.call(f"drop{number}", "recall", operation="delete", label=hit.id, forget_words=True)


def _forgotten(intent: Forget, own: list[Record], desk: Desk) -> Lines:
    """What is gone, and what could not be deleted. The words themselves are not said once more."""
    phrases, gone, failures, messages = desk.language.phrases, 0, [], 0
    for number, _hit in enumerate(own):
        try:
            data = desk.data(f"drop{number}")
        except Failed as failed:
            failures.append(failed.lines.text)
            continue
        gone += 1
        messages += read_number(data, "messages")
    parts = []
    if gone:
        parts.append(phrases.forgot.format(what=phrases.quote.format(one_line(intent.what, _LONGEST_LINE))))
    if messages:
        parts.append(phrases.forgot_messages.format(count=messages))
    return Lines("\n".join([*parts, *dict.fromkeys(failures)]))


def _list_known(desk: Desk) -> Step:
    desk.need("recall")
    if calls := desk.pending((desk.call("list", "recall", operation="read"),)):
        return calls
    entries = read_list(desk.data("list"), "entries", "entry")
    if entries is None:
        raise desk.unreadable()
    phrases = desk.language.phrases
    entries = tuple(entry for entry in entries if entry.id not in desk.turn.gone)
    own = [entry for entry in entries if entry.told_by(desk.speaker)]
    lines = [f"- {desk.turned(entry.text, 300)}{desk.source(entry)}" for entry in own[:_MOST_LISTED]]
    parts = [phrases.known, *lines] if own else [phrases.known_none]
    if others := len(entries) - len(own):
        parts.append(phrases.known_others.format(count=others))
    return Lines("\n".join(parts))


def _look_back(intent: LookBack, desk: Desk) -> Step:
    desk.need("search")
    span, phrases = intent.span, desk.language.phrases
    call = desk.call(
        "past",
        "search",
        query=" ".join(intent.topic),
        domain="conversations",
        since=span.since,
        until=span.until,
        limit=_MOST_SAID * 2,
    )
    if calls := desk.pending((call,)):
        return calls
    hits = read_list(desk.data("past"), "hits", "message")
    if hits is None:
        raise desk.unreadable()
    heard = [hit for hit in reversed(hits) if hit.text.strip() not in desk.turn.said]
    heard = sorted(heard, key=lambda hit: hit.at or datetime.min.replace(tzinfo=desk.turn.now.tzinfo))[-_MOST_SAID:]
    days = span.written(desk.language.calendar)
    if not heard:
        return Lines(phrases.talked_none.format(span=days))
    several = span.first != span.last
    return Lines("\n".join([phrases.talked.format(span=days), *(_said_line(hit, desk, several) for hit in heard)]))


def _said_line(hit: Record, desk: Desk, several: bool) -> str:
    when = hit.at.strftime("%m-%d %H:%M " if several else "%H:%M ") if hit.at else ""
    who = desk.language.phrases.myself if hit.role == "assistant" else desk.name(hit)
    return f"- {when}{who + ': ' if who else ''}{one_line(hit.text, _LONGEST_LINE)}"
