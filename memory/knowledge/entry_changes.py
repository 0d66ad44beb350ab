"""Changes of archival entries: created, reinforced, extended, cut into passages, retired and forgotten.

Nothing is merged across audiences. `memory.knowledge.entries` has the records of entries and reads them.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memory.knowledge import entry_journal
from memory.knowledge.entries import (
    Entry,
    NewEntry,
    Origin,
    checked,
    checked_content,
    columns_of,
    family_of,
    passages_of,
    read,
    to_entry,
    with_origin,
)
from memory.knowledge.entry_journal import ChangedBy
from memory.knowledge.repeated_entries import MARKS, begun_by, reinforced
from memory.people.audience import Audience, Scope, may_write_down
from memory.queue import turns
from memory.store.database import Rows, Tx, Value
from memory.store.errors import Refused
from memory.store.ids import AgentId, EntryId, TurnId, new_id
from memory.store.records import replace


def insert(tx: Tx, agent: AgentId, new: NewEntry, now: datetime) -> Entry:
    """Store an entry, or reinforce the existing one with the same words, person and audience.

    Words are the same if they differ only in closing marks; if the new words continue those of an existing entry, that
    entry is extended. It keeps its label, category and metadata, takes over those it lacked, and gets the higher
    importance of both; `not_taken` says what was dropped. No other similarity counts: "likes tea" and "likes no tea"
    are two entries. Raises `Refused` for empty or too long content, a label that another entry of the audience has, or
    a malformed field.
    """
    new = checked(new)
    same = begun_by(tx, agent, new)
    if new.label is not None and (same is None or same.label is None):
        require_unused_label(tx, agent, new.label, new.origin.scope.audience)
    if same is not None:
        tx.run("DELETE FROM entry_expansions WHERE entry_id = ?", (same.id,))  # it was said by itself
        return reinforce(tx, same, new, now)
    entry = made_new(agent, new, now)
    before = entry_journal.image(tx, entry.turn, entry.id)
    kept = put(tx, entry)
    entry_journal.note(tx, entry.turn, entry.id, before, now)
    return kept


def made_new(agent: AgentId, new: NewEntry, now: datetime) -> Entry:
    """A new entry with its initial values."""
    origin = new.origin
    return Entry(
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


def put(tx: Tx, entry: Entry) -> Entry:
    """Insert a new entry."""
    key: dict[str, Value] = {"id": entry.id, "agent_id": entry.agent, "created_at": entry.created_at}
    tx.insert("archival_entries", {**key, **columns_of(entry)})
    _store_passages(tx, entry)
    return to_entry.one(tx, "SELECT * FROM archival_entries WHERE id = ?", (entry.id,))


def take_along(tx: Tx, entry: Entry, sources: Sequence[Entry], turn: TurnId | None, now: datetime) -> Entry:
    """Add the people and messages of these sources to an entry, so that it is deleted with any of the messages."""
    if not sources:
        return entry
    people = dict.fromkeys([*entry.people, *(person for each in sources for person in each.people)])
    messages = dict.fromkeys([*entry.messages, *(message for each in sources for message in each.messages)])
    trust = min(entry.trust, *(each.trust for each in sources))
    return store(tx, replace(entry, people=tuple(people), messages=tuple(messages), trust=trust), turn, now)


def append(tx: Tx, agent: AgentId, label_or_id: str, text: str, origin: Origin, now: datetime) -> Entry:
    """Add a line to an entry that the turn's scope may use.

    Raises `EntryNotFound`, or `Refused` when the line is empty, the entry would become too long, or somebody who
    can see the entry may not know what is said in the turn.
    """
    entry = read(tx, agent, label_or_id, origin.scope)
    if not may_write_down(origin.scope, entry.audience):
        raise Refused(
            "“{label_or_id}” can be read by {audience}, who must not see what is said here: store a new entry",
            label_or_id=label_or_id,
            audience=entry.audience,
        )
    text = text.strip()
    if not text:
        raise Refused("there is nothing to append")
    content = checked_content(f"{entry.content}\n{text}")
    longer = replace(entry, content=content, updated_at=now, last_seen=now)
    return store(tx, with_origin(longer, origin), origin.turn, now)


def delete(tx: Tx, agent: AgentId, label_or_id: str, scope: Scope, by: ChangedBy | None = None) -> Entry:
    """Delete an entry, its chunks, what it superseded and what was expanded from it, with index and use records.

    If a turn of a sleeptime group deletes it (`by`), it is kept for a while, so that it can be restored. Raises
    `EntryNotFound` if the scope may use no entry of that label or id.
    """
    entry = read(tx, agent, label_or_id, scope)  # the whole entry, even for a passage's id
    family = family_of(tx, entry.id)
    wholes = {each: entry_journal.image(tx, by.turn, each) for each in family if "." not in each} if by else {}
    if by is None or not any(wholes.values()):
        remove(tx, family)
        return entry
    _take_away(tx, family)
    for each, before in wholes.items():
        entry_journal.note(tx, by.turn, each, before, by.now)
    return entry


def put_back(tx: Tx, image: Mapping[str, Any]) -> Entry:
    """Restore an entry from the columns of an earlier row, whether it exists or not. Raises `Refused` if its label is
    taken."""
    known = {row["name"] for row in tx.all("SELECT name FROM pragma_table_info('archival_entries')")}
    image = {column: value for column, value in image.items() if column in known}
    identifier, audience = EntryId(image["id"]), Audience(image["audience"])
    taken = tx.one(
        "SELECT 1 FROM archival_entries WHERE agent_id = ? AND label = ? AND audience = ? AND id <> ?",
        (image["agent_id"], image["label"], audience, identifier),
    )
    if taken is not None:
        raise Refused("there is now another entry “{label}”", label=image["label"])
    assignments = ", ".join(f"{column} = :{column}" for column in image)
    if not tx.run(f"UPDATE archival_entries SET {assignments} WHERE id = :id", image):
        tx.insert("archival_entries", dict(image))
    entry = read(tx, AgentId(image["agent_id"]), identifier, Scope(audience))
    words = columns_of(entry)["search_text"]
    tx.run("UPDATE archival_entries SET search_text = ? WHERE id = ?", (words, identifier))
    _store_passages(tx, entry)
    return entry


def require_unused_label(rows: Rows, agent: AgentId, label: str, audience: Audience) -> None:
    """Raises `Refused` when an entry of the audience has that label."""
    taken = rows.one(
        "SELECT 1 FROM archival_entries WHERE agent_id = ? AND label = ? AND audience = ?", (agent, label, audience)
    )
    if taken is not None:
        raise Refused(
            "there is already an entry “{label}”: append to it, delete it, or choose another label", label=label
        )


def reinforce(tx: Tx, entry: Entry, new: NewEntry, now: datetime) -> Entry:
    """Reinforce an entry because its words were said again; extend it if they went on."""
    return store(tx, reinforced(entry, new, now), new.origin.turn, now)


def store(tx: Tx, entry: Entry, turn: TurnId | None, now: datetime | None = None) -> Entry:
    """Update an entry; its first turn stays, and a further one is recorded as using it at `now`."""
    before = entry_journal.image(tx, turn, entry.id)
    columns = columns_of(replace(entry, turn=entry.turn or turn))
    assignments = ", ".join(f"{column} = :{column}" for column in columns)
    tx.run(f"UPDATE archival_entries SET {assignments} WHERE id = :id", {"id": entry.id, **columns})
    _store_passages(tx, entry)
    tx.run(
        "INSERT INTO turn_uses (turn_id, kind, row_id, audience) SELECT id, 'entry', ?, ? FROM turns WHERE id = ? "
        "ON CONFLICT DO NOTHING",
        (entry.id, entry.audience, turn),
    )
    entry_journal.note(tx, turn, entry.id, before, now or entry.updated_at)
    return read(tx, entry.agent, entry.id, Scope(entry.audience))


def _store_passages(tx: Tx, entry: Entry) -> None:
    """Create the passages by which a long entry is found; the entry's own row keeps the whole text."""
    tx.run("DELETE FROM archival_entries WHERE parent_entry_id = ?", (entry.id,))
    passages = passages_of(entry.content)
    if len(passages) == 1:
        return
    tx.run("UPDATE archival_entries SET search_text = '' WHERE id = ?", (entry.id,))
    for number, passage in enumerate(passages):
        part = replace(entry, label=None, content=passage)
        tx.insert(
            "archival_entries",
            {
                "id": f"{entry.id}.{number + 1}",
                "agent_id": entry.agent,
                "created_at": entry.created_at,
                "parent_entry_id": entry.id,
                "chunk_index": number,
                **columns_of(part),
            },
        )


