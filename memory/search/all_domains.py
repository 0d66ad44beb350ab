"""`search` and `searchable`: ask every domain, take the best of all, and complete them for display."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime

from memory.people.audience import Audience, Scope, Trust
from memory.people.hidden_people import shown
from memory.queue.messages import COLUMNS, Message, to_message
from memory.search.domains import WORDS_OF, Condition, Lookup, Table, asked, split_by_model, unmet
from memory.search.query import MAX_HITS, Domain, Hit, Kind, Query, Results, understood
from memory.search.ranking import GUESSES, ScoredRow, ranked
from memory.store.clock import from_text
from memory.store.database import Row, Rows
from memory.store.records import replace
from texts import unpacked

_EXPECTED, _FLAT = 1.5, 5
"""How much the search with the expected words counts beside the other, and how flat ranks count (docs/search.md)."""


def search(rows: Rows, query: Query, scope: Scope) -> Results:
    """Search for `query` among the rows that the scope may use."""
    limit = min(max(query.limit, 1), MAX_HITS)
    lookups = _lookups(rows, query, scope)
    asks = bool(query.text.strip())
    if not asks:
        listed = [
            _hit(find.table, row, ScoredRow(row["number"], 0.0)) for find in lookups for row in find.newest(limit)
        ]
        found = sorted(listed, key=_by_score, reverse=True)
    elif query.expected.strip():
        answered = replace(query, text=f"{query.text} {query.expected}", meaning=query.expected_meaning)
        found = _fused(*(_best(_lookups(rows, each, scope), each, limit * 2) for each in (query, answered)))
    else:
        found = _best(lookups, query, limit)
    return Results(
        hits=_with_neighbors(rows, _with_few_guesses(found)[:limit], scope),
        searched=tuple(dict.fromkeys(find.table.domain for find in lookups)),
        seen={} if found else _counted(lookups),
        unmet=unmet(query),
        newest=not asks,
    )


def searchable(rows: Rows, query: Query, scope: Scope) -> Mapping[Domain, int]:
    """How many things meet a query's conditions regardless of its words, per domain, up to `COUNTED_ROWS` each.

    An entry or a file counts once, however many passages it has.
    """
    return _counted(_lookups(rows, query, scope))


def _by_score(one: Hit) -> tuple[float, datetime]:
    return one.score, one.when


def _best(lookups: list[Lookup], query: Query, limit: int) -> list[Hit]:
    """The best of each domain, in one order."""
    found = [hit for find in lookups for hit in _ranked(find, query, limit)]
    return sorted(found, key=_by_score, reverse=True)


def _fused(asked: list[Hit], answered: list[Hit]) -> list[Hit]:
    """The rows of both searches by their ranks, those that either is sure of before the guesses.

    What is expected in an answer finds more than the question, if it is right. If it is wrong, the best hits of the
    question remain.
    """
    scores, hits = defaultdict[tuple[Kind, str], float](float), dict[tuple[Kind, str], Hit]()
    for found, weight in ((asked, 1.0), (answered, _EXPECTED)):
        for rank, one in enumerate(found):
            row = one.kind, one.id
            scores[row] += weight / (_FLAT + rank)
            if row not in hits or hits[row].perhaps:
                hits[row] = one
    return sorted(hits.values(), key=lambda one: (one.perhaps, -scores[one.kind, one.id]))


def _with_few_guesses(found: list[Hit]) -> list[Hit]:
    """All results with the guesses last; only a few of those."""
    sure = sum(not one.perhaps for one in found)
    return found[: sure + GUESSES]


def _lookups(rows: Rows, query: Query, scope: Scope) -> list[Lookup]:
    """One per domain, and one more per model that only some folders have, and per agent beside who asks."""
    own = [
        Lookup(rows, table, query.agent, scope, *part)
        for table in asked(query)
        for part in split_by_model(table, query)
    ]
    told = Condition(WORDS_OF, (query.asker, query.asker))
    entries = [find for find in own if find.table.domain == "archival"]
    others = [replace(find, agent=agent, narrowed=(*find.narrowed, told)) for find in entries for agent in query.beside]
    return own + others


def _counted(lookups: list[Lookup]) -> Mapping[Domain, int]:
    counted = Counter[Domain]()
    for find in lookups:
        counted[find.table.domain] += find.count_things()
    return counted


def _ranked(find: Lookup, query: Query, limit: int) -> list[Hit]:
    question = understood(query.text, query.question)
    if question is None:
        return []
    best = ranked(find, question, find.meaning, limit, query.asker)
    scored = {one.number: one for one in best if query.guesses or not one.perhaps}
    return [_hit(find.table, row, scored[row["number"]]) for row in find.hits(list(scored))]


def _hit(table: Table, row: Row, scored: ScoredRow) -> Hit:
    return Hit(
        kind=table.kind,
        id=str(row["id"]),
        text=unpacked(row["text"]) if table.kind == "event" else row["text"],
        when=from_text(row["moment"]),
        label=row["label"],
        speaker=row["speaker"],
        place=row["place"],
        role=row["role"],
        audience=Audience(row["audience"]),
        trust=Trust(row["trust"]),
        score=scored.score,
        distance=None if scored.near is None else max(1 - scored.near, 0.0),
        named=scored.named,
        perhaps=scored.perhaps,
        around=scored.around,
        matched=scored.matched,
    )


def _with_neighbors(rows: Rows, found: list[Hit], scope: Scope) -> list[Hit]:
    """The hits, messages with the one before and the one after each, which are looked up only for these."""
    numbers = [int(one.id) for one in found if one.kind == "message"]
    if not numbers:
        return found
    sides = [
        f"(SELECT id FROM messages WHERE place_id = m.place_id AND id {side} m.id AND deleted_at IS NULL "
        f"AND search_text <> '' AND KNOWN(audience) AND {shown('messages')} ORDER BY id {order} LIMIT 1)"
        for side, order in (("<", "DESC"), (">", "ASC"))
    ]
    sql = f"SELECT id, {sides[0]}, {sides[1]} FROM messages m WHERE id IN (SELECT value FROM json_each(?))"
    near = {str(row[0]): (row[1], row[2]) for row in rows.all(*scope.bind(sql, numbers))}
    wanted = [number for pair in near.values() for number in pair if number is not None]
    read = rows.all(f"SELECT {COLUMNS} FROM messages WHERE id IN (SELECT value FROM json_each(?))", (wanted,))
    messages: dict[int | None, Message] = {each.id: each for each in map(to_message, read)}
    hits = []
    for one in found:
        before, after = near.get(one.id, (None, None)) if one.kind == "message" else (None, None)
        hits.append(replace(one, before=messages.get(before), after=messages.get(after)))
    return hits
