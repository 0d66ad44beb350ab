"""Writes a finished turn to the system logs: used tools with their results, and events besides messages.

Only names and outcomes: arguments and results are people's words, which the transcript keeps and erases.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from bot.agents import turn_learning
from bot.agents.context.prompt import PromptInputs
from bot.agents.tool_rules import MORE_TOOLS
from bot.agents.tools.base import Tool, Toolset
from bot.models.base import Call, parsed
from memory import activity
from memory.activity import AttachmentsRead, FolderUsed, MessagesReceived, ToolUsed
from memory.agents import Agent
from memory.blocks.edits import EVENTS, TOOLS, append_log, log_author
from memory.blocks.store import CheckpointPolicy
from memory.queue.inbox import InRow
from memory.queue.payloads import DecisionEvent, Extras
from memory.queue.steps import CallDone, CallFailed, ModelAnswer
from memory.queue.turns import Turn
from memory.store.database import Tx
from texts import gettext_lazy, gettext_noop, ngettext_lazy


def write(
    tx: Tx, material: PromptInputs, now: datetime, policy: CheckpointPolicy, tools: Callable[[Agent], Toolset]
) -> None:
    """Add the turn to its logs, inside the transaction that ends it. `tools` gives those that an agent has."""
    turn = material.turn
    logged = log_author(material.agent.id, turn.scope.audience, now, turn.id, policy)
    append_log(tx, TOOLS, logged, _used(material, tools))
    append_log(tx, EVENTS, logged, _met(material))


def note_asked(tx: Tx, turn: Turn, rows: Iterable[InRow], now: datetime) -> None:
    """Record in the activity log that a turn got messages, and read their files.

    An agent's notice of a decision is written for models, so people do not read it there.
    """
    given = list(rows)
    decisions = [row for row in given if isinstance(row.payload, DecisionEvent)]
    if decisions:
        words = ngettext_lazy("got an answer to a request", "got answers to {count} requests", len(decisions))
        activity.note_of_turn(tx, turn, MessagesReceived(len(decisions)), words, now)
    if messages := [row.message for row in given if row.message is not None and row not in decisions]:
        words = ngettext_lazy("received a message", "received {count} messages", len(messages))
        activity.note_of_turn(tx, turn, MessagesReceived(len(messages)), words, now, messages[-1])
    came = [row.payload for row in given if isinstance(row.payload, Extras)]
    files = sum(bool(file.text) for each in came for file in each.attachments)
    if files:
        words = ngettext_lazy("read an attached file", "read {count} attached files", files)
        activity.note_of_turn(tx, turn, AttachmentsRead("attachments", files, "read"), words, now)


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


def note_tool(tx: Tx, turn: Turn, tools: Mapping[str, Tool], use: Use, now: datetime) -> None:
    """Record in the activity log that a tool was used and how long it took; names only."""
    call, worked = use.call, use.worked
    if call.name == MORE_TOOLS:
        return
    name, operation = _shown(call.name, call.arguments, tools, worked=worked)
    called = gettext_lazy(tools[name].shown) if name in tools and tools[name].shown else name
    words = use_in_words(called) if worked else gettext_lazy("used {tool}, which failed", tool=called)
    used = ToolUsed(name, operation, worked, call.id, round(use.seconds, 2))
    activity.note_of_turn(tx, turn, used, words, now)
    if not worked:
        turn_learning.note_failure(tx, turn, name, now)


def use_in_words(called: str) -> str:
    """The use of a tool, as the activity log words it."""
    return gettext_lazy("used {tool}", tool=called)


def note_folders(tx: Tx, turn: Turn, folders: Collection[str], use: Use, now: datetime) -> None:
    """Record in the activity log in which folders a call read or wrote; file names are not recorded."""
    call = use.call
    for folder in folders:
        operation = _operation(call.arguments) or "search"
        used = FolderUsed(call.name, operation, use.worked, call.id, round(use.seconds, 2), folder=folder)
        told = _IN_FOLDER.get(operation, gettext_noop("used {tool} in {folder}/"))
        words = gettext_lazy(told, tool=call.name, folder=folder)
        activity.note_of_turn(tx, turn, used, words, now)


def _used(material: PromptInputs, tools: Callable[[Agent], Toolset]) -> Iterator[dict[str, object]]:
    bodies = [step.body for step in material.steps]
    operations = {call.id: call.arguments for body in bodies if isinstance(body, ModelAnswer) for call in body.calls}
    for body in bodies:
        if isinstance(body, CallDone | CallFailed) and body.name != MORE_TOOLS:
            given = operations.get(body.call, "")
            name, operation = _shown(body.name, given, tools(material.agent).tools, worked=body.ok)
            yield {"tool": name, "operation": operation, "worked": body.ok}


def _shown(name: str, arguments: str, tools: Collection[str], *, worked: bool) -> tuple[str, str | None]:
    """The tool and the operation. A failed call may have any text as these, even a person's words."""
    known = name if worked or name in tools else "unknown tool"
    return known, _operation(arguments) if worked else None


def _operation(arguments: str) -> str | None:
    found = parsed(arguments).get("operation")
    return found if isinstance(found, str) else None  # foreign tools may mean anything by it


def _met(material: PromptInputs) -> Iterator[dict[str, object]]:
    for asked in material.asked:
        if asked.message.role == "system":
            yield {"event": "notice" if isinstance(asked.payload, Extras) else asked.payload.status}
