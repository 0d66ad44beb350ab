"""The messages around messages: those before and after them in the same session that a scope may know.

A session is a conversation in one place without a gap of half an hour. Everything is read within the scope, so other
people's messages in between do not appear, not even as a distance.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TypeAlias

from msgspec import Struct

from memory.people.audience import Scope
from memory.people.hidden_people import shown
from memory.search.message_traits import MessageTraits
from memory.store.clock import from_text
from memory.store.database import Rows

GAP = timedelta(minutes=30)
_Row: TypeAlias = tuple[int, str, int]
"""The number, the time and the length of a message."""


class Stretch(Struct, frozen=True):
    """Consecutive messages of one session within the scope, with the lengths of their texts."""

    numbers: list[int]
    lengths: list[int]


class Talk(Struct, frozen=True):
    """The messages that may be hits, each with its predecessor, and all messages around them.

    `rows` describes the messages of the pool and their predecessors.
    """

    stretches: Sequence[Stretch]
    pool: Mapping[int, int | None]
    rows: Mapping[int, MessageTraits]


def around(rows: Rows, numbers: Iterable[int], scope: Scope, reach: int) -> list[Stretch]:
    """The messages around the given ones, up to `reach` to each side; each given one is in exactly one stretch.

    One query reads them all: there are a hundred, and each query would wait for Python's lock.
    """
    sides = [
        f"""(SELECT json_group_array(json_array(id, created_at, length)) FROM (
            SELECT id, created_at, length(search_text) AS length FROM messages WHERE place_id = m.place_id
            AND id {side} m.id AND deleted_at IS NULL AND search_text <> '' AND KNOWN(audience) AND {shown("messages")}
            ORDER BY id {order} LIMIT ?))"""
        for side, order in (("<", "DESC"), (">=", "ASC"))
    ]
    sql = f"""SELECT json_group_array(json_array(place_id, {", ".join(f"json({each})" for each in sides)})) FROM
        (SELECT id, place_id FROM messages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY place_id, id) m"""
    runs: list[list[_Row]] = []
    last: tuple[str, int] | None = None
    read = rows.one(*scope.bind(sql, reach, reach + 1, list(numbers)))
    for place, before, after in json.loads(read[0]) if read is not None else ():
        found = [*reversed(before), *after]
        if not found:
            continue
        if last is not None and last[0] == place and found[0][0] <= last[1]:
            runs[-1] += [row for row in found if row[0] > last[1]]
        else:
            runs.append(found)
        last = (place, runs[-1][-1][0])
    return [part for run in runs for part in _sessions(run)]


def _sessions(run: list[_Row]) -> list[Stretch]:
    parts: list[Stretch] = []
    last = None
    for number, moment, length in run:
        at = from_text(moment)
        if last is None or abs(at - last) > GAP:
            parts.append(Stretch([], []))
        parts[-1].numbers.append(number)
        parts[-1].lengths.append(length)
        last = at
    return parts


def speakers(rows: Rows, numbers: Iterable[int]) -> set[tuple[str, bool]]:
    """The speakers of these messages: names, and whether each is a person."""
    sql = "SELECT DISTINCT speaker, role = 'user' FROM messages WHERE id IN (SELECT value FROM json_each(?))"
    return {(row[0], bool(row[1])) for row in rows.all(sql, (list(numbers),))}
