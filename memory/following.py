"""What goes with words that are taken back: everything that was derived from them.

A message that its author deletes takes along what was learned from it and what we said with it; so does an entry
that somebody asks to forget.
"""

import json
from collections.abc import Iterable
from datetime import datetime

from memory import archival, messages, outbox
from memory.archival import Entry
from memory.database import Row, Tx
from memory.fulltext import content_words
from memory.ids import MessageId, PersonId


def forget_derived(tx: Tx, message: MessageId, at: datetime) -> int:
    """Remove the entries that were learned from a message, and our words that hold theirs; how many entries.

    An entry that holds words of several messages goes as well: nobody can tell which words were whose.
    """
    sql = """SELECT * FROM archival_entries WHERE message_id = :id
             OR :id IN (SELECT value FROM json_each(metadata, '$._messages'))"""
    entries = [archival.to_entry(row) for row in tx.all(sql, {"id": message})]
    for entry in entries:
        forget_words(tx, entry, archival.derived_messages(tx, entry), None, at)
    return archival.remove(tx, [entry.id for entry in entries])


def forget_words(tx: Tx, entry: Entry, holding: Iterable[MessageId], asking: PersonId | None, at: datetime) -> int:
    """Empty those of the messages that hold an entry's words; how many of them somebody had seen.

    Of people's messages only the asking person's: words of others are theirs to take back. Of ours those that
    share a content word with the entry: a turn that merely saw it in a list, and spoke of something else, keeps
    its answer. What the outbox still holds of them goes too.
    """
    marks = json.dumps(list(holding))
    sql = "SELECT * FROM messages WHERE deleted_at IS NULL AND id IN (SELECT value FROM json_each(?))"
    told = [row for row in tx.all(sql, (marks,)) if _holds(row, entry, asking)]
    ids = [MessageId(row["id"]) for row in told]
    messages.redact(tx, ids, at)
    outbox.forget(tx, ids)
    return sum(row["role"] == "user" or (row["role"] == "assistant" and row["tool_call_id"] is None) for row in told)


def _holds(row: Row, entry: Entry, asking: PersonId | None) -> bool:
    if row["role"] == "user":
        return asking is not None and row["person_id"] == asking
    words = content_words(f"{row['content']} {row['tool_args'] or ''}")
    return not set(content_words(entry.content)).isdisjoint(words)
