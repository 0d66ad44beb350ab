"""The things that an agent's entries mention and how they are related: triples, each read out of one entry.

A triple has the audience and trust of its entry, and is deleted with it: the graph knows nothing that no entry says.
The things that a question names are looked up and followed for two steps: "the bakery" leads to who works there, and
from there to their birthday, although no entry holds both.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from memory.knowledge.entries import Entry
from memory.people.audience import Audience, Scope, Trust
from memory.store.database import Row, Rows, Tx, Value
from memory.store.fulltext import content_words
from memory.store.ids import AgentId, EntryId, snowflakes

HOPS = 2
"""Steps from what a question names."""
_LONGEST_NAME = 5  # words of a name in a question
_MOST_WORDS = 120  # words of a question that are searched for names
_HUB = 12  # triples: a thing with more leads everywhere and is not followed
_MOST = 60  # triples read in one step
_OPEN = "e.archived_at IS NULL AND e.superseded_by IS NULL"


class Kind(StrEnum):
    PERSON = "person"
    PLACE = "place"
    GROUP = "group"
    """An organization, a team, a family."""
    THING = "thing"
    EVENT = "event"
    TIME = "time"
    IDEA = "idea"
    """Something that can be neither met nor touched: an illness, a language, a wish."""


class Entity(Struct, frozen=True):
    """Something or somebody, by the name that an entry uses."""

    name: str
    kind: Kind

    @property
    def key(self) -> str:
        """Identifies it: the words of its name in lower case."""
        return key_of(self.name)


class Triple(Struct, frozen=True):
    """A subject, its relation, and an object."""

    subject: Entity
    relation: str
    object: Entity


def key_of(name: str) -> str:
    """The content words of a name in lower case; empty if there are none."""
    return " ".join(content_words(name))


def names_both(entry: Entry, triple: Triple) -> bool:
    """Whether an entry contains both names, so that the triple adds nothing that it does not say."""
    said = f" {key_of(entry.content)} "
    return all(entity.key and f" {entity.key} " in said for entity in (triple.subject, triple.object))


# ------------------------------------------------------------------------------------------------------------- writing


def put(tx: Tx, run: str, entry: Entry, triples: Iterable[Triple], now: datetime) -> int:
    """Store what an entry says, replacing what was read out of it before; returns how many triples."""
    tx.run("DELETE FROM graph_triples WHERE entry_id = ?", (entry.id,))
    kept = list(dict.fromkeys(triples))
    for each in kept:
        values: dict[str, Value] = {"id": snowflakes.next(), "run_id": run, "agent_id": entry.agent}
        values |= {"entry_id": entry.id, "audience": entry.audience, "trust": int(entry.trust), "at": now}
        values |= {"relation": each.relation, "relation_key": key_of(each.relation)}
        for part, entity in (("subject", each.subject), ("object", each.object)):
            values |= {part: entity.name, f"{part}_kind": entity.kind, f"{part}_key": entity.key}
        tx.insert("graph_triples", values)
    return len(kept)


def carry(tx: Tx, run: str, entry: Entry, sources: Sequence[Entry], now: datetime) -> int:
    """Copy the triples of merged entries to the result if its text contains both names; returns how many."""
    named = [source.id for source in sources]
    sql = "SELECT * FROM graph_triples WHERE entry_id IN (SELECT value FROM json_each(?)) ORDER BY id"
    found = {
        (row["subject_key"], row["relation_key"], row["object_key"]): _triple(row) for row in tx.all(sql, (named,))
    }
    return put(tx, run, entry, [each for each in found.values() if names_both(entry, each)], now)


def forget_run(tx: Tx, run: str) -> int:
    """Delete what a run read out of entries; returns how many triples."""
    return tx.run("DELETE FROM graph_triples WHERE run_id = ?", (run,))


# ------------------------------------------------------------------------------------------------------------- reading


def linked(rows: Rows, agent: AgentId, words: str, scope: Scope, until: datetime) -> list[EntryId]:
    """Entries about the things that these words name, nearest first, within the scope.

    Breadth first, at most `HOPS` steps; entries written after `until` are left out.
    """
    frontier, seen = set[str](), set[str]()
    if rows.one("SELECT 1 FROM graph_triples WHERE agent_id = ? LIMIT 1", (agent,)) is not None:
        frontier = set(_names(words))
    found: dict[EntryId, None] = {}
    for hops in range(1, HOPS + 1):
        step = _touching(rows, agent, frontier, scope, until) if frontier else []
        seen |= frontier
        found |= dict.fromkeys(EntryId(row["entry_id"]) for row in step)
        ends = {row[name] for row in step for name in ("subject_key", "object_key")} - seen
        frontier = {end for end in ends if not _is_hub(rows, agent, end, scope)} if hops < HOPS else set()
    return list(found)


def shown(rows: Rows, about: str, scope: Scope, limit: int) -> tuple[list[Row], int]:
    """The newest triples of all agents, or those about a name and its neighbors, with agents and entries; and how many
    there are that the scope may know."""
    joined = f"""FROM graph_triples t JOIN archival_entries e ON e.id = t.entry_id
                 LEFT JOIN agents a ON a.id = t.agent_id WHERE KNOWN(t.audience) AND {_OPEN}"""
    total = rows.number(*scope.bind(f"SELECT count(*) {joined}"))
    near, more = "", list[Value]()
    if key := key_of(about):
        ends = "SELECT subject_key FROM graph_triples WHERE object_key = ? AND KNOWN(audience)"
        ends += " UNION SELECT object_key FROM graph_triples WHERE subject_key = ? AND KNOWN(audience) UNION SELECT ?"
        near, more = f"AND (t.subject_key IN ({ends}) OR t.object_key IN ({ends}))", [key] * 6
    sql = f"SELECT t.*, e.content, a.name AS agent {joined} {near} ORDER BY t.id DESC LIMIT +?"
    return rows.all(*scope.bind(sql, *more, limit)), total


def _is_hub(rows: Rows, agent: AgentId, key: str, scope: Scope) -> bool:
    sql = """SELECT count(*) FROM (SELECT 1 FROM graph_triples
             WHERE agent_id = ? AND (subject_key = ? OR object_key = ?) AND KNOWN(audience) LIMIT +?)"""
    return rows.number(*scope.bind(sql, agent, key, key, _HUB + 1)) > _HUB


def _names(words: str) -> Iterable[str]:
    """Every run of a few words, in the form of a name's key."""
    said = content_words(words)[:_MOST_WORDS]
    for size in range(1, _LONGEST_NAME + 1):
        for start in range(len(said) - size + 1):
            yield " ".join(said[start : start + size])


