"""A finished turn in the system's logs: which tools were used and how that went, and what happened beside messages.

Names and outcomes alone. What a call was given and what came of it are words, which the transcript keeps and forgets.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any

from bot import signals
from bot.models.base import Call
from bot.turns.context import Material
from memory import activity, presence
from memory.blocks.logs import EVENTS, TOOLS, Logged, append_log
from memory.blocks.storage import CheckpointPolicy
from memory.database import Tx
from memory.inbox import InRow
from memory.turns import Turn


def write(tx: Tx, material: Material, now: datetime, policy: CheckpointPolicy, tools: Collection[str]) -> None:
    """Add what the turn did and met to its logs; inside the transaction that ends it. `tools` are those it has."""
    turn = material.turn
    logged = Logged(material.agent.id, turn.scope.audience, turn.id, policy)
    append_log(tx, TOOLS, logged, _used(material, tools), now)
    append_log(tx, EVENTS, logged, _met(material), now)
    presence.stayed(tx, turn, now)


def note_asked(tx: Tx, turn: Turn, rows: Iterable[InRow], now: datetime) -> None:
    """Write into the activity that a turn was given messages, and read the files that came with them."""
    given = list(rows)
    activity.note_received(tx, turn, [row.message for row in given if row.message is not None], now)
    files = sum(bool(file.get("text")) for row in given for file in row.payload.get("attachments", ()))
    if files:
        words = f"read {files} attached {'file' if files == 1 else 'files'}"
        details = {"folder": "attachments", "files": files, "operation": "read"}
        activity.note(tx, activity.of_turn(turn, activity.Kind.FILE, words, details), now)


def note_tool(tx: Tx, turn: Turn, tools: Collection[str], call: Call, now: datetime, *, worked: bool) -> None:
    """Write into the activity that a tool was used, by names alone."""
    # A call that failed may name anything as its tool or operation, also what somebody said.
    name = call.name if worked or call.name in tools else "unknown tool"
    operation = _operation(call.arguments) if worked else None
    words = f"used {name}{f' ({operation})' if operation else ''}{'' if worked else ', which failed'}"
    details = {"tool": name, "operation": operation, "worked": worked}
    activity.note(tx, activity.of_turn(turn, activity.Kind.TOOL, words, details), now)
    if not worked:
        signals.note_failure(tx, turn, name, now)


def note_folders(tx: Tx, turn: Turn, folders: Collection[str], call: Call, now: datetime) -> None:
    """Write into the activity in which folders a call looked or wrote; what the files are called is not noted."""
    for folder in folders:
        operation = _operation(call.arguments) or "list"
        details = {"folder": folder, "operation": operation}
        activity.note(
            tx, activity.of_turn(turn, activity.Kind.FILE, f"{operation} in the folder {folder}", details), now
        )


def _used(material: Material, tools: Collection[str]) -> Iterator[dict[str, Any]]:
    operations = {
        call["id"]: call["arguments"] for step in material.steps if step.kind == "answer" for call in step.body["calls"]
    }
    for step in material.steps:
        if step.kind == "tool_result" and "waiting" not in (step.body.get("data") or {}):
            worked = bool(step.body["ok"])
            # A call that failed may name anything as its tool or operation, also what somebody said.
            name = step.body["name"] if worked or step.body["name"] in tools else "unknown tool"
            operation = _operation(operations.get(step.body["call"], "")) if worked else None
            yield {"tool": name, "operation": operation, "worked": worked}


def _operation(arguments: str) -> str | None:
    given = json.loads(arguments or "{}")
    return given.get("operation") if isinstance(given, dict) else None


def _met(material: Material) -> Iterator[dict[str, Any]]:
    for asked in material.asked:
        if asked.message.role == "system":
            yield {"event": str(asked.payload.get("status") or "notice")}
