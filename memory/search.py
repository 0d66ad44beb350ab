"""One search over archival entries, messages and blocks.

Every condition, the audience first, stands inside the SQL, before anything is ranked or cut. Each domain is ranked by
BM25, divided by its best since the numbers of two indexes cannot be compared; the shares are added up to a score.
"""

import heapq
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias

from memory import fulltext
from memory.audience import Audience, Scope, Trust
from memory.clock import from_text, to_text
from memory.database import Row, Rows, Value
from memory.ids import AgentId, PersonId, PlaceId
from memory.messages import COLUMNS, Message, Role, to_message

Domain: TypeAlias = Literal["archival", "messages", "blocks"]
Kind: TypeAlias = Literal["entry", "message", "block"]

DOMAINS: frozenset[Domain] = frozenset(("archival", "messages", "blocks"))
MAX_HITS = 100
COUNTED_ROWS = 10_000
"""`Results.seen` counts no further than this."""

_ALL_WORDS = 0.2  # a row with every word goes before one that has the rarest of them more often
_FEW = 20  # rows of an index that are looked up one by one
_MOST_HELD = 20_000  # rows with one word that are weighed; older ones are not found by it
_USUAL_LENGTH = 150  # characters of a row's search text that make it neither long nor short
_CANDIDATES = 50  # of a domain, at least: among them the rows with every word are looked for


@dataclass(frozen=True)
class Query:
    """What to look for. Without text the newest rows that meet the conditions are listed.

    `agent` is who asks: its own entries, and the blocks it can see. `person` is whom a row belongs to (said by,
    said to, about); `author` a speaker's name, a person or an agent that a row is by. `since` is included, `until`
    is not. A category stands for those below it too; an entry must have all the tags. A condition that a domain
    cannot meet leaves that domain out. At most `limit` hits, 1 to 100.
    """

    text: str
    agent: AgentId
    domains: frozenset[Domain] = DOMAINS
    person: PersonId | None = None
    author: str | None = None
    role: Role | None = None
    place: PlaceId | None = None
    since: datetime | None = None
    until: datetime | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    limit: int = 8


@dataclass(frozen=True)
class Hit:
    """One row that was found. `kind` and `id` are what `turn_uses` keeps.

    `score` is 0 in a listing; `matched` are the words of the query that the row has. `label` is an entry's or a
    block's; `speaker`, `place`, `role` and the neighbours (what was said just before and after there, as far as the
    scope may know it) are a message's. `trust` goes with the text wherever it is shown.
    """

    kind: Kind
    id: str
    text: str
    when: datetime
    label: str | None
    speaker: str | None
    place: PlaceId | None
    role: Role | None
    audience: Audience
    trust: Trust
    score: float
    matched: tuple[str, ...] = ()
    before: Message | None = None
    after: Message | None = None


@dataclass(frozen=True)
class Results:
    """Hits, best first, and the domains that were searched for them.

    `seen` is for saying honestly that nothing was found: it is what `searchable` gives, only when there are no hits.
    """

    hits: list[Hit]
    searched: tuple[Domain, ...]
    seen: Mapping[Domain, int]


@dataclass(frozen=True)
class _Condition:
    sql: str
    parameters: tuple[Value, ...] = ()


@dataclass(frozen=True)
class _Table:
    """Where a domain lives: its table, as `t`, with its index, row number and the columns of a hit."""

    domain: Domain
    kind: Kind
    name: str
    index: str
    number: str
    moment: str
    columns: str


