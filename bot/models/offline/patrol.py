"""A patrol without a language model: what rules can see, which is tasks that are due, and nothing of the checklist.

What was said is kept in working memory for a day, so that the same task is not said at every patrol.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from bot.models.base import Call, Request, ToolMessage, UserMessage
from memory.store.clock import from_text

EVENT = "patrol"
_KEY, _KEPT_MINUTES = "due-tasks", 24 * 60
_MOST = 20
_HEAD = (
    "On patrol without a language model I could look at tasks alone, not at the rest of the checklist. These are due:"
)


def is_patrol(request: Request) -> bool:
    """Whether the newest message is the event that begins one."""
    newest = next((each for each in reversed(request.messages) if isinstance(each, UserMessage)), None)
    return newest is not None and newest.event == EVENT


def patrol(request: Request, now: datetime) -> tuple[str, tuple[Call, ...]]:
    """The next step: calls that are needed first, or the final text, empty where nothing new is due."""
    tools = {tool.name for tool in request.tools}
    made = {each.call_id: each for each in request.messages if isinstance(each, ToolMessage)}
    if "tasks" not in tools:
        return "", ()
    look = [_call("tasks", operation="list")]
    if "working_memory" in tools:
        look.append(_call("working_memory", operation="get", key=_KEY))
    if missing := tuple(call for call in look if call.id not in made):
        return "", missing
    due = sorted(_due(made[look[0].id], now), key=lambda task: str(task["due"]))[:_MOST]
    told = _told(made.get(look[-1].id)) if len(look) > 1 else set()
    new = [task for task in due if str(task["id"]) not in told]
    if not new:
        return "", ()
    content = "\n".join(str(task["id"]) for task in due)
    save = _call("working_memory", operation="save", key=_KEY, content=content, ttl_minutes=_KEPT_MINUTES)
    if len(look) > 1 and save.id not in made:
        return "", (save,)
    lines = (f"- {task['text']} (until {str(task['due'])[:16].replace('T', ' ')} UTC)" for task in new)
    return "\n".join([_HEAD, *lines]), ()


def _call(tool: str, **arguments: Any) -> Call:
    return Call(f"off_patrol_{tool}_{arguments['operation']}", tool, json.dumps(arguments, sort_keys=True))


def _due(result: ToolMessage, now: datetime) -> Iterable[Mapping[str, Any]]:
    data = result.data if result.ok and isinstance(result.data, dict) else {}
    return (task for task in data.get("tasks", ()) if task.get("due") and from_text(task["due"]) <= now)


def _told(result: ToolMessage | None) -> set[str]:
    data = result.data if result is not None and result.ok and isinstance(result.data, dict) else {}
    return set(str(data.get("content", "")).split())
