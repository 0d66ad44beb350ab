"""What goes with words that are taken back, or kept to a narrower audience: everything that was derived from them.

A message that its author deletes takes along what was learned from it, what agents wrote into blocks because of it and
what we said with it; so does an entry that somebody asks to forget.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from memory import archival, messages, outbox
from memory.answering import answering, caused
from memory.archival import Entry
from memory.audience import Audience
from memory.blocks.following import unwrite
from memory.database import Row, Tx
from memory.fulltext import content_words
from memory.ids import MessageId, PersonId
from memory.messages import Message


def forget_derived(tx: Tx, message: MessageId, at: datetime) -> int:
    """Remove the entries that were learned from a message, and our words that hold theirs; how many entries.

    An entry that holds words of several messages goes as well: nobody can tell which words were whose.
    """
    entries = _learned(tx, message)
    for entry in entries:
        forget_words(tx, entry, archival.derived_messages(tx, entry), None, at)
    return archival.remove(tx, [entry.id for entry in entries])


def follow_edit(tx: Tx, old: Message, new_text: str, at: datetime) -> int:
    """Let what was derived from a message follow its edit; how many entries and blocks it changed.

    Words that the author took out go: the entries learned from the message that hold one, and our words with them,
    also those of the turn that answered it; so does what was written into blocks with one. An edit that only adds, or
    mends a word that nobody kept, changes nothing.
    """
    gone = set(content_words(old.text)) - set(content_words(new_text))
    blocks = unwrite(tx, old, at, gone=gone if new_text else None)
    if not gone:
        return blocks
    entries = [entry for entry in _learned(tx, old.id) if not gone.isdisjoint(content_words(entry.content))]
    for entry in entries:
        forget_words(tx, entry, archival.derived_messages(tx, entry), None, at)
    # Also what agents wrote to each other because of it, and what was answered to that.
    sql = """WITH turns (id) AS (SELECT value FROM json_each(?))
             SELECT * FROM messages WHERE agent_id IS NOT NULL AND deleted_at IS NULL AND (batch_id IN turns
               OR id IN (SELECT i.message_id FROM agent_messages a JOIN inbox i ON i.id = a.inbox_id
                 WHERE a.root_id IN turns))"""
    ours = tx.all(sql, (json.dumps(caused(tx, answering(tx, old.id))),))
    holding = [row for row in ours if not gone.isdisjoint(content_words(f"{row['content']} {row['tool_args'] or ''}"))]
    ids = [MessageId(row["id"]) for row in holding]
    messages.redact(tx, ids, at)
    outbox.forget(tx, ids)
    return archival.remove(tx, [entry.id for entry in entries]) + blocks


def forget_words(tx: Tx, entry: Entry, holding: Iterable[MessageId], asking: PersonId | None, at: datetime) -> int:
    """Empty those of the messages that hold an entry's words; how many of them somebody had seen.

    Of people's messages only the asking person's: words of others are theirs to take back. Of ours those that
    share a content word with the entry: a turn that merely saw it in a list, and spoke of something else, keeps
    its answer. What the outbox still holds of them goes too.
    """
    marks = json.dumps(list(holding))
    sql = "SELECT * FROM messages WHERE deleted_at IS NULL AND id IN (SELECT value FROM json_each(?))"
    told = [row for row in tx.all(sql, (marks,)) if _holds(row, entry.content, asking)]
    ids = [MessageId(row["id"]) for row in told]
    messages.redact(tx, ids, at)
    outbox.forget(tx, ids)
    return sum(row["role"] == "user" or (row["role"] == "assistant" and row["tool_call_id"] is None) for row in told)


def narrow_entry(tx: Tx, entry: Entry, to: Audience) -> Entry:
    """Let an entry be used by a narrower audience only, and with it what was made of it and said where it was learned.

    For an entry of one person's words. Only rows of that person's own turns go along, and only of the audience that
    the entry had: what others were told with it was said in places that this person need not know.
    """
    taken = "SELECT 1 FROM archival_entries WHERE agent_id = ? AND label = ? AND audience = ?"
    label = None if tx.one(taken, (entry.agent, entry.label, to)) is not None else entry.label
    held = archival.derived_messages(tx, entry)
    _narrow(tx, held, (entry.content, entry.people[0], entry.audience), to)
    merged = json.dumps(archival.family_of(tx, entry.id))  # what it was made of may stand again
    kept = "audience = ? AND superseded_by IS NOT NULL AND id IN (SELECT value FROM json_each(?))"
    tx.run(f"UPDATE archival_entries SET audience = ? WHERE {kept}", (to, entry.audience, merged))
    for each in archival.made_of(tx, [entry.id]):
        made = archival.standing(tx, each)
        if made is not None and made.audience == entry.audience:
            narrow_entry(tx, made, to)
    return archival.store(tx, replace(entry, audience=to, label=label), None)


def narrow_message(tx: Tx, message: Message, to: Audience, at: datetime) -> int:
    """The same for what a person said: the message, our echo of it, and the entries learned from it.

    What agents wrote from it into blocks of other audiences is taken back there.
    Gives how many entries stay as they are, because they hold words of others too.
    """
    if message.person is None:
        raise ValueError(f"message {message.id} is nobody's")
    unwrite(tx, message, at, but=to)
    batch = tx.all("SELECT id FROM messages WHERE batch_id = ? AND agent_id IS NOT NULL", (message.batch,))
    _narrow(tx, [row["id"] for row in batch], (message.text, message.person, message.audience), to)
    messages.narrow(tx, [message.id], to)
    mixed = 0
    for entry in _learned(tx, message.id):
        if entry.people != (message.person,):
            mixed += 1
        elif entry.audience == message.audience:
            narrow_entry(tx, entry, to)
    return mixed


def _narrow(tx: Tx, holding: Iterable[MessageId], words: tuple[str, PersonId, Audience], to: Audience) -> None:
    content, person, audience = words
    sql = """SELECT * FROM messages WHERE deleted_at IS NULL AND person_id = ? AND audience = ?
             AND id IN (SELECT value FROM json_each(?))"""
    found = tx.all(sql, (person, audience, json.dumps(list(holding))))
    messages.narrow(tx, [MessageId(row["id"]) for row in found if _holds(row, content, person)], to)


def _learned(tx: Tx, message: MessageId) -> list[Entry]:
    sql = """SELECT * FROM archival_entries WHERE message_id = :id
             OR :id IN (SELECT value FROM json_each(metadata, '$._messages'))"""
    return [archival.to_entry(row) for row in tx.all(sql, {"id": message})]


def _holds(row: Row, content: str, asking: PersonId | None) -> bool:
    if row["role"] == "user":
        return asking is not None and row["person_id"] == asking
    words = content_words(f"{row['content']} {row['tool_args'] or ''}")
    return not set(content_words(content)).isdisjoint(words)
