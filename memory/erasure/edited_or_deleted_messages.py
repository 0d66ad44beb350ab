"""Removes what was derived from a message that is edited, deleted or restricted to fewer people.

Its own text is gone at once, by `memory.queue.messages.redact`. `bot.runtime.erasure_follow_ups` calls this.

When its author deletes a message, this removes the entries made from it, what agents wrote into blocks because of it
(`memory.erasure.blocks`), and our messages with its words. Facts, sessions and interrupted work go at once, by triggers
on `messages` (such as `facts_message_changed`). For an entry that somebody asks to forget, see
`memory.erasure.forgotten_entries`.
"""

import json
from collections.abc import Iterable, Set
from datetime import datetime

from memory.erasure.forgotten_entries import empty, forget_said, unwrite
from memory.knowledge import entries, entry_changes, facts
from memory.knowledge.entries import Entry, derived_messages, learned_from
from memory.people.audience import Audience, Scope
from memory.queue import erasure_follow_ups, messages
from memory.queue.erasure_follow_ups import FollowUp, Target
from memory.queue.messages import Message
from memory.queue.turns import answering, caused
from memory.store.database import Row, Rows, Tx
from memory.store.fulltext import content_words
from memory.store.ids import MessageId, PersonId
from memory.store.records import replace


def forget_derived(tx: Tx, message: MessageId, at: datetime, gone: Set[str] | None = None) -> int:
    """Remove the entries learned from a message, and our messages with their words; returns how many entries.

    An entry learned from several messages is removed, too, since nobody can tell which words came from which. With
    `gone`, only entries that contain one of these words are removed.
    """
    learned = [each for each in learned_from(tx, message) if _contains(each.content, gone)]
    for entry in learned:
        forget_said(tx, entry, derived_messages(tx, entry), None, at)
    return entry_changes.remove(tx, [entry.id for entry in learned])


def words_gone(old: Message, now: Message) -> frozenset[str] | None:
    """The content words that an edit removed from a message; None if nothing is left, as after a deletion."""
    before = frozenset(content_words(old.text))
    gone = before - frozenset(content_words(now.text))
    return None if now.deleted_at is not None or (gone and gone == before) else gone


def _contains(text: str, words: Set[str] | None) -> bool:
    """Whether a text has one of these words; always, if they are None."""
    return words is None or not words.isdisjoint(content_words(text))


def take_back(tx: Tx, message: Message, at: datetime) -> int:
    """Remove what agents said and wrote into blocks because of a deleted message; returns how many blocks changed.

    The content does not matter: the turns that answered the message are recorded, with what members and other agents
    did because of them. `forget_derived` handles what was learned from the message.
    """
    empty(tx, _said(tx, message.id), at)
    return unwrite(tx, message, at)


def _said(rows: Rows, message: MessageId) -> list[Row]:
    """What agents said in the turns that a message led to, also to each other, and the results of tools there."""
    sql = """WITH turns (id) AS (SELECT value FROM json_each(?))
             SELECT * FROM messages WHERE agent_id IS NOT NULL AND (batch_id IN turns
               OR id IN (SELECT i.message_id FROM agent_messages a JOIN inbox i ON i.id = a.inbox_id
                 WHERE a.root_id IN turns))"""
    return rows.all(sql, (json.dumps(caused(rows, answering(rows, message))),))


def _words(row: Row) -> str:
    return f"{row['content']} {row['tool_args'] or ''} {json.loads(row['source_metadata']).get('reasoning', '')}"


def narrow_entry(tx: Tx, entry: Entry, to: Audience, at: datetime) -> Entry:
    """Restrict an entry to a narrower audience, with what was derived from it and said where it was learned.

    What agents wrote because of the person's messages into blocks of other audiences is taken back.

    For an entry with one person's words. Only rows of that person's own turns, with the entry's old audience, change:
    other turns happened in places that this person need not know.
    """
    taken = "SELECT 1 FROM archival_entries WHERE agent_id = ? AND label = ? AND audience = ?"
    label = None if tx.one(taken, (entry.agent, entry.label, to)) is not None else entry.label
    held = derived_messages(tx, entry)
    for said in messages.by_ids(tx, held, Scope(entry.audience)):
        if (said.role, said.person, said.audience) == ("user", entry.people[0], entry.audience):
            unwrite(tx, said, at, but=to)
    _narrow(tx, held, entry.people[0], entry.audience, to)
    merged = json.dumps(entries.family_of(tx, entry.id))  # an entry that it was merged from may be restored
    kept = "audience = ? AND superseded_by IS NOT NULL AND id IN (SELECT value FROM json_each(?))"
    tx.run(f"UPDATE archival_entries SET audience = ? WHERE {kept}", (to, entry.audience, merged))
    for each in entries.made_of(tx, [entry.id]):
        made = entries.in_use(tx, each)
        if made is not None and made.audience == entry.audience:
            narrow_entry(tx, made, to, at)
    return entry_changes.store(tx, replace(entry, audience=to, label=label), None)


def narrow_message(tx: Tx, message: Message, to: Audience, at: datetime) -> int:
    """Restrict a person's message to a narrower audience, with our echo of it and the entries learned from it.

    What agents wrote from it into blocks of other audiences is taken back. Returns how many entries stay as they are,
    since they also hold words of others.
    """
    if message.person is None:
        raise ValueError(f"message {message.id} is nobody's")
    unwrite(tx, message, at, but=to)
    batch = tx.all("SELECT id FROM messages WHERE batch_id = ? AND agent_id IS NOT NULL", (message.batch,))
    _narrow(tx, [row["id"] for row in batch], message.person, message.audience, to)
    messages.narrow(tx, [message.id], to)
    mixed = 0
    for entry in learned_from(tx, message.id):
        if entry.people != (message.person,):
            mixed += 1
        elif entry.audience == message.audience:
            narrow_entry(tx, entry, to, at)
    return mixed


def _narrow(tx: Tx, held: Iterable[MessageId], person: PersonId, audience: Audience, to: Audience) -> None:
    """Restrict the messages in a person's turns, and by that person, that had the audience."""
    sql = """SELECT id FROM messages WHERE person_id = ? AND audience = ?
             AND id IN (SELECT value FROM json_each(?))"""
    found = tx.all(sql, (person, audience, json.dumps(list(held))))
    messages.narrow(tx, [MessageId(row["id"]) for row in found], to)


def follow(tx: Tx, follow_up: FollowUp) -> bool:
    """Handle one follow-up for the message as it is now; returns whether stored data was removed."""
    erasure_follow_ups.over(tx, follow_up)
    now = messages.of_id(tx, follow_up.message)
    if now is None:
        return False
    old, at = now._replace(text=follow_up.old_text), follow_up.at
    gone = words_gone(old, now)
    if follow_up.part is Target.FACTS and now.deleted_at is None:
        facts.relearn(tx, now, follow_up.learners, at)
    if follow_up.part is Target.FACTS or (gone is not None and not gone):
        return False
    if follow_up.part is Target.BLOCKS:
        return unwrite(tx, old, at, gone=gone or frozenset()) > 0
    empty(tx, [row for row in _said(tx, old.id) if _contains(_words(row), gone)], at)
    return forget_derived(tx, old.id, at, gone) > 0