def remove(tx: Tx, entries: Iterable[EntryId]) -> int:
    """Remove entries by id, as a consequence of a deletion; returns how many existed."""
    named = list(entries)
    entry_journal.forget(tx, named)
    return _take_away(tx, named)


def _take_away(tx: Tx, named: Sequence[EntryId]) -> int:
    turns.forget_uses(tx, "entry", named)
    return tx.run("DELETE FROM archival_entries WHERE id IN (SELECT value FROM json_each(?))", (named,))


# ---------------------------------------------------------------------------------------------------- out of use


def retire(tx: Tx, entries: Iterable[EntryId], into: EntryId | None, now: datetime) -> int:
    """Take entries out of use without deleting them: nothing finds them. `into` is the entry they were merged into."""
    sql = """UPDATE archival_entries SET archived_at = ?, superseded_by = ? WHERE archived_at IS NULL
             AND superseded_by IS NULL AND parent_entry_id IS NULL AND id IN (SELECT value FROM json_each(?))"""
    named = list(entries)
    if into is not None:  # what was expanded from them belongs to it now
        carry = """INSERT INTO entry_expansions (source_id, entry_id) SELECT DISTINCT ?, entry_id FROM entry_expansions
                   WHERE source_id IN (SELECT value FROM json_each(?)) ON CONFLICT DO NOTHING"""
        tx.run(carry, (into, named))
    return tx.run(sql, (now, into, named))


