"""Archival entries: what an agent stores for later and finds again by label, by listing or by searching.

An entry records the people and messages that its words came from, so that it can be forgotten completely
(`memory.erasure.forgotten_entries`). Here are its record, the checks of its content, its form in the database,
and what reads it; `memory.knowledge.entry_changes` writes.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from memory.people.audience import Audience, Scope, Trust, with_words_of
from memory.queue.turns import Turn
from memory.store.clock import to_text
from memory.store.database import Row, Rows, Value
from memory.store.errors import EntryNotFound, Refused
from memory.store.fulltext import date_words, index_text, require_storable
from memory.store.ids import SHORTEST, AgentId, EntryId, MessageId, PersonId, TurnId
from memory.store.lazy import UnicodePattern
from memory.store.records import replace
from memory.store.row_mapper import RowMapper
from texts import gettext_lazy

MAX_CONTENT = 30_000
"""Characters in one entry: the most that an embedder takes."""

PASSAGE = 2_000
"""Characters in one passage of a long entry."""

USUAL_IMPORTANCE = 0.5

_MAX_LABEL, _MAX_CATEGORY, _MAX_TAG, MAX_TAGS = 200, 200, 50, 20
# They are shown in lists, which a line break would forge, and on platforms that read markup; joiners occur in emoji.
_PLAIN = UnicodePattern(r"(?V1)[[^<>\[\]`\p{C}\p{Zl}\p{Zp}]\u200c\u200d]*")
_ID = UnicodePattern(r"\s*ent_[0-9a-hjkmnp-tv-z]{10,}(?:\.\d+)?\s*", re.IGNORECASE)
_CATEGORY = UnicodePattern(r"[\p{L}\p{M}\p{N}_-]+(?:/[\p{L}\p{M}\p{N}_-]+)*")


class Origin(Struct, frozen=True):
    """Where words come from: who hears the turn, how far they are trusted, whose they are, and the message and turn."""

    scope: Scope
    trust: Trust
    person: PersonId | None = None
    message: MessageId | None = None
    turn: TurnId | None = None


class NewEntry(Struct, frozen=True):
    """An entry to be stored. `category` is a path such as "work/projects"; `importance` is 0 to 1."""

    content: str
    origin: Origin
    label: str | None = None
    category: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    importance: float = USUAL_IMPORTANCE


class Entry(Struct, frozen=True):
    """One stored entry. `reinforcement` counts how often it was stored again, `last_seen` when last.

    `people` and `messages` list everybody whose words it holds, and everything that it was learned from.
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


def _and_further(column: str, further: str) -> Callable[[Row], tuple[Any, ...]]:
    def read(row: Row) -> tuple[Any, ...]:
        first = () if row[column] is None else (row[column],)
        return (*first, *json.loads(row["metadata"]).get(further, ())) if further in row["metadata"] else first

    return read


def _metadata(row: Row) -> dict[str, Any]:
    return {name: value for name, value in json.loads(row["metadata"]).items() if name not in ("_people", "_messages")}


to_entry = RowMapper(
    Entry,
    people=_and_further("person_id", "_people"),
    messages=_and_further("message_id", "_messages"),
    metadata=_metadata,
)


def digest_of(entry: Entry, *more: Value) -> str:
    """A digest of an entry's words, place and reinforcement, to see whether it has changed."""
    told = [entry.content, entry.category, entry.tags, dict(entry.metadata), entry.importance, entry.reinforcement]
    where = [entry.label, entry.audience, int(entry.trust), entry.people, entry.messages]
    return hashlib.blake2b(json.dumps([told, where, *more], sort_keys=True).encode(), digest_size=16).hexdigest()


def checked(new: NewEntry) -> NewEntry:
    """The entry in stored form; raises `Refused` with what to change."""
    content = checked_content(new.content)
    if not 0 <= new.importance <= 1:
        raise Refused("importance must be between 0 and 1, not {importance}", importance=new.importance)
    category = checked_category(new.category)
    label = None if new.label is None else _checked_label(new.label)
    for named, value in new.metadata.items():
        require_storable(f"{named}{value}", gettext_lazy("metadata"))
    return replace(new, content=content, label=label, category=category, tags=checked_tags(new.tags))


def checked_category(text: str) -> str:
    """A category, or an empty text; raises `Refused` for any other."""
    if text and not is_category(text):
        raise Refused(
            "“{category}” is not a category: write it as a/b/c, with letters, digits, - and _",
            category=text[:_MAX_CATEGORY],
        )
    return text


