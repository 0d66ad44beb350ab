"""Scores of rows. Pure: what is counted here was read under the scope, so that an order tells nothing of what is
said elsewhere. BM25's formula, with constants where SQLite's own would take an average over everybody's rows.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import NamedTuple, TypeAlias

from memory.search.neighbors import Spoken, Stretch, Talk
from memory.search.query import Close, Near, Usual
from memory.search.question import Asked
from memory.store.fulltext import Term
from memory.store.ids import PersonId

_USUAL_LENGTH = 150  # characters of a row's search text that make it neither long nor short
_PER_CHARACTER = 1.2 * 0.75 / _USUAL_LENGTH  # BM25 with k1 = 1.2 and b = 0.75
WINDOW = 2  # rows to each side that are read as one text with a row
WIDE = 6  # rows to each side that tell what the talk is about, the nearer the more


_ECHO = 0.6  # of the weight of a query's words, from which on a question is the same one
_LAST = 100.0  # how much of a question an echo is: it stands below all that states anything

_FAR = 12.0  # spreads above the usual nearness, at which meaning counts as much as the best words
_DECAY = [1 - abs(distance) / (WIDE + 1) for distance in range(-WIDE, WIDE + 1)]


class Signs(NamedTuple):
    """What speaks for a message, each about 0 to 1.

    The words in itself (`turn`), in itself and the two rows to each side (`window`), in six rows to each side
    (`wide`); said by the one person who is named, or who asks of themselves; said right after a question that has the
    words (`answers`); how much it says (`length`); a time or a name where one is asked for; a question itself (`asks`);
    and the cosines of itself (`own`) and of its window (`around`).
    """

    turn: float
    window: float
    wide: float
    named: float
    answers: float
    length: float
    when: float
    name: float
    asks: float
    own: float
    around: float


WEIGHTS = Signs(
    turn=1.8,
    window=2.5,
    wide=2.7,
    named=2.6,
    answers=1.5,
    length=4.0,
    when=2.1,
    name=1.8,
    asks=-0.4,
    own=2.6,
    around=4.0,
)
"""Learned and checked as docs/search.md says."""

CLOSE_WEIGHTS = (
    Signs(1.0, 1.0, 1.4, 2.6, 1.4, 2.9, 2.0, 1.8, -0.3, 0.0, 3.4),
    Close(own=3.1, window=4.3, wide=4.7),
)
"""Those for messages whose words were compared with those of the question, learned in the same way."""


@dataclass(frozen=True)
class Word:
    """One word of a query: the rows that have it, with their lengths in characters, and what it weighs."""

    term: Term
    rows: Mapping[int, int]
    weight: float


class Meant(NamedTuple):
    """The one person whom a query names, by the name of the speaker, or means by "I", by id."""

    name: str | None = None
    person: PersonId | None = None

    def said(self, row: Spoken) -> bool:
        """Whether this person said it."""
        return bool(row.person) and (row.speaker == self.name or row.person == self.person)


Sums: TypeAlias = dict[int, float]


def rarity(count: int, total: int) -> float:
    """The weight of a word that `count` of `total` rows have."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def share(times: float, length: float) -> float:
    """What a word counts in a row that has it so often and is so many characters long."""
    return times * 2.2 / (times + 0.3 + length * _PER_CHARACTER)


def by_words(words: Sequence[Word]) -> Sums:
    """All rows that have one of the words, as if they had it once: there may be tens of thousands."""
    sums: Sums = {}
    for word in words:
        most, rows = word.weight * 2.2, word.rows
        new = {number: most / (1.3 + length * _PER_CHARACTER) for number, length in rows.items()}
        for number in sums.keys() & new.keys():
            new[number] += sums[number]
        sums |= new
    return sums


