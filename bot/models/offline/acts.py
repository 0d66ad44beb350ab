"""What a person may want, act by act: remember, list, look back and small talk here, the rest elsewhere."""

from datetime import datetime

from bot.models.offline.agenda import agenda
from bot.models.offline.answers import ask
from bot.models.offline.desk import Desk, Failed, Lines, Saved, Step
from bot.models.offline.forgetting import forget
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
from bot.models.offline.records import Record, read_flag, read_list, read_one, rows_searched
from bot.models.offline.text import LONGEST, one_line

_MOST_LISTED = 30
_MOST_READ = 50
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
                return forget(intent, desk)
            case ListKnown():
                return _list_known(desk)
            case LookBack():
                return _look_back(intent, desk)
            case Say("who"):
                phrases = desk.language.phrases
                who = phrases.who.format(name=desk.turn.agent or "Carina")
                return Lines(f"{who}\n{phrases.help}", hint=True)
            case Say(phrase, friendly):
                hint = friendly or phrase in ("cannot", "help")
                return Lines(str(getattr(desk.language.phrases, phrase)), friendly=friendly, hint=hint)
            case TooLong(length):
                return Lines(desk.language.phrases.too_long.format(length=length, limit=LONGEST))
            case Statement():
                return Lines(desk.language.phrases.statement, friendly=True, hint=True)
            case _:
                return agenda(intent, desk)
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


def _list_known(desk: Desk) -> Step:
    desk.need("search")
    if calls := desk.pending((desk.call("list", "search", query="", domain="archival_memory", limit=_MOST_READ),)):
        return calls
    data = desk.data("list")
    entries = read_list(data, "hits", "entry")
    if entries is None:
        raise desk.unreadable()
    phrases = desk.language.phrases
    unread = rows_searched(data).get("archival", 0) - len(entries)
    entries = tuple(entry for entry in entries if entry.id not in desk.turn.gone)
    own = [entry for entry in entries if entry.told_by(desk.speaker)]
    lines = [f"- {desk.turned(entry.text, 300)}{desk.source(entry)}" for entry in own[:_MOST_LISTED]]
    parts = [phrases.known, *lines] if own else [phrases.known_none]
    if len(own) > _MOST_LISTED:
        parts.append(phrases.known_more.format(count=len(own) - _MOST_LISTED))
    if others := len(entries) - len(own):
        parts.append(phrases.known_others.format(count=others))
    if unread > 0:
        parts.append(phrases.known_older.format(count=unread))
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
