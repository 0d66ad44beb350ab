"""`coord`: tasks, handoffs and notes among agents, with the audience of the turn."""

from typing import Literal

from pydantic import Field

from bot.agents.agenda.tasks import TaskChanges, find_task
from bot.agents.context.quotes import joined, line, say
from bot.agents.context.situation import ago, handoff_line, task_line
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tools.agenda import AgendaTool, Fields, state_words
from bot.agents.tools.base import Arguments, Outcome, Rarely, ToolContext
from bot.errors import ToolError
from memory import activity, agents, coordination
from memory.agenda import tasks
from memory.agenda.tasks import Status, Task
from memory.agents import Agent, plain_name
from memory.knowledge.items import By
from memory.queue.turns import UseKind
from memory.store.database import Rows, Tx, Value
from texts import gettext_noop

_LISTED = 20  # tasks, and as many notes, of a status
_SHOWN = 300  # length of a note in it


class CoordinationArguments(Arguments):
    operation: Literal["status", "assign", "change", "complete", "handoff", "note"] = Field(
        description="status: who is here, open tasks, newest notes; assign: give a task; change: one that was given; "
        "complete: a task is done; handoff: leave what the next agent must know; note: tell all agents something worth "
        "remembering"
    )
    content: str = Field(
        default="", description="assign, change: the task; handoff, note: the words, complete in themselves"
    )
    agent: str = Field(
        default="", description='assign, handoff: the agent\'s name, or empty for anyone; change: a name or "anyone"'
    )
    task: str = Field(default="", description="change, complete: the task's number, or words from it")
    importance: Literal["low", "medium", "high", "critical", ""] = Field(
        default="",
        description="assign, change, note: how much it matters, medium by default; an agent that was away is told "
        "of notes of medium importance or more, as decisions",
    )
    state: Literal["open", "in_progress", "done", "cancelled", ""] = Field(default="", description="change")
    due: str = Field(
        default="", max_length=200, description='assign, change: due, as "Friday at 18:00"; none removes it'
    )
    under: str = Field(default="", description="assign, change: the task it is a step of, or none")
    after: str = Field(default="", description="assign, change: a task that must come first, or none")
    fields: Fields


class CoordinationTool(AgendaTool[CoordinationArguments]):
    name = "coord"
    shown = gettext_noop("the coordination tools")
    rarely = Rarely("what other agents do, tasks and handoffs among agents")
    description = (
        "Arrange work with the other agents of your constellation: give tasks, change and complete them, hand over to "
        "one agent or to anyone, note decisions for all. The others learn of it in their next turn, as far as those "
        "who hear them may know what is said here. To have an agent or a group answer now, use `send_message`."
    )
    caution = Caution(bound=("operation", "agent"))

    def work(self, tx: Tx, context: ToolContext, arguments: CoordinationArguments) -> Outcome:
        by = By.of_turn(context.turn, context.message, context.now)
        importance = arguments.importance or "medium"
        match arguments.operation:
            case "status":
                return _status(tx, context)
            case "assign":
                to = find_agent(tx, arguments.agent)
                task = coordination.assign(tx, by, arguments.content, to, importance)
                if columns := self._columns(tx, by, arguments, task):
                    task = tasks.change(tx, task, columns, by.scope, by.now)[0]
                waits = f"; it waits for {', '.join(task.waits_for)}" if task.waits_for else ""
                told = say("assigned as {id} to {to}{waits}", id=task.id, to=task.to_name or "anyone", waits=waits)
                return Outcome(told, noted=True)
            case "change" | "complete":
                task, columns = self._changes(tx, by, arguments)
                task, _before = coordination.change(tx, by, task, columns)
                told = state_words(task) if "status" in columns else say("changed: {task}", task=task_line(task))
                return Outcome(told, noted=True)
            case "handoff":
                to = find_agent(tx, arguments.agent)
                if to is not None and to.id == context.agent.id:
                    raise ToolError("A handoff note is for another agent; keep your own notes with recall.")
                coordination.hand_over(tx, by, arguments.content, to)
                who = "Whoever comes next" if to is None else to.name
                return Outcome(say("{who} reads it in the next turn", who=who), noted=True)
            case "note":
                kept = coordination.add_note(tx, by, arguments.content, importance)
                told = say("noted for all as {id}, importance {i}", id=kept, i=importance)
                return Outcome(told, noted=True)

    def _columns(self, tx: Tx, by: By, arguments: CoordinationArguments, task: Task) -> dict[str, Value]:
        """The columns of a task that `assign` and `change` set besides its text."""
        zone = self._clocks(tx, () if by.person is None else self._selves(by.person))
        wanted = TaskChanges(due=arguments.due, under=arguments.under, after=arguments.after, fields=arguments.fields)
        return wanted.columns(tx, task, tasks.shared(tx, by.scope), by.now, zone)

    def _changes(self, tx: Tx, by: By, arguments: CoordinationArguments) -> tuple[Task, dict[str, Value]]:
        done = arguments.operation == "complete"
        task = find_task(tasks.shared(tx, by.scope, done=done or arguments.state == "open"), arguments.task)
        if done:
            return task, {"status": Status.DONE}
        columns = self._columns(tx, by, arguments, task)
        if arguments.content.strip():
            columns["title"], columns["notes"] = coordination.split_task(arguments.content)
        if arguments.agent.strip():
            to = find_agent(tx, arguments.agent)
            columns["assignee_id"] = None if to is None else to.id
        if arguments.importance:
            columns["priority"] = coordination.priority(arguments.importance)
        if arguments.state:
            columns["status"] = Status(arguments.state)
        if not columns:
            raise ToolError("change needs content, agent, importance, state, due, under, after or fields.")
        return task, columns


def find_agent(rows: Rows, name: str) -> Agent | None:
    """The agent of that name, with or without @; None for an empty name. Raises ToolError with the known names."""
    wanted = plain_name(name)
    if not wanted or wanted == "anyone":
        return None
    known = agents.agents(rows)
    found = next((agent for agent in known if agent.name.casefold() == wanted), None)
    if found is None:
        raise ToolError(f"There is no agent {name!r}. The agents are: {', '.join(agent.name for agent in known)}.")
    return found


def _status(rows: Rows, context: ToolContext) -> Outcome:
    turn = context.turn
    others = activity.others(rows, context.agent.id, turn.scope)
    given = tasks.shared(rows, turn.scope, _LISTED)
    notes = coordination.notes(rows, turn.scope, _LISTED)
    handoffs = coordination.handoffs(rows, turn.scope, _LISTED)
    lines = [say("Other agents:")]
    for each in others:
        active = f", last active {ago(context.now - each.last_active)}" if each.last_active else ""
        lines.append(say("- {agent}", agent=f"{each.name}{active}"))
    lines += [] if others else [say("- none")]
    lines += [say("Open tasks:"), *(map(task_line, given))] if given else [say("No task is open.")]
    if handoffs:
        lines += [say("Handoff notes:"), *map(handoff_line, handoffs)]
    if notes:
        lines.append(say("Notes:"))
        lines += [say("- {id} ({i}): {text}", id=n.id, i=n.importance, text=line(n.text, _SHOWN)) for n in notes]
    used: list[tuple[UseKind, str]] = [("task", str(each.id)) for each in given]
    used += [("item", each.id) for each in handoffs] + [("item", each.id) for each in notes]
    return Outcome(joined(lines), uses=tuple(used))
