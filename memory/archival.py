"""Archival entries: what an agent keeps for later and finds again by label, by listing or by searching.

An entry holds words of a person, learned from a message in a turn; so that it can be forgotten wholly, it
knows them all, and `delete` says which other rows hold its words. Nothing is merged across audiences.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

import regex

from memory import turns
from memory.audience import Audience, Scope, Trust, may_write_down, person_audience
from memory.clock import from_text, to_text
from memory.database import Row, Rows, Tx, Value
from memory.errors import EntryNotFound, Refused
from memory.fulltext import date_words, index_text, storable
from memory.ids import AgentId, EntryId, MessageId, PersonId, TurnId, new_id

MAX_CONTENT = 30_000
"""Characters in one entry: what an embedder is given at most."""

_MAX_LABEL, _MAX_CATEGORY, _MAX_TAG, _MAX_TAGS = 200, 200, 50, 20
_CATEGORY = regex.compile(r"[\p{L}\p{M}\p{N}_.-]+(?:/[\p{L}\p{M}\p{N}_.-]+)*")
_LIVING = "archived_at IS NULL AND superseded_by IS NULL"


@dataclass(frozen=True)
class Origin:
    """Where words come from: who hears the turn, how far to trust them, whose they are, from which message and turn."""

    scope: Scope
    trust: Trust
    person: PersonId | None = None
    message: MessageId | None = None
    turn: TurnId | None = None


@dataclass(frozen=True)
class NewEntry:
    """What is to be stored. `category` is a path such as "work/projects"; `importance` is 0 to 1."""

    content: str
    origin: Origin
    label: str | None = None
    category: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    importance: float = 0.5


@dataclass(frozen=True)
class Entry:
    """One stored entry. `reinforcement` counts how often the same was stored again, `last_seen` when last.

    `people` and `messages` are all whose words it holds and all it was learned from.
    """

    id: EntryId
    agent: AgentId
    label: str | None
    content: str
    category: str
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    importance: float
    reinforcement: int
    people: tuple[PersonId, ...]
    messages: tuple[MessageId, ...]
    turn: TurnId | None
    audience: Audience
    trust: Trust
    created_at: datetime
    updated_at: datetime
    last_seen: datetime | None


class Deleted(NamedTuple):
    """A deleted entry as it was, and the messages that hold its words too."""

    entry: Entry
    messages: list[MessageId]


def insert(tx: Tx, agent: AgentId, new: NewEntry, now: datetime) -> Entry:
    """Store an entry, or reinforce the living one that holds the same words of the same person and audience.

    A reinforced entry keeps its label when it has one, and takes over what is new of the rest. Raises `Refused`
    for empty or too long content, a label that another entry of the audience has, or a malformed field.
    """
    new = _checked(new)
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
    tx.insert("archival_entries", {"id": entry.id, "agent_id": agent, "created_at": to_text(now), **_columns(entry)})
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
    return store(tx, _with_origin(replace(entry, content=content, updated_at=now, last_seen=now), origin), origin.turn)


def read(rows: Rows, agent: AgentId, label_or_id: str, scope: Scope) -> Entry:
    """The agent's entry of that id or label; of several labels the one of the scope's own audience, then the newest.

    Raises `EntryNotFound` when the scope may use none.
    """
    condition, parameters = scope.sql("audience")
    row = rows.one(
        f"SELECT * FROM archival_entries WHERE agent_id = ? AND (id = ? OR label = ?) AND {condition} "
        "ORDER BY id = ? DESC, audience = ? DESC, n DESC LIMIT 1",
        (agent, label_or_id, label_or_id, *parameters, label_or_id, scope.audience),
    )
    if row is None:
        raise EntryNotFound(f"no archival entry {label_or_id!r} can be seen from here")
    return to_entry(row)


def delete(tx: Tx, agent: AgentId, label_or_id: str, scope: Scope) -> Deleted:
    """Forget an entry, its chunks and what it superseded: rows, words in the index, and notes of use.

    Raises `EntryNotFound` when the scope may use none of that label or id.
    """
    entry = read(tx, agent, label_or_id, scope)
    messages = derived_messages(tx, entry)
    remove(tx, _family(tx, entry.id))
    return Deleted(entry, messages)


def derived_messages(rows: Rows, entry: Entry) -> list[MessageId]:
    """The messages that hold an entry's words: those it was learned from, and ours of turns that stored or used it.

    Ids only, in order; for following a deletion through, so it asks for no scope.
    """
    family = json.dumps(_family(rows, entry.id))
    found = rows.all(
        """
        WITH family AS (SELECT * FROM archival_entries WHERE id IN (SELECT value FROM json_each(:family))),
        turn AS (
            SELECT turn_id FROM family WHERE turn_id IS NOT NULL
            UNION SELECT turn_id FROM turn_uses WHERE kind = 'entry' AND row_id IN (SELECT id FROM family)
        )
        SELECT id FROM messages WHERE id IN (SELECT message_id FROM family)
        UNION SELECT m.id FROM messages m, family, json_each(family.metadata, '$._messages') j WHERE m.id = j.value
        UNION SELECT id FROM messages WHERE agent_id IS NOT NULL AND batch_id IN (SELECT turn_id FROM turn)
        ORDER BY 1
        """,
        {"family": family},
    )
    return [MessageId(row[0]) for row in found]


def latest(rows: Rows, agent: AgentId, scope: Scope, person: PersonId | None = None, limit: int = 20) -> list[Entry]:
    """The agent's newest entries, newest first; with `person`, those that hold that person's words."""
    condition, parameters = scope.sql("audience")
    who, whose = ("1", ()) if person is None else _of_person(person)
    found = rows.all(
        f"SELECT * FROM archival_entries WHERE agent_id = ? AND {_LIVING} AND {condition} AND {who} "
        "ORDER BY n DESC LIMIT ?",
        (agent, *parameters, *whose, max(limit, 0)),
    )
    return [to_entry(row) for row in found]


def categories(rows: Rows, agent: AgentId, scope: Scope) -> dict[str, int]:
    """The categories in use, in order, and how many entries each has itself."""
    condition, parameters = scope.sql("audience")
    found = rows.all(
        f"SELECT category, count(*) FROM archival_entries WHERE agent_id = ? AND category <> '' AND {_LIVING} "
        f"AND {condition} GROUP BY category ORDER BY category",
        (agent, *parameters),
    )
    return {row[0]: row[1] for row in found}


def export_person(rows: Rows, person: PersonId) -> list[dict[str, Any]]:
    """Every agent's entries that hold a person's words or were stored in their direct messages, oldest first."""
    condition, parameters = _held_for(person)
    columns = "id, agent_id, label, content, category, tags, metadata, importance, audience, created_at, updated_at"
    found = rows.all(f"SELECT {columns} FROM archival_entries WHERE {condition} ORDER BY n", parameters)
    parsed = ("tags", "metadata")
    return [{key: json.loads(row[key]) if key in parsed else row[key] for key in columns.split(", ")} for row in found]


def count_person(rows: Rows, person: PersonId) -> int:
    """How many entries `export_person` gives and `erase_person` removes."""
    condition, parameters = _held_for(person)
    row = rows.one(f"SELECT count(*) FROM archival_entries WHERE {condition}", parameters)
    return 0 if row is None else int(row[0])


def erase_person(tx: Tx, person: PersonId) -> int:
    """Remove those entries with their notes of use; how many."""
    condition, parameters = _held_for(person)
    found = tx.all(f"SELECT id FROM archival_entries WHERE {condition}", parameters)
    return remove(tx, [row["id"] for row in found])


def to_entry(row: Row) -> Entry:
    """A row of the table as an entry."""
    metadata = json.loads(row["metadata"])
    person, message = row["person_id"], row["message_id"]
    return Entry(
        id=row["id"],
        agent=row["agent_id"],
        label=row["label"],
        content=row["content"],
        category=row["category"],
        tags=tuple(json.loads(row["tags"])),
        people=(*([] if person is None else [person]), *metadata.pop("_people", ())),
        messages=(*([] if message is None else [message]), *metadata.pop("_messages", ())),
        metadata=metadata,
        importance=row["importance"],
        reinforcement=row["reinforcement"],
        turn=row["turn_id"],
        audience=Audience(row["audience"]),
        trust=Trust(row["trust"]),
        created_at=from_text(row["created_at"]),
        updated_at=from_text(row["updated_at"]),
        last_seen=None if row["last_seen"] is None else from_text(row["last_seen"]),
    )


def _checked(new: NewEntry) -> NewEntry:
    """The entry as it is stored; raises `Refused` with what to change."""
    content = checked_content(new.content)
    if not 0 <= new.importance <= 1:
        raise Refused(f"importance is 0 to 1, not {new.importance}")
    if new.category and (len(new.category) > _MAX_CATEGORY or not _CATEGORY.fullmatch(new.category)):
        raise Refused(
            f"{new.category[:_MAX_CATEGORY]!r} is not a category: write it as a/b/c, of letters, digits, - _ ."
        )
    label = None if new.label is None else storable(new.label).strip()
    if label is not None and not 0 < len(label) <= _MAX_LABEL:
        raise Refused(f"a label has 1 to {_MAX_LABEL} characters, this one {len(label)}")
    return replace(new, content=content, label=label, tags=_checked_tags(new.tags))


def checked_content(text: str) -> str:
    """Words as an entry holds them; raises `Refused` when there are none or too many."""
    content = storable(text).strip()
    if not content:
        raise Refused("an entry needs content")
    if len(content) > MAX_CONTENT:
        raise Refused(f"an entry holds {MAX_CONTENT} characters, this would be {len(content)}; split it")
    return content


def _checked_tags(given: Iterable[str]) -> tuple[str, ...]:
    tags = tuple(dict.fromkeys(storable(tag).strip() for tag in given))
    if len(tags) > _MAX_TAGS or any(not 0 < len(tag) <= _MAX_TAG for tag in tags):
        raise Refused(f"an entry has at most {_MAX_TAGS} tags of 1 to {_MAX_TAG} characters each")
    return tags


def _refuse_taken(rows: Rows, agent: AgentId, label: str, audience: Audience) -> None:
    taken = rows.one(
        "SELECT 1 FROM archival_entries WHERE agent_id = ? AND label = ? AND audience = ?", (agent, label, audience)
    )
    if taken is not None:
        raise Refused(f"an entry {label!r} stands there already: append to it, delete it, or take another label")


def _same_words(rows: Rows, agent: AgentId, new: NewEntry) -> Entry | None:
    row = rows.one(
        "SELECT * FROM archival_entries WHERE agent_id = ? AND audience = ? AND person_id IS ? AND content = ? "
        f"AND {_LIVING} ORDER BY n LIMIT 1",
        (agent, new.origin.scope.audience, new.origin.person, new.content),
    )
    return None if row is None else to_entry(row)


def _reinforce(tx: Tx, entry: Entry, new: NewEntry, now: datetime) -> Entry:
    stronger = replace(
        entry,
        label=entry.label or new.label,
        category=new.category or entry.category,
        tags=tuple(dict.fromkeys((*entry.tags, *new.tags)))[:_MAX_TAGS],
        metadata={**entry.metadata, **new.metadata},
        importance=max(entry.importance, new.importance),
        reinforcement=entry.reinforcement + 1,
        last_seen=now,
    )
    return store(tx, _with_origin(stronger, new.origin), new.origin.turn)


def _with_origin(entry: Entry, origin: Origin) -> Entry:
    """The entry as holding further words: nobody trusts it more than those who spoke last."""
    people = dict.fromkeys((*entry.people, *([] if origin.person is None else [origin.person])))
    messages = dict.fromkeys((*entry.messages, *([] if origin.message is None else [origin.message])))
    return replace(entry, people=tuple(people), messages=tuple(messages), trust=min(entry.trust, origin.trust))


def store(tx: Tx, entry: Entry, turn: TurnId | None) -> Entry:
    """Write a changed entry; its turn stays the first one, a further one is noted as using it."""
    columns = _columns(replace(entry, turn=entry.turn or turn))
    assignments = ", ".join(f"{column} = :{column}" for column in columns)
    tx.run(f"UPDATE archival_entries SET {assignments} WHERE id = :id", {"id": entry.id, **columns})
    tx.run(
        "INSERT INTO turn_uses (turn_id, kind, row_id, audience) SELECT id, 'entry', ?, ? FROM turns WHERE id = ? "
        "ON CONFLICT DO NOTHING",
        (entry.id, entry.audience, turn),
    )
    return read(tx, entry.agent, entry.id, Scope(entry.audience))


def _columns(entry: Entry) -> dict[str, Value]:
    """The columns that change in an entry's life. Further people and messages are kept in the metadata."""
    further = {"_people": entry.people[1:], "_messages": entry.messages[1:]}
    own = {key: value for key, value in entry.metadata.items() if key not in further}
    return {
        "label": entry.label,
        "content": entry.content,
        "category": entry.category,
        "tags": json.dumps(entry.tags),
        "metadata": json.dumps({**own, **{key: value for key, value in further.items() if value}}),
        "importance": entry.importance,
        "reinforcement": entry.reinforcement,
        "person_id": entry.people[0] if entry.people else None,
        "message_id": entry.messages[0] if entry.messages else None,
        "turn_id": entry.turn,
        "audience": entry.audience,
        "trust": int(entry.trust),
        "updated_at": to_text(entry.updated_at),
        "last_seen": None if entry.last_seen is None else to_text(entry.last_seen),
        "search_text": _search_text(entry),
    }