def _touching(rows: Rows, agent: AgentId, keys: set[str], scope: Scope, until: datetime) -> list[Row]:
    """The newest triples about these keys, from entries in use."""
    named = sorted(keys)
    sql = f"""SELECT t.* FROM graph_triples t JOIN archival_entries e ON e.id = t.entry_id
              WHERE t.agent_id = ? AND (t.subject_key IN (SELECT value FROM json_each(?))
                OR t.object_key IN (SELECT value FROM json_each(?)))
              AND KNOWN(t.audience) AND t.at <= ? AND {_OPEN} ORDER BY t.id DESC LIMIT {_MOST}"""
    return rows.all(*scope.bind(sql, agent, named, named, until))


def _triple(row: Row) -> Triple:
    subject = Entity(row["subject"], Kind(row["subject_kind"]))
    return Triple(subject, row["relation"], Entity(row["object"], Kind(row["object_kind"])))


def rivals(
    rows: Rows, agent: AgentId, heard: tuple[Audience, Trust], triples: Sequence[Triple]
) -> dict[EntryId, set[Triple]]:
    """Entries of an audience and trust with another object for the same subject and relation."""
    found: dict[EntryId, set[Triple]] = {}
    sql = f"""SELECT t.entry_id FROM graph_triples t JOIN archival_entries e ON e.id = t.entry_id
              WHERE t.agent_id = ? AND t.subject_key = ? AND t.relation_key = ? AND t.object_key <> ?
              AND t.audience = ? AND t.trust = ? AND {_OPEN}"""
    for each in triples:
        values = (agent, each.subject.key, key_of(each.relation), each.object.key, heard[0], int(heard[1]))
        for row in rows.all(sql, values):
            found.setdefault(EntryId(row["entry_id"]), set()).add(each)
    return found
