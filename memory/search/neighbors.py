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

from memory.people.audience import Scope
from memory.store.clock import from_text
from memory.store.database import Rows
from memory.store.patterns import UnicodePattern

GAP = timedelta(minutes=30)
_READ = 1_000  # characters of a row that are looked at
_TIME = UnicodePattern(
    r"""\b(?:yesterday|today|tonight|tomorrow|ago|since|recently|(?:last|next|this)\s(?:\w+day|week|weekend|month|year|
    night|morning|evening|spring|summer|fall|autumn|winter)|\w+day|weekend|week|month|year|years|months|weeks|
    january|february|march|april|may|june|july|august|september|october|november|december|
    gestern|heute|morgen|vorgestern|neulich|seit|(?:letzte|nächste|diese)[nrs]?\s\w+|\w+tag|woche|monat|jahr|jahre|
    januar|februar|märz|mai|juni|juli|oktober|dezember|(?:19|20)\d\d)\b|
    (?:昨|今|明|先|来|去|毎)[日朝晩夜週月年]|(?:おととい|きのう|きょう|あした)|[月火水木金土日]曜|\d[年月日時]|[〇一二三四五六七八九十]+[年月日時]""",
    regex.VERBOSE | regex.IGNORECASE,
)
_QUESTION = UnicodePattern(r"(?<![^.!?。！？\n])[^.!?。！？\n]*+[?？]+")  # begins where a sentence may: linear time
_GREETING = 20  # characters beside a question that state nothing: a mention, a hello
_NO_ANSWER = UnicodePattern(
    r"""\bi\s(?:(?:do|did|could|can)(?:n['’]t|\snot)|cannot)\s(?:\w+\s){0,2}(?:know|find|recall|remember|have)\b|
    \bi(?:\sam|['’]m)\snot\s(?:\w+\s)?(?:sure|aware)\b|\bi\s(?:have|found|know|see)\s(?:nothing|
    no\s(?:\w+\s)?(?:record|note|memory|information|mention|message|answer|entry|idea)s?)\b|
    \bich\s(?:\w+\s)?wei(?:ß|ss)\s(?:\w+\s){0,3}nicht\b|\bwei(?:ß|ss)\sich\s(?:\w+\s){0,2}nicht\b|\bich\shabe\s(?:\w+\s)?
    (?:nichts|keine\s(?:Ahnung|Angabe|Notiz|Information|Erinnerung|Nachricht)\w*)\b|(?:わか|分か|知)りません|(?:わから|分から|知ら)ない|覚えて(?:い)?ません|見つかりません""",
    regex.VERBOSE | regex.IGNORECASE,
)
_AND_MORE = UnicodePattern(
    r"\b(?:but|although|though|aber|jedoch)\b|[:;](?=\s)(?!\s(?:nobody|no\sone|nothing|niemand|nichts|keiner)\b)",
    regex.IGNORECASE,
)
_SHORT = 160  # characters; a longer answer says more than that it is none
_NAME = UnicodePattern(r"(?<=[\p{Ll}\p{Nd},]\s)(?!I\b)\p{Lu}\p{Ll}+")  # a capital letter inside a sentence


class _Row(NamedTuple):
    number: int
    moment: str
    length: int


@dataclass(frozen=True)
class Spoken:
    """What a message is like, beside its words."""

    speaker: str
    person: str
    """Who said it, for one of a person; empty for one of an agent."""
    length: int
    asks: bool
    only_asks: bool
    """Whether it says nothing beside its question."""
    no_answer: bool
    """Whether it is ours and says that we do not know."""
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


def around(rows: Rows, numbers: Iterable[int], scope: Scope, reach: int) -> list[Stretch]:
    """What was said around the given messages, up to `reach` rows to each side; each of them is in one stretch.

    What two of them have around them in common is read once.
    """
    sql = "SELECT id, place_id FROM messages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY place_id, id"
    read = _Reading(rows, scope, reach)
    for number, place in rows.all(sql, (json.dumps(list(numbers)),)):
        read.around(place, number)
    return [part for run in read.runs for part in _sessions(run)]


class _Reading:
    """Reads messages in order of place and number; a run is what was found without anything left out in between."""

    def __init__(self, rows: Rows, scope: Scope, reach: int) -> None:
        self._rows, self._reach, self._place = rows, reach, ""
        self._condition, self._parameters = scope.sql("audience")
        self.runs: list[list[_Row]] = []

    def around(self, place: str, number: int) -> None:
        if place != self._place:
            self._place = place
            last = None
        else:
            last = self.runs[-1][-1].number
        if last is None or number > last:
            found = self._both(number)
            if last is not None and found and found[0].number <= last:
                self.runs[-1] += [row for row in found if row.number > last]
            else:
                self.runs.append(found)
            return
        run = self.runs[-1]
        missing = self._reach - sum(row.number > number for row in run[-self._reach :])
        if missing > 0:
            run += self._read(self._side(">", "ASC"), self._given(last, missing))

    def _both(self, number: int) -> list[_Row]:
        """What lies before and after, with the row itself; at one go, since there are many to be read."""
        sql = f"SELECT * FROM ({self._side('<', 'DESC')}) UNION ALL SELECT * FROM ({self._side('>=', 'ASC')})"
        found = self._read(sql, (*self._given(number, self._reach), *self._given(number, self._reach + 1)))
        before = sum(row.number < number for row in found)
        return found[:before][::-1] + found[before:]

    def _side(self, side: str, order: str) -> str:
        return f"""SELECT id, created_at, length(search_text) FROM messages WHERE place_id = ? AND id {side} ?
            AND deleted_at IS NULL AND search_text <> '' AND {self._condition} ORDER BY id {order} LIMIT ?"""

    def _given(self, number: int, limit: int) -> tuple[str | int, ...]:
        return (self._place, number, *self._parameters, limit)

    def _read(self, sql: str, parameters: tuple[str | int, ...]) -> list[_Row]:
        return [_Row(*row) for row in self._rows.all(sql, parameters)]


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


def spoken(rows: Rows, numbers: Iterable[int], *, time: bool, name: bool) -> Mapping[int, Spoken]:
    """What these messages are like; the caller has found them under a scope.

    Whether they tell a time or a name is looked at only when it is asked for.
    """
    found = rows.all(
        f"SELECT id, speaker, person_id, role, length(search_text), substr(content, 1, {_READ}) FROM messages "
        "WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(numbers)),),
    )
    return {
        number: Spoken(
            speaker=speaker,
            person=(person or speaker) if role == "user" else "",
            length=length,
            asks=_asks(text),
            only_asks=_only_asks(text),
            no_answer=role == "assistant" and _is_no_answer(text),
            tells_time=time and _TIME.search(text) is not None,
            tells_name=name and _NAME.search(text) is not None,
        )
        for number, speaker, person, role, length, text in found
    }


def _is_no_answer(text: str) -> bool:
    if len(text) > _SHORT or _AND_MORE.search(text) is not None:
        return False
    return _NO_ANSWER.search(text) is not None


def _asks(text: str) -> bool:
    return "?" in text or "？" in text


def _only_asks(text: str) -> bool:
    return _asks(text) and len(_QUESTION.sub("", text).strip()) <= _GREETING


def speakers(rows: Rows, numbers: Iterable[int]) -> set[tuple[str, bool]]:
    """Who said these messages: names, and whether they are people's."""
    sql = "SELECT DISTINCT speaker, role = 'user' FROM messages WHERE id IN (SELECT value FROM json_each(?))"
    return {(row[0], bool(row[1])) for row in rows.all(sql, (json.dumps(list(numbers)),))}
