"""What goes with words that are taken back, or kept to a narrower audience: everything that was derived from them.

A message that its author deletes takes along what was learned from it, what agents wrote into blocks because of it and
what we said with it; so does an entry that somebody asks to forget.
"""

import importlib
import json
from collections.abc import Iterable, Set
from dataclasses import replace
from datetime import datetime
from typing import Any

from memory.knowledge import archival, facts
from memory.knowledge.archival import Entry
from memory.people.audience import Audience, Scope
from memory.queue import follow_ups, messages, outbox
from memory.queue.follow_ups import FollowUp, Part
from memory.queue.messages import Message
from memory.queue.turns import answering, caused
from memory.store.database import Row, Rows, Tx
from memory.store.fulltext import content_words
from memory.store.ids import MessageId, PersonId


def forget_derived(tx: Tx, message: MessageId, at: datetime) -> int:
    """Remove the entries that were learned from a message, and what we said with them; how many entries.

    An entry that holds words of several messages goes as well: nobody can tell which words were whose.
    """
    entries = _learned(tx, message)
    for entry in entries:
        _forget_said(tx, entry, archival.derived_messages(tx, entry), None, at)
    return archival.remove(tx, [entry.id for entry in entries])


def words_gone(old: Message, now: Message) -> frozenset[str] | None:
    """The content words that the author took out of a message; None where all is gone, as after a deletion."""
    before = frozenset(content_words(old.text))
    gone = before - frozenset(content_words(now.text))
    return None if now.deleted_at is not None or (gone and gone == before) else gone


def _follow_words(tx: Tx, old: Message, gone: Set[str] | None, at: datetime) -> int:
    """Let go of entries that were learned from a message and of our words in the turns that answered it, as far as they
    hold a word that went, None: all of them; how many entries."""
    if gone is None:
        _empty(tx, _said(tx, old.id), at)
        return forget_derived(tx, old.id, at)
    entries = [entry for entry in _learned(tx, old.id) if not gone.isdisjoint(content_words(entry.content))]
    for entry in entries:
        _forget_said(tx, entry, archival.derived_messages(tx, entry), None, at)
    ours = [row for row in _said(tx, old.id) if not gone.isdisjoint(content_words(_words(row)))]
    _empty(tx, ours, at)
    return archival.remove(tx, [entry.id for entry in entries])


def take_back(tx: Tx, message: Message, at: datetime) -> int:
    """Let go of what agents said and wrote into blocks because of a message that is gone; how many blocks changed.

    It goes whole, whatever it says: the turns that answered the message are on record, and what members and other
    agents did because of these. What was learned from the message is `forget_derived`'s.
    """
    _empty(tx, _said(tx, message.id), at)
    return _unwrite(tx, message, at)


def _said(rows: Rows, message: MessageId) -> list[Row]:
    """What agents said in the turns that a message led to, also to each other, and what tools answered them."""
    sql = """WITH turns (id) AS (SELECT value FROM json_each(?))
             SELECT * FROM messages WHERE agent_id IS NOT NULL AND deleted_at IS NULL AND (batch_id IN turns
               OR id IN (SELECT i.message_id FROM agent_messages a JOIN inbox i ON i.id = a.inbox_id
                 WHERE a.root_id IN turns))"""
    return rows.all(sql, (json.dumps(caused(rows, answering(rows, message))),))


def _empty(tx: Tx, said: Iterable[Row], at: datetime) -> None:
    ids = [MessageId(row["id"]) for row in said]
    messages.redact(tx, ids, at)
    outbox.forget(tx, ids)


def _words(row: Row) -> str:
    return f"{row['content']} {row['tool_args'] or ''} {json.loads(row['source_metadata']).get('reasoning', '')}"


def forget_entry(tx: Tx, entry: Entry, asking: PersonId | None, at: datetime) -> int:
    """Forget an entry, what was made of it and said with it; how many messages went that somebody had seen."""
    deleted = archival.delete(tx, entry.agent, entry.id, Scope(entry.audience))
    return _forget_said(tx, deleted.entry, deleted.messages, asking, at)