def is_category(text: str) -> bool:
    """Whether a text is a category: a/b/c, of letters, digits, - and _."""
    return len(text) <= _MAX_CATEGORY and _CATEGORY.fullmatch(text) is not None


def checked_content(text: str) -> str:
    """A text in stored form; raises `Refused` if it is empty or too long."""
    content = require_storable(text).strip()
    if not content:
        raise Refused("an entry needs content")
    if len(content) > MAX_CONTENT:
        raise Refused(
            "an entry can have at most {max_content} characters; this has {content}: split it",
            max_content=MAX_CONTENT,
            content=len(content),
        )
    return content


def _checked_label(given: str) -> str:
    label = require_storable(given, gettext_lazy("the label")).strip()
    if not 0 < len(label) <= _MAX_LABEL or not _PLAIN.fullmatch(label) or is_id(label):
        raise Refused(
            "a label must be one line of 1 to {max_label} characters, without < > [ ] ` or invisible ones, "
            "and not an ID; {label!r} cannot be used",
            max_label=_MAX_LABEL,
            label=label[:_MAX_LABEL],
        )
    return label


def is_id(text: str) -> bool:
    """Whether a text looks like the id of an entry or passage, which therefore cannot be a label."""
    return _ID.fullmatch(text) is not None


def shown_name(label: str | None, identifier: str) -> str:
    """The displayed name of an entry: its label, or its id if it has none or has an old label that looks like another
    line, markup or an id."""
    return label if label and _PLAIN.fullmatch(label) and not is_id(label) else identifier


def is_tag(text: str) -> bool:
    return 0 < len(text) <= _MAX_TAG and text == text.strip() and _PLAIN.fullmatch(text) is not None


def checked_tags(given: Iterable[str]) -> tuple[str, ...]:
    """Tags in stored form, each once; raises `Refused` for too many or an unfit one."""
    tags = tuple(dict.fromkeys(require_storable(tag, gettext_lazy("a tag")).strip() for tag in given))
    unfit = next((tag for number, tag in enumerate(tags) if number >= MAX_TAGS or not is_tag(tag)), None)
    if unfit is not None:
        raise Refused(
            "an entry can have at most {max_tags} tags, each one line of 1 to {max_tag} characters, without "
            "< > [ ] ` or invisible ones, not {unfit!r}",
            max_tags=MAX_TAGS,
            max_tag=_MAX_TAG,
            unfit=unfit[:_MAX_TAG],
        )
    return tags


def with_origin(entry: Entry, origin: Origin) -> Entry:
    """The entry with further words in it: its trust is at most that of the newest speaker."""
    people = dict.fromkeys((*entry.people, *([] if origin.person is None else [origin.person])))
    messages = dict.fromkeys((*entry.messages, *([] if origin.message is None else [origin.message])))
    return replace(entry, people=tuple(people), messages=tuple(messages), trust=min(entry.trust, origin.trust))