def restore(tx: Tx, entries: Iterable[EntryId]) -> int:
    """Bring retired entries back into use unchanged; returns how many."""
    sql = """UPDATE archival_entries SET archived_at = NULL, superseded_by = NULL
             WHERE archived_at IS NOT NULL AND id IN (SELECT value FROM json_each(?))"""
    return tx.run(sql, (list(entries),))


def purge(tx: Tx, before: datetime, limit: int = 1_000) -> int:
    """Delete entries retired before then, oldest first, with their use records; returns how many."""
    sql = """SELECT id FROM archival_entries WHERE archived_at IS NOT NULL AND archived_at < ?
             ORDER BY archived_at, n LIMIT +?"""
    found = tx.all(sql, (before, limit))
    return remove(tx, [row["id"] for row in found])


# -------------------------------------------------------------------------------------------- what is made of an entry


def origin_of(source: Entry) -> Origin:
    """The origin of whatever is derived from an entry."""
    person, message = next(iter(source.people), None), next(iter(source.messages), None)
    return Origin(Scope(source.audience), source.trust, person, message, source.turn)


def derive(tx: Tx, source: Entry, new: NewEntry, now: datetime) -> Entry | None:
    """Store something derived from an entry; None if that entry itself says it.

    If another entry already says it in the same words, that one is reinforced. Raises `Refused` as `insert`.
    """
    new = checked(replace(new, origin=origin_of(source), label=None))
    same = begun_by(tx, source.agent, new)
    if same is None or same.content.rstrip(MARKS) != new.content.rstrip(MARKS):
        whole = replace(made_new(source.agent, new, now), people=source.people, messages=source.messages)
        made = put(tx, whole)  # undoing a run of upkeep undoes this, too
        _link(tx, source.id, made.id)
        return made
    if same.id == source.id:
        return None
    if tx.one("SELECT 1 FROM entry_expansions WHERE entry_id = ?", (same.id,)) is not None:
        _link(tx, source.id, same.id)  # it was only ever derived from others, and now from this one
    return reinforce(tx, same, new, now)


def _link(tx: Tx, source: EntryId, made: EntryId) -> None:
    tx.insert("entry_expansions", {"source_id": source, "entry_id": made}, ignore=True)
