"""The domains that are searched: where each keeps its rows, and what a query's conditions mean there.

A new domain is a `Table` in `TABLES` and its name in `query.Domain`. Its table has the columns id, audience, trust
and search_text, and an FTS5 index over the last.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from memory.people.audience import Scope
from memory.people.unshown import shown
from memory.search.query import Among, Domain, Embedded, Kind, Query
from memory.search.question import COLOURED
from memory.store.clock import to_text
from memory.store.database import Row, Rows, Value
from memory.store.ids import AgentId


@dataclass(frozen=True)
class Condition:
    """A part of WHERE over a domain's table as `t`."""

    sql: str
    parameters: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Table:
    """Where a domain lives: its table, as `t`, with its index, row number and the columns of a hit.

    `can_meet` says whether a query's conditions make sense for it at all, `narrowing` what they are in SQL; `living`
    is what holds for every row that the agent, or without one any agent, can find. Rows of `talk` are said in a place,
    one after the other, and are understood together.
    """

    domain: Domain
    kind: Kind
    name: str
    index: str
    number: str
    moment: str
    columns: str
    can_meet: Callable[[Query], bool]
    living: Callable[[AgentId | None], Condition]
    narrowing: Callable[[Query], Iterator[Condition]]
    talk: bool = False
    embedded: Embedded | None = None
    """As what its rows have vectors, if they have any."""
    thing: str = "t.id"
    """What a person would count: of the passages of a long entry, or of a file, that is one."""


def asked(query: Query) -> list[Table]:
    """The domains that a query asks."""
    wanted = query.domains & {"files"} if query.path else query.domains
    return [table for table in TABLES if table.domain in wanted and table.can_meet(query)]


def narrowing(table: Table, query: Query) -> list[Condition]:
    """What the query's conditions mean for a domain; none when it has none."""
    in_time = []
    if query.since is not None:
        in_time.append(Condition(f"{table.moment} >= ?", (to_text(query.since),)))
    if query.until is not None:
        in_time.append(Condition(f"{table.moment} < ?", (to_text(query.until),)))
    return [*in_time, *table.narrowing(query)]


def where(conditions: Iterable[Condition]) -> tuple[str, tuple[Value, ...]]:
    """Conditions as one, with the parameters."""
    parts = list(conditions)
    return " AND ".join(part.sql for part in parts), tuple(value for part in parts for value in part.parameters)


def unmet(query: Query) -> tuple[str, ...]:
    """The conditions that keep every domain asked from being searched, by their names; none when one is searched.

    Those that none of them can meet by itself, else all that they cannot meet together.
    """
    if asked(query):
        return ()
    given = {name: value for name in _NONE if (value := getattr(query, name))}
    bare = replace(query, **_NONE)
    alone = tuple(name for name, value in given.items() if not asked(replace(bare, **{name: value})))
    return alone or tuple(given)


_NONE: dict[str, Any] = {"person": None, "author": None, "role": None, "place": None, "category": None, "tags": ()}


def _asks_for_messages(query: Query) -> bool:
    return query.role is not None or query.place is not None


def _asks_for_entries(query: Query) -> bool:
    return query.category is not None or bool(query.tags)


def _living_messages(agent: AgentId | None) -> Condition:
    # Deleted rows and results of tools have no search text.
    living = "t.deleted_at IS NULL AND t.search_text <> ''"
    return Condition(living if agent is None else f"{living} AND {shown('t')}")


def _living_entries(agent: AgentId | None) -> Condition:
    living = "t.archived_at IS NULL AND t.superseded_by IS NULL"
    return Condition(living) if agent is None else Condition(f"t.agent_id = ? AND {living}", (agent,))


def _living_blocks(agent: AgentId | None) -> Condition:
    living = "t.deleted_at IS NULL AND (t.content <> '' OR t.profile <> '')"  # an empty one tells nothing
    if agent is None:
        return Condition(living)
    shared = "t.id IN (SELECT block_id FROM shared_block_agents WHERE agent_id = ?)"
    return Condition(f"{living} AND (t.agent_id IN (?, '_constellation_') OR {shared})", (agent,) * 2)


