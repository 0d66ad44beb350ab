"""Tasks: everybody's own to-do list, with steps, and templates.

The owner and admins change the agents' shared tasks with the same commands.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field

from bot.agents.agenda.tasks import NONE, TaskChanges, find_task, split_title, tree
from bot.agents.permissions import roles_and_rights
from bot.agents.permissions.roles_and_rights import Action
from bot.services.caller import Caller
from bot.services.names import NO_TEMPLATE, find, find_living
from bot.services.registry import KEEPS, LISTS, Arguments, Options, Param, Suggestions, operation, suggestions
from bot.services.results import Entry, Listing, Markup, Row
from bot.services.transactions import ZonedService
from memory import coordination
from memory.agenda import tasks
from memory.agenda.tasks import Priority, Status, Task
from memory.knowledge import task_templates
from memory.knowledge.items import By
from memory.knowledge.task_templates import Template
from memory.people.audience import Scope
from memory.store.database import Rows, Tx, Value
from memory.store.errors import Refused
from memory.store.ids import AgentId
from scheduler.zones import zone_of
from texts import DAY_END, _, gettext_noop, ngettext, ngettext_noop

_CHANGES = Options(keeps=True, formerly=("tasks.move", "coord.reassign"))

_ENDED = {
    Status.DONE: (
        gettext_noop("Done: {task}"),
        ngettext_noop("Done: {task}, and its {count} open step", "Done: {task}, and its {count} open steps"),
    ),
    Status.CANCELLED: (
        gettext_noop("Canceled: {task}"),
        ngettext_noop("Canceled: {task}, and its {count} open step", "Canceled: {task}, and its {count} open steps"),
    ),
}
_PRIORITIES = {
    "low": gettext_noop("low priority"),
    "high": gettext_noop("high priority"),
    "urgent": gettext_noop("urgent"),
}
STATES = {
    "in_progress": gettext_noop("in progress"),
    "done": gettext_noop("done"),
    "cancelled": gettext_noop("canceled"),
}
_Named = Annotated[str, Field(min_length=1, max_length=300)]
_Words = Annotated[str, Field(max_length=300)]
_Under = Annotated[_Words, Param("Parent task", metavar="TASK", suggests="tasks")]
_After = Annotated[_Words, Param("Task that must be done first", metavar="TASK", suggests="tasks")]
_Fields = Annotated[tuple[str, ...], Param("Custom field, such as room=kitchen", metavar="NAME=VALUE")]
_Done = Annotated[bool, Param("Include tasks that are done or canceled")]
_Task = Annotated[_Named, Param("Words from the task", example="plants", suggests="tasks")]
_State = Annotated[Status | None, Param("Status of the task", labels={"open": "To do", "cancelled": "Canceled"})]
_Name = Annotated[str, Param("Name of the template", example="packing", suggests="task templates")]
_NewName = Annotated[str, Field(min_length=1, max_length=60), Param("Name for the template", example="packing")]
_Title = Annotated[str, Field(max_length=300), Param("Title of the task (default: the template's)", metavar="TEXT")]


class AddTask(Arguments):
    title: Annotated[
        _Named, Param("What to do, and optionally by when", example="water the plants on Friday", words=True)
    ]
    due: Annotated[
        str,
        Field(max_length=200),
        Param("Due date, such as “Friday at 6 PM”; “none” for a title that ends with a date"),
    ] = ""
    priority: Annotated[Priority, Param("How urgent it is")] = Priority.MEDIUM
    under: _Under = ""
    after: _After = ""
    field: _Fields = ()


class ChangeTask(Arguments):
    task: _Task
    title: Annotated[_Words, Param("New title", metavar="TEXT")] = ""
    notes: Annotated[str | None, Field(max_length=4_000), Param("Notes about the task, or “none”", metavar="TEXT")] = (
        None
    )
    state: _State = None
    priority: Annotated[Priority | None, Param("How urgent it is")] = None
    due: Annotated[str | None, Field(max_length=200), Param("Due date, such as “Friday at 6 PM”, or “none”")] = None
    under: Annotated[
        str | None, Field(max_length=300), Param("New parent task, or “none”", metavar="TASK", suggests="tasks")
    ] = None
    after: Annotated[
        str | None,
        Field(max_length=300),
        Param("Task that must be done first, or “none”", metavar="TASK", suggests="tasks"),
    ] = None
    agent: Annotated[
        str | None, Param("Agent to do a shared task, or “none” for any", metavar="NAME", suggests="agents")
    ] = None
    field: Annotated[tuple[str, ...], Param("Custom field; without a value, it is removed", metavar="NAME=VALUE")] = ()


class TaskRow(Row):
    id: str
    text: str = Field(validation_alias="title")
    notes: str
    status: str
    priority: str
    due: datetime | None
    step_of: str = Field(validation_alias="parent")
    """The number of its parent task."""
    agent: str
    """The assigned agent of a shared task; empty if it is for anyone, and for a personal task."""
    shared: bool = Field(exclude=True)
    waits_for: tuple[str, ...]
    """Open tasks that must be done first."""
    fields: dict[str, str]

    @classmethod
    def of(cls, task: Task, zone: str) -> "TaskRow":
        due = None if task.due_at is None else task.due_at.astimezone(zone_of(zone))
        return cls.from_record(task, due=due, agent=task.to_name if task.shared else "")

    @property
    def doer(self) -> str:
        """Who does a shared task, in words; empty for a personal task."""
        return (self.agent or _("anyone")) if self.shared else ""

    def line(self, markup: Markup) -> str:
        about = (
            _(STATES.get(self.status, "")),
            _(_PRIORITIES.get(self.priority, "")),
            "" if self.due is None else self.told(markup, gettext_noop("due {due}")),
            self.told(markup, gettext_noop("for {agent}"), agent=markup.text(self.doer)) if self.doer else "",
            self.told(markup, gettext_noop("waits for {waits_for}")) if self.waits_for else "",
            *(f"{markup.text(name)}: {markup.text(value)}" for name, value in self.fields.items()),
        )
        told = "; ".join(filter(None, about))
        return f"{markup.text(self.text)}{f' – {told}' if told else ''}"


def typed_due(due: datetime | None) -> str:
    """When a task is due, as the form that changes it shows it; taken as it is, though it is over."""
    return "" if due is None else f"{due:%Y-%m-%d}{'' if due.time() == DAY_END else f' {due:%H:%M}'}"


def as_tree(rows: Sequence[TaskRow]) -> list[tuple[int, TaskRow]]:
    """The tasks as a tree: each with its depth, below its parent task."""
    return tree(rows, lambda each: (each.id, each.step_of))


def tree_lines(rows: Sequence[TaskRow], markup: Markup) -> list[str]:
    return [f"{'  ' * depth}- {row.line(markup)}" for depth, row in as_tree(rows)]


class Tasks(Listing[TaskRow]):
    def lines(self, markup: Markup) -> list[str]:
        return [*filter(None, [self.head]), *tree_lines(self.rows, markup)] or [_(self.empty)]


class TemplateRow(Row):
    name: str
    title: str = Field(validation_alias="outline.title")
    steps: int = Field(validation_alias="outline.count")

    def line(self, markup: Markup) -> str:
        return self.told(markup, "{name}: {title} ({steps})" if self.steps else "{name}: {title}")


class TaskLists(ZonedService, frozen=True):
    """The tasks of one constellation."""

    titles: ClassVar = {"tasks": "Manage your to-do list", "tasks.template": "Save and use task templates"}

    @operation("tasks.add", "Add a task", Action.AGENDA, KEEPS)
    def add_task(self, tx: Tx, caller: Caller, arguments: AddTask) -> Entry[TaskRow]:
        now, zone, among = self.clock(), self.zone_of(tx, caller), self._reach(tx, caller)
        above = find_task(among, arguments.under) if arguments.under not in ("", NONE) else None
        title, due = (arguments.title, arguments.due) if arguments.due else split_title(arguments.title, now, zone)
        if above is not None and above.shared:
            by = By(Scope(above.audience), caller.trust, now, person=caller.person)
            task = coordination.assign(tx, by, title, None)
        else:
            audience = caller.alone.scope.audience
            task = tasks.add(tx, Task(title, caller.person, audience, caller.trust, now))
        wanted = TaskChanges(
            priority=arguments.priority, due=due, under=arguments.under, after=arguments.after,
            fields=_fields(arguments.field),
        )  # fmt: skip
        columns = wanted.columns(tx, task, _alike(among, task), now, zone)
        task, _before = tasks.change(tx, task, columns, Scope(task.audience), now)
        return Entry(done=_("Added"), row=TaskRow.of(task, zone))

    @operation("tasks.list", "List your tasks", Action.AGENDA, LISTS)
    def list_tasks(self, rows: Rows, caller: Caller, done: _Done = False) -> Tasks:
        zone = self.zone_of(rows, caller)
        found = tasks.listing(rows, caller.scope, self.people.selves(caller.person), done=done)
        return Tasks.of((TaskRow.of(each, zone) for each in found), _("You have no open tasks here."))

    @operation("tasks.change", "Change a task", Action.AGENDA, _CHANGES)
    def change_task(self, tx: Tx, caller: Caller, arguments: ChangeTask) -> Entry[TaskRow]:
        now, zone = self.clock(), self.zone_of(tx, caller)
        found = self._reach(tx, caller, done=arguments.state is Status.OPEN)
        task = find_task(found, arguments.task)
        due = None if arguments.due == typed_due(TaskRow.of(task, zone).due) else arguments.due
        wanted = TaskChanges(
            arguments.title, _changed(arguments.notes), arguments.state, arguments.priority, _changed(due),
            under=_changed(arguments.under), after=_changed(arguments.after), fields=_fields(arguments.field),
        )  # fmt: skip
        same = {"title": task.title, "notes": task.notes, "fields": tasks.with_fields(task, {})}
        changed = wanted.columns(tx, task, _alike(found, task), now, zone).items()
        columns = {name: value for name, value in changed if name not in same or value != same[name]}
        if arguments.agent is not None:
            columns["assignee_id"] = _assignee(tx, task, arguments.agent)
        if not columns:
            raise Refused("Say what to change.")
        return Entry(done=_("Changed"), row=TaskRow.of(self._put(tx, caller, task, columns)[0], zone))

    @operation("tasks.template.save", "Save a task and its steps as a template", Action.AGENDA, KEEPS)
    def save_template(self, tx: Tx, caller: Caller, name: _NewName, task: _Task) -> str:
        selves = self.people.selves(caller.person)
        every = tasks.listing(tx, caller.scope, selves, done=True)
        found = find_task(every, task)
        saved = task_templates.Template(name, task_templates.outline(found, every))
        task_templates.save(tx, saved, caller.person, caller.alone.scope.audience, caller.trust, self.clock())
        return _("Saved “{title}” as the template “{name}”.", title=found.title, name=name)

    @operation("tasks.template.use", "Add the tasks from a template", Action.AGENDA, KEEPS)
    def use_template(self, tx: Tx, caller: Caller, name: _Name, title: _Title = "", under: _Under = "") -> Tasks:
        template = self._template(tx, caller, name)
        selves = self.people.selves(caller.person)
        above = find_task(tasks.listing(tx, caller.scope_of_own(selves), selves), under) if under else None
        new = Task(
            title or template.outline.title, caller.person, caller.alone.scope.audience, caller.trust, self.clock(),
            parent=None if above is None else above.id,
        )  # fmt: skip
        made = task_templates.create_tasks(tx, template, new)
        return Tasks.of((TaskRow.of(each, self.zone_of(tx, caller)) for each in made), head=f"{_('Added')}:")

    @operation("tasks.template.list", "List your task templates", Action.AGENDA)
    @suggestions("task templates")
    def list_templates(self, rows: Rows, caller: Caller) -> Listing[TemplateRow]:
        found = map(TemplateRow.from_record, self._templates(rows, caller))
        return Listing.of(found, _("You have no task templates here."))

    @operation("tasks.template.remove", "Remove a task template", Action.AGENDA)
    def remove_template(self, tx: Tx, caller: Caller, name: _Name) -> str:
        template = self._template(tx, caller, name)
        task_templates.remove(tx, template)
        return _("Removed the template “{name}”.", name=template.name)

    @operation("tasks.done", "Mark a task as done", Action.AGENDA, Options(formerly=("coord.complete",)))
    def complete_task(self, tx: Tx, caller: Caller, task: _Task) -> str:
        return self._end(tx, caller, task, Status.DONE)

    @operation("tasks.cancel", "Cancel a task", Action.AGENDA)
    def cancel_task(self, tx: Tx, caller: Caller, task: _Task) -> str:
        return self._end(tx, caller, task, Status.CANCELLED)

    @suggestions("tasks")
    def suggest_tasks(self, rows: Rows, caller: Caller) -> Suggestions:
        return [(str(each.id), each.title) for each in self._reach(rows, caller)]

    def _end(self, tx: Tx, caller: Caller, task: str, status: Status) -> str:
        done, before = self._put(tx, caller, find_task(self._reach(tx, caller), task), {"status": status})
        alone, with_steps = _ENDED[status]
        steps = len(before) - 1
        return ngettext(*with_steps, steps, task=done.title) if steps > 0 else _(alone, task=done.title)

    def _put(self, tx: Tx, caller: Caller, task: Task, columns: Mapping[str, Value]) -> tuple[Task, tasks.Before]:
        """Change a task; when an admin or the owner changes a shared one, everybody who may know it is told.

        A new text of a person's own task is only for that person, whoever could see the old one.
        """
        now = self.clock()
        if not task.shared and columns.keys() & {"title", "notes", "fields"}:
            columns = {**columns, "audience": caller.alone.scope.audience}
            return tasks.change(tx, task, columns, caller.alone.scope, now)
        if not task.shared:
            return tasks.change(tx, task, columns, caller.scope, now)
        by = By(Scope(task.audience), caller.trust, now, person=caller.person)
        return coordination.change(tx, by, task, columns)

    def _reach(self, rows: Rows, caller: Caller, *, done: bool = False) -> list[Task]:
        """The tasks that the caller may change: their own and, for admins and the owner, the shared ones."""
        selves = self.people.selves(caller.person)
        own = tasks.listing(rows, caller.scope_of_own(selves), selves, done=done)
        in_charge = roles_and_rights.may(self.people, caller.approver, Action.COORDINATE)
        return own + (tasks.shared(rows, caller.scope, done=done) if in_charge else [])

    def _templates(self, rows: Rows, caller: Caller) -> list[Template]:
        return task_templates.listing(rows, caller.scope, self.people.selves(caller.person))

    def _template(self, rows: Rows, caller: Caller, name: str) -> Template:
        """A template by name. Raises UserError."""
        return find(self._templates(rows, caller), name, NO_TEMPLATE)


def _alike(found: Sequence[Task], task: Task) -> list[Task]:
    """The tasks that a task may become a step of, or wait for."""
    return [each for each in found if each.shared == task.shared]


def _assignee(rows: Rows, task: Task, agent: str) -> AgentId | None:
    """The agent that gets a shared task; None for any. Raises Refused for a personal one, and UserError."""
    if not task.shared:
        raise Refused("“{title}” is a personal task: agents can be given only shared tasks", title=task.title)
    return None if agent in ("", NONE) else find_living(rows, agent).id


def _changed(given: str | None) -> str:
    """A value as `TaskChanges` has it, where an empty one stays: an emptied one is removed."""
    return "" if given is None else given or NONE


def _fields(given: Sequence[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    if wrong := [name for name, equals, _value in pairs if not (name.strip() and equals)]:
        raise Refused("“{given}” is not a field. Write it as NAME=VALUE.", given=wrong[0])
    return {name: value for name, _equals, value in pairs}
