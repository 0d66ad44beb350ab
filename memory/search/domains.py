"""The domains of the search: where each stores its rows, and what a query's conditions mean there.

A new domain needs a `Table` in `TABLES` and its name in `query.Domain`. Its table has the columns id, audience, trust
and search_text, and an FTS5 index over the last.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct

from memory.people.audience import Scope, with_words_of
from memory.people.hidden_people import shown
from memory.search.query import Domain, Kind, Query
from memory.search.vector_similarity import Meaning
from memory.search.vector_texts import Embedded
from memory.search.vectors import RowSet, seen_by
from memory.store.clock import to_text
from memory.store.database import Row, Rows, Value
from memory.store.ids import AgentId
from memory.store.records import replace


class Condition(Struct, frozen=True):
    """A part of a WHERE clause over a domain's table as `t`."""

    sql: str
    parameters: tuple[Value, ...] = ()


class Table(Struct, frozen=True):
    """Where a domain is stored: its table (as `t`), its index, the row number, and the columns of a hit.

    `conditions` maps the names of a query's conditions to SQL that takes the value at every `?`; `also` is what else a
    query means here. `living` holds for every row that the agent (or, without one, any agent) can find. Rows of `talk`
    are messages of a place in order, and are read together.
    """

    domain: Domain
    kind: Kind
    name: str
    index: str
    number: str
    moment: str
    columns: str
    living: Callable[[AgentId | None], Condition]
    conditions: Mapping[str, str]
    also: Callable[[Query], Iterable[Condition]] = lambda _query: ()
    talk: bool = False
    found_by: str = ""
    """A covering index for rows with a word: frequent words have tens of thousands of rows."""
    embedded: Embedded | None = None
    """The kind of its vectors, if it has any."""
    thing: str = "t.id"
    """What counts as one result: all passages of a long entry, or of a file, count as one."""


def asked(query: Query) -> list[Table]:
    wanted = query.domains & {"files"} if query.path else query.domains
    given = {name for name in _NONE if getattr(query, name) not in (None, ())}
    return [table for table in TABLES if table.domain in wanted and given <= table.conditions.keys()]


def split_by_model(table: Table, query: Query) -> Iterator[tuple[tuple[Condition, ...], Meaning | None]]:
    """A domain split by the model of its vectors, each part with the query's meaning in that model."""
    narrowed = narrowing(table, query)
    others = query.of_folders if table.kind == "passage" else {}
    of_model = "t.folder_id IN (SELECT id FROM folders WHERE embedding_model = ?)"
    for model, meaning in others.items():
        yield (*narrowed, Condition(of_model, (model,))), meaning
    yield (*narrowed, *(Condition(f"NOT {of_model}", (model,)) for model in others)), query.meaning


def narrowing(table: Table, query: Query) -> list[Condition]:
    """The query's conditions in SQL for a domain; empty if the query has none."""
    in_time = []
    if query.since is not None:
        in_time.append(Condition(f"{table.moment} >= ?", (to_text(query.since),)))
    if query.until is not None:
        in_time.append(Condition(f"{table.moment} < ?", (to_text(query.until),)))
    return [*in_time, *table.also(query), *_given(table, query)]


_MOST_WANTED = 100  # more tags than an entry has, and fewer than SQLite joins to one condition


def _given(table: Table, query: Query) -> Iterator[Condition]:
    for name, sql in table.conditions.items():
        value = getattr(query, name)
        many = (*dict.fromkeys(value),)[:_MOST_WANTED] if isinstance(value, tuple) else (value,)
        for each in () if value is None else many:
            yield Condition(sql, (each,) * sql.count("?"))


def where(conditions: Iterable[Condition]) -> tuple[str, tuple[Value, ...]]:
    parts = list(conditions)
    return " AND ".join(part.sql for part in parts), tuple(value for part in parts for value in part.parameters)


