"""`tasks`: what the person wants to do."""

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field, model_validator

from bot.errors import ToolError
from bot.policy import Caution
from bot.reminding import on_clocks
from bot.tools.base import Arguments, Outcome, ToolContext
from bot.when import read_when
from memory import tasks
from memory.clock import to_text
from memory.database import Tx, Value
from memory.errors import Refused
from memory.ids import PersonId
from memory.people import hours
from memory.tasks import NewTask, Priority, Status, Task
from scheduler.triggers import At
from scheduler.zones import zone_of


class TaskArguments(Arguments):
    operation: Literal["add", "list", "update", "start", "done", "cancel"]
    title: str = Field(default="", max_length=tasks.LONGEST_TITLE, description="add: what is to be done; update: anew")
    notes: str = Field(default="", max_length=tasks.LONGEST_NOTES, description="add, update: what else is to be known")
    priority: Literal["low", "medium", "high", "urgent", ""] = Field(default="", description="add, update")
    due: str = Field(default="", max_length=200, description='add, update: until when, as "friday at 18:00"')
    under: str = Field(default="", description="add: the task that this one is a step of, by number or words of it")
    which: str = Field(default="", description="update, start, done, cancel: its number, or words that stand in it")

    @model_validator(mode="after")
    def _complete(self) -> "TaskArguments":
        if self.operation == "add" and not self.title.strip():
            raise ValueError("add needs a title")
        if self.operation in ("update", "start", "done", "cancel") and not self.which.strip():
            raise ValueError(f"{self.operation} needs which")
        return self


class TasksTool:
    name = "tasks"
    description = (
        "Keep what the person wants to do: add writes a task down, list shows those that are open, start, done and "
        "cancel move one on, update changes it. Break what is too big into steps with under. Write a title in their "
        "words. A task does not remind anybody by itself: set a reminder for that."
    )
    arguments: type[Arguments] = TaskArguments
    caution = Caution(bound=("operation",))

    def __init__(self, zone: str, selves: Callable[[PersonId], tuple[PersonId, ...]]) -> None:
        self._zone = zone
        self._selves = selves

    def work(self, tx: Tx, context: ToolContext, arguments: TaskArguments) -> Outcome:
        person = context.turn.person
        if person is None:
            raise ToolError("Nobody is talking to you at the moment.")
        found = tasks.listing(tx, context.turn.scope, self._selves(person))
        zone = hours.zone_for(tx, self._selves(person), self._zone)
        match arguments.operation:
            case "list":
                text = "\n".join(lines(found, zone)) or "They have no open tasks that may be spoken of here."
                return Outcome(
                    text, {"tasks": [_data(task) | {"when": on_clocks(task.due_at, zone)} for task in found]}
                )
            case "add":
                return self._add(tx, context, arguments, found, zone)
            case "update":
                return self._update(tx, context, arguments, meant(found, arguments.which), zone)
            case _:
                ends = {"start": Status.IN_PROGRESS, "done": Status.COMPLETED, "cancel": Status.CANCELLED}
                task = meant(found, arguments.which)
                task = tasks.set_status(tx, task, ends[arguments.operation], context.now)
                return Outcome(f"{task.title} is {task.status.value.replace('_', ' ')} now", _data(task))

    def _add(self, tx: Tx, context: ToolContext, arguments: TaskArguments, found: list[Task], zone: str) -> Outcome:
        turn, parent = context.turn, meant(found, arguments.under).id if arguments.under.strip() else None
        new = NewTask(
            title=arguments.title,
            person=turn.person,
            audience=turn.scope.audience,
            trust=turn.trust,
            agent=turn.agent,
            notes=arguments.notes,
            priority=Priority(arguments.priority or Priority.MEDIUM),
            parent=parent,
        )
        task = tasks.add(tx, new, context.now)
        if arguments.due:
            task = tasks.update(tx, task, {"due_at": _due(arguments.due, context, zone)}, context.now)
        return Outcome(f"task {task.id} is written down: {line(task, zone)}", _data(task))

    def _update(self, tx: Tx, context: ToolContext, arguments: TaskArguments, task: Task, zone: str) -> Outcome:
        changes: dict[str, Value] = {}
        for name in ("title", "notes", "priority"):
            if given := getattr(arguments, name):
                changes[name] = given
        if arguments.due:
            changes["due_at"] = _due(arguments.due, context, zone)
        if not changes:
            raise ToolError("update needs a title, notes, priority or due.")
        return Outcome(f"changed: {line(tasks.update(tx, task, changes, context.now), zone)}", _data(task))


def _due(words: str, context: ToolContext, zone: str) -> str:
    trigger = read_when(words, context.now, zone)
    if not isinstance(trigger, At):
        raise Refused("a task is due once")
    return to_text(trigger.when)


def meant(found: list[Task], which: str) -> Task:
    """The one that is meant. Raises ToolError, naming those that could be."""
    fitting = tasks.named(found, which)
    if len(fitting) == 1:
        return fitting[0]
    listed = "; ".join(f"{each.id}: {each.title[:60]}" for each in (fitting or found)[:10])
    if not fitting:
        raise ToolError(f"No open task is called {which!r} here. There are: {listed or 'none'}.")
    raise ToolError(f"Several tasks fit {which!r}: say which by its number, {listed}.")


def lines(found: list[Task], zone: str) -> list[str]:
    """Tasks for a person, steps under what they are steps of."""
    known = {task.id for task in found}
    shown: list[str] = []

    def show(task: Task, depth: int) -> None:
        shown.append(f"{'  ' * depth}- {line(task, zone)}")
        for step in (each for each in found if each.parent == task.id):
            show(step, depth + 1)

    for task in found:
        if task.parent not in known:
            show(task, 0)
    return shown


def line(task: Task, zone: str) -> str:
    """One task."""
    due = "" if task.due_at is None else f"until {task.due_at.astimezone(zone_of(zone)):%Y-%m-%d %H:%M}"
    priority = "" if task.priority is Priority.MEDIUM else task.priority.value
    status = "" if task.status is Status.PENDING else task.status.value.replace("_", " ")
    about = "; ".join(filter(None, (status, priority, due)))
    return f"{task.title}{f' ({about})' if about else ''} `{task.id}`"


def _data(task: Task) -> dict[str, Any]:
    due = None if task.due_at is None else to_text(task.due_at)
    return {"id": str(task.id), "text": task.title, "status": task.status.value, "due": due}
