"""What a sentence wants of reminders, tasks and events. Pure: a text goes in, an intent comes out, or nothing."""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from bot.models.offline.language import Language
from bot.when import find_when
from memory.errors import StoreError

_MARK = r"[:.]\d\d(?: ?[ap]m)?|時(?:半|\d{1,2}分)?| ?[ap]m| ?uhr|"
_FROM_TO = re.compile(
    rf"(?:\b(?:from|von|at|um) )?(?<![0-9A-Za-z:.-])(?P<hour>\d{{1,2}})(?P<mark>{_MARK})"
    rf" ?(?:to|until|till|bis|-|–|から) ?(?P<hour2>\d{{1,2}})(?P<mark2>{_MARK})(?:まで)?(?![0-9A-Za-z:-])",
    re.IGNORECASE,
)
_TRAILING = " \t\n.!。！…:?？"


@dataclass(frozen=True)
class Remind:
    """Something to be told at a time; `when` in the person's words."""

    text: str
    when: str


@dataclass(frozen=True)
class ListReminders:
    """What the person is to be reminded of."""


@dataclass(frozen=True)
class AddTask:
    title: str


@dataclass(frozen=True)
class ListTasks:
    """What the person wants to do."""


@dataclass(frozen=True)
class AddEvent:
    """Something that happens at a time; `when` in the person's words."""

    title: str
    when: str
    ends: str = ""


@dataclass(frozen=True)
class ListEvents:
    """What comes in the person's calendar."""


@dataclass(frozen=True)
class Finish:
    """A task or reminder is done."""

    what: str


@dataclass(frozen=True)
class Cancel:
    """A task, a reminder or an event is not wanted any more."""

    what: str


@dataclass(frozen=True)
class Unclear:
    """What is missing of a wish is asked for: by a field of `AgendaWords`."""

    question: str


Agenda: TypeAlias = Remind | ListReminders | AddTask | ListTasks | AddEvent | ListEvents | Finish | Cancel | Unclear


def wish(sentence: str, language: Language, now: datetime) -> Agenda | None:
    """What is wanted; None where a sentence wants nothing of the kind."""
    agenda = language.agenda
    if agenda.reminders.match(sentence):
        return ListReminders()
    if agenda.tasks.match(sentence):
        return ListTasks()
    if agenda.events.match(sentence):
        return ListEvents()
    for remind in agenda.remind:
        if (found := remind.match(sentence)) and _is_time(found.groupdict().get("first"), now):
            said = " ".join(filter(None, found.groups()))
            return _timed(said, language, now, Remind, ("remind_when", "remind_what"))
    for event in agenda.event:
        if found := event.match(sentence):
            said, ends = _without_end(found["what"])
            made = functools.partial(AddEvent, ends=ends)
            return _timed(said, language, now, made, ("event_when", "event_what"))
    return _named(sentence, language)


def _named(sentence: str, language: Language) -> Agenda | None:
    """What is about something by its name alone."""
    agenda = language.agenda
    kinds: tuple[tuple[tuple[re.Pattern[str], ...], Callable[[str], Agenda]], ...] = (
        (agenda.task, AddTask),
        (agenda.done, Finish),
        (agenda.cancel, Cancel),
    )
    for patterns, kind in kinds:
        for pattern in patterns:
            if (found := pattern.match(sentence)) and (what := found["what"].strip(_TRAILING)):
                return kind(what)
    return None


def _without_end(said: str) -> tuple[str, str]:
    """What is said of an event without "to 22:00" of "from 20:00 to 22:00", and that end; empty where there is none."""
    found = _FROM_TO.search(said)
    if found is None or not (found["mark"] or found["mark2"]):
        return said, ""
    begin = f"{found['hour']}{found['mark'] or _half_of_day(found['mark2']) or ':00'}"
    return f"{said[: found.start()]}{begin}{said[found.end() :]}", f"{found['hour2']}{found['mark2'] or ':00'}"


def _half_of_day(mark: str) -> str:
    """ "pm" of what says it of the second time alone: from 8 to 10pm."""
    return mark if mark.strip().casefold()[:1] in ("a", "p") else ""


def _is_time(first: str | None, now: datetime) -> bool:
    """Whether what stands before a wish is nothing but its time; nothing may stand there, too."""
    if first is None:
        return True
    try:
        found = find_when(first, now, "UTC")
    except StoreError:
        return True
    return found is not None and not any(letter.isalnum() for letter in found.left)


def _timed(
    said: str, language: Language, now: datetime, kind: Callable[[str, str], Agenda], questions: tuple[str, str]
) -> Agenda:
    """Words with a time in them; `questions` ask when, and what."""
    try:
        found = find_when(said, now, "UTC")
    except StoreError:  # a day that does not exist: the tool says so
        return kind(said, said)
    if found is None:
        return Unclear(questions[0])
    lead = language.agenda.lead
    text = lead.sub("", lead.sub("", found.rest)).strip()
    return kind(text, found.said) if text else Unclear(questions[1])