def unmet(query: Query) -> tuple[str, ...]:
    """The names of the conditions because of which no domain is searched; empty if one is.

    Those that no domain meets or, if there are none, those that no domain meets together.
    """
    if asked(query):
        return ()
    given = {name: value for name in _NONE if (value := getattr(query, name))}
    bare = replace(query, **_NONE)
    alone = tuple(name for name, value in given.items() if not asked(replace(bare, **{name: value})))
    return alone or tuple(given)


_NONE: dict[str, Any] = {"person": None, "author": None, "role": None, "place": None, "category": None, "tags": ()}


def _living_entries(agent: AgentId | None) -> Condition:
    living = "t.archived_at IS NULL AND t.superseded_by IS NULL"
    return Condition(living) if agent is None else Condition(f"t.agent_id = ? AND {living}", (agent,))


def _seen(kind: Embedded, living: str) -> Callable[[AgentId | None], Condition]:
    """The rows of a kind that an agent can see and that are living."""

    def condition(agent: AgentId | None) -> Condition:
        seen, parameters = seen_by(kind, agent) or ("TRUE", ())
        return Condition(f"{living} AND {seen}", parameters)

    return condition


# A message belongs to the turn that answered or wrote it; members' turns of a group share the parent turn. A message
# without a turn was overheard, or waits.
_IN_ITS_TALK = """(t.agent_id = ?
    OR EXISTS (SELECT 1 FROM turns b JOIN turns u ON u.id = coalesce(b.parent_id, b.id)
        OR u.parent_id = coalesce(b.parent_id, b.id) WHERE b.id = t.batch_id AND u.agent_id = ?)
    OR (t.batch_id IS NULL AND t.agent_id IS NULL AND t.place_id IN (SELECT place_id FROM turns WHERE agent_id = ?)))"""


def _in_its_talk(query: Query) -> Iterable[Condition]:
    return () if query.talking is None else (Condition(_IN_ITS_TALK, (query.talking,) * 3),)


_PERSON, _PLACE = "t.person_id = ?", "t.place_id = ?"
_BY_AGENT = "t.agent_id IN (SELECT id FROM agents WHERE id = ? OR name = ? COLLATE NOCASE)"


WORDS_OF = with_words_of("?", "t")


def _whole(query: Query) -> Iterable[Condition]:
    """Listings show whole entries, word searches their passages."""
    return () if query.text.strip() else (Condition("t.parent_entry_id IS NULL"),)


def _at_path(query: Query) -> Iterable[Condition]:
    whole = "SELECT f.id FROM folder_files f JOIN folders d ON d.id = f.folder_id WHERE d.name || '/' || f.name"
    below = "substr(d.name || '/' || f.name, 1, length(?) + 1) = ? || '/'"
    return (Condition(f"t.file_id IN ({whole} = ? OR {below})", (query.path,) * 3),) if query.path else ()


def _no_logs(query: Query) -> Iterable[Condition]:
    # System logs name every tool and hardly ever answer a question.
    return () if query.domains == {"blocks"} else (Condition("t.block_type <> 'log'"),)


def _living_facts(agent: AgentId | None) -> Condition:
    if agent is None:
        return Condition("t.superseded_by IS NULL")
    return Condition("t.superseded_by IS NULL AND (t.agent_id = ? OR t.shared_at IS NOT NULL)", (agent,))


