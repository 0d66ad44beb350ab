"""`tasks`: what the person wants to do."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from bot.agents.agenda.reminders import on_clocks
from bot.agents.context.quotes import Quoted, joined, say
from bot.agents.permissions.policy import Caution
from bot.agents.tools.base import Arguments, Outcome, StoreTool, ToolContext
from bot.errors import ToolError
from memory.agenda import tasks
from memory.agenda.tasks import NewTask, Priority, Status, Task
from memory.people import quiet_hours
from memory.store.clock import to_text
from memory.store.database import Tx, Value
from memory.store.errors import Refused
from memory.store.ids import PersonId
from scheduler.dates import read_when
from scheduler.triggers import At
from scheduler.zones import zone_of
from texts import _


class TaskArguments(Arguments):
    operation: Literal["add", "list", "update", "start", "done", "cancel"]
    title: str = Field(default="", max_length=tasks.LONGEST_TITLE, description="add: what is to be done; update: anew")
    notes: str = Field(default="", max_length=tasks.LONGEST_NOTES, description="add, update: what else is to be known")
    priority: Literal["low", "medium", "high", "urgent", ""] = Field(default="", description="add, update")
    due: str = Field(default="", max_length=200, description='add, update: until when, as "friday at 18:00"')
    under: str = Field(default="", description="add: the task that this one is a step of, by number or words of it")
    which: str = Field(default="", description="update, start, done, cancel: its number, or words that stand in it")
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "add": ("title",),
        **dict.fromkeys(("update", "start", "done", "cancel"), ("which",)),
    }


class TasksTool(StoreTool[TaskArguments]):
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
        zone = quiet_hours.zone_for(tx, self._selves(person), self._zone)
        match arguments.operation:
            case "list":
                text = _outline(found, zone) or say("They have no open tasks that may be spoken of here.")
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
                status = task.status.value.replace("_", " ")
                return Outcome(say("{title} is {status} now", title=task.title, status=status), _data(task))

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
        return Outcome(say("task {id} is written down: {task}", id=task.id, task=line(task, zone)), _data(task))

    def _update(self, tx: Tx, context: ToolContext, arguments: TaskArguments, task: Task, zone: str) -> Outcome:
        changes: dict[str, Value] = {}
        for name in ("title", "notes", "priority"):
            if given := getattr(arguments, name):
                changes[name] = given
        if arguments.due:
            changes["due_at"] = _due(arguments.due, context, zone)
        if not changes:
            raise ToolError("update needs a title, notes, priority or due.")
        changed = line(tasks.update(tx, task, changes, context.now), zone)
        return Outcome(say("changed: {task}", task=changed), _data(task))


def _outline(found: list[Task], zone: str) -> Quoted:
    return joined(say("{indent}{task}", indent=say("  " * depth), task=words) for depth, words in _steps(found, zone))


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
        raise ToolError(
            _("There is no open task {which} here. There are: {listed}.", which=repr(which), listed=listed or "none")
        )
    raise ToolError(
        _("Several tasks match {which}. Choose one by its number: {listed}.", which=repr(which), listed=listed)
    )


def lines(found: list[Task], zone: str) -> list[str]:
    """Tasks for a person, steps under what they are steps of."""
    return [f"{'  ' * depth}{words}" for depth, words in _steps(found, zone)]


def _steps(found: list[Task], zone: str) -> list[tuple[int, str]]:
    known = {task.id for task in found}
    shown: list[tuple[int, str]] = []

    def show(task: Task, depth: int) -> None:
        shown.append((depth, f"- {line(task, zone)}"))
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
