"""Reminders and tasks: the calls, and what is said of what came of them."""

from typing import Any

from bot.models.offline.desk import Desk, Lines, Step
from bot.models.offline.intents import AddTask, Agenda, Finish, ListReminders, ListTasks, Remind
from bot.models.offline.text import one_line

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
        case Finish():
            return _finish(intent, desk)


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


def _finish(intent: Finish, desk: Desk) -> Step:
    """The one open task or reminder that is meant; where that is not clear nothing is done."""
    needed = tuple(tool for tool in ("tasks", "reminders") if tool in desk.turn.tools)
    if not needed:
        desk.need("tasks")
    if calls := desk.pending(tuple(desk.call(tool, tool, operation="list") for tool in needed)):
        return calls
    parts = intent.what.casefold().split()
    fitting = [
        (tool, row)
        for tool in needed
        for row in _rows(desk, tool)
        if all(part in _text(row, "text").casefold() for part in parts)
    ]
    if len(fitting) != 1:
        return Lines(desk.language.agenda.not_found.format(text=desk.language.phrases.quote.format(intent.what[:100])))
    tool, row = fitting[0]
    if calls := desk.pending((desk.call("done", tool, operation="done", which=_text(row, "id")),)):
        return calls
    return Lines(desk.language.agenda.finished.format(text=_text(desk.data("done"), "text")))


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