def _living_summaries(agent: AgentId | None) -> Condition:
    living = "t.kind IN ('conversation', 'agent', 'day', 'week') AND t.search_text <> ''"
    if agent is None:
        return Condition(living)
    return Condition(f"{living} AND (t.agent_id IS NULL OR t.agent_id = ?)", (agent,))


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
    living=_seen("block", "t.deleted_at IS NULL AND t.search_text <> ''"),  # empty ones are no results
    conditions={"person": _PERSON},
    also=_no_logs,
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
        living=_living_entries,
        conditions={
            "person": WORDS_OF,
            "author": f"({_BY_AGENT} OR {WORDS_OF})",
            "category": """(t.category = ? COLLATE NOCASE
                OR substr(t.category, 1, length(?) + 1) = ? || '/' COLLATE NOCASE)""",
            "tags": "? COLLATE NOCASE IN (SELECT value FROM json_each(t.tags))",
        },
        also=_whole,
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
        # Deleted rows and tool results have no search text.
        living=lambda _agent: Condition(f"t.deleted_at IS NULL AND t.search_text <> '' AND {shown('t')}"),
        conditions={
            "person": _PERSON,
            "author": "(t.speaker = ? COLLATE NOCASE OR t.agent_id = ? OR (t.role = 'user' AND t.person_id = ?))",
            "role": "t.role = ?",
            "place": _PLACE,
        },
        also=_in_its_talk,
        talk=True,
        found_by="INDEXED BY messages_found",
    ),
    _BLOCKS,
    replace(_BLOCKS, domain="archival_blocks", also=lambda _query: (Condition("t.block_type = 'archival'"),)),
    Table(
        domain="activity",
        kind="event",
        name="activity_events",
        index="activity_fts",
        number="id",
        moment="t.at",
        columns="t.words AS text, NULL AS label, "
        "(SELECT name FROM agents WHERE id = t.agent_id) AS speaker, "
        "t.place_id AS place, NULL AS role",
        living=lambda _agent: Condition(f"t.search_text <> '' AND {shown('t')}"),
        conditions={"person": _PERSON, "author": _BY_AGENT, "place": _PLACE},
    ),
    Table(
        domain="facts",
        kind="fact",
        name="facts",
        index="facts_fts",
        number="id",
        moment="t.last_seen",
        columns="t.fact AS text, t.category AS label, NULL AS speaker, NULL AS place, NULL AS role",
        living=_living_facts,
        conditions={
            "person": _PERSON,
            "author": f"""({_BY_AGENT} OR t.person_id = ? OR t.id IN (SELECT s.fact_id FROM fact_sources s
                JOIN messages m ON m.id = s.message_id WHERE m.speaker = ? COLLATE NOCASE))""",
            "category": "t.category = ? COLLATE NOCASE",
        },
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
        living=lambda _agent: Condition("t.search_text <> ''"),
        conditions={"person": _PERSON, "author": f"({_BY_AGENT} OR t.person_id = ?)"},
    ),
    Table(
        domain="summaries",
        kind="summary",
        name="items",
        index="item_fts",
        number="id",
        moment="iif(t.kind IN ('day', 'week'), t.key, t.created_at)",  # for a day or week, its beginning
        columns="t.text AS text, t.kind AS label, (SELECT name FROM agents WHERE id = t.agent_id) AS speaker, "
        "t.place_id AS place, NULL AS role",
        living=_living_summaries,
        conditions={"author": _BY_AGENT, "place": _PLACE},
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
        living=_seen("passage", "t.search_text <> ''"),
        conditions={},
        also=_at_path,
    ),
)
"""In the order of `Results.searched`."""


# -------------------------------------------------------------------------------------------------- reading one domain


COUNTED_ROWS = 10_000
"""`Lookup.count` stops here. A word that this many rows have gets no weight, so older rows are not searched for it."""

_FEW = 20  # rows of an index that are looked up one by one


