"""What a sentence wants of reminders, tasks and events. Pure: a text goes in, an intent comes out, or nothing."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from bot.models.offline.language import Language
from bot.when import find_when
from memory.errors import StoreError

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
            return _timed(found["what"], language, now, AddEvent, ("event_when", "event_what"))
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
