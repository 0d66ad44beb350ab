"""Templates of tasks: what somebody does repeatedly, with its steps."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from memory.agenda import tasks
from memory.agenda.tasks import Priority, Task
from memory.knowledge import items
from memory.knowledge.items import Item, Kind, encoded
from memory.people.audience import Audience, Scope, Trust
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.ids import PersonId
from memory.store.records import replace

_MOST_TASKS, _MOST_TEMPLATES = 100, 100


class Outline(Struct, frozen=True):
    """A task without dates, and its steps."""

    title: str
    notes: str
    priority: Priority
    steps: tuple["Outline", ...] = ()

    @property
    def count(self) -> int:
        """The number of steps at every depth."""
        return sum(1 + step.count for step in self.steps)


class _Detail(Struct, frozen=True):
    outline: Outline


class Template(Struct, frozen=True):
    """A template by its name. `item` is its row's id; 0 before it is stored."""

    name: str
    outline: Outline
    item: int = 0


def outline(task: Task, every: Sequence[Task]) -> Outline:
    """A task and its steps among `every`, done ones too."""
    steps = tuple(outline(each, every) for each in sorted(every, key=lambda each: each.id) if each.parent == task.id)
    return Outline(task.title, task.notes, task.priority, steps)


def save(tx: Tx, template: Template, person: PersonId, audience: Audience, trust: Trust, now: datetime) -> None:
    """Store a template, replacing one of the same name. Raises Refused for too many."""
    if template.outline.count >= _MOST_TASKS:
        raise Refused("a template can hold at most {most_tasks} tasks", most_tasks=_MOST_TASKS)
    key = template.name.casefold()
    items.remove_of(tx, Kind.TASK_TEMPLATE, key=key, person_id=person, audience=audience)
    if len(items.find(tx, Kind.TASK_TEMPLATE, person_id=person)) >= _MOST_TEMPLATES:
        raise Refused("there are already {most_templates} templates; remove one first", most_templates=_MOST_TEMPLATES)
    heard, detail = (audience, trust, now, now), encoded(_Detail(template.outline))
    items.put(tx, Item(Kind.TASK_TEMPLATE, *heard, template.name, key, detail, person=person))


def listing(rows: Rows, scope: Scope, people: Sequence[PersonId]) -> list[Template]:
    """The templates of these people that the scope may use, by name."""
    found = (item for person in people for item in items.find(rows, Kind.TASK_TEMPLATE, person_id=person))
    return sorted((_template(item) for item in found if scope.may_use(item.audience)), key=lambda each: each.name)


def remove(tx: Tx, template: Template) -> None:
    items.remove(tx, [template.item])


def create_tasks(tx: Tx, template: Template, new: Task) -> list[Task]:
    """Create the tasks of a template: `new` says whose they are, and the first task's title and parent."""
    first = tasks.add(tx, replace(new, notes=template.outline.notes, priority=template.outline.priority))
    made = [first]

    def add(steps: Sequence[Outline], above: Task) -> None:
        for step in steps:
            below = Task(
                step.title, new.person, new.audience, new.trust, new.created_at,
                notes=step.notes, priority=step.priority, parent=above.id,
            )  # fmt: skip
            made.append(task := tasks.add(tx, below))
            add(step.steps, task)

    add(template.outline.steps, first)
    return made


def _template(item: Item) -> Template:
    return Template(item.text, item.read(_Detail).outline, item.id)