# A message belongs to the turn that answered it, or said it; those of a group's members share the one that waits for
# them. What no turn has was overheard, or waits.
_IN_ITS_TALK = """(t.agent_id = ?
    OR EXISTS (SELECT 1 FROM turns b JOIN turns u ON u.id = coalesce(b.parent_id, b.id)
        OR u.parent_id = coalesce(b.parent_id, b.id) WHERE b.id = t.batch_id AND u.agent_id = ?)
    OR (t.batch_id IS NULL AND t.agent_id IS NULL AND t.place_id IN (SELECT place_id FROM turns WHERE agent_id = ?)))"""


def _of_messages(query: Query) -> Iterator[Condition]:
    if query.talking is not None:
        yield Condition(_IN_ITS_TALK, (query.talking,) * 3)
    if query.person is not None:
        yield Condition("t.person_id = ?", (query.person,))
    if query.author is not None:
        by = "(t.speaker = ? COLLATE NOCASE OR t.agent_id = ? OR (t.role = 'user' AND t.person_id = ?))"
        yield Condition(by, (query.author,) * 3)
    if query.role is not None:
        yield Condition("t.role = ?", (query.role,))
    if query.place is not None:
        yield Condition("t.place_id = ?", (query.place,))


_BY_AGENT = "t.agent_id IN (SELECT id FROM agents WHERE id = ? OR name = ? COLLATE NOCASE)"


def _of_entries(query: Query) -> Iterator[Condition]:
    if not query.text.strip():
        yield Condition("t.parent_entry_id IS NULL")  # a list has the whole entry, words are found in its passages
    theirs = "(t.person_id = ? OR ? IN (SELECT value FROM json_each(t.metadata, '$._people')))"
    if query.person is not None:
        yield Condition(theirs, (query.person,) * 2)
    if query.author is not None:
        yield Condition(f"({_BY_AGENT} OR {theirs})", (query.author,) * 4)
    if query.category is not None:
        within = "(t.category = ? COLLATE NOCASE OR substr(t.category, 1, length(?) + 1) = ? || '/' COLLATE NOCASE)"
        yield Condition(within, (query.category,) * 3)
    for tag in query.tags:
        yield Condition("? COLLATE NOCASE IN (SELECT value FROM json_each(t.tags))", (tag,))


def _living_passages(agent: AgentId | None) -> Condition:
    if agent is None:
        return Condition("t.folder_id IN (SELECT folder_id FROM folder_attachments) AND t.search_text <> ''")
    mine = "t.folder_id IN (SELECT folder_id FROM folder_attachments WHERE agent_id = ?)"
    return Condition(f"{mine} AND t.search_text <> ''", (agent,))


def _of_passages(query: Query) -> Iterator[Condition]:
    if query.path:
        whole = "SELECT f.id FROM folder_files f JOIN folders d ON d.id = f.folder_id WHERE d.name || '/' || f.name"
        below = "substr(d.name || '/' || f.name, 1, length(?) + 1) = ? || '/'"
        yield Condition(f"t.file_id IN ({whole} = ? OR {below})", (query.path,) * 3)


def _of_blocks(query: Query) -> Iterator[Condition]:
    if query.person is not None:
        yield Condition("t.person_id = ?", (query.person,))
    if query.domains != {"blocks"}:
        # What the system logs names every tool and hardly ever answers a question.
        yield Condition("t.block_type <> 'log'")


def _of_archival_blocks(query: Query) -> Iterator[Condition]:
    yield Condition("t.block_type = 'archival'")
    if query.person is not None:
        yield Condition("t.person_id = ?", (query.person,))


def _of_activity(query: Query) -> Iterator[Condition]:
    if query.person is not None:
        yield Condition("t.person_id = ?", (query.person,))
    if query.author is not None:
        yield Condition(_BY_AGENT, (query.author,) * 2)
    if query.place is not None:
        yield Condition("t.place_id = ?", (query.place,))


