"""What a person may want, act by act: the calls it needs, and what is said of what came of them."""

from datetime import UTC, datetime
from typing import Any

from bot.models.base import Call
from bot.models.offline.answers import ask, said_found, search_said, unknown
from bot.models.offline.intents import Ask, Clock, Forget, Intent, ListKnown, Remember, Say, Statement, Sum, TooLong
from bot.models.offline.statements import names_all, read_fact, read_question
from bot.models.offline.text import LONGEST, date_words, queries
from bot.models.offline.turn import Desk, Failed, Lines, Record, Saved, Step, read_record, text_of
from bot.models.offline.wishes import AddEvent, AddTask, Cancel, Finish, Listing, LookBack, Remind, Snooze, Unclear
from sources.text import one_line

_MOST_LISTED, _MOST_READ, _MOST_SAID, _MOST_ROWS = 30, 50, 12, 40
_MOST_DELETED = 20
_LONGEST_LINE = 160
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_NAMED = 100
"""Characters of what somebody named that are said back."""


def act(intent: Intent, desk: Desk) -> Step:
    """The next step of one intent: calls that are missing, or what there is to say."""
    try:
        return _act(intent, desk)
    except Failed as failed:
        return failed.lines


def _act(intent: Intent, desk: Desk) -> Step:
    match intent:
        case Remember(fact):
            return _remember(fact, desk)
        case Ask(question):
            return ask(question, desk)
        case Forget(what):
            return _forget(what, desk)
        case ListKnown():
            return _list_known(desk)
        case LookBack():
            return _look_back(intent, desk)
        case Clock(wanted):
            now = desk.turn.now
            weekday = desk.language.say("weekdays").split()[now.weekday()]
            filled = {"time": f"{now:%H:%M}", "day": date_words(now.date(), desk.language), "weekday": weekday}
            return desk.say(f"clock_{wanted}", zone=desk.turn.zone, **filled)
        case Sum(expression):
            return _sum(expression, desk)
        case Say("who"):
            who = desk.language.say("who", name=desk.turn.agent or "Carina")
            return Lines(f"{who}\n{desk.language.say('help')}")
        case Say(phrase, friendly, text):
            said = desk.language.say(phrase, text=text)
            return Lines(said, friendly=friendly, beyond=phrase == "cannot")
        case TooLong(length):
            return desk.say("too_long", length=length, limit=LONGEST)
        case Statement():
            return Lines(desk.language.say("statement"), friendly=True)
        case _:
            return _agenda(intent, desk)


def _remember(fact: str, desk: Desk) -> Step:
    if calls := desk.pending(desk.call("save", "recall", operation="insert", content=fact)):
        return calls
    data, shown = desk.data("save"), desk.language.shown(fact)
    if isinstance(data, dict) and data.get("already") is True:
        known = read_record(data)
        return desk.say("already", fact=shown, source=desk.source(known) if known else "")
    return Saved(desk.language.say("saved", fact=shown), fact=shown)


def _sum(expression: str, desk: Desk) -> Step:
    if "calculate" not in desk.turn.tools:
        return unknown(desk)
    if calls := desk.pending(desk.call("sum", "calculate", expression=expression)):
        return calls
    return Lines(f"{expression} = {text_of(desk.data('sum'), 'value')}")


def _list_known(desk: Desk) -> Step:
    call = desk.call("list", "search", query="", domain="archival_memory", limit=_MOST_READ)
    if calls := desk.pending(call):
        return calls
    entries, say = desk.records("list", "entry"), desk.language.say
    unread = desk.searched("list", "archival") - len(entries)
    entries = tuple(entry for entry in entries if entry.id not in desk.turn.gone)
    own = [entry for entry in entries if entry.told_by(desk.speaker)]
    lines = [f"- {desk.language.shown(entry.text, 300)}{desk.source(entry)}" for entry in own[:_MOST_LISTED]]
    counted = {
        "known_more": len(own) - _MOST_LISTED,
        "known_others": len(entries) - len(own),
        "known_older": unread,
    }
    more = [say(phrase, count=count) for phrase, count in counted.items() if count > 0]
    return Lines("\n".join([say("known" if own else "known_none"), *lines, *more]))


def _look_back(intent: LookBack, desk: Desk) -> Step:
    query = " ".join(intent.topic)
    call = desk.call("past", "search", query=query, domain="conversations", limit=_MOST_SAID * 2, **intent.span.bounds)
    if calls := desk.pending(call):
        return calls
    heard = [hit for hit in reversed(desk.records("past", "message")) if hit.text.strip() not in desk.turn.said]
    heard = sorted(heard, key=lambda hit: hit.at or _LONG_AGO)[-_MOST_SAID:]
    days, several = intent.span.words(desk.language), intent.span.first != intent.span.last
    if not heard:
        return desk.say("talked_none", span=days)
    lines = (_said_line(hit, desk, several=several) for hit in heard)
    return Lines("\n".join([desk.language.say("talked", span=days), *lines]))


def _said_line(hit: Record, desk: Desk, *, several: bool) -> str:
    at = hit.at.astimezone(desk.turn.now.tzinfo) if hit.at else None
    when = at.strftime("%m-%d %H:%M " if several else "%H:%M ") if at else ""
    who = desk.turn.agent or desk.language.say("myself") if hit.role == "assistant" else desk.name(hit)
    who = desk.language.say("you") if hit.role != "assistant" and hit.mine else who
    return f"- {when}{who + ': ' if who else ''}{one_line(hit.text, _LONGEST_LINE)}"


# --------------------------------------------------------------------------------------------------------- forgetting


