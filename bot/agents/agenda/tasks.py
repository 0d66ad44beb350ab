"""Tasks as people and models refer to them: which one is meant, and what to change."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Protocol, TypeVar

from msgspec import Struct, field

from memory.agenda import tasks
from memory.agenda.tasks import Priority, Status, Task
from memory.store.clock import to_text
from memory.store.database import Tx, Value
from memory.store.errors import Refused
from memory.store.ids import SHORTEST, code
from scheduler.dates import find_when, read_when
from scheduler.triggers import DateTrigger
from sources.text import one_line
from texts import DAY_END, gettext_lazy, gettext_noop, join_lazy

T = TypeVar("T")
N = TypeVar("N", bound="HasId")

NONE = "none"
"""In place of a time or a task: remove it."""
_BEFORE_DATE = r"(?i)\b(for|before|after|of|the|für|vor|nach|den|der)$"
"""Words that say nothing without the date behind them, as in "buy tickets for Friday"."""
_NOT_DUE = r"(?i)\b(from|about|since|last|to|über|von|vom|seit|letzten)$"
"""Words before a date that is no deadline, as in "the mail from Monday"."""
_DEADLINE = r"(?i)[\s,]+(?:due|by|until|fällig|bis|spätestens)(?:\s(?:by|on|am|zum|spätestens))?$"
"""Words that say that the date behind them is the deadline."""
_TIMES: Mapping[int | str, str] = {}  # if nothing is due


class TaskChanges(Struct, frozen=True):
    """Changes to a task; empty fields stay. "none" removes `notes`, `due`, `under` and `after`."""

    title: str = ""
    notes: str = ""
    status: Status | None = None
    priority: Priority | None = None
    due: str = ""
    under: str = ""
    """The task to become a step of."""
    after: str = ""
    """A task that must be done before."""
    fields: Mapping[str, str] = field(default_factory=dict)

    def columns(self, tx: Tx, task: Task, among: Sequence[Task], now: datetime, zone: str) -> dict[str, Value]:
        """The changes as columns of a task; other tasks are looked up in `among`. Raises Refused."""
        given = {"title": self.title, "status": self.status, "priority": self.priority}
        found: dict[str, Value] = {name: value for name, value in given.items() if value}
        if notes := self.notes.strip():
            found["notes"] = "" if notes == NONE else notes
        if self.due:
            found["due_at"] = None if self.due == NONE else _due(self.due, now, zone)
        if self.under:
            found["parent_id"] = None if self.under == NONE else find_task(among, self.under).id
        if self.after:
            found["needs"] = "[]" if self.after == NONE else tasks.needing(tx, task, find_task(among, self.after))
        if self.fields:
            found["fields"] = tasks.with_fields(task, self.fields)
        return found


class HasId(Protocol):
    @property
    def id(self) -> int | str: ...


def find_one(
    found: Sequence[N],
    which: str,
    words: Callable[[N], str],
    none: str,
    several: str,
    due: Mapping[int | str, str] = _TIMES,
) -> N:
    """The item with this number or text, or with part of it; else raises Refused with `none` or `several`.

    The message lists the items with numbers, and with `due` where texts are equal.
    """
    wanted = which.strip().lstrip("#").casefold()
    ends = wanted if wanted.isdecimal() and len(wanted) >= SHORTEST else " "
    exact = [each for each in found if wanted == words(each).casefold() or str(each.id).endswith(ends)]
    parts = wanted.split()
    fitting = exact or [each for each in found if parts and all(part in words(each).casefold() for part in parts)]
    if len(fitting) == 1:
        return fitting[0]
    shown, ids = [one_line(words(each), 60) for each in fitting or found], [each.id for each in fitting]
    if fitting:
        both = zip(ids, shown, strict=True)
        named = [f"{code(own, ids)}: {text}{due.get(own, '')}" if shown.count(text) > 1 else text for own, text in both]
        raise Refused(several, which=which, listed="; ".join(named[:10]))
    raise Refused(join_lazy("", (gettext_lazy(none, which=which), list_known(shown[:10], "; "))))


def list_known(known: Sequence[str], between: str = ", ") -> str:
    """A sentence that lists the known items, to follow an error about an unknown one; empty if there are none."""
    return gettext_lazy(" Choose from: {known}.", known=between.join(known)) if known else ""


def find_task(found: Sequence[Task], which: str) -> Task:
    """The task that a text refers to. Raises Refused."""
    return find_one(
        found,
        which,
        lambda task: task.title,
        gettext_noop("There is no task “{which}” here."),
        gettext_noop("Several tasks match “{which}”. Choose one: {listed}."),
    )


def tree(found: Sequence[T], place: Callable[[T], tuple[str, str]]) -> list[tuple[int, T]]:
    """The items in reading order, each with its depth; `place` returns an item's id and parent."""
    known = {place(each)[0] for each in found}

    def under(above: str, depth: int) -> Iterator[tuple[int, T]]:
        for each in found:
            own, parent = place(each)
            if (parent if parent in known else "") == above:
                yield depth, each
                yield from under(own, depth + 1)

    return list(under("", 0))


def split_title(title: str, now: datetime, zone: str) -> tuple[str, str]:
    """A title and the date with which it ends, as reminders read it; empty if it ends with none."""
    with suppress(Refused):
        found = find_when(title, now, zone, alone=DAY_END)
        if found is None or not isinstance(found.trigger, DateTrigger):
            return title, ""
        rest = found.rest.rstrip(" ,;:")
        if rest and " ".join(title.split()).startswith(rest) and not re.search(_NOT_DUE, rest):
            return title if re.search(_BEFORE_DATE, rest) else re.sub(_DEADLINE, "", rest), found.said
    return title, ""


def _due(words: str, now: datetime, zone: str) -> str:
    trigger = read_when(words, now, zone, alone=DAY_END)
    if not isinstance(trigger, DateTrigger):
        raise Refused("A task cannot repeat. Set a repeating reminder instead.")
    return to_text(trigger.when)