def _living_facts(agent: AgentId | None) -> Condition:
    if agent is None:
        return Condition("t.superseded_by IS NULL")
    return Condition("t.superseded_by IS NULL AND (t.agent_id = ? OR t.shared_at IS NOT NULL)", (agent,))


def _of_facts(query: Query) -> Iterator[Condition]:
    if query.person is not None:
        yield Condition("t.person_id = ?", (query.person,))
    if query.author is not None:
        said = """SELECT s.fact_id FROM fact_sources s JOIN messages m ON m.id = s.message_id
                  WHERE m.speaker = ? COLLATE NOCASE"""
        yield Condition(f"({_BY_AGENT} OR t.person_id = ? OR t.id IN ({said}))", (query.author,) * 4)
    if query.category is not None:
        yield Condition("t.category = ? COLLATE NOCASE", (query.category,))


def _of_tasks(query: Query) -> Iterator[Condition]:
    if query.person is not None:
        yield Condition("t.person_id = ?", (query.person,))
    if query.author is not None:
        yield Condition(f"({_BY_AGENT} OR t.person_id = ?)", (query.author,) * 3)


def _living_summaries(agent: AgentId | None) -> Condition:
    living = "t.kind IN ('conversation', 'agent', 'day', 'week') AND t.search_text <> ''"
    if agent is None:
        return Condition(living)
    return Condition(f"{living} AND (t.agent_id IS NULL OR t.agent_id = ?)", (agent,))


def _of_summaries(query: Query) -> Iterator[Condition]:
    if query.author is not None:
        yield Condition(_BY_AGENT, (query.author,) * 2)
    if query.place is not None:
        yield Condition("t.place_id = ?", (query.place,))


_NO_TALK = "t.label AS label, NULL AS speaker, NULL AS place, NULL AS role"
_BLOCK_TEXT = "trim(t.profile || char(10) || t.content, char(10)) AS text"
_WHERE = """(SELECT d.name || '/' || f.name || ':' || t.start_line || '-' || t.end_line FROM folder_files f
    JOIN folders d ON d.id = f.folder_id WHERE f.id = t.file_id) AS label"""

_BLOCKS = Table(
    domain="blocks",
    kind="block",
    embedded="block",
    name="memory_blocks",
    index="block_fts",
    number="n",
    moment="t.updated_at",
    columns=f"{_BLOCK_TEXT}, {_NO_TALK}",
    can_meet=lambda query: not (_asks_for_messages(query) or _asks_for_entries(query) or query.author is not None),
    living=_living_blocks,
    narrowing=_of_blocks,
)

