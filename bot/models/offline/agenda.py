"""Reminders, tasks and events: the calls, and what is said of what came of them."""

from typing import Any

from bot.models.offline.desk import Desk, Lines, Step
from bot.models.offline.text import one_line
from bot.models.offline.wishes import (
    AddEvent,
    AddTask,
    Agenda,
    Cancel,
    Finish,
    ListEvents,
    ListReminders,
    ListTasks,
    Remind,
    Unclear,
)

_LONGEST_LINE = 300
_MOST_LISTED = 40


def agenda(intent: Agenda, desk: Desk) -> Step:
    """The next step of one of these intents."""
    words = desk.language.agenda
    match intent:
        case Remind():
            return _remind(intent, desk)
        case ListReminders():
            return _list(desk, "reminders", words.listed, words.none)
        case ListTasks():
            return _list(desk, "tasks", words.tasks_listed, words.tasks_none)
        case AddTask(title):
            desk.need("tasks")
            if calls := desk.pending((desk.call("task", "tasks", operation="add", title=title[:300]),)):
                return calls
            return Lines(words.added.format(text=_text(desk.data("task"), "text")))
        case AddEvent():
            return _add_event(intent, desk)
        case ListEvents():
            return _list(desk, "events", words.events_listed, words.events_none)
        case Finish(what):
            return _end(what, desk, "done", words.finished)
        case Cancel(what):
            return _end(what, desk, "cancel", words.cancelled)
        case Unclear(question):
            return Lines(str(getattr(words, question)))


def _remind(intent: Remind, desk: Desk) -> Step:
    desk.need("reminders")
    call = desk.call("remind", "reminders", operation="set", text=intent.text[:1000], when=intent.when[:200])
    if calls := desk.pending((call,)):
        return calls
    data = desk.data("remind")
    said = desk.language.agenda.reminded.format(when=_text(data, "when"), text=_text(data, "text"))
    return Lines(" ".join(filter(None, (said, _text(data, "note")))))


def _list(desk: Desk, tool: str, above: str, none: str) -> Step:
    desk.need(tool)
    if calls := desk.pending((desk.call(tool, tool, operation="list"),)):
        return calls
    rows = _rows(desk, tool)
    lines = [f"- {_text(row, 'text')}{_when(row)}" for row in rows[:_MOST_LISTED]]
    return Lines("\n".join([above, *lines]) if lines else none)


def _add_event(intent: AddEvent, desk: Desk) -> Step:
    desk.need("events")
    given = {"title": intent.title[:300], "when": intent.when[:200], "ends": intent.ends[:200]}
    call = desk.call("event", "events", operation="add", **given)
    if calls := desk.pending((call,)):
        return calls
    data = desk.data("event")
    return Lines(desk.language.agenda.event_added.format(when=_text(data, "when"), text=_text(data, "text")))


def _end(what: str, desk: Desk, operation: str, said: str) -> Step:
    """End the one open task or reminder, or when it is cancelled event, that is meant; else nothing is done."""
    tools = ("tasks", "reminders", "events") if operation == "cancel" else ("tasks", "reminders")
    needed = tuple(tool for tool in tools if tool in desk.turn.tools)
    if not needed:
        desk.need("tasks")
    if calls := desk.pending(tuple(desk.call(tool, tool, operation="list") for tool in needed)):
        return calls
    parts = what.casefold().split()
    fitting = [
        (tool, row)
        for tool in needed
        for row in _rows(desk, tool)
        if all(part in _text(row, "text").casefold() for part in parts)
    ]
    if len(fitting) != 1:
        return Lines(desk.language.agenda.not_found.format(text=desk.language.phrases.quote.format(what[:100])))
    tool, row = fitting[0]
    if calls := desk.pending((desk.call("end", tool, operation=operation, which=_text(row, "id")),)):
        return calls
    return Lines(said.format(text=_text(desk.data("end"), "text")))


def _rows(desk: Desk, name: str) -> list[Any]:
    data = desk.data(name)
    rows = data.get(name) if isinstance(data, dict) else None
    if not isinstance(rows, list):
        raise desk.unreadable()
    return rows


def _when(row: object) -> str:
    when = _text(row, "when")
    return f" ({when})" if when else ""


def _text(row: object, name: str) -> str:
    value = row.get(name) if isinstance(row, dict) else None
    return one_line(value, _LONGEST_LINE) if isinstance(value, str) else ""
