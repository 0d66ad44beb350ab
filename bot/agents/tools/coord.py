"""`coord`: what agents arrange among themselves, known to those who hear the turn in which they do."""

from typing import Any, Literal

from pydantic import Field

from bot.agents.context.quotes import joined, line, say
from bot.agents.context.situation import ago, handoff_line, task_line
from bot.agents.permissions.policy import Caution
from bot.agents.tools.base import Arguments, Outcome, StoreTool, ToolContext
from bot.errors import ToolError
from memory import agents, coordination, presence
from memory.agents import Agent
from memory.coordination import By
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId

_LISTED = 20  # tasks, and as many notes, of a status
_SHOWN = 300  # characters of a note in it


class CoordArguments(Arguments):
    operation: Literal["status", "assign", "complete", "handoff", "note"] = Field(
        description="status: who is here, open tasks, newest notes; assign: give a task; complete: a task is done; "
        "handoff: leave what the next agent must know; note: tell all agents something worth remembering"
    )
    content: str = Field(
        default="", description="assign: the task; handoff and note: the words, complete in themselves"
    )
    agent: str = Field(default="", description="assign and handoff: the agent's name, or empty for anyone")
    task: str = Field(default="", description="complete: the task's id, such as task_4f2k0m3x9q")
    importance: Literal["low", "medium", "high", "critical"] = Field(
        default="medium",
        description="note and assign: how much it matters; an agent that was away is told notes from medium on, as "
        "what was decided",
    )


class CoordTool(StoreTool[CoordArguments]):
    name = "coord"
    description = (
        "Arrange work with the other agents of your constellation: assign tasks and complete them, hand over to one "
        "agent or to anyone, and note decisions for all. The others learn of it in their next turn, as far as those "
        "who hear them may know what is said here. It starts nobody: `send_message` has an agent or a group answer now."
    )
    arguments: type[Arguments] = CoordArguments
    caution = Caution(bound=("operation", "agent"))

    def work(self, tx: Tx, context: ToolContext, arguments: CoordArguments) -> Outcome:
        by = By.of_turn(context.turn, context.message, context.now)
        match arguments.operation:
            case "status":
                return _status(tx, context)
            case "assign":
                to = find_agent(tx, arguments.agent)
                task = coordination.assign(tx, by, arguments.content, *_named(to), arguments.importance)
                return Outcome(
                    say("assigned as {id} to {to}", id=task.id, to=task.to_name or "anyone"), {"task": task.id}
                )
            case "complete":
                done = coordination.complete(tx, by, arguments.task.strip())
                return Outcome(say("{id} is completed", id=done.id), {"task": done.id})
            case "handoff":
                to = find_agent(tx, arguments.agent)
                if to is not None and to.id == context.agent.id:
                    raise ToolError(
                        "A handoff note is for another agent; what you want to keep yourself goes to recall."
                    )
                note = coordination.hand_over(tx, by, arguments.content, *_named(to))
                who = note.to_name or "Whoever comes next"
                return Outcome(say("{who} reads it in the next turn", who=who), {"note": note.id})
            case "note":
                kept = coordination.add_note(tx, by, arguments.content, arguments.importance)
                return Outcome(
                    say("noted for all as {id}, importance {i}", id=kept.id, i=kept.importance), {"note": kept.id}
                )


def _named(agent: Agent | None) -> tuple[AgentId | None, str]:
    """The id and name of an agent, or of anyone."""
    return (None, "") if agent is None else (agent.id, agent.name)


def find_agent(rows: Rows, name: str) -> Agent | None:
    """The agent of that name, with or without @; None for an empty name. Raises ToolError with the names there are."""
    wanted = name.strip().removeprefix("@").casefold()
    if not wanted or wanted == "anyone":
        return None
    known = agents.agents(rows)
    found = next((agent for agent in known if agent.name.casefold() == wanted), None)
    if found is None:
        raise ToolError(f"There is no agent {name!r}. The agents are: {', '.join(agent.name for agent in known)}.")
    return found


def _status(rows: Rows, context: ToolContext) -> Outcome:
    turn = context.turn
    others = presence.others(rows, context.agent.id, turn.scope)
    tasks = coordination.open_tasks(rows, turn.scope, _LISTED)
    notes = coordination.notes(rows, turn.scope, _LISTED)
    handoffs = coordination.handoffs(rows, turn.scope, _LISTED)
    data: dict[str, Any] = {
        "agents": [each.name for each in others],
        "tasks": [task.id for task in tasks],
        "handoffs": [note.id for note in handoffs],
        "notes": [note.id for note in notes],
    }
    lines = [say("Other agents:")]
    for each in others:
        active = f", last active {ago(context.now - each.last_active)}" if each.last_active else ""
        lines.append(say("- {agent}", agent=f"{each.name}{active}"))
    lines += [] if others else [say("- none")]
    lines += [say("Open tasks:"), *(map(task_line, tasks))] if tasks else [say("No task is open.")]
    if handoffs:
        lines += [say("Handoff notes:"), *map(handoff_line, handoffs)]
    if notes:
        lines.append(say("Notes:"))
        lines += [say("- {id} ({i}): {text}", id=n.id, i=n.importance, text=line(n.text, _SHOWN)) for n in notes]
    return Outcome(joined(lines), data)
