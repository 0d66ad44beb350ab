"""Storing archival entries: new, reinforced, extended, added to, in passages when long; and forgetting them."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from memory import turns
from memory.archival.entries import (
    MAX_TAGS,
    Deleted,
    Entry,
    NewEntry,
    Origin,
    checked,
    checked_content,
    columns_of,
    to_entry,
    with_origin,
)
from memory.archival.reading import LIVING, derived_messages, family_of, read
from memory.audience import Audience, Scope, may_write_down
from memory.clock import to_text
from memory.database import Rows, Tx
from memory.errors import Refused
from memory.fulltext import storable
from memory.ids import AgentId, EntryId, TurnId, new_id


def insert(tx: Tx, agent: AgentId, new: NewEntry, now: datetime) -> Entry:
    """Store an entry, or reinforce the living one that holds the same words of the same person and audience.

    A reinforced entry keeps its label when it has one, and takes over what is new of the rest. Raises `Refused`
    for empty or too long content, a label that another entry of the audience has, or a malformed field.
    """
    new = checked(new)
    same = _same_words(tx, agent, new)
    if new.label is not None and (same is None or same.label is None):
        _refuse_taken(tx, agent, new.label, new.origin.scope.audience)
    if same is not None:
        return _reinforce(tx, same, new, now)
    origin = new.origin
    entry = Entry(
        id=EntryId(new_id("ent")),
        agent=agent,
        label=new.label,
        content=new.content,
        category=new.category,
        tags=new.tags,
        metadata=new.metadata,
        importance=new.importance,
        reinforcement=0,
        people=() if origin.person is None else (origin.person,),
        messages=() if origin.message is None else (origin.message,),
        turn=origin.turn,
        audience=origin.scope.audience,
        trust=origin.trust,
        created_at=now,
        updated_at=now,
        last_seen=now,
    )
    tx.insert("archival_entries", {"id": entry.id, "agent_id": agent, "created_at": to_text(now), **columns_of(entry)})
    return read(tx, agent, entry.id, Scope(entry.audience))


def append(tx: Tx, agent: AgentId, label_or_id: str, text: str, origin: Origin, now: datetime) -> Entry:
    """Add a line to an entry that the turn's scope may use.

    Raises `EntryNotFound`, or `Refused` when the line is empty, the entry would become too long, or somebody who
    can see the entry may not know what is said in the turn.
    """
    entry = read(tx, agent, label_or_id, origin.scope)
    if not may_write_down(origin.scope, entry.audience):
        raise Refused(
            f"{label_or_id!r} is read by {entry.audience}, who may not know what is said here: store a new one"
        )
    text = storable(text).strip()
    if not text:
        raise Refused("there is nothing to append")
    content = checked_content(f"{entry.content}\n{text}")
    return store(tx, with_origin(replace(entry, content=content, updated_at=now, last_seen=now), origin), origin.turn)


def delete(tx: Tx, agent: AgentId, label_or_id: str, scope: Scope) -> Deleted:
    """Forget an entry, its chunks and what it superseded: rows, words in the index, and notes of use.

    Raises `EntryNotFound` when the scope may use none of that label or id.
    """
    entry = read(tx, agent, label_or_id, scope)
    messages = derived_messages(tx, entry)
    remove(tx, family_of(tx, entry.id))
    return Deleted(entry, messages)


def _refuse_taken(rows: Rows, agent: AgentId, label: str, audience: Audience) -> None:
    taken = rows.one(
        "SELECT 1 FROM archival_entries WHERE agent_id = ? AND label = ? AND audience = ?", (agent, label, audience)
    )
    if taken is not None:
        raise Refused(f"an entry {label!r} stands there already: append to it, delete it, or take another label")


def _same_words(rows: Rows, agent: AgentId, new: NewEntry) -> Entry | None:
    row = rows.one(
        "SELECT * FROM archival_entries WHERE agent_id = ? AND audience = ? AND person_id IS ? AND content = ? "
        f"AND {LIVING} ORDER BY n LIMIT 1",
        (agent, new.origin.scope.audience, new.origin.person, new.content),
    )
    return None if row is None else to_entry(row)


def _reinforce(tx: Tx, entry: Entry, new: NewEntry, now: datetime) -> Entry:
    stronger = replace(
        entry,
        label=entry.label or new.label,
        category=new.category or entry.category,
        tags=tuple(dict.fromkeys((*entry.tags, *new.tags)))[:MAX_TAGS],
        metadata={**entry.metadata, **new.metadata},
        importance=max(entry.importance, new.importance),
        reinforcement=entry.reinforcement + 1,
        last_seen=now,
    )
    return store(tx, with_origin(stronger, new.origin), new.origin.turn)


def store(tx: Tx, entry: Entry, turn: TurnId | None) -> Entry:
    """Write a changed entry; its turn stays the first one, a further one is noted as using it."""
    columns = columns_of(replace(entry, turn=entry.turn or turn))
    assignments = ", ".join(f"{column} = :{column}" for column in columns)
    tx.run(f"UPDATE archival_entries SET {assignments} WHERE id = :id", {"id": entry.id, **columns})
    tx.run(
        "INSERT INTO turn_uses (turn_id, kind, row_id, audience) SELECT id, 'entry', ?, ? FROM turns WHERE id = ? "
        "ON CONFLICT DO NOTHING",
        (entry.id, entry.audience, turn),
    )
    return read(tx, entry.agent, entry.id, Scope(entry.audience))


def remove(tx: Tx, entries: Iterable[EntryId]) -> int:
    """Take entries away by id, for what follows a deletion; how many there were."""
    named = list(entries)
    turns.forget_uses(tx, "entry", named)
    return tx.run("DELETE FROM archival_entries WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(named),))