def _forget(what: str, desk: Desk) -> Step:
    """Find the entries that name it, delete the person's own, and look what they said of it besides."""
    question = read_question(what, desk.language, plain=True)
    wanted = queries(question.words, (), desk.language)[:1] or (what[:200],)
    if calls := desk.pending(desk.call("find", "search", query=wanted[0], domain="archival_memory", limit=50)):
        return calls
    meant = [hit for hit in desk.records("find", "entry") if hit.kind == "entry" and hit.id not in desk.turn.gone]
    meant = [hit for hit in meant if hit.id and names_all(question, read_fact(hit.text, desk.language))]
    own = [hit for hit in meant if hit.told_by(desk.speaker)][:_MOST_DELETED]
    desk.turn.gone.update(hit.id for hit in own)
    if calls := desk.pending(*(_delete(hit, number, desk) for number, hit in enumerate(own))):
        return calls
    said = search_said("left", wanted, desk)
    if calls := desk.pending(*said):
        return calls
    left = {one.record.id for one in said_found("left", said, desk) if names_all(question, one.fact)}
    lines = _outcome(desk.language.quote(one_line(what, _LONGEST_LINE)), own, meant, desk, left=bool(left))
    return Lines("\n".join([*lines, *([desk.language.say("forget_left", count=len(left))] if left else ())]))


def _delete(hit: Record, number: int, desk: Desk) -> Call:
    return desk.call(f"drop{number}", "recall", operation="delete", label=hit.id, forget_words=True)


def _outcome(what: str, own: list[Record], meant: list[Record], desk: Desk, *, left: bool) -> list[str]:
    """What is gone, and what could not be deleted. The words themselves are not said once more."""
    say = desk.language.say
    if meant and not own:
        return [say("forget_others", speaker=desk.name(meant[0]))]
    if not own:
        return [say("forget_unstored" if left else "forget_nothing", what=what)]
    gone, failures, messages = 0, [], 0
    for number in range(len(own)):
        try:
            messages += desk.number(f"drop{number}", "messages")
            gone += 1
        except Failed as failed:
            failures.append(failed.lines.text)
    parts = [say("forgot", what=what)] if gone else []
    parts += [say("forgot_messages", count=messages)] if messages else []
    return [*parts, *dict.fromkeys(failures)]


# ------------------------------------------------------------------------------------------- reminders, tasks, events


def _agenda(intent: Intent, desk: Desk) -> Step:
    match intent:
        case Remind():
            return _remind(intent, desk)
        case Listing(tool, days):
            return _listing(tool, days, desk)
        case AddTask(title):
            return _added("added", desk.call("add", "tasks", operation="add", title=title), desk)
        case AddEvent(title, when, ends):
            given = {"title": title, "when": when, "ends": ends}
            return _added("event_added", desk.call("add", "events", operation="add", **given), desk)
        case Finish(what, perhaps):
            return _end(what, "done", ("tasks", "reminders"), desk, perhaps=perhaps)
        case Cancel(what):
            return _end(what, "cancel", ("tasks", "reminders", "events"), desk)
        case Snooze(what, minutes):
            return _end(what, "snooze", ("reminders",), desk, minutes=minutes)
        case Unclear(question):
            return desk.say(question)
        case _:
            return Lines("")


def _added(phrase: str, call: Call, desk: Desk) -> Step:
    if calls := desk.pending(call):
        return calls
    data = desk.data("add")
    return desk.say(phrase, when=desk.when(data), text=desk.what(data))


def _remind(intent: Remind, desk: Desk) -> Step:
    if intent.instead:  # a failure here is none of the new reminder
        drop = desk.call("instead", "reminders", operation="cancel", which=intent.instead)
        if calls := desk.pending(drop):
            return calls
    given = {"text": intent.text, "when": intent.when}
    step = _added("reminded", desk.call("add", "reminders", operation="set", **given), desk)
    note = text_of(desk.data("add"), "note") if isinstance(step, Lines) else ""
    return Lines(f"{step.text} {note}") if note and isinstance(step, Lines) else step


def _listing(tool: str, days: int, desk: Desk) -> Step:
    given = {"days": days} if days else {}
    if calls := desk.pending(desk.call(tool, tool, operation="list", **given)):
        return calls
    rows = desk.rows(tool, tool)[:_MOST_ROWS]
    lines = [f"- {' – '.join(filter(None, (desk.what(row), desk.when(row))))}" for row in rows]
    return Lines("\n".join([desk.language.say(f"{tool}_listed"), *lines])) if lines else desk.say(f"{tool}_none")


def _end(
    what: str, operation: str, tools: tuple[str, ...], desk: Desk, *, perhaps: bool = False, minutes: int = 0
) -> Step:
    """End or put off the one open task, reminder or event that is meant; else nothing is done."""
    needed = tuple(tool for tool in tools if tool in desk.turn.tools) or tools[:1]
    if calls := desk.pending(*(desk.call(tool, tool, operation="list") for tool in needed)):
        return calls
    parts = what.casefold().split()
    fitting: list[tuple[str, Any]] = [
        (tool, row)
        for tool in needed
        for row in desk.rows(tool, tool)
        if all(part in text_of(row, "text").casefold() for part in parts)
    ]
    if len(fitting) != 1 and perhaps:
        return Lines(desk.language.say("statement"), friendly=True)
    if len(fitting) != 1:
        return desk.say("not_found", text=desk.language.quote(what[:_NAMED]))
    tool, row = fitting[0]
    given = {"minutes": minutes} if minutes else {}
    if calls := desk.pending(desk.call("end", tool, operation=operation, which=text_of(row, "id"), **given)):
        return calls
    return desk.say({"done": "finished", "cancel": "cancelled"}.get(operation, "snoozed"), **_ended(desk, minutes))


def _ended(desk: Desk, minutes: int) -> dict[str, object]:
    return {"text": desk.what(desk.data("end")), "count": minutes}
