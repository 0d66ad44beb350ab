"""`search` and `searchable`: ask every domain, take the best of all, and complete them for display."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from memory.people.audience import Audience, Scope, Trust
from memory.queue.messages import COLUMNS, Message, to_message
from memory.search.domains import WORDS_OF, Condition, Lookup, apart, asked, unmet
from memory.search.query import MAX_HITS, Domain, Hit, Query, Results, understood
from memory.search.ranking import GUESSES, ScoredRow, ranked
from memory.store.clock import from_text
from memory.store.database import Row, Rows
from memory.store.records import replace

_EXPECTED, _FLAT = 1.5, 5
"""How much the search with the expected words counts beside the other, and how flat ranks count (docs/search.md)."""


class _DomainHit(Struct, frozen=True):
    find: Lookup
    number: int
    hit: Hit


def search(rows: Rows, query: Query, scope: Scope) -> Results:
    """Search for `query` among the rows that the scope may use."""
    limit = min(max(query.limit, 1), MAX_HITS)
    lookups = _lookups(rows, query, scope)
    asks = bool(query.text.strip())
    if not asks:
        listed = [_found(find, row, ScoredRow(row["number"], 0.0)) for find in lookups for row in find.newest(limit)]
        found = sorted(listed, key=_by_score, reverse=True)
    elif query.expected.strip():
        answered = replace(query, text=f"{query.text} {query.expected}", meaning=query.expected_meaning)
        found = _fused(*(_best(_lookups(rows, each, scope), each, limit * 2) for each in (query, answered)))
    else:
        found = _best(lookups, query, limit)
    return Results(
        hits=_completed(_with_few_guesses(found)[:limit]),
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


def _by_score(one: _DomainHit) -> tuple[float, datetime]:
    return one.hit.score, one.hit.when


def _best(lookups: list[Lookup], query: Query, limit: int) -> list[_DomainHit]:
    """The best of each domain, in one order."""
    found = [hit for find in lookups for hit in _ranked(find, query, limit)]
    return sorted(found, key=_by_score, reverse=True)


def _fused(asked: list[_DomainHit], answered: list[_DomainHit]) -> list[_DomainHit]:
    """The rows of both searches by their ranks, those that either is sure of before the guesses.

    What is expected in an answer finds more than the question, if it is right. If it is wrong, the best hits of the
    question remain.
    """
    scores, hits = defaultdict[tuple[Domain, int], float](float), dict[tuple[Domain, int], _DomainHit]()
    for found, weight in ((asked, 1.0), (answered, _EXPECTED)):
        for rank, one in enumerate(found):
            row = one.find.table.domain, one.number
            scores[row] += weight / (_FLAT + rank)
            if row not in hits or hits[row].hit.perhaps:
                hits[row] = one
    return sorted(hits.values(), key=lambda one: (one.hit.perhaps, -scores[one.find.table.domain, one.number]))


def _with_few_guesses(found: list[_DomainHit]) -> list[_DomainHit]:
    """All results with the guesses last; only a few of those."""
    sure = sum(not one.hit.perhaps for one in found)
    return found[: sure + GUESSES]


def _lookups(rows: Rows, query: Query, scope: Scope) -> list[Lookup]:
    """One per domain, and one more per model that only some folders have, and per agent beside who asks."""
    own = [Lookup(rows, table, query.agent, scope, *part) for table in asked(query) for part in apart(table, query)]
    told = Condition(WORDS_OF, (query.asker, query.asker))
    entries = [find for find in own if find.table.domain == "archival"]
    others = [replace(find, agent=agent, narrowed=(*find.narrowed, told)) for find in entries for agent in query.beside]
    return own + others


def _counted(lookups: list[Lookup]) -> Mapping[Domain, int]:
    counted = Counter[Domain]()
    for find in lookups:
        counted[find.table.domain] += find.count_things()
    return counted


def _ranked(find: Lookup, query: Query, limit: int) -> list[_DomainHit]:
    question = understood(query.text, query.question)
    if question is None:
        return []
    best = ranked(find, question, find.meaning, limit, query.asker)
    scored = {one.number: one for one in best if query.guesses or not one.perhaps}
    return [_found(find, row, scored[row["number"]]) for row in find.hits(list(scored))]


def _found(find: Lookup, row: Row, scored: ScoredRow) -> _DomainHit:
    hit = Hit(
        kind=find.table.kind,
        id=str(row["id"]),
        text=row["text"],
        when=from_text(row["moment"]),
        label=row["label"],
        speaker=row["speaker"],
        place=row["place"],
        role=row["role"],
        audience=Audience(row["audience"]),
        trust=Trust(row["trust"]),
        score=scored.score,
        distance=None if scored.near is None else scored.near.distance,
        named=scored.named,
        perhaps=scored.perhaps,
        around=scored.around,
        matched=scored.matched,
    )
    return _DomainHit(find, row["number"], hit)


def _completed(found: list[_DomainHit]) -> list[Hit]:
    """The hits to show, with data that is looked up only for them."""
    beside = _beside([one for one in found if one.find.table.talk])
    hits = []
    for one in found:
        before, after = beside.get(one.number, (None, None)) if one.find.table.talk else (None, None)
        hits.append(replace(one.hit, before=before, after=after))
    return hits


def _beside(said: list[_DomainHit]) -> dict[int, tuple[Message | None, Message | None]]:
    """The message before and the message after each, in one query."""
    if not said:
        return {}
    rows, (condition, parameters) = said[0].find.rows, said[0].find.scope.sql("audience")
    sides = [
        f"(SELECT id FROM messages WHERE place_id = m.place_id AND id {side} m.id AND deleted_at IS NULL "
        f"AND search_text <> '' AND {condition} ORDER BY id {order} LIMIT 1)"
        for side, order in (("<", "DESC"), (">", "ASC"))
    ]
    numbers = [one.number for one in said]
    near = rows.all(
        f"SELECT id, {sides[0]}, {sides[1]} FROM messages m WHERE id IN (SELECT value FROM json_each(?))",
        (*parameters, *parameters, numbers),
    )
    wanted = json.dumps([number for row in near for number in (row[1], row[2]) if number is not None])
    found = rows.all(f"SELECT {COLUMNS} FROM messages WHERE id IN (SELECT value FROM json_each(?))", (wanted,))
    messages = {each.id: each for each in map(to_message, found)}
    return {row[0]: (messages.get(row[1]), messages.get(row[2])) for row in near}