def columns_of(entry: Entry) -> dict[str, Value]:
    """The columns that change during an entry's life. Further people and messages are in the metadata."""
    further = {"_people": entry.people[1:], "_messages": entry.messages[1:]}
    own = {key: value for key, value in entry.metadata.items() if key not in further}
    return {
        "label": entry.label,
        "content": entry.content,
        "category": entry.category,
        "tags": entry.tags,
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


def passages_of(content: str) -> list[str]:
    """The passages by which a long entry is found."""
    return [passage for part in cut(content, PASSAGE) if (passage := part.strip())]


def cut(text: str, most: int) -> Iterator[str]:
    """A text in parts of at most `most` characters, each up to the end of a paragraph, line, sentence or word."""
    while len(text) > most:
        ends = (text.rfind(mark, most // 2, most) + len(mark) for mark in ("\n\n", "\n", ". ", " "))
        end = next((end for end in ends if end > most // 2), most)
        yield text[:end]
        text = text[end:]
    if text:
        yield text


LIVING = "archived_at IS NULL AND superseded_by IS NULL"
WHOLE = f"{LIVING} AND parent_entry_id IS NULL"
BY_ID = "SELECT * FROM archival_entries WHERE id = ? AND +agent_id = ? AND KNOWN(audience)"
BY_LABEL = """SELECT * FROM archival_entries WHERE agent_id = ? AND label = ? AND KNOWN(audience)
              ORDER BY audience = ? DESC, n DESC LIMIT 1"""  # one per audience, as the index of labels


def read(rows: Rows, agent: AgentId, label_or_id: str, scope: Scope) -> Entry:
    """The agent's entry with that id or label; of several labels that of the scope's own audience, then the newest.

    A text that looks like an id is never taken for a label. The id of a passage returns the whole entry; that of a
    merged entry returns the result. Raises `EntryNotFound` if the scope may use none.
    """
    row = rows.one(*scope.bind(BY_ID, label_or_id, agent))
    if row is None and not is_id(label_or_id):
        row = rows.one(*scope.bind(BY_LABEL, agent, label_or_id, scope.audience))
    if row is None:
        raise EntryNotFound("there is no entry “{label_or_id}” here", label_or_id=label_or_id)
    if row["parent_entry_id"] is not None:
        return read(rows, agent, row["parent_entry_id"], scope)
    return read(rows, agent, row["superseded_by"], scope) if row["superseded_by"] is not None else to_entry(row)


def ending(rows: Rows, which: str, scope: Scope) -> EntryId | None:
    """The id that is longer and ends like that, as lists show it, of the only such entry that the scope may use."""
    end = which.strip().lstrip("#")
    sql = "SELECT id FROM archival_entries WHERE substr(id, ?) = ? AND id <> ? AND KNOWN(audience) LIMIT 2"
    found = rows.all(*scope.bind(sql, -len(end), end, end)) if len(end) >= SHORTEST else []
    return EntryId(found[0]["id"]) if len(found) == 1 else None


def holders(rows: Rows, turn: Turn) -> tuple[AgentId, ...]:
    """The other members of a turn's group that keep words of its person: whoever talks to a group talks to one."""
    sql = f"""SELECT m.agent_id FROM group_members m WHERE m.group_id = :group AND m.agent_id <> :agent AND EXISTS (
                SELECT 1 FROM archival_entries e WHERE e.agent_id = m.agent_id AND {with_words_of(":person", "e")})"""
    given = {"group": turn.group, "agent": turn.agent, "person": turn.person}
    return () if turn.group is None or turn.person is None else tuple(row[0] for row in rows.all(sql, given))


def read_in_group(rows: Rows, turn: Turn, label_or_id: str) -> Entry:
    """As `read` for the turn's agent; by its id also an entry of its `holders` with words of the turn's person."""
    try:
        return read(rows, turn.agent, label_or_id, turn.scope)
    except EntryNotFound:
        for agent in holders(rows, turn) if is_id(label_or_id) else ():
            with suppress(EntryNotFound):
                if turn.person in (entry := read(rows, agent, label_or_id, turn.scope)).people:
                    return entry
        raise


def learned_from(rows: Rows, message: MessageId) -> list[Entry]:
    """The entries that hold words of a message, of all audiences, and those no longer in use."""
    sql = """SELECT * FROM archival_entries WHERE message_id = :id
             OR :id IN (SELECT value FROM json_each(metadata, '$._messages'))"""
    return to_entry.all(rows, sql, {"id": message})


def derived_messages(rows: Rows, entry: Entry) -> list[MessageId]:
    """The messages that hold an entry's words: those it was learned from, and ours in turns that stored or used it.

    Only ids, in order, and without a scope: for following a deletion through.
    """
    family = family_of(rows, entry.id)
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


ANY = f"SELECT 1 FROM archival_entries WHERE agent_id = ? AND {LIVING}"
"""For EXISTS: whether an agent has any entry at all; without one, a search is pointless."""


def latest(rows: Rows, agent: AgentId, scope: Scope, limit: int = 20, before: datetime | None = None) -> list[Entry]:
    sql = f"""SELECT * FROM archival_entries WHERE agent_id = ? AND {WHOLE} AND KNOWN(audience) AND created_at < ?
              ORDER BY n DESC LIMIT +?"""
    return to_entry.all(rows, *scope.bind(sql, agent, "~" if before is None else before, max(limit, 0)))


def noted_by(rows: Rows, agents: Iterable[AgentId], scope: Scope, since: datetime, limit: int) -> list[Entry]:
    """Entries that these agents stored since then and that the scope may know, newest first.

    For an agent that may read others' entries.
    """
    sql = f"""SELECT * FROM archival_entries WHERE agent_id IN (SELECT value FROM json_each(?)) AND {WHOLE}
              AND KNOWN(audience) AND created_at >= ? ORDER BY n DESC LIMIT +?"""
    return to_entry.all(rows, *scope.bind(sql, list(agents), since, max(limit, 0)))


def seen_of_others(rows: Rows, agent: AgentId, turn: TurnId) -> list[Entry]:
    """Entries of other agents that a turn was shown: what it stores may hold their words."""
    sql = """SELECT e.* FROM turn_uses u JOIN archival_entries e ON e.id = u.row_id
             WHERE u.turn_id = ? AND u.kind = 'entry' AND e.agent_id <> ? ORDER BY e.n"""
    return to_entry.all(rows, sql, (turn, agent))


def stands(rows: Rows, entry: EntryId) -> bool:
    """Whether an entry is in use: neither retired nor merged."""
    return rows.one(f"SELECT 1 FROM archival_entries WHERE id = ? AND {WHOLE}", (entry,)) is not None


def is_of_upkeep(rows: Rows, entry: EntryId) -> bool:
    """Whether upkeep wrote the entry from other entries."""
    sql = "SELECT 1 FROM dream_items WHERE entry_id = ? AND action = 'made'"
    return rows.one(sql, (entry,)) is not None


def turns_that_wrote(rows: Rows, entry: Entry) -> set[TurnId]:
    """The turns that may have written an entry's text: its first, and all that used it before its last write."""
    found = set() if entry.turn is None else {entry.turn}
    written = max(filter(None, (entry.updated_at, entry.last_seen)))
    if written <= entry.created_at:
        return found
    sql = """SELECT t.id FROM turn_uses u JOIN turns t ON t.id = u.turn_id
             WHERE u.kind = 'entry' AND u.row_id = ? AND t.started_at <= ?"""
    return found.union(TurnId(row["id"]) for row in rows.all(sql, (entry.id, written)))


def by_ids(rows: Rows, agent: AgentId, ids: Iterable[EntryId], scope: Scope) -> list[Entry]:
    """Those of the entries and passages that the scope may use, in the given order."""
    sql = """SELECT e.* FROM json_each(?) j CROSS JOIN archival_entries e ON e.id = j.value
             WHERE e.agent_id = ? AND KNOWN(audience) ORDER BY j.key"""
    return to_entry.all(rows, *scope.bind(sql, list(ids), agent))


def categories(rows: Rows, agent: AgentId, scope: Scope) -> dict[str, int]:
    """The categories in use, in order, with the number of entries directly in each."""
    sql = f"""SELECT category, count(*) FROM archival_entries WHERE agent_id = ? AND category <> '' AND {WHOLE}
              AND KNOWN(audience) GROUP BY category ORDER BY category"""
    return {row[0]: row[1] for row in rows.all(*scope.bind(sql, agent))}


def family_of(rows: Rows, entry: EntryId) -> list[EntryId]:
    """An entry with its chunks, everything that it superseded (recursively), and what was expanded from these."""
    found = rows.all(
        "WITH RECURSIVE family (id) AS (SELECT ? UNION SELECT e.id FROM archival_entries e, family f "
        "WHERE e.parent_entry_id = f.id OR e.superseded_by = f.id) SELECT id FROM family",
        (entry,),
    )
    family = [EntryId(row["id"]) for row in found]
    return list(dict.fromkeys([*family, *made_of(rows, family)]))


def made_of(rows: Rows, sources: Iterable[EntryId]) -> list[EntryId]:
    """Entries that were expanded only from these, and the entries that those were merged into."""
    found = rows.all(
        """WITH RECURSIVE source (id) AS (SELECT value FROM json_each(?)),
           made (id) AS (
             SELECT x.entry_id FROM entry_expansions x WHERE x.source_id IN source AND NOT EXISTS (SELECT 1
               FROM entry_expansions o WHERE o.entry_id = x.entry_id AND o.source_id NOT IN source)
             UNION SELECT e.superseded_by FROM archival_entries e, made m
               WHERE e.id = m.id AND e.superseded_by IS NOT NULL)
           SELECT id FROM made ORDER BY id""",
        (list(sources),),
    )
    return [EntryId(row["id"]) for row in found]


def in_use(rows: Rows, entry: EntryId) -> Entry | None:
    """An entry that is in use, without a scope: for work whose rows nobody is shown."""
    return to_entry.first(rows, f"SELECT * FROM archival_entries WHERE id = ? AND {WHOLE}", (entry,))