_NO_TALK = "t.label AS label, NULL AS speaker, NULL AS place, NULL AS role"
_BLOCK_TEXT = "trim(t.profile || char(10) || t.content, char(10)) AS text"
_ENTRIES = _Table(
    domain="archival",
    kind="entry",
    name="archival_entries",
    index="archival_fts",
    number="n",
    moment="t.created_at",
    columns=f"t.content AS text, {_NO_TALK}",
)
_MESSAGES = _Table(
    domain="messages",
    kind="message",
    name="messages",
    index="message_fts",
    number="id",
    moment="t.created_at",
    columns="t.content AS text, NULL AS label, t.speaker AS speaker, t.place_id AS place, t.role AS role",
)
_BLOCKS = _Table(
    domain="blocks",
    kind="block",
    name="memory_blocks",
    index="block_fts",
    number="n",
    moment="t.updated_at",
    columns=f"{_BLOCK_TEXT}, {_NO_TALK}",
)


@dataclass(frozen=True)
class _Candidate:
    table: _Table
    number: int
    hit: Hit


def search(rows: Rows, query: Query, scope: Scope) -> Results:
    """Look for `query` among the rows that the scope may use."""
    limit = min(max(query.limit, 1), MAX_HITS)
    asked = _asked(query, scope)
    found: list[_Candidate] = []
    for table, conditions in asked.items():
        if query.text.strip():
            found += _ranked(rows, table, conditions, query.text, limit)
        else:
            found += _listed(rows, table, conditions, limit)
    found.sort(key=lambda one: (round(one.hit.score, 6), one.hit.when), reverse=True)
    return Results(
        hits=_completed(rows, found[:limit], query.text, scope),
        searched=tuple(table.domain for table in asked),
        seen={} if found else {table.domain: _count(rows, table, asked[table]) for table in asked},
    )


def searchable(rows: Rows, query: Query, scope: Scope) -> Mapping[Domain, int]:
    """How many rows meet the conditions of a query whatever their words, by domain; up to `COUNTED_ROWS` each."""
    return {table.domain: _count(rows, table, conditions) for table, conditions in _asked(query, scope).items()}


def _asked(query: Query, scope: Scope) -> dict[_Table, list[_Condition]]:
    return {
        table: [*_conditions(table, query), _in_scope(scope)]
        for table in (_ENTRIES, _MESSAGES, _BLOCKS)
        if table.domain in query.domains and _can_meet(table.domain, query)
    }


def _can_meet(domain: Domain, query: Query) -> bool:
    of_messages = query.role is not None or query.place is not None
    of_entries = query.category is not None or bool(query.tags)
    match domain:
        case "messages":
            return not of_entries
        case "archival":
            return not of_messages
        case "blocks":
            return not of_messages and not of_entries and query.author is None


def _conditions(table: _Table, query: Query) -> Iterator[_Condition]:
    if query.since is not None:
        yield _Condition(f"{table.moment} >= ?", (to_text(query.since),))
    if query.until is not None:
        yield _Condition(f"{table.moment} < ?", (to_text(query.until),))
    match table.domain:
        case "messages":
            yield from _of_messages(query)
        case "archival":
            yield from _of_entries(query)
        case "blocks":
            yield from _of_blocks(query)


def _of_messages(query: Query) -> Iterator[_Condition]:
    # Deleted rows and results of tools have no search text.
    yield _Condition("t.deleted_at IS NULL AND t.search_text <> ''")
    if query.person is not None:
        yield _Condition("t.person_id = ?", (query.person,))
    if query.author is not None:
        by = "(t.speaker = ? COLLATE NOCASE OR t.agent_id = ? OR (t.role = 'user' AND t.person_id = ?))"
        yield _Condition(by, (query.author,) * 3)
    if query.role is not None:
        yield _Condition("t.role = ?", (query.role,))
    if query.place is not None:
        yield _Condition("t.place_id = ?", (query.place,))