TABLES = (
    Table(
        domain="archival",
        kind="entry",
        embedded="entry",
        name="archival_entries",
        index="archival_fts",
        thing="coalesce(t.parent_entry_id, t.id)",
        number="n",
        moment="t.created_at",
        columns=f"t.content AS text, {_NO_TALK}",
        can_meet=lambda query: not _asks_for_messages(query),
        living=_living_entries,
        narrowing=_of_entries,
    ),
    Table(
        domain="messages",
        kind="message",
        embedded="message",
        name="messages",
        index="message_fts",
        number="id",
        moment="t.created_at",
        columns="t.content AS text, NULL AS label, t.speaker AS speaker, t.place_id AS place, t.role AS role",
        can_meet=lambda query: not _asks_for_entries(query),
        living=_living_messages,
        narrowing=_of_messages,
        talk=True,
    ),
    _BLOCKS,
    replace(_BLOCKS, domain="archival_blocks", narrowing=_of_archival_blocks),
    Table(
        domain="activity",
        kind="event",
        name="activity_events",
        index="activity_fts",
        number="id",
        moment="t.at",
        columns="t.words AS text, NULL AS label, (SELECT name FROM agents WHERE id = t.agent_id) AS speaker, "
        "t.place_id AS place, NULL AS role",
        can_meet=lambda query: query.role is None and not _asks_for_entries(query),
        living=lambda agent: Condition("t.search_text <> ''" + ("" if agent is None else f" AND {shown('t')}")),
        narrowing=_of_activity,
    ),
    Table(
        domain="facts",
        kind="fact",
        name="facts",
        index="facts_fts",
        number="id",
        moment="t.last_seen",
        columns="t.fact AS text, t.category AS label, NULL AS speaker, NULL AS place, NULL AS role",
        can_meet=lambda query: not (_asks_for_messages(query) or query.tags),
        living=_living_facts,
        narrowing=_of_facts,
    ),
    Table(
        domain="tasks",
        kind="task",
        embedded="task",
        name="tasks",
        index="task_fts",
        number="id",
        moment="t.created_at",
        columns="trim(t.title || char(10) || t.notes, char(10)) AS text, t.status AS label, NULL AS speaker, "
        "NULL AS place, NULL AS role",
        can_meet=lambda query: not (_asks_for_messages(query) or _asks_for_entries(query)),
        living=lambda _agent: Condition("t.search_text <> ''"),
        narrowing=_of_tasks,
    ),
    Table(
        domain="summaries",
        kind="summary",
        name="items",
        index="item_fts",
        number="id",
        moment="iif(t.kind IN ('day', 'week'), t.key, t.created_at)",  # of a day or week when it began
        columns="t.text AS text, t.kind AS label, (SELECT name FROM agents WHERE id = t.agent_id) AS speaker, "
        "t.place_id AS place, NULL AS role",
        can_meet=lambda query: query.role is None and query.person is None and not _asks_for_entries(query),
        living=_living_summaries,
        narrowing=_of_summaries,
    ),
    Table(
        embedded="passage",
        domain="files",
        kind="passage",
        name="file_passages",
        index="passage_fts",
        thing="t.file_id",
        number="n",
        moment="t.created_at",
        columns=f"t.content AS text, {_WHERE}, NULL AS speaker, NULL AS place, NULL AS role",
        can_meet=lambda query: (
            not (_asks_for_messages(query) or _asks_for_entries(query))
            and query.author is None
            and query.person is None
        ),
        living=_living_passages,
        narrowing=_of_passages,
    ),
)
"""In the order in which `Results.searched` names them."""


# -------------------------------------------------------------------------------------------------- reading one domain


COUNTED_ROWS = 10_000
"""`Lookup.count` counts no further than this."""

_FEW = 20  # rows of an index that are looked up one by one
_MOST_HELD = 20_000  # rows with one word that are weighed; older ones are not found by it


