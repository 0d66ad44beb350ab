"""Writes a finished turn to the system logs: used tools with their results, and events besides messages.

Only names and outcomes: arguments and results are people's words, which the transcript keeps and erases.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct

from bot.agents import learning
from bot.agents.context.prompt import PromptInputs
from bot.agents.rules import MORE_TOOLS
from bot.models.base import Call, parsed
from memory import activity
from memory.agents import Agent
from memory.blocks.edits import EVENTS, TOOLS, append_log, log_author
from memory.blocks.store import CheckpointPolicy
from memory.queue.inbox import InRow
from memory.queue.payloads import Extras
from memory.queue.steps import CallDone, CallFailed, ModelAnswer
from memory.queue.turns import Turn
from memory.store.database import Tx
from texts import gettext_lazy, gettext_noop, ngettext_lazy


def write(
    tx: Tx, material: PromptInputs, now: datetime, policy: CheckpointPolicy, tools: Callable[[Agent], Collection[str]]
) -> None:
    """Add the turn to its logs, inside the transaction that ends it. `tools` gives the names of those it has."""
    turn = material.turn
    logged = log_author(material.agent.id, turn.scope.audience, now, turn.id, policy)
    append_log(tx, TOOLS, logged, _used(material, tools))
    append_log(tx, EVENTS, logged, _met(material))


def note_asked(tx: Tx, turn: Turn, rows: Iterable[InRow], now: datetime) -> None:
    """Record in the activity log that a turn got messages, and read their files."""
    given = list(rows)
    activity.note_received(tx, turn, [row.message for row in given if row.message is not None], now)
    came = [row.payload for row in given if isinstance(row.payload, Extras)]
    files = sum(bool(file.text) for each in came for file in each.attachments)
    if files:
        words = ngettext_lazy("read an attached file", "read {count} attached files", files)
        details = {"folder": "attachments", "files": files, "operation": "read"}
        activity.note(tx, activity.of_turn(turn, activity.Kind.FILE, words, details), now)


_IN_FOLDER = {
    "list": gettext_noop("listed {folder}/"),
    "open": gettext_noop("opened a file in {folder}/"),
    "read": gettext_noop("read in {folder}/"),
    "grep": gettext_noop("searched {folder}/"),
    "search": gettext_noop("searched {folder}/"),
    "write": gettext_noop("wrote a file in {folder}/"),
    "append": gettext_noop("added to a file in {folder}/"),
}


class Use(Struct, frozen=True):
    call: Call
    worked: bool
    seconds: float

    @property
    def details(self) -> dict[str, Any]:
        """Identifies the call in the conversation, and says how long it took."""
        return {"call": self.call.id, "seconds": round(self.seconds, 2)}


def note_tool(tx: Tx, turn: Turn, tools: Collection[str], use: Use, now: datetime) -> None:
    """Record in the activity log that a tool was used and how long that took; names only."""
    call, worked = use.call, use.worked
    if call.name == MORE_TOOLS:
        return
    # A failed call may have any text as its tool or operation, even a person's words.
    name = call.name if worked or call.name in tools else "unknown tool"
    operation = _operation(call.arguments) if worked else None
    words = gettext_lazy("used {tool}", tool=f"{name} ({operation})" if operation else name)
    if not worked:
        words = gettext_lazy("used {tool}, which failed", tool=name)
    details = {"tool": name, "operation": operation, "worked": worked, **use.details}
    activity.note(tx, activity.of_turn(turn, activity.Kind.TOOL, words, details), now)
    if not worked:
        learning.note_failure(tx, turn, name, now)


def note_folders(tx: Tx, turn: Turn, folders: Collection[str], use: Use, now: datetime) -> None:
    """Record in the activity log in which folders a call read or wrote; file names are not recorded."""
    call = use.call
    for folder in folders:
        operation = _operation(call.arguments) or "search"
        details = {"folder": folder, "tool": call.name, "operation": operation, "worked": True, **use.details}
        told = _IN_FOLDER.get(operation, gettext_noop("used {tool} in {folder}/"))
        words = gettext_lazy(told, tool=call.name, folder=folder)
        activity.note(tx, activity.of_turn(turn, activity.Kind.FILE, words, details), now)


def _used(material: PromptInputs, tools: Callable[[Agent], Collection[str]]) -> Iterator[dict[str, Any]]:
    bodies = [step.body for step in material.steps]
    operations = {call.id: call.arguments for body in bodies if isinstance(body, ModelAnswer) for call in body.calls}
    for body in bodies:
        if isinstance(body, CallDone | CallFailed) and body.name != MORE_TOOLS:
            # A failed call may have any text as its tool or operation, even a person's words.
            name = body.name if body.ok or body.name in tools(material.agent) else "unknown tool"
            operation = _operation(operations.get(body.call, "")) if body.ok else None
            yield {"tool": name, "operation": operation, "worked": body.ok}


def _operation(arguments: str) -> str | None:
    return parsed(arguments).get("operation")


def _met(material: PromptInputs) -> Iterator[dict[str, Any]]:
    for asked in material.asked:
        if asked.message.role == "system":
            yield {"event": "notice" if isinstance(asked.payload, Extras) else asked.payload.status}