def signs(asked: Asked, words: Sequence[Word], talk: Talk, meant: Meant, near: Mapping[int, Near]) -> dict[int, Signs]:
    """The signs of every message in the pool of a talk; `meant` is who the query is about."""
    places = {number: (stretch, at) for stretch in talk.stretches for at, number in enumerate(stretch.numbers)}
    turn, window, wide = Sums(), Sums(), Sums()
    lengths: dict[int, float] = {}
    echoes, empty = _echoes(asked, words, talk)
    for word in words:
        fewer, more = sorted((word.rows, places), key=len)
        found = [number for number in fewer if number in more and number not in empty]
        for number in found:
            turn[number] = turn.get(number, 0.0) + word.weight * share(1, word.rows[number])
        _spread(word.weight, [places[number] for number in found], lengths, window, wide)
    tops = [max(sums.values(), default=1.0) for sums in (turn, window, wide)]
    usual = _usual(near)
    told: dict[int, Signs] = {}
    for number, before in talk.pool.items():
        row, similar = talk.rows[number], near.get(number, usual)
        answers = before is not None and talk.rows[before].asks
        told[number] = Signs(
            turn=turn.get(number, 0.0) / tops[0],
            window=window.get(number, 0.0) / tops[1],
            wide=wide.get(number, 0.0) / tops[2],
            named=float(meant.said(row)),
            answers=turn.get(before, 0.0) / tops[0] if answers and before is not None else 0.0,
            length=min(math.log1p(row.length) / 7, 1.0),
            when=float(asked.when and row.tells_time),
            name=float(asked.name and row.tells_name),
            asks=_LAST if number in echoes or number in empty else float(row.asks),
            own=_first(similar.own, usual.own),
            around=_first(similar.window, similar.own, usual.own),
        )
    return told


def _echoes(asked: Asked, words: Sequence[Word], talk: Talk) -> tuple[set[int], set[int]]:
    """Where the same was asked before; and the rows without anything in them for an answer: that we did not know, and
    the same question where nobody answered it."""
    least = _ECHO * sum(word.weight for word in words)
    held = {n: sum(word.weight for word in words if n in word.rows) for n in talk.pool if talk.rows[n].only_asks}
    echoes = {number for number, weight in held.items() if asked.sentence and weight >= least > 0}
    empty = {number for number in talk.pool if talk.rows[number].no_answer}
    after = {stretch.numbers[at]: number for stretch in talk.stretches for at, number in enumerate(stretch.numbers[1:])}
    return echoes, empty | {each for each in echoes if after.get(each, each) in (each, *empty)}


def total(signs: Signs) -> float:
    """The signs as one number, at least 0."""
    parts: Iterable[float] = map(mul, WEIGHTS, signs)
    return max(sum(parts), 0.0)


def total_close(signs: Signs, close: Close) -> float:
    """The same for a message whose words were compared."""
    parts: Iterable[float] = map(mul, (*CLOSE_WEIGHTS[0], *CLOSE_WEIGHTS[1]), (*signs, *close))
    return max(sum(parts), 0.0)


def nearness(near: Near | None, usual: Usual | None) -> float:
    """What meaning counts for a row that is understood alone, beside 1 for the best words: 0 to 1."""
    return 0.0 if near is None or usual is None else min(max(usual.standing(near) / _FAR, 0.0), 1.0)


def _usual(near: Mapping[int, Near]) -> Near:
    """What stands for the nearness of rows without vectors, those that are not embedded yet: the mean of the others."""
    known = [each.own for each in near.values() if each.own is not None]
    mean = sum(known) / len(known) if known else None
    return Near(mean, mean)


def _first(*values: float | None) -> float:
    return next((value for value in values if value is not None), 0.0)


def _spread(
    weight: float, found: Sequence[tuple[Stretch, int]], lengths: dict[int, float], window: Sums, wide: Sums
) -> None:
    """Credit a word to the rows around those that have it, which are given as a stretch and a position in it.

    `lengths` keeps those of the windows, which are the same for every word.
    """
    times: dict[int, int] = {}
    credit: dict[int, float] = {}
    for stretch, at in found:
        first, numbers = max(at - WIDE, 0), stretch.numbers
        for number, part in zip(numbers[first : at + WIDE + 1], _DECAY[first - at + WIDE :], strict=False):
            credit[number] = credit.get(number, 0.0) + part
        begin = max(at - WINDOW, 0)
        for near, number in enumerate(numbers[begin : at + WINDOW + 1], begin):
            times[number] = times.get(number, 0) + 1
            if number not in lengths:
                lengths[number] = sum(stretch.lengths[max(near - WINDOW, 0) : near + WINDOW + 1]) / (2 * WINDOW + 1)
    for number, count in times.items():
        window[number] = window.get(number, 0.0) + weight * share(count, lengths[number])
    for number, amount in credit.items():
        wide[number] = wide.get(number, 0.0) + weight * amount * 2.2 / (amount + 1.2)