def _of_entries(query: Query) -> Iterator[_Condition]:
    theirs = "(t.person_id = ? OR ? IN (SELECT value FROM json_each(t.metadata, '$._people')))"
    yield _Condition("t.agent_id = ? AND t.archived_at IS NULL AND t.superseded_by IS NULL", (query.agent,))
    if query.person is not None:
        yield _Condition(theirs, (query.person,) * 2)
    if query.author is not None:
        yield _Condition(f"(t.agent_id = ? OR {theirs})", (query.author,) * 3)
    if query.category is not None:
        within = "(t.category = ? COLLATE NOCASE OR substr(t.category, 1, length(?) + 1) = ? || '/' COLLATE NOCASE)"
        yield _Condition(within, (query.category,) * 3)
    for tag in query.tags:
        yield _Condition("? COLLATE NOCASE IN (SELECT value FROM json_each(t.tags))", (tag,))


def _of_blocks(query: Query) -> Iterator[_Condition]:
    shared = "t.id IN (SELECT block_id FROM shared_block_agents WHERE agent_id = ?)"
    yield _Condition(f"t.deleted_at IS NULL AND (t.agent_id IN (?, '_constellation_') OR {shared})", (query.agent,) * 2)
    if query.person is not None:
        yield _Condition("t.person_id = ?", (query.person,))


def _in_scope(scope: Scope) -> _Condition:
    return _Condition(*scope.sql("t.audience"))


def _where(conditions: Iterable[_Condition]) -> tuple[str, list[Value]]:
    parts = list(conditions)
    return " AND ".join(part.sql for part in parts), [value for part in parts for value in part.parameters]


def _count(rows: Rows, table: _Table, conditions: list[_Condition]) -> int:
    where, parameters = _where(conditions)
    row = rows.one(
        f"SELECT count(*) FROM (SELECT 1 FROM {table.name} t WHERE {where} LIMIT {COUNTED_ROWS})", parameters
    )
    return 0 if row is None else int(row[0])


def _listed(rows: Rows, table: _Table, conditions: list[_Condition], limit: int) -> list[_Candidate]:
    where, parameters = _where(conditions)
    found = rows.all(
        f"SELECT {_select(table)} FROM {table.name} t WHERE {where} "
        f"ORDER BY {table.moment} DESC, t.{table.number} DESC LIMIT ?",
        (*parameters, limit),
    )
    return [_candidate(table, row, 0.0) for row in found]


def _ranked(rows: Rows, table: _Table, conditions: list[_Condition], text: str, limit: int) -> list[_Candidate]:
    """The best rows for the words of a text: those with rare words first, then short ones, then the newest.

    The formula is BM25's. SQLite's own would weigh words and lengths by the whole index, and the order of what is
    found here would tell what is said elsewhere: so both are taken from the rows that may be used, or are constants.
    """
    every = fulltext.match_query(text, mode="all")
    if every is None:
        return []
    held = [(term.match, _holding(rows, table, conditions, term.match)) for term in fulltext.terms(text, mode="any")]
    total = _count(rows, table, conditions)
    weights = {word: _weight(min(len(holding), total), total) for word, holding in held}
    rough: dict[int, float] = {}
    for word, holding in held:
        for number, length in holding:
            rough[number] = rough.get(number, 0.0) + weights[word] * _share(1, length)
    best = heapq.nlargest(max(_CANDIDATES, 4 * limit), rough, key=lambda number: (rough[number], number))
    scores = dict.fromkeys(best, 0.0)
    for word, weight in weights.items():
        for number, times, length in _times(rows, table, word, best):
            scores[number] += weight * _share(times, length)
    top, whole = max(scores.values(), default=1.0), _having(rows, table, every, best)
    found = rows.all(
        f"SELECT {_select(table)} FROM {table.name} t WHERE t.{table.number} IN (SELECT value FROM json_each(?)) "
        f"ORDER BY t.{table.number} DESC",
        (json.dumps(best),),
    )
    share = {number: score / top + (_ALL_WORDS if number in whole else 0.0) for number, score in scores.items()}
    return [_candidate(table, row, share[row["number"]]) for row in found]


def _weight(count: int, total: int) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def _share(times: int, length: int) -> float:
    return times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / _USUAL_LENGTH))


