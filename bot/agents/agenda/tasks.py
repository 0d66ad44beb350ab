"""Tasks as people and models speak of them: which one is meant, and what is to be different, in words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from memory.agenda import tasks
from memory.agenda.tasks import Priority, Status, Task
from memory.store.clock import to_text
from memory.store.database import Tx, Value
from memory.store.errors import Refused
from scheduler.dates import read_when
from scheduler.triggers import At
from texts import _

T = TypeVar("T")

NONE = "none"
"""Instead of a time or a task: there is to be none."""


@dataclass(frozen=True)
class Wanted:
    """What is to be different; what is empty stays as it is. `due`, `under` and `after` are taken away by "none"."""

    title: str = ""
    notes: str = ""
    status: Status | None = None
    priority: Priority | None = None
    due: str = ""
    under: str = ""
    """The task that it becomes a step of."""
    after: str = ""
    """A task that has to be done before."""
    fields: Mapping[str, str] = field(default_factory=dict)

    def columns(self, tx: Tx, task: Task, among: Sequence[Task], now: datetime, zone: str) -> dict[str, Value]:
        """The same as columns of a task; other tasks are those of `among`. Raises Refused."""
        given = {"title": self.title, "notes": self.notes.strip(), "status": self.status, "priority": self.priority}
        found: dict[str, Value] = {name: value for name, value in given.items() if value}
        if self.due:
            found["due_at"] = None if self.due == NONE else _due(self.due, now, zone)
        if self.under:
            found["parent_id"] = None if self.under == NONE else meant(among, self.under).id
        if self.after:
            found["needs"] = "[]" if self.after == NONE else tasks.needing(tx, task, meant(among, self.after))
        if self.fields:
            found["fields"] = tasks.with_fields(task, self.fields)
        return found


def meant(found: Sequence[Task], which: str) -> Task:
    """The one that is meant. Raises Refused, naming those that could be."""
    fitting = tasks.named(found, which)
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        there = "; ".join(each.title[:60] for each in found[:10]) or _("none")
        raise Refused(_("There is no task {which} here. There are: {listed}.", which=repr(which), listed=there))
    listed = "; ".join(f"{each.id}: {each.title[:60]}" for each in fitting[:10])
    raise Refused(
        _("Several tasks match {which}. Choose one by its number: {listed}.", which=repr(which), listed=listed)
    )


def tree(found: Sequence[T], place: Callable[[T], tuple[str, str]]) -> list[tuple[int, T]]:
    """Each with how deep it stands under others, in the order of reading; `place` gives its id and what is above."""
    known = {place(each)[0] for each in found}

    def under(above: str, depth: int) -> Iterator[tuple[int, T]]:
        for each in found:
            own, parent = place(each)
            if (parent if parent in known else "") == above:
                yield depth, each
                yield from under(own, depth + 1)

    return list(under("", 0))


def _due(words: str, now: datetime, zone: str) -> str:
    trigger = read_when(words, now, zone)
    if not isinstance(trigger, At):
        raise Refused(_("A task cannot repeat."))
    return to_text(trigger.when)
