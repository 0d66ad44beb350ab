"""Tasks: what everybody has to do, in steps, and templates of it. Everybody has their own."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar, TypeVar

from pydantic import Field

from bot.agents.permissions.policy import Action, People
from bot.agents.tools.tasks import meant
from bot.services.caller import Caller
from bot.services.parameters import Arguments, Param
from bot.services.registry import Suggestions, Told, operation, suggestions
from bot.services.results import Entry, Ink, Listing, Result, Row, Sentence
from memory.agenda import tasks
from memory.agenda.tasks import NewTask, Priority, Status, Task
from memory.knowledge import task_templates
from memory.knowledge.task_templates import Template
from memory.people import quiet_hours
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.errors import Refused
from memory.store.faults import commit_point
from scheduler.dates import read_when
from scheduler.triggers import At
from scheduler.zones import zone_of
from texts import _, gettext_noop, ngettext, ngettext_noop

T = TypeVar("T")

_CHANGE = commit_point("tasks.change")
_CHANGES = Told(changes=True)
_KEEPS = Told(changes=True, keeps=True)

_ENDED = {
    Status.COMPLETED: (
        gettext_noop("Completed: {task}."),
        ngettext_noop(
            "Completed: {task}, and its {count} open step.", "Completed: {task}, and its {count} open steps."
        ),
    ),
    Status.CANCELLED: (
        gettext_noop("Cancelled: {task}."),
        ngettext_noop(
            "Cancelled: {task}, and its {count} open step.", "Cancelled: {task}, and its {count} open steps."
        ),
    ),
}
_PRIORITIES = {
    "low": gettext_noop("low priority"),
    "high": gettext_noop("high priority"),
    "urgent": gettext_noop("urgent"),
}
_STATES = {
    "in_progress": gettext_noop("in progress"),
    "completed": gettext_noop("done"),
    "cancelled": gettext_noop("cancelled"),
}
_Named = Annotated[str, Field(min_length=1, max_length=300)]


class AddTask(Arguments):
    title: Annotated[_Named, Param("What to do", words=True)]
    due: Annotated[str, Field(max_length=200), Param('Due date, such as "friday at 18:00"')] = ""
    priority: Annotated[Priority, Param("How urgent it is")] = Priority.MEDIUM
    under: Annotated[
        str, Field(max_length=300), Param("The task that it is a step of", metavar="TASK", suggests="tasks")
    ] = ""


class ListTasks(Arguments):
    done: Annotated[bool, Param("Include completed and cancelled tasks")] = False


class OneTask(Arguments):
    task: Annotated[_Named, Param("Number or words from it", suggests="tasks")]


class MoveTask(OneTask):
    under: Annotated[
        str,
        Field(max_length=300),
        Param("The task that it becomes a step of (default: none)", metavar="TASK", suggests="tasks"),
    ] = ""


class OneTemplate(Arguments):
    name: Annotated[str, Field(min_length=1, max_length=60), Param("Template", suggests="task templates")]


class SaveTemplate(Arguments):
    name: Annotated[str, Field(min_length=1, max_length=60), Param("Name for the template")]
    task: Annotated[_Named, Param("Number or words from the task", suggests="tasks")]


class UseTemplate(OneTemplate):
    title: Annotated[
        str, Field(max_length=300), Param("Title of the task (default: the template's)", metavar="TEXT")
    ] = ""
    under: Annotated[
        str, Field(max_length=300), Param("The task that it is a step of", metavar="TASK", suggests="tasks")
    ] = ""


class TaskRow(Row):
    id: str
    text: str
    status: str
    priority: str
    due: datetime | None
    step_of: str
    """The number of the task that it is a step of."""

    @classmethod
    def of(cls, task: Task, zone: str) -> "TaskRow":
        step_of = "" if task.parent is None else str(task.parent)
        return cls.from_record(task, text=task.title, due=_local(task.due_at, zone), step_of=step_of)

    def line(self, ink: Ink) -> str:
        due = "" if self.due is None else self.told(ink, gettext_noop("due {due}"))
        priority = _(_PRIORITIES.get(self.priority, ""))
        status = _(_STATES.get(self.status, ""))
        about = "; ".join(filter(None, (status, priority, due)))
        return f"{ink.text(self.text)}{f' ({about})' if about else ''}{ink.number(self.id)}"


class Tasks(Listing[TaskRow]):
    """Tasks, each step under what it is a step of."""

    def lines(self, ink: Ink) -> list[str]:
        known = {row.id for row in self.rows}

        def shown(above: str, depth: int) -> list[str]:
            steps = [row for row in self.rows if (row.step_of if row.step_of in known else "") == above]
            return [line for row in steps for line in (f"{'  ' * depth}- {row.line(ink)}", *shown(row.id, depth + 1))]

        return shown("", 0) or [_(self.empty)]

    def terminal(self, ink: Ink, width: int | None) -> str:
        """A tree, with the words that name a task where there is no number."""
        del width
        return "\n".join(self.lines(ink))


class TaskMoved(Result):
    """A task was moved."""

    task: TaskRow
    under: str

    def lines(self, ink: Ink) -> list[str]:
        alone, below = gettext_noop("A task of its own now: {task}"), gettext_noop("Under {under} now: {task}")
        return [self.told(ink, below if self.under else alone)]


class TemplateRow(Row):
    """A template of tasks."""

    name: str
    title: str
    steps: int

    def line(self, ink: Ink) -> str:
        return self.told(ink, "{name}: {title} ({steps})")


@dataclass(frozen=True)
class TaskLists:
    """The tasks of one constellation. `zone` is that of people who named none."""

    titles: ClassVar = {"tasks": "Manage your to-do list", "tasks.template": "Save and use templates of tasks"}

    database: Database
    people: People
    clock: Clock
    zone: str

    @operation("tasks.add", "Add a task", Action.AGENDA, _KEEPS)
    async def add_task(self, caller: Caller, arguments: AddTask) -> Entry[TaskRow]:
        """Write a task down."""
        alone = caller.alone.scope.audience

        def work(tx: Tx) -> TaskRow:
            now, at, zone = self.clock(), None, self._zone(tx, caller)
            if arguments.due:
                trigger = read_when(arguments.due, now, zone)
                if not isinstance(trigger, At):
                    raise Refused(_("A task cannot repeat."))
                at = trigger.when
            new = NewTask(
                arguments.title,
                caller.person,
                alone,
                caller.trust,
                priority=arguments.priority,
                due_at=at,
                parent=meant(self._open(tx, caller), arguments.under).id if arguments.under else None,
            )
            return TaskRow.of(tasks.add(tx, new, now), zone)

        return Entry(done=_("Added"), row=await self._change(work))

    @operation("tasks.list", "List your tasks", Action.AGENDA, Told(file_name="tasks.md"))
    async def list_tasks(self, caller: Caller, arguments: ListTasks) -> Tasks:
        """The most urgent first, as far as they may be spoken of where they are asked for."""

        def read(rows: Rows) -> tuple[TaskRow, ...]:
            zone = self._zone(rows, caller)
            found = tasks.listing(rows, caller.scope, self.people.selves(caller.person), done=arguments.done)
            return tuple(TaskRow.of(each, zone) for each in found)

        return Tasks(rows=await self.database.read(read), empty=_("You have no open tasks that I can show here."))

    @operation("tasks.move", "Make a task a step of another, or a task of its own", Action.AGENDA, _CHANGES)
    async def move_task(self, caller: Caller, arguments: MoveTask) -> TaskMoved:
        """With its own steps."""

        def work(tx: Tx) -> TaskMoved:
            found, zone = self._open(tx, caller), self._zone(tx, caller)
            task = meant(found, arguments.task)
            above = meant(found, arguments.under) if arguments.under else None
            moved = tasks.move(tx, task, above, self.clock())
            return TaskMoved(task=TaskRow.of(moved, zone), under="" if above is None else above.title)

        return await self._change(work)

    @operation("tasks.template.save", "Save a task and its steps as a template", Action.AGENDA, _KEEPS)
    async def save_template(self, caller: Caller, arguments: SaveTemplate) -> Sentence:
        """One of that name is replaced."""

        def work(tx: Tx) -> str:
            selves = self.people.selves(caller.person)
            every = tasks.listing(tx, caller.scope, selves, done=True)
            task = meant(every, arguments.task)
            saved = task_templates.Template(arguments.name, task_templates.outline(task, every))
            task_templates.save(tx, saved, caller.person, caller.alone.scope.audience, caller.trust, self.clock())
            return _("Saved {title} as the template {name}.", title=task.title, name=arguments.name)

        return Sentence(text=await self._change(work))

    @operation("tasks.template.use", "Add the tasks of a template", Action.AGENDA, _KEEPS)
    async def use_template(self, caller: Caller, arguments: UseTemplate) -> Tasks:
        """With all its steps, under another title where one is given."""

        def work(tx: Tx) -> tuple[TaskRow, ...]:
            template = self._template(tx, caller, arguments.name)
            above = meant(self._open(tx, caller), arguments.under) if arguments.under else None
            new = NewTask(
                arguments.title or template.outline.title, caller.person, caller.alone.scope.audience, caller.trust,
                parent=None if above is None else above.id,
            )  # fmt: skip
            made = task_templates.use(tx, template, new, self.clock())
            return tuple(TaskRow.of(each, self._zone(tx, caller)) for each in made)

        return Tasks(rows=await self._change(work), empty="")

    @operation("tasks.template.list", "List your task templates", Action.AGENDA)
    async def list_templates(self, caller: Caller) -> Listing[TemplateRow]:
        """As far as they may be spoken of here."""
        found = await self.database.read(lambda rows: self._templates(rows, caller))
        rows = tuple(TemplateRow(name=each.name, title=each.outline.title, steps=each.outline.count) for each in found)
        return Listing(rows=rows, empty=_("You have no task templates that I can show here."))

    @operation("tasks.template.remove", "Remove a task template", Action.AGENDA, _CHANGES)
    async def remove_template(self, caller: Caller, arguments: OneTemplate) -> Sentence:
        """Tasks that were made from it stay."""

        def work(tx: Tx) -> str:
            template = self._template(tx, caller, arguments.name)
            task_templates.remove(tx, template)
            return _("Removed the template {name}.", name=template.name)

        return Sentence(text=await self._change(work))

    @suggestions("task templates")
    async def suggest_templates(self, caller: Caller) -> Suggestions:
        """The caller's templates."""
        found = await self.database.read(lambda rows: self._templates(rows, caller))
        return [(each.name, each.name) for each in found]

    @operation("tasks.done", "Complete a task", Action.AGENDA, _CHANGES)
    async def complete_task(self, caller: Caller, arguments: OneTask) -> Sentence:
        """It is done."""
        return await self._end(caller, arguments, Status.COMPLETED)

    @operation("tasks.cancel", "Cancel a task", Action.AGENDA, _CHANGES)
    async def cancel_task(self, caller: Caller, arguments: OneTask) -> Sentence:
        """It is not to be done any more."""
        return await self._end(caller, arguments, Status.CANCELLED)

    @suggestions("tasks")
    async def suggest_tasks(self, caller: Caller) -> Suggestions:
        """The caller's open tasks."""
        found = await self.database.read(lambda rows: self._open(rows, caller))
        return [(str(each.id), each.title) for each in found]

    async def _end(self, caller: Caller, arguments: OneTask, status: Status) -> Sentence:
        def work(tx: Tx) -> str:
            before = self._open(tx, caller)
            done = tasks.set_status(tx, meant(before, arguments.task), status, self.clock())
            steps = len(before) - len(self._open(tx, caller)) - 1
            alone, with_steps = _ENDED[status]
            return ngettext(*with_steps, steps, task=done.title) if steps > 0 else _(alone, task=done.title)

        return Sentence(text=await self._change(work))

    def _open(self, rows: Rows, caller: Caller) -> list[Task]:
        """The caller's open tasks that may be spoken of here."""
        return tasks.listing(rows, caller.scope, self.people.selves(caller.person))

    def _templates(self, rows: Rows, caller: Caller) -> list[Template]:
        return task_templates.listing(rows, caller.scope, self.people.selves(caller.person))

    def _template(self, rows: Rows, caller: Caller, name: str) -> Template:
        """Raises Refused."""
        found = self._templates(rows, caller)
        for each in found:
            if each.name.casefold() == name.casefold():
                return each
        known = ", ".join(each.name for each in found)
        raise Refused(
            _("There is no task template {name}. There are: {known}.", name=repr(name), known=known or _("none"))
        )

    def _zone(self, rows: Rows, caller: Caller) -> str:
        return quiet_hours.zone_for(rows, self.people.selves(caller.person), self.zone)

    async def _change(self, work: Callable[[Tx], T]) -> T:
        return await self.database.write(_CHANGE, work, durable=True)


def _local(moment: datetime | None, zone: str) -> datetime | None:
    return None if moment is None else moment.astimezone(zone_of(zone))
