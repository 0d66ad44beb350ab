"""System logs: blocks of type log that agents read and only the system writes, one per kind and audience.

They record what was done and with what result, never anybody's words, so nothing in them has to be erased with
somebody's words. Each keeps its newest 200 entries and shows the last 10; older ones are found by search.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Struct

from memory.blocks import Author, Block, BlockType, NewBlock, Operation, Permission, edit_block, ensure_block
from memory.blocks.containers import add_entry
from memory.blocks.document import SYSTEM, BlockDocument
from memory.blocks.records import LOGS
from memory.blocks.schemas import Field, FieldType, LogSchema
from memory.blocks.store import DEFAULT_POLICY, CheckpointPolicy
from memory.blocks.targets import target_of
from memory.people.audience import Audience, Scope, Trust
from memory.store.database import Tx
from memory.store.ids import AgentId, TurnId
from memory.store.logs import Log

_logger = Log("memory.blocks")
TOOLS, EVENTS, SUMMARIES = LOGS
_KEPT, _SHOWN = 200, 10


class _Log(Struct, frozen=True):
    description: str
    schema: LogSchema


def _log(description: str, *fields: Field) -> _Log:
    return _Log(description, LogSchema(fields=fields, display_limit=_SHOWN, max_entries=_KEPT))


_LOGS: Mapping[str, _Log] = {
    TOOLS: _log(
        "Which tools its agent used here, and whether each worked",
        Field(name="tool", required=True),
        Field(name="operation"),
        Field(name="worked", type=FieldType.BOOLEAN, required=True),
    ),
    EVENTS: _log("What happened here beside messages", Field(name="event", required=True)),
    SUMMARIES: _log(
        "When earlier talk left your view, and how; what it was is told at the beginning of the conversation",
        Field(name="summary", required=True, description="how it left"),
        Field(name="messages", type=FieldType.NUMBER, description="how many it stands for"),
    ),
}


class LogContext(Struct, frozen=True):
    """Whom a log entry is for: the agent, the hearers of its turn, and the turn in which it happened."""

    agent: AgentId
    audience: Audience
    turn: TurnId | None = None
    policy: CheckpointPolicy = DEFAULT_POLICY


def append_log(
    tx: Tx, name: str, logged: LogContext, entries: Iterable[Mapping[str, Any]], now: datetime
) -> Block | None:
    """Add entries to a log as one change, creating it if needed; None when there are no entries.

    If a block of that name is not a log, nothing is stored: a missing log must not fail a turn. Raises Refused for an
    entry that does not fit the log's fields.
    """
    added = list(entries)
    if not added:
        return None
    log = _LOGS[name]
    block = NewBlock(
        owner=logged.agent,
        label=name,
        description=log.description,
        audience=logged.audience,
        trust=Trust.SYSTEM,
        type=BlockType.LOG,
        permission=Permission.READ_ONLY,
        schema=log.schema,
    )
    if ensure_block(tx, block, SYSTEM, now).type is not BlockType.LOG:
        _logger.warning("log_not_kept", agent=logged.agent, label=name, reason="a block of that name is no log")
        return None

    def add(found: Block, document: BlockDocument) -> None:
        target = target_of(found.schema, "")
        for entry in added:
            document.change(partial(add_entry, target=target, value=dict(entry), at=now, by=SYSTEM))

    author = Author(logged.agent, Scope(logged.audience), SYSTEM, Trust.SYSTEM, now, logged.turn, policy=logged.policy)
    return edit_block(tx, author, name, Operation.APPEND, add)
