"""A finished turn in the system's logs: which tools were used and how that went, and what happened beside messages.

Names and outcomes alone. What a call was given and what came of it are words, which the transcript keeps and forgets.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from bot.context import Material
from memory.block_log import CheckpointPolicy
from memory.database import Tx
from memory.logs import EVENTS, TOOLS, Logged, append_log


def write(tx: Tx, material: Material, now: datetime, policy: CheckpointPolicy) -> None:
    """Add what the turn did and met to its logs; inside the transaction that ends it."""
    turn = material.turn
    logged = Logged(material.agent.id, turn.scope.audience, turn.id, policy)
    append_log(tx, TOOLS, logged, _used(material), now)
    append_log(tx, EVENTS, logged, _met(material), now)


def _used(material: Material) -> Iterator[dict[str, Any]]:
    operations = {
        call["id"]: call["arguments"] for step in material.steps if step.kind == "answer" for call in step.body["calls"]
    }
    for step in material.steps:
        if step.kind == "tool_result" and "waiting" not in (step.body.get("data") or {}):
            worked = bool(step.body["ok"])
            # A call that failed may name anything as its tool or operation, also what somebody said.
            name = step.body["name"] if worked or step.body["name"] in material.agent.tools else "unknown tool"
            operation = _operation(operations.get(step.body["call"], "")) if worked else None
            yield {"tool": name, "operation": operation, "worked": worked}


def _operation(arguments: str) -> str | None:
    given = json.loads(arguments or "{}")
    return given.get("operation") if isinstance(given, dict) else None


def _met(material: Material) -> Iterator[dict[str, Any]]:
    for asked in material.asked:
        if asked.message.role == "system":
            yield {"event": str(asked.payload.get("status") or "notice")}
