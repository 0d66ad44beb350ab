"""Chooses the entries for a run: new or changed ones, and others that are nearly the same.

Code chooses, so that a model never sees the whole store and can neither change nor lose what it was not shown. The size
of a run is bounded by what is new (`MOST_NEW` entries of an agent, oldest first). Two entries are near if their words
overlap by `NEAR_WORDS` (Jaccard), or their vectors by `NEAR_COSINE`; RockBot's store uses both values for the same
question.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol, TypeVar

from msgspec import Struct, field

from memory.knowledge.entries import Entry, to_entry
from memory.knowledge.feedback import unquoted
from memory.knowledge.upkeep.planned_changes import MergeGroup, Part, Pass, kin_of
from memory.knowledge.upkeep.run_records import mark_of
from memory.people.audience import Audience, Scope, Trust
from memory.people.hidden_people import heeded
from memory.queue.messages import COLUMNS, Message, to_message
from memory.search import vectors
from memory.search.embedding.base import Vector
from memory.search.vectors import RowSet
from memory.store.database import Row, Rows
from memory.store.fulltext import content_words, match_query, word_set
from memory.store.ids import AgentId

T = TypeVar("T")

NEAR_WORDS = 0.6
NEAR_COSINE = 0.88
LONGEST = 2_000
"""Characters: longer entries are cut into passages, and are skipped."""
MOST_NEW = 400
_MOST_CLUSTER = 3
_MOST_COMPARED = 40  # entries that one is compared with by words
_MOST_ASKED = 24  # entries whose neighbors are looked up by vector
_NEIGHBOURS = 4

STRONG = "reinforcement >= 5 OR importance >= 0.8"
"""Entries that are never retired."""
_OPEN = f"""parent_entry_id IS NULL AND archived_at IS NULL AND superseded_by IS NULL AND label IS NULL
    AND length(content) <= {LONGEST} AND NOT ({STRONG})"""
_UNDONE = """id NOT IN (SELECT i.entry_id FROM dream_items i JOIN dream_runs r ON r.id = i.run_id
    WHERE r.outcome = 'undone')"""


class Candidates(Struct, frozen=True):
    """What a run may process for one agent, by part. `clusters` are groups of similar entries."""

    new: Mapping[Part, Sequence[Entry]] = field(default_factory=dict)
    clusters: Mapping[Part, Sequence[tuple[Entry, ...]]] = field(default_factory=dict)
    position: Mapping[Part, int] = field(default_factory=dict)
    """How far the pass will have come after this run."""
    more: bool = False
    """Whether some new entries have to wait for the next run."""


class _New(Struct):
    entry: Entry
    kin: MergeGroup
    near: set[str] = field(default_factory=set)


class Reading(Protocol):
    """Where entries are read: a `Database`."""

    async def read(self, work: Callable[[Rows], T]) -> T: ...


async def choose(database: Reading, agent: AgentId, of: Pass) -> Candidates:
    """The candidates of a pass among an agent's entries; none if nothing is new since its marks.

    Each entry's neighbors are looked up in a read of their own: in a large store all of them take seconds, for which
    turns would wait. Before a plan is applied, its entries are checked again.
    """
    new, position, more = await database.read(lambda rows: _since(rows, agent, of))
    others: dict[str, Entry] = {}
    for each in new:
        others |= await database.read(partial(_near_by_words, each=each))
    others |= await database.read(partial(_near_by_meaning, new=new))
    clusters: dict[Part, list[tuple[Entry, ...]]] = {}
    for cluster in _clusters(new, others):
        clusters.setdefault(kin_of(cluster[0]).part, []).append(cluster)
    return Candidates(_by_part(new), clusters, position, more)


def fresh(rows: Rows, agent: AgentId, of: Pass) -> Candidates:
    """The same without similar older entries."""
    new, position, more = _since(rows, agent, of)
    return Candidates(_by_part(new), {}, position, more)


def _since(rows: Rows, agent: AgentId, of: Pass) -> tuple[list[_New], dict[Part, int], bool]:
    """What is new since a pass's marks, the marks after it, and whether more has to wait."""
    found = rows.all(
        f"""SELECT c.seq, e.* FROM dream_changes c CROSS JOIN archival_entries e ON e.n = c.n
            LEFT JOIN dream_marks m ON m.pass = :pass AND m.agent_id = e.agent_id AND m.audience = e.audience
              AND m.trust = e.trust
            WHERE e.agent_id = :agent AND c.seq > coalesce(m.mark, 0) AND {_OPEN} AND {_UNDONE}
            ORDER BY c.seq LIMIT +:most""",
        {"pass": of, "agent": agent, "most": MOST_NEW + 1},
    )
    taken = found[:MOST_NEW]
    new = [_New(entry, kin_of(entry)) for entry in (to_entry(row) for row in taken if _usable(row))]
    position: dict[Part, int] = {}
    for row in taken:
        position[_part(row)] = int(row["seq"])
    return new, position, len(found) > MOST_NEW


def _by_part(new: Iterable[_New]) -> dict[Part, list[Entry]]:
    by_part: dict[Part, list[Entry]] = {}
    for each in new:
        by_part.setdefault(each.kin.part, []).append(each.entry)
    return by_part