def _forget_said(tx: Tx, entry: Entry, holding: Iterable[MessageId], asking: PersonId | None, at: datetime) -> int:
    """Empty those of the messages that go with an entry; how many of them somebody had seen.

    By what is on record alone. Of people's messages only the asking person's: words of others are theirs to take back.
    Of ours all that was said in turns of the people whose words the entry holds, and what tools gave in turns of
    others: what these were answered is theirs. What the outbox still holds of them goes too, and what agents wrote into
    blocks because of what the asking person said.
    """
    sql = """SELECT m.id, m.role, m.tool_call_id FROM messages m LEFT JOIN turns t ON t.id = m.batch_id
             WHERE m.deleted_at IS NULL AND m.id IN (SELECT value FROM json_each(:holding))
             AND iif(m.role = 'user', m.person_id = :asking,
               m.role = 'tool' OR t.person_id IS NULL OR t.person_id IN (SELECT value FROM json_each(:people)))"""
    people = json.dumps([*entry.people, *([] if asking is None else [asking])])
    told = tx.all(sql, {"holding": json.dumps(list(holding)), "asking": asking, "people": people})
    for row in told:
        if row["role"] == "user" and (said := messages.of_id(tx, MessageId(row["id"]))) is not None:
            _unwrite(tx, said, at)
    _empty(tx, told, at)
    return sum(row["role"] == "user" or (row["role"] == "assistant" and row["tool_call_id"] is None) for row in told)


def narrow_entry(tx: Tx, entry: Entry, to: Audience) -> Entry:
    """Let an entry be used by a narrower audience only, and with it what was made of it and said where it was learned.

    For an entry of one person's words. Only rows of that person's own turns go along, and only of the audience that
    the entry had: what others were told with it was said in places that this person need not know.
    """
    taken = "SELECT 1 FROM archival_entries WHERE agent_id = ? AND label = ? AND audience = ?"
    label = None if tx.one(taken, (entry.agent, entry.label, to)) is not None else entry.label
    held = archival.derived_messages(tx, entry)
    _narrow(tx, held, entry.people[0], entry.audience, to)
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
    _unwrite(tx, message, at, but=to)
    batch = tx.all("SELECT id FROM messages WHERE batch_id = ? AND agent_id IS NOT NULL", (message.batch,))
    _narrow(tx, [row["id"] for row in batch], message.person, message.audience, to)
    messages.narrow(tx, [message.id], to)
    mixed = 0
    for entry in _learned(tx, message.id):
        if entry.people != (message.person,):
            mixed += 1
        elif entry.audience == message.audience:
            narrow_entry(tx, entry, to)
    return mixed


def _narrow(tx: Tx, held: Iterable[MessageId], person: PersonId, audience: Audience, to: Audience) -> None:
    """Keep to fewer people what was said in turns of that person, and by that person, of that audience."""
    sql = """SELECT id FROM messages WHERE deleted_at IS NULL AND person_id = ? AND audience = ?
             AND id IN (SELECT value FROM json_each(?))"""
    found = tx.all(sql, (person, audience, json.dumps(list(held))))
    messages.narrow(tx, [MessageId(row["id"]) for row in found], to)


def _learned(tx: Tx, message: MessageId) -> list[Entry]:
    sql = """SELECT * FROM archival_entries WHERE message_id = :id
             OR :id IN (SELECT value FROM json_each(metadata, '$._messages'))"""
    return archival.to_entry.all(tx, sql, {"id": message})


def _unwrite(tx: Tx, old: Message, at: datetime, **more: Any) -> int:
    """As `memory.blocks.retraction.unwrite`, which is loaded here: most of those who take messages in edit no block."""
    changed: int = importlib.import_module("memory.blocks.retraction").unwrite(tx, old, at, **more)
    return changed


def follow(tx: Tx, follow_up: FollowUp) -> bool:
    """Do one part of what follows as its message is now; whether anything that was stored went with it."""
    follow_ups.over(tx, follow_up)
    now = messages.of_id(tx, follow_up.message)
    if now is None:
        return False
    old, at = now._replace(text=follow_up.old_text), follow_up.at
    gone = words_gone(old, now)
    if follow_up.part is Part.FACTS and now.deleted_at is None:
        facts.relearn(tx, now, follow_up.learners, at)
    if follow_up.part is Part.FACTS or (gone is not None and not gone):
        return False
    if follow_up.part is Part.BLOCKS:
        return _unwrite(tx, old, at, gone=gone or frozenset()) > 0
    return _follow_words(tx, old, gone, at) > 0
