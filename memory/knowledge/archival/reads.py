"""Reading archival entries by name, by age and by category; always limited to a scope."""

import json
from collections.abc import Iterable
from datetime import datetime

from memory.knowledge.archival.entries import Entry, is_id, to_entry
from memory.people.audience import Scope
from memory.store.database import Rows
from memory.store.errors import EntryNotFound
from memory.store.ids import AgentId, EntryId, MessageId, TurnId

LIVING = "archived_at IS NULL AND superseded_by IS NULL"
WHOLE = f"{LIVING} AND parent_entry_id IS NULL"
BY_ID = "SELECT * FROM archival_entries WHERE id = ? AND +agent_id = ? AND {}"
BY_LABEL = (  # one per audience, as the index of labels
    "SELECT * FROM archival_entries WHERE agent_id = ? AND label = ? AND {} ORDER BY audience = ? DESC, n DESC LIMIT 1"
)


def read(rows: Rows, agent: AgentId, label_or_id: str, scope: Scope) -> Entry:
    """The agent's entry with that id or label; of several labels that of the scope's own audience, then the newest.

    A text that looks like an id is never taken for a label. The id of a passage returns the whole entry; that of a
    merged entry returns the result. Raises `EntryNotFound` if the scope may use none.
    """
    condition, parameters = scope.sql("audience")
    by_id, by_label = BY_ID.format(condition), BY_LABEL.format(condition)
    row = rows.one(by_id, (label_or_id, agent, *parameters))
    if row is None and not is_id(label_or_id):
        row = rows.one(by_label, (agent, label_or_id, *parameters, scope.audience))
    if row is None:
        raise EntryNotFound("there is no entry {label_or_id!r} here", label_or_id=label_or_id)
    if row["parent_entry_id"] is not None:
        return read(rows, agent, row["parent_entry_id"], scope)
    return read(rows, agent, row["superseded_by"], scope) if row["superseded_by"] is not None else to_entry(row)


def derived_messages(rows: Rows, entry: Entry) -> list[MessageId]:
    """The messages that hold an entry's words: those it was learned from, and ours in turns that stored or used it.

    Only ids, in order, and without a scope: for following a deletion through.
    """
    family = json.dumps(family_of(rows, entry.id))
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
    condition, parameters = scope.sql("audience")
    sql = f"""SELECT * FROM archival_entries WHERE agent_id = ? AND {WHOLE} AND {condition} AND created_at < ?
              ORDER BY n DESC LIMIT ?"""
    return to_entry.all(rows, sql, (agent, *parameters, "~" if before is None else before, max(limit, 0)))


def noted_by(rows: Rows, agents: Iterable[AgentId], scope: Scope, since: datetime, limit: int) -> list[Entry]:
    """Entries that these agents stored since then and that the scope may know, newest first.

    For an agent that may read others' entries.
    """
    condition, parameters = scope.sql("audience")
    return to_entry.all(
        rows,
        f"SELECT * FROM archival_entries WHERE agent_id IN (SELECT value FROM json_each(?)) AND {WHOLE} "
        f"AND {condition} AND created_at >= ? ORDER BY n DESC LIMIT ?",
        (json.dumps(list(agents)), *parameters, since, max(limit, 0)),
    )


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
    condition, parameters = scope.sql("audience")
    return to_entry.all(
        rows,
        "SELECT e.* FROM json_each(?) j CROSS JOIN archival_entries e ON e.id = j.value "
        f"WHERE e.agent_id = ? AND {condition} ORDER BY j.key",
        (json.dumps(list(ids)), agent, *parameters),
    )


def categories(rows: Rows, agent: AgentId, scope: Scope) -> dict[str, int]:
    """The categories in use, in order, with the number of entries directly in each."""
    condition, parameters = scope.sql("audience")
    found = rows.all(
        f"SELECT category, count(*) FROM archival_entries WHERE agent_id = ? AND category <> '' AND {WHOLE} "
        f"AND {condition} GROUP BY category ORDER BY category",
        (agent, *parameters),
    )
    return {row[0]: row[1] for row in found}


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
        (json.dumps(list(sources)),),
    )
    return [EntryId(row["id"]) for row in found]


def in_use(rows: Rows, entry: EntryId) -> Entry | None:
    """An entry that is in use, without a scope: for work whose rows nobody is shown."""
    return to_entry.first(rows, f"SELECT * FROM archival_entries WHERE id = ? AND {WHOLE}", (entry,))
