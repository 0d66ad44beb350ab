"""What was said around messages: the rows before and after them in the same session, as far as a scope may know it.

A session is a conversation in one place without a gap of half an hour. Everything here is read under the scope, so
what others said in between is not there, neither as text nor as a distance.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

import regex

from memory.audience import Scope
from memory.clock import from_text
from memory.database import Rows

GAP = timedelta(minutes=30)
_READ = 1_000  # characters of a row that are looked at
_TIME = regex.compile(
    r"""\b(?:yesterday|today|tonight|tomorrow|ago|since|recently|(?:last|next|this)\s(?:\w+day|week|weekend|month|year|
    night|morning|evening|spring|summer|fall|autumn|winter)|\w+day|weekend|week|month|year|years|months|weeks|
    january|february|march|april|may|june|july|august|september|october|november|december|
    gestern|heute|morgen|vorgestern|neulich|seit|(?:letzte|nächste|diese)[nrs]?\s\w+|\w+tag|woche|monat|jahr|jahre|
    januar|februar|märz|mai|juni|juli|oktober|dezember|(?:19|20)\d\d)\b""",
    regex.VERBOSE | regex.IGNORECASE,
)
_NAME = regex.compile(r"(?<=[\p{Ll}\p{Nd},]\s)(?!I\b)\p{Lu}\p{Ll}+")  # a capital letter inside a sentence


class _Row(NamedTuple):
    number: int
    place: str
    moment: str
    length: int


@dataclass(frozen=True)
class Spoken:
    """What a message is like, beside its words."""

    speaker: str
    by_person: bool
    length: int
    asks: bool
    tells_time: bool
    tells_name: bool


@dataclass(frozen=True)
class Stretch:
    """Messages of one session, one after the other as far as the scope knows, with the lengths of their words."""

    numbers: list[int]
    lengths: list[int]


@dataclass(frozen=True)
class Talk:
    """The messages that may be hits, each with the one just before it, and all that was said around them.

    `rows` knows what those of the pool and those before them are like.
    """

    stretches: Sequence[Stretch]
    pool: Mapping[int, int | None]
    rows: Mapping[int, Spoken]


def around(rows: Rows, numbers: Sequence[int], scope: Scope, reach: int) -> list[Stretch]:
    """What was said around the given messages, up to `reach` rows to each side; each of them is in one stretch."""
    condition, parameters = scope.sql("audience")
    side = f"""SELECT id FROM (SELECT id FROM messages WHERE place_id = o.place_id AND id {{}} o.id
        AND deleted_at IS NULL AND search_text <> '' AND {condition} ORDER BY id {{}} LIMIT {reach})"""
    found = rows.all(
        f"""SELECT o.id, m.id, m.place_id, m.created_at, length(m.search_text)
        FROM json_each(?) c JOIN messages o ON o.id = c.value JOIN messages m ON m.id IN (
            SELECT o.id UNION ALL {side.format("<", "DESC")} UNION ALL {side.format(">", "ASC")})
        ORDER BY o.place_id, o.id, m.id""",
        (json.dumps(list(numbers)), *parameters, *parameters),
    )
    runs: dict[int, list[_Row]] = {}
    for middle, *row in found:
        runs.setdefault(middle, []).append(_Row(*row))
    return [part for run in _joined(runs.values()) for part in _sessions(run)]


def _joined(runs: Iterable[list[_Row]]) -> list[list[_Row]]:
    """Runs that share a row as one. They come by place and middle."""
    joined: list[list[_Row]] = []
    for run in runs:
        last = joined[-1][-1] if joined else None
        if last is not None and last.place == run[0].place and run[0].number <= last.number:
            joined[-1] += [row for row in run if row.number > last.number]
        else:
            joined.append(list(run))
    return joined


def _sessions(run: list[_Row]) -> list[Stretch]:
    parts: list[Stretch] = []
    last = None
    for row in run:
        at = from_text(row.moment)
        if last is None or abs(at - last) > GAP:
            parts.append(Stretch([], []))
        parts[-1].numbers.append(row.number)
        parts[-1].lengths.append(row.length)
        last = at
    return parts


def spoken(rows: Rows, numbers: Iterable[int]) -> Mapping[int, Spoken]:
    """What these messages are like; the caller has found them under a scope."""
    found = rows.all(
        f"SELECT id, speaker, role, length(search_text), substr(content, 1, {_READ}) FROM messages "
        "WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(numbers)),),
    )
    return {
        number: Spoken(
            speaker=speaker,
            by_person=role == "user",
            length=length,
            asks="?" in text,
            tells_time=_TIME.search(text) is not None,
            tells_name=_NAME.search(text) is not None,
        )
        for number, speaker, role, length, text in found
    }


def speakers(rows: Rows, numbers: Iterable[int]) -> set[tuple[str, bool]]:
    """Who said these messages: names, and whether they are people's."""
    sql = "SELECT DISTINCT speaker, role = 'user' FROM messages WHERE id IN (SELECT value FROM json_each(?))"
    return {(row[0], bool(row[1])) for row in rows.all(sql, (json.dumps(list(numbers)),))}