@dataclass(frozen=True)
class Lookup:
    """One domain's rows that meet a query's conditions; those of the scope hold for what is read beside them too."""

    rows: Rows
    table: Table
    agent: AgentId | None
    scope: Scope
    narrowed: tuple[Condition, ...]

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Everything that must hold for a row; the audience is among it."""
        return *self.narrowed, self.table.living(self.agent), Condition(*self.scope.sql("t.audience"))

    @cached_property
    def among(self) -> Among:
        """The same for vectors, which keep to what is alive and to the scope by themselves. The domain has vectors."""
        if self.table.embedded is None:
            raise ValueError(f"{self.table.domain} has no vectors")
        narrowed = where(self.narrowed) if self.narrowed else None
        return Among(self.table.embedded, self.agent, self.scope, narrowed)

    def count(self) -> int:
        """How many rows there are, whatever their words; up to `COUNTED_ROWS`."""
        condition, parameters = where(self.conditions)
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {self.table.name} t WHERE {condition} LIMIT {COUNTED_ROWS})"
        row = self.rows.one(sql, parameters)
        return 0 if row is None else int(row[0])

    def count_things(self) -> int:
        """The same for saying what was searched: a long entry, or a file, is one, however many passages it has."""
        condition, parameters = where(self.conditions)
        table = self.table
        sql = f"SELECT {table.thing} AS thing FROM {table.name} t WHERE {condition} LIMIT {COUNTED_ROWS}"
        row = self.rows.one(f"SELECT count(DISTINCT thing) FROM ({sql})", parameters)
        return 0 if row is None else int(row[0])

    def newest(self, limit: int) -> list[Row]:
        condition, parameters = where(self.conditions)
        return self.rows.all(
            f"SELECT {self._columns()} FROM {self.table.name} t WHERE {condition} "
            f"ORDER BY {self.table.moment} DESC, t.{self.table.number} DESC LIMIT ?",
            (*parameters, limit),
        )

    def newest_with(self, symbols: Sequence[str], limit: int) -> list[Row]:
        """The newest rows whose text has all of the symbols as they stand; every row is looked at."""
        condition, parameters = where((*self.conditions, Condition("t.search_text <> ''")))
        having = " AND ".join("instr(replace(text, ?, ''), ?)" for _ in symbols)
        return self.rows.all(
            f"SELECT * FROM (SELECT {self._columns()} FROM {self.table.name} t WHERE {condition}) WHERE {having} "
            "ORDER BY moment DESC, number DESC LIMIT ?",
            (*parameters, *(each for symbol in symbols for each in (COLOURED, symbol)), limit),
        )

    def hits(self, numbers: list[int]) -> list[Row]:
        """What a hit shows of rows that were found before, the newest first."""
        number = f"t.{self.table.number}"
        return self.rows.all(
            f"SELECT {self._columns()} FROM {self.table.name} t "
            f"WHERE {number} IN (SELECT value FROM json_each(?)) ORDER BY {number} DESC",
            (json.dumps(numbers),),
        )

    def holding(self, word: str) -> list[tuple[int, int]]:
        """The newest rows that have a word, a MATCH expression, with their lengths in characters."""
        name, index, number = self.table.name, self.table.index, self.table.number
        condition, parameters = where(self.conditions)
        found = self.rows.all(
            f"SELECT t.{number}, length(t.search_text) FROM {index} JOIN {name} t ON t.{number} = {index}.rowid "
            f"WHERE {index} MATCH ? AND {condition} ORDER BY {index}.rowid DESC LIMIT {_MOST_HELD}",
            (word, *parameters),
        )
        return [(row[0], row[1]) for row in found]

    def times(self, word: str, numbers: list[int]) -> list[tuple[int, int, int]]:
        """How often those of the rows that have a word have it, and their lengths."""
        index = self.table.index
        found = self.rows.all(
            f"SELECT rowid, length(highlight({index}, 0, char(1), '')) AS marked, length(search_text) AS length "
            f"FROM {index} WHERE {index} MATCH ? AND {_among(numbers)}",
            (word, json.dumps(numbers)),
        )
        return [(row["rowid"], max(row["marked"] - row["length"], 1), row["length"]) for row in found]

    def having(self, match: str, numbers: list[int]) -> set[int]:
        """Which of the rows match."""
        index = self.table.index
        sql = f"SELECT rowid FROM {index} WHERE {index} MATCH ? AND {_among(numbers)}"
        return {row[0] for row in self.rows.all(sql, (match, json.dumps(numbers)))}

    def meeting(self, numbers: list[int]) -> set[int]:
        """Which of the rows meet the conditions."""
        name, number = self.table.name, f"t.{self.table.number}"
        condition, parameters = where(self.conditions)
        sql = f"SELECT {number} FROM {name} t WHERE {number} IN (SELECT value FROM json_each(?)) AND {condition}"
        return {row[0] for row in self.rows.all(sql, (json.dumps(numbers), *parameters))}

    def _columns(self) -> str:
        table = self.table
        return (
            f"t.{table.number} AS number, t.id AS id, {table.moment} AS moment, t.audience AS audience, "
            f"t.trust AS trust, {table.columns}"
        )


def _among(numbers: list[int]) -> str:
    """A condition on the row number. FTS5 looks a few up one by one; of many it is ten times faster to see all."""
    return f"{'' if len(numbers) <= _FEW else '+'}rowid IN (SELECT value FROM json_each(?))"
