"""`tasks`: what the person wants to do."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bot.agents.agenda.reminders import on_clocks
from bot.agents.agenda.tasks import Wanted, meant, tree
from bot.agents.context.quotes import Quoted, joined, say
from bot.agents.context.situation import task_line
from bot.agents.permissions.policy import Caution
from bot.agents.tools.base import Arguments, Outcome, StoreTool, ToolContext
from bot.errors import ToolError
from memory.agenda import tasks
from memory.agenda.tasks import NewTask, Priority, Status, Task
from memory.people import quiet_hours
from memory.people.audience import may_write_down
from memory.store.clock import to_text
from memory.store.database import Tx
from memory.store.ids import PersonId

Fields = Annotated[
    dict[str, str],
    Field(default_factory=dict, description="add, update: what else is kept of it, by name; an empty value goes"),
]


class TaskArguments(Arguments):
    operation: Literal["add", "list", "update", "start", "done", "cancel", "reopen"]
    title: str = Field(default="", max_length=tasks.LONGEST_TITLE, description="add: what is to be done; update: anew")
    notes: str = Field(default="", max_length=tasks.LONGEST_NOTES, description="add, update: what else is to be known")
    priority: Literal["low", "medium", "high", "urgent", ""] = Field(default="", description="add, update")
    due: str = Field(default="", max_length=200, description='add, update: until when, as "friday at 18:00"')
    under: str = Field(default="", description="add, update: the task that it is a step of, by number or words of it")
    after: str = Field(default="", description="add, update: a task that must be done before")
    fields: Fields
    which: str = Field(default="", description="all others: its number, or words that stand in it")
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "add": ("title",),
        **dict.fromkeys(("update", "start", "done", "cancel", "reopen"), ("which",)),
    }


_MOVES = {
    "start": Status.IN_PROGRESS,
    "done": Status.DONE,
    "cancel": Status.CANCELLED,
    "reopen": Status.OPEN,
}


class TasksTool(StoreTool[TaskArguments]):
    name = "tasks"
    description = (
        "Keep what the person wants to do: add writes a task down, list shows those that are open, start, done, "
        "cancel and reopen move one on, update changes it. Break what is too big into steps with under. In update, "
        '"none" takes due, under or after away. Write a title in their words. A task does not remind anybody by '
        "itself: set a reminder for that."
    )
    arguments: type[Arguments] = TaskArguments
    caution = Caution(bound=("operation",))

    def __init__(self, zone: str, selves: Callable[[PersonId], tuple[PersonId, ...]]) -> None:
        self._zone = zone
        self._selves = selves

    def work(self, tx: Tx, context: ToolContext, arguments: TaskArguments) -> Outcome:
        person, scope = context.turn.person, context.turn.scope
        if person is None:
            raise ToolError("Nobody is talking to you at the moment.")
        people = self._selves(person)
        found = tasks.listing(tx, scope, people, done=arguments.operation == "reopen")
        zone = quiet_hours.zone_for(tx, people, self._zone)
        match arguments.operation:
            case "list":
                shown = (
                    say("{indent}{task}", indent=say("  " * n), task=task_line(t, zone)) for n, t in tree(found, _place)
                )
                text = joined(shown) or say("They have no open tasks that may be spoken of here.")
                return Outcome(
                    text, {"tasks": [_data(task) | {"when": on_clocks(task.due_at, zone)} for task in found]}
                )
            case "add":
                turn = context.turn
                new = NewTask(arguments.title, person, scope.audience, turn.trust, turn.agent)
                task = self._changed(tx, context, arguments, tasks.add(tx, new, context.now), found, zone)
                return Outcome(
                    say("task {id} is written down: {task}", id=task.id, task=task_line(task, zone)), _data(task)
                )
            case "update":
                task = self._changed(tx, context, arguments, meant(found, arguments.which), found, zone)
                return Outcome(say("changed: {task}", task=task_line(task, zone)), _data(task))
            case operation:
                status = {"status": _MOVES[operation]}
                task, _before = tasks.change(tx, meant(found, arguments.which), status, scope, context.now)
                return Outcome(moved(task), _data(task))

    def _changed(
        self, tx: Tx, context: ToolContext, arguments: TaskArguments, task: Task, among: list[Task], zone: str
    ) -> Task:
        priority = Priority(arguments.priority) if arguments.priority else None
        given = {name: getattr(arguments, name) for name in ("title", "notes", "due", "under", "after", "fields")}
        columns = Wanted(priority=priority, **given).columns(tx, task, among, context.now, zone)
        if not columns:
            raise ToolError("update needs a title, notes, priority, due, under, after or fields.")
        if not may_write_down(context.turn.scope, task.audience):
            raise ToolError(f"Others than hear this can see the task {task.title!r}. Change it where they hear it too.")
        return tasks.change(tx, task, columns, context.turn.scope, context.now)[0]


def moved(task: Task) -> Quoted:
    """What is said of a task whose state changed."""
    status = task.status.value.replace("_", " ")
    waits = "" if not task.waits_for else f", but it waits for {', '.join(task.waits_for)}"
    return say("{title} is {status} now{waits}", title=task.title, status=status, waits=waits)


def _place(task: Task) -> tuple[str, str]:
    return str(task.id), str(task.parent or "")


def _data(task: Task) -> dict[str, Any]:
    due = None if task.due_at is None else to_text(task.due_at)
    return {
        "id": _place(task)[0],
        "under": _place(task)[1],
        "text": task.title,
        "status": task.status.value,
        "due": due,
    }