class Lookup(Struct, frozen=True, dict=True):
    """The rows of one domain that meet a query's conditions; the scope also applies to neighboring rows."""

    rows: Rows
    table: Table
    agent: AgentId | None
    scope: Scope
    narrowed: tuple[Condition, ...]
    meaning: Meaning | None = None

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions for a row, including the audience."""
        return *self.narrowed, self.table.living(self.agent), Condition(*self.scope.bind("KNOWN(t.audience)"))

    @cached_property
    def among(self) -> RowSet:
        """The same for vectors, which check existence and scope themselves. The domain has vectors."""
        if self.table.embedded is None:
            raise ValueError(f"{self.table.domain} has no vectors")
        narrowed = where(self.narrowed) if self.narrowed else None
        return RowSet(self.table.embedded, self.agent, self.scope, narrowed)

    def count(self) -> int:
        """The number of rows without regard to words, up to `COUNTED_ROWS`."""
        condition, parameters = where(self.conditions)
        sql = (
            f"SELECT count(*) FROM (SELECT 1 FROM {self.table.name} t {self.table.found_by} "
            f"WHERE {condition} LIMIT {COUNTED_ROWS})"
        )
        return self.rows.number(sql, parameters)

    def count_things(self) -> int:
        """The same, to report what was searched: a long entry or a file counts once."""
        condition, parameters = where(self.conditions)
        table = self.table
        sql = f"SELECT {table.thing} AS thing FROM {table.name} t WHERE {condition} LIMIT {COUNTED_ROWS}"
        return self.rows.number(f"SELECT count(DISTINCT thing) FROM ({sql})", parameters)

    def newest(self, limit: int) -> list[Row]:
        condition, parameters = where(self.conditions)
        return self.rows.all(
            f"SELECT {self._columns()} FROM {self.table.name} t WHERE {condition} "
            f"ORDER BY {self.table.moment} DESC, t.{self.table.number} DESC LIMIT ?",
            (*parameters, limit),
        )

    def hits(self, numbers: list[int]) -> list[Row]:
        """The columns of hits for known rows, newest first."""
        number = f"t.{self.table.number}"
        return self.rows.all(
            f"SELECT {self._columns()} FROM {self.table.name} t "
            f"WHERE {number} IN (SELECT value FROM json_each(?)) ORDER BY {number} DESC",
            (numbers,),
        )

    def holding(self, word: str) -> dict[int, int]:
        """The newest rows with a word (a MATCH expression), with their lengths in characters."""
        index, number = self.table.index, self.table.number
        condition, parameters = where(self.conditions)
        row = self.rows.one(  # as two lists: per-row fetching would switch Python's lock for each row
            "SELECT json_group_array(number), json_group_array(length) FROM ("
            f"SELECT t.{number} AS number, length(t.search_text) AS length FROM {index} "
            f"JOIN {self.table.name} t {self.table.found_by} ON t.{number} = {index}.rowid "
            f"WHERE {index} MATCH ? AND {condition} ORDER BY {index}.rowid DESC LIMIT {COUNTED_ROWS})",
            (word, *parameters),
        )
        return {} if row is None else dict(zip(json.loads(row[0]), json.loads(row[1]), strict=True))

    def times(self, word: str, numbers: list[int]) -> list[tuple[int, int, int]]:
        """For those of the rows with a word: how often they have it, and their lengths."""
        index = self.table.index
        found = self.rows.all(
            f"SELECT rowid, length(highlight({index}, 0, char(1), '')) AS marked, length(search_text) AS length "
            f"FROM {index} WHERE {index} MATCH ? AND {_among(numbers)}",
            (word, numbers),
        )
        return [(row["rowid"], max(row["marked"] - row["length"], 1), row["length"]) for row in found]

    def having(self, match: str, numbers: list[int]) -> set[int]:
        index = self.table.index
        sql = f"SELECT rowid FROM {index} WHERE {index} MATCH ? AND {_among(numbers)}"
        return {row[0] for row in self.rows.all(sql, (match, numbers))}

    def meeting(self, numbers: list[int]) -> set[int]:
        name, number = self.table.name, f"t.{self.table.number}"
        condition, parameters = where(self.conditions)
        sql = f"SELECT {number} FROM {name} t WHERE {number} IN (SELECT value FROM json_each(?)) AND {condition}"
        return {row[0] for row in self.rows.all(sql, (numbers, *parameters))}

    def _columns(self) -> str:
        table = self.table
        return (
            f"t.{table.number} AS number, t.id AS id, {table.moment} AS moment, t.audience AS audience, "
            f"t.trust AS trust, {table.columns}"
        )


def _among(numbers: list[int]) -> str:
    """A condition on row numbers. FTS5 looks up a few one by one; for many, a scan is ten times faster."""
    return f"{'' if len(numbers) <= _FEW else '+'}rowid IN (SELECT value FROM json_each(?))"