def _holding(rows: Rows, table: _Table, conditions: list[_Condition], word: str) -> list[tuple[int, int]]:
    """The newest rows that have a word, with their lengths."""
    where, parameters = _where(conditions)
    found = rows.all(
        f"SELECT t.{table.number}, length(t.search_text) FROM {table.index} "
        f"JOIN {table.name} t ON t.{table.number} = {table.index}.rowid "
        f"WHERE {table.index} MATCH ? AND {where} ORDER BY {table.index}.rowid DESC LIMIT {_MOST_HELD}",
        (word, *parameters),
    )
    return [(row[0], row[1]) for row in found]


def _times(rows: Rows, table: _Table, word: str, numbers: list[int]) -> list[tuple[int, int, int]]:
    """How often those of the rows that have a word have it, and their lengths."""
    found = rows.all(
        f"SELECT rowid, length(highlight({table.index}, 0, char(1), '')) AS marked, length(search_text) AS length "
        f"FROM {table.index} WHERE {table.index} MATCH ? AND {_among(numbers)}",
        (word, json.dumps(numbers)),
    )
    return [(row["rowid"], max(row["marked"] - row["length"], 1), row["length"]) for row in found]


def _having(rows: Rows, table: _Table, match: str, numbers: list[int]) -> set[int]:
    """Which of the rows match."""
    found = rows.all(
        f"SELECT rowid FROM {table.index} WHERE {table.index} MATCH ? AND {_among(numbers)}",
        (match, json.dumps(numbers)),
    )
    return {row[0] for row in found}


def _among(numbers: list[int]) -> str:
    """A condition on the row number. FTS5 looks a few up one by one; of many it is ten times faster to see all."""
    return f"{'' if len(numbers) <= _FEW else '+'}rowid IN (SELECT value FROM json_each(?))"


def _select(table: _Table) -> str:
    return (
        f"t.{table.number} AS number, t.id AS id, {table.moment} AS moment, t.audience AS audience, t.trust AS trust, "
        f"{table.columns}"
    )


def _candidate(table: _Table, row: Row, score: float) -> _Candidate:
    hit = Hit(
        kind=table.kind,
        id=str(row["id"]),
        text=row["text"],
        when=from_text(row["moment"]),
        label=row["label"],
        speaker=row["speaker"],
        place=row["place"],
        role=row["role"],
        audience=Audience(row["audience"]),
        trust=Trust(row["trust"]),
        score=score,
    )
    return _Candidate(table, row["number"], hit)


def _completed(rows: Rows, found: list[_Candidate], text: str, scope: Scope) -> list[Hit]:
    """The hits that are shown, with what is worth looking up for them alone."""
    matched: dict[tuple[Kind, int], list[str]] = {}
    for table in {one.table for one in found}:
        numbers = [one.number for one in found if one.table is table]
        for term in fulltext.terms(text, mode="any"):
            for number in _having(rows, table, term.match, numbers):
                matched.setdefault((table.kind, number), []).append(term.word)
    hits = []
    for one in found:
        hit = replace(one.hit, matched=tuple(matched.get((one.hit.kind, one.number), ())))
        if hit.kind == "message" and hit.place is not None:
            before = _neighbour(rows, hit.place, one.number, scope, after=False)
            hit = replace(hit, before=before, after=_neighbour(rows, hit.place, one.number, scope, after=True))
        hits.append(hit)
    return hits


def _neighbour(rows: Rows, place: PlaceId, message: int, scope: Scope, *, after: bool) -> Message | None:
    side, order = (">", "ASC") if after else ("<", "DESC")
    condition, parameters = scope.sql("audience")
    row = rows.one(
        f"SELECT {COLUMNS} FROM messages WHERE place_id = ? AND id {side} ? AND deleted_at IS NULL "
        f"AND search_text <> '' AND {condition} ORDER BY id {order} LIMIT 1",
        (place, message, *parameters),
    )
    return None if row is None else to_message(row)