def _search_text(entry: Entry) -> str:
    words = (entry.content, *entry.tags, entry.category, entry.label or "", date_words(entry.created_at))
    return index_text("\n".join(words))


def _family(rows: Rows, entry: EntryId) -> list[EntryId]:
    """An entry with its chunks and, however far back, what it superseded."""
    found = rows.all(
        "WITH RECURSIVE family (id) AS (SELECT ? UNION SELECT e.id FROM archival_entries e, family f "
        "WHERE e.parent_entry_id = f.id OR e.superseded_by = f.id) SELECT id FROM family",
        (entry,),
    )
    return [EntryId(row["id"]) for row in found]


def remove(tx: Tx, entries: Iterable[EntryId]) -> int:
    """Take entries away by id, for what follows a deletion; how many there were."""
    named = list(entries)
    turns.forget_uses(tx, "entry", named)
    return tx.run("DELETE FROM archival_entries WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(named),))


def _of_person(person: PersonId) -> tuple[str, tuple[str, ...]]:
    condition = "(person_id = ? OR ? IN (SELECT value FROM json_each(metadata, '$._people')))"
    return condition, (person, person)


def _held_for(person: PersonId) -> tuple[str, tuple[str, ...]]:
    condition, parameters = _of_person(person)
    return f"({condition} OR audience = ?)", (*parameters, person_audience(person))