def _part(row: Row) -> Part:
    return Part(AgentId(row["agent_id"]), Audience(row["audience"]), Trust(row["trust"]))


def _usable(row: Row) -> bool:
    """Entries that wait for a person's approval are for that person to decide about."""
    return not json.loads(row["metadata"]).get("requires_user_permission")


def _near_by_meaning(rows: Rows, new: Sequence[_New]) -> dict[str, Entry]:
    """Entries near the new ones in meaning, for those that have none near in words."""
    others: dict[str, Entry] = {}
    asked = 0
    for each in reversed(new):  # the newest
        found = None if each.near or asked == _MOST_ASKED else vectors.of_entry(rows, each.entry.id)
        if found is not None:
            asked += 1
            others |= _noted(each, _by_meaning(rows, each, found))
    return others


def _noted(each: _New, found: Iterable[Row]) -> dict[str, Entry]:
    """Those of the rows that may be merged with a new entry, by id; records them in `near`."""
    entries = [to_entry(row) for row in found if _usable(row)]
    others: dict[str, Entry] = {
        entry.id: entry for entry in entries if entry.id != each.entry.id and kin_of(entry) == each.kin
    }
    each.near |= others.keys()
    return others


def _near_by_words(rows: Rows, each: _New) -> dict[str, Entry]:
    """The entries with enough of a new one's words, among those that the index ranks highest for the longest ones.

    An entry with that much overlap has at least one of so many words, whichever they are.
    """
    words, part = word_set(each.entry.content), each.kin.part
    longest = sorted(set(content_words(each.entry.content)) or words, key=lambda word: (-len(word), word))
    match = match_query(" ".join(longest[: int((1 - NEAR_WORDS) * len(words)) + 1]), mode="any")
    sql = f"""SELECT e.* FROM archival_fts JOIN archival_entries e ON e.n = archival_fts.rowid
              WHERE archival_fts MATCH ? AND agent_id = ? AND audience = ? AND trust = ? AND {_OPEN} AND {_UNDONE}
              ORDER BY rank LIMIT {_MOST_COMPARED}"""
    found = rows.all(sql, (match, part.agent, part.audience, int(part.trust))) if match else []
    held = [(row, word_set(row["content"])) for row in found]
    return _noted(each, [row for row, theirs in held if len(words & theirs) >= NEAR_WORDS * len(words | theirs)])


def _by_meaning(rows: Rows, each: _New, found: tuple[str, Vector]) -> list[Row]:
    question = vectors.Question(*found, RowSet("entry", each.entry.agent, Scope(each.entry.audience), None))
    near = vectors.nearest(rows, question, _NEIGHBOURS)
    numbers = [row for row, cosine in near.items() if cosine >= NEAR_COSINE]
    sql = f"SELECT * FROM archival_entries WHERE n IN (SELECT value FROM json_each(?)) AND {_OPEN} AND {_UNDONE}"
    return rows.all(sql, (numbers,))


# ---------------------------------------------------------------------------------------------------------- clusters


def _clusters(new: Sequence[_New], others: Mapping[str, Entry]) -> list[tuple[Entry, ...]]:
    """Each new entry with those similar to it, oldest first: at most three, and each entry is in one group only."""
    left = {each.entry.id: each.entry for each in new} | dict(others)
    found = list[tuple[Entry, ...]]()
    for each in sorted(new, key=lambda each: (each.entry.created_at, each.entry.id)):
        near = [left[key] for key in (each.entry.id, *sorted(each.near)) if key in left]
        if each.entry.id in left and len(near) > 1:
            found.append(tuple(sorted(near[:_MOST_CLUSTER], key=lambda entry: (entry.created_at, entry.id))))
            left = {key: entry for key, entry in left.items() if entry not in found[-1]}
    return found


# ---------------------------------------------------------------------------------------------------- what people said


REACH = timedelta(days=30)
"""How old a message may be to count as an occurrence."""
_MOST_READ, _MOST_SHOWN = 1_000, 120


def sayings(rows: Rows, agent: AgentId, now: datetime) -> Mapping[Part, Sequence[Message]]:
    """Recent messages to an agent, without quotes, by part, oldest first; only parts with something new."""
    sql = f"""SELECT {COLUMNS} FROM messages WHERE role = 'user' AND person_id IS NOT NULL AND deleted_at IS NULL
              AND {heeded("messages")} AND EXISTS (SELECT 1 FROM turns t WHERE t.id = batch_id AND t.agent_id = ?)
              AND created_at >= ?
              ORDER BY id DESC LIMIT +?"""
    parts: dict[Part, list[Message]] = {}
    for message in map(to_message, rows.all(sql, (agent, now - REACH, _MOST_READ))):
        said = parts.setdefault(Part(agent, message.audience, message.trust), [])
        if (text := unquoted(message.text)) and len(said) < _MOST_SHOWN:
            said.append(message._replace(text=text))
    return {
        part: list(reversed(said))
        for part, said in parts.items()
        if said and said[0].id > mark_of(rows, Pass.PREFERENCES, part)
    }
