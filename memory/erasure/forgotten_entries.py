"""Forgetting an entry: the messages (`entries.derived_messages`) and the text in blocks that go with it.

`memory.erasure.edited_or_deleted_messages` uses the same for entries that were learned from a message.
"""

import importlib
import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from memory.knowledge import entries, entry_changes
from memory.knowledge.entries import Entry, derived_messages
from memory.people.audience import Scope
from memory.queue import messages, outbox
from memory.queue.messages import Message
from memory.store.database import Row, Tx
from memory.store.ids import MessageId, PersonId


def forget_entry(tx: Tx, entry: Entry, asking: PersonId | None, at: datetime) -> int:
    """Forget an entry and what was derived from it; returns how many visible messages were emptied."""
    whole = entries.read(tx, entry.agent, entry.id, Scope(entry.audience))
    holding = derived_messages(tx, whole)
    entry_changes.delete(tx, entry.agent, entry.id, Scope(entry.audience))
    return forget_said(tx, whole, holding, asking, at)


def forget_said(tx: Tx, entry: Entry, holding: Iterable[MessageId], asking: PersonId | None, at: datetime) -> int:
    """Empty the messages that go with an entry; returns how many of them were visible to somebody.

    Only recorded links count. Of people's messages only the asking person's are emptied: others' are theirs to delete.
    Of ours, those in turns of the people whose words the entry holds, and results of tools in any turn; our answers to
    others are theirs. Unsent copies in the outbox go, too, and what agents wrote into blocks because of the asking
    person's messages.
    """
    sql = """SELECT m.id, m.role, m.tool_call_id, m.batch_id FROM messages m LEFT JOIN turns t ON t.id = m.batch_id
             WHERE m.deleted_at IS NULL AND m.id IN (SELECT value FROM json_each(:holding))
             AND iif(m.role = 'user', m.person_id = :asking,
               m.role = 'tool' OR t.person_id IS NULL OR t.person_id IN (SELECT value FROM json_each(:people)))"""
    people = json.dumps([*entry.people, *([] if asking is None else [asking])])
    told = tx.all(sql, {"holding": json.dumps(list(holding)), "asking": asking, "people": people})
    for row in told:
        if row["role"] == "user" and (said := messages.of_id(tx, MessageId(row["id"]))) is not None:
            unwrite(tx, said, at)
    empty(tx, told, at)
    spoken = [row for row in told if row["role"] in ("user", "assistant") and row["tool_call_id"] is None]
    # What a turn wrote on the way to its answer, nobody read.
    return len({row["id"] if row["role"] == "user" else row["batch_id"] or row["id"] for row in spoken})


def empty(tx: Tx, said: Iterable[Row], at: datetime) -> None:
    ids = [MessageId(row["id"]) for row in said]
    messages.redact(tx, ids, at)
    outbox.forget(tx, ids)


def unwrite(tx: Tx, old: Message, at: datetime, **more: Any) -> int:
    """As `memory.erasure.blocks.remove_derived`, imported here since most callers that accept messages edit no
    block."""
    changed: int = importlib.import_module("memory.erasure.blocks").remove_derived(tx, old, at, **more)
    return changed
