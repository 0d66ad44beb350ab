"""Scores the rows of one domain by words and vectors; `memory.search.all_domains` joins the hits of all.

All counts are taken within the scope, so that the order reveals nothing about other rows: this is BM25's formula with
constants where SQLite's own would take an average over everybody's rows.
"""

import heapq
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from operator import mul
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from memory.search import surrounding_messages
from memory.search.domains import COUNTED_ROWS, Lookup
from memory.search.message_traits import MessageTraits, traits_of
from memory.search.query import TextQuery
from memory.search.surrounding_messages import Stretch, Talk
from memory.search.vector_similarity import Baseline, Closeness, Meaning, RowWindows
from memory.store.fulltext import Term, index_text
from memory.store.ids import PersonId

_USUAL_LENGTH = 150  # characters of a search text of average length
_PER_CHARACTER = 1.2 * 0.75 / _USUAL_LENGTH  # BM25 with k1 = 1.2 and b = 0.75
WINDOW = 2  # rows to each side that are read as one text with a row
WIDE = 6  # rows to each side that show the topic, weighted by distance


_ECHO = 0.6  # share of the weight of a query's words from which a question counts as the same one
_FIRST_NAMED = 0.5  # of several people
_FIRST_MESSAGES = 2  # of a session; a stretch that begins within one has no candidates so near to its beginning
_LAST = 100.0  # how much of a question is an echo: it ranks below all statements

_FAR = 12.0  # standard deviations above the mean at which meaning counts as much as the best words
_DECAY = [1 - abs(distance) / (WIDE + 1) for distance in range(-WIDE, WIDE + 1)]


class Features(NamedTuple):
    """The features of a message, each about 0 to 1.

    The query's words in the message itself (`turn`), in it and two rows to each side (`window`), and in six rows to
    each side (`wide`); its speaker is named or is the asker (`named`); it is one of the first messages
    of a session, which tell what is new (`opens`); it follows a question with the words (`answers`); how much it says
    (`length`); it has a time or name where one is asked for (`when`, `name`); it is a question itself (`asks`); and the
    cosine of the message (`own`), and the mean with those before and after it (`around`).
    """

    turn: float
    window: float
    wide: float
    named: float
    opens: float
    answers: float
    length: float
    when: float
    name: float
    asks: float
    own: float
    around: float


WEIGHTS = Features(
    turn=1.4,
    window=1.7,
    wide=3.0,
    named=2.6,
    opens=0.3,
    answers=1.5,
    length=6.6,
    when=2.1,
    name=1.9,
    asks=-0.3,
    own=3.2,
    around=4.2,
)
"""Learned and checked as described in docs/search.md."""

CLOSE_WEIGHTS = (
    Features(0.7, 1.0, 1.2, 2.5, 0.3, 1.5, 2.9, 1.9, 1.8, -0.3, 0.9, 2.4),
    Closeness(own=7.5, window=4.0, wide=6.4),
)
"""The weights for messages whose words were compared with those of the question, learned in the same way."""


class Word(Struct, frozen=True):
    """One word of a query: the rows that have it, with their lengths in characters, and its weight."""

    term: Term
    rows: Mapping[int, int]
    weight: float


class MeantPerson(NamedTuple):
    """The person that a query names (a speaker's name), or means by "I" (an id).

    `surely` is less than 1 for the first of several names, who is more often the one that it is about.
    """

    name: str | None = None
    person: PersonId | None = None
    surely: float = 1.0

    def said(self, row: MessageTraits) -> float:
        return self.surely if row.person and (row.speaker == self.name or row.person == self.person) else 0.0


Sums: TypeAlias = dict[int, float]
Places: TypeAlias = Mapping[int, tuple[Stretch, int]]
"""Where each message is: its stretch, and its index there."""


def rarity(count: int, total: int) -> float:
    """The weight of a word that `count` of `total` rows have."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def share(times: float, length: float) -> float:
    """BM25's factor for a word that a row of `length` characters has `times` times."""
    return times * 2.2 / (times + 0.3 + length * _PER_CHARACTER)


def by_words(words: Sequence[Word], most: int) -> list[int]:
    """The best rows with any of the words, as if each had it once: there may be tens of thousands.

    The words with the highest weights come first. Once the remaining words cannot make up a row's deficit, rows that
    have only those, or are further behind, are skipped.
    """
    sums: Sums = {}
    ordered = sorted(words, key=lambda each: -each.weight)
    for at, word in enumerate(ordered):
        top, rows, left = word.weight * 2.2, word.rows, sum(each.weight for each in ordered[at:]) * 2.2 / 1.3
        if len(sums) >= most and (least := heapq.nlargest(most, sums.values())[-1] - left) > 0:
            sums = {number: value for number, value in sums.items() if value >= least}
            new = {number: top / (1.3 + rows[number] * _PER_CHARACTER) for number in sums.keys() & rows.keys()}
        else:
            new = {number: top / (1.3 + length * _PER_CHARACTER) for number, length in rows.items()}
        for number in sums.keys() & new.keys():
            new[number] += sums[number]
        sums |= new
    return [number for _sum, number in heapq.nlargest(most, zip(sums.values(), sums, strict=True))]


def features(
    asked: TextQuery,
    words: Sequence[Word],
    talk: Talk,
    places: Places,
    meant: MeantPerson,
    near: Mapping[int, float],
) -> dict[int, Features]:
    """The features of every message in the pool of a talk; `meant` is the person that the query is about."""
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
    usual = sum(near.values()) / max(len(near), 1)  # for rows that have no vector yet
    told: dict[int, Features] = {}
    for number, before in talk.pool.items():
        row, (stretch, at) = talk.rows[number], places[number]
        beside = [near[each] for each in _beside((stretch, at), 1) if each in near]
        answers = before is not None and talk.rows[before].asks
        told[number] = Features(
            turn=turn.get(number, 0.0) / tops[0],
            window=window.get(number, 0.0) / tops[1],
            wide=wide.get(number, 0.0) / tops[2],
            named=meant.said(row),
            opens=float(at < _FIRST_MESSAGES),
            answers=turn.get(before, 0.0) / tops[0] if answers and before is not None else 0.0,
            length=min(math.log1p(row.length) / 7, 1.0),
            when=float(asked.when and row.tells_time),
            name=float(asked.name and row.tells_name),
            asks=_LAST if number in echoes or number in empty else float(row.asks),
            own=near.get(number, usual),
            around=sum(beside) / len(beside) if beside else usual,
        )
    return told


def _echoes(asked: TextQuery, words: Sequence[Word], talk: Talk) -> tuple[set[int], set[int]]:
    """The messages that ask the same question; and those that cannot contain an answer: we did not know, or nobody
    answered the same question."""
    least = _ECHO * sum(word.weight for word in words)
    held = {n: sum(word.weight for word in words if n in word.rows) for n in talk.pool if talk.rows[n].only_asks}
    echoes = {number for number, weight in held.items() if asked.sentence and weight >= least > 0}
    empty = {number for number in talk.pool if talk.rows[number].no_answer}
    after = {stretch.numbers[at]: number for stretch in talk.stretches for at, number in enumerate(stretch.numbers[1:])}
    return echoes, empty | {each for each in echoes if after.get(each, each) in (each, *empty)}


def total(features: Features) -> float:
    parts: Iterable[float] = map(mul, WEIGHTS, features)
    return max(sum(parts), 0.0)


def total_close(features: Features, close: Closeness) -> float:
    """The total for a message whose words were compared."""
    parts: Iterable[float] = map(mul, (*CLOSE_WEIGHTS[0], *CLOSE_WEIGHTS[1]), (*features, *close))
    return max(sum(parts), 0.0)


def nearness(near: float | None, usual: Baseline | None) -> float:
    """The score of a row's meaning by itself, where 1 is that of the best words: 0 to 1."""
    return 0.0 if near is None or usual is None else min(max(usual.deviations(near) / _FAR, 0.0), 1.0)


def _spread(
    weight: float, found: Sequence[tuple[Stretch, int]], lengths: dict[int, float], window: Sums, wide: Sums
) -> None:
    """Credit a word to the rows around those that have it, which are given as a stretch and an index in it.

    `lengths` caches the lengths of windows, which are the same for every word.
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


_ALL_WORDS = 0.2  # lets a row with every word go before one with more of the rarest
_CANDIDATES = 40  # of a domain, at least: rows with every word are looked for among them
_NEAR = 40  # nearest neighbors
_CLOSE = 40  # messages, at least, whose words are compared with the question's one by one
_FAINT = 1.5  # standard deviations above the mean: below that, a row is not even a guess
GUESSES = 3
"""Rows that are no nearer than by chance, but are offered anyway."""
_NEWEST = 50  # rows with a word that are checked: it may be the name of a speaker


class ScoredRow(Struct):
    """One row, by number; `named`: the query names its speaker; `matched`: the words that it has; `around`: those that
    only its window has; `perhaps`: only a nearness that may be chance supports it."""

    number: int
    score: float
    near: float | None = None
    named: bool = False
    window: Sequence[int] = ()
    matched: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    perhaps: bool = False


class _DomainQuery(Struct, frozen=True):
    """A query prepared for one domain: its words, the person meant, the rows with a near meaning, and the usual
    nearness of rows.

    `names` are words of the text that are left out because they are names of speakers.
    """

    asked: TextQuery
    words: list[Word]
    names: frozenset[str]
    meant: MeantPerson
    meaning: Meaning | None
    usual: Baseline | None
    near: Mapping[int, float]

    def best(self, most: int) -> list[int]:
        """The rows to score: the best by their words, and the nearest."""
        return [*dict.fromkeys([*by_words(self.words, most), *self.near])]


def ranked(
    find: Lookup, asked: TextQuery, meaning: Meaning | None, limit: int, asker: PersonId | None = None
) -> list[ScoredRow]:
    """The best rows for a text, in no order: `limit` of them, and those that tie with the last.

    `asker` is the person that it means by "I".
    """
    count = find.count()
    words = every = _words(find, asked, count)
    meant = MeantPerson()
    if find.table.talk:
        people, words = _without_names(find, every)
        if len(people) != 1 and asked.first_person and asker is not None:
            meant = MeantPerson(person=asker)
        elif people:
            meant = MeantPerson(people[0], surely=1.0 if len(people) == 1 else _FIRST_NAMED)
    names = frozenset(word.term.word for word in every) - {word.term.word for word in words}
    meaning = None if find.table.embedded is None else meaning
    near, usual = _nearest(find, meaning, count)
    faint = {number: excess for number, each in near.items() if usual and (excess := usual.excess(each)) < 0}
    # Messages around them may support rows that are not near enough by themselves.
    together = find.table.talk and asked.sentence and bool(words)
    taken = near if together else {number: each for number, each in near.items() if number not in faint}
    sought = _DomainQuery(asked, words, names, meant, meaning, usual, taken)
    best = sought.best(max(_CANDIDATES, 3 * limit))
    if not best:
        return _guesses(near, faint)
    found = _in_talk(find, sought, best, 3 * limit) if find.table.talk else _alone(find, sought, best)
    supported = [one.score for one in found if one.number not in faint or _has_a_word(one, words)]
    if not supported:
        return _guesses(near, faint)
    # What is near only by chance is a guess, unless all signals together rank it above a row with more than that.
    found = [one for one in found if one.score >= min(supported)]
    top = max(one.score for one in found) or 1.0
    top = top if words else top / max(nearness(each, usual) for each in taken.values())
    whole = find.having(asked.every, [one.number for one in found])
    for one in found:
        one.score = round(one.score / top + (_ALL_WORDS if one.number in whole else 0.0), 6)
    least = min(heapq.nlargest(limit, (one.score for one in found)))
    kept = [one for one in found if one.score >= least]
    held = [(word.term.word, _in(find, word, kept)) for word in every]
    for one in kept:
        one.matched = tuple(word for word, numbers in held if one.number in numbers)
        beside = (word for word in words if one.number not in word.rows)
        one.around = tuple(word.term.word for word in beside if any(number in word.rows for number in one.window))
    if whole:  # a row with all words needs no guesses
        return kept
    known = {one.number for one in found}
    return [*kept, *_guesses(near, {number: excess for number, excess in faint.items() if number not in known})]


def _in(find: Lookup, word: Word, found: Sequence[ScoredRow]) -> Container[int]:
    """The rows with the word, at least those in `found`: of a frequent word only the newest rows are listed."""
    if len(word.rows) < COUNTED_ROWS:
        return word.rows
    return find.having(word.term.match, [one.number for one in found])


def _guesses(near: Mapping[int, float], faint: Mapping[int, float]) -> list[ScoredRow]:
    """The nearest of the rows that may be near only by chance."""
    best = heapq.nlargest(GUESSES, faint, key=lambda number: (faint[number], number))
    return [ScoredRow(number, round(faint[number], 6), near[number], perhaps=True) for number in best]


def _has_a_word(one: ScoredRow, words: Sequence[Word]) -> bool:
    return any(number in word.rows for word in words for number in (one.number, *one.window))


def _words(find: Lookup, asked: TextQuery, count: int) -> list[Word]:
    if not count:  # the agent has no rows yet
        return []
    held = [(term, find.holding(term.match)) for term in asked.terms]
    return [Word(term, rows, rarity(min(len(rows), count), count)) for term, rows in held if rows]


def _nearest(find: Lookup, meaning: Meaning | None, count: int) -> tuple[Mapping[int, float], Baseline | None]:
    """The rows that are near enough to be found without any word, and the usual nearness of rows."""
    if meaning is None or not count:
        return {}, None
    near = meaning.nearest(find.rows, find.among, _NEAR)
    if not near:
        return {}, None
    usual = meaning.usual(find.rows, find.among, count)
    found = find.meeting([number for number, each in near.items() if usual.deviations(each) > _FAINT])
    return {number: near[number] for number in sorted(found)}, usual


def _similar(find: Lookup, sought: _DomainQuery, numbers: Iterable[int]) -> Mapping[int, float]:
    """The cosines of these rows, which need not meet the query's conditions: only the scope applies."""
    return {} if sought.meaning is None else sought.meaning.of(find.rows, find.among._replace(narrowed=None), numbers)


def _alone(find: Lookup, sought: _DomainQuery, best: list[int]) -> list[ScoredRow]:
    """Scores of rows that stand alone: by their words and their nearness."""
    sums = dict.fromkeys(best, 0.0)
    for word in sought.words:
        for number, times, length in find.times(word.term.match, best):
            sums[number] += word.weight * share(times, length)
    top = max(sums.values()) or 1.0
    similar = _similar(find, sought, best)
    return [
        ScoredRow(number, value / top + nearness(similar.get(number), sought.usual), similar.get(number))
        for number, value in sums.items()
    ]


def _in_talk(find: Lookup, sought: _DomainQuery, best: list[int], most: int) -> list[ScoredRow]:
    """Scores of messages, read with those around them; at least `most`, if there are as many."""
    talk = _talk(find, sought.asked, best)
    places = {number: (stretch, at) for stretch in talk.stretches for at, number in enumerate(stretch.numbers)}
    similar = _similar(find, sought, {each for number in talk.pool for each in _beside(places[number], 1)})
    found = features(sought.asked, sought.words, talk, places, sought.meant, similar)
    return [
        ScoredRow(number, score, similar.get(number), found[number].named == 1, _beside(places[number], WINDOW))
        for number, score in _totals(find, sought, found, places, most).items()
    ]


def _totals(
    find: Lookup,
    sought: _DomainQuery,
    found: Mapping[int, Features],
    places: Places,
    most: int,
) -> dict[int, float]:
    """The score of each message. If the question's words can be compared with those of messages one by one, only the
    best messages are compared, and the others are left out."""
    totals = {number: total(each) for number, each in found.items()}
    if sought.meaning is None:
        return totals
    best = heapq.nlargest(max(_CLOSE, most), totals, key=totals.__getitem__)
    around = {
        number: RowWindows((number,), _beside(places[number], WINDOW), _beside(places[number], WIDE)) for number in best
    }
    close = sought.meaning.close(find.rows, find.among, around, sought.names)
    if not close:
        return totals
    usual = Closeness(*(sum(column) / len(close) for column in zip(*close.values(), strict=True)))
    return {number: total_close(found[number], close.get(number, usual)) for number in best}


def _beside(place: tuple[Stretch, int], reach: int) -> Sequence[int]:
    stretch, at = place
    return stretch.numbers[max(at - reach, 0) : at + reach + 1]


def _talk(find: Lookup, asked: TextQuery, numbers: Sequence[int]) -> Talk:
    reach = WINDOW if asked.sentence else 0
    stretches = surrounding_messages.around(find.rows, numbers, find.scope, reach + WIDE)
    chosen, others = set(numbers), set[int]()
    for stretch in stretches:
        for at, number in enumerate(stretch.numbers):
            if number in chosen:
                others.update(_beside((stretch, at), reach))
    chosen |= find.meeting(sorted(others - chosen))
    pool = {
        number: stretch.numbers[at - 1] if at else None
        for stretch in stretches
        for at, number in enumerate(stretch.numbers)
        if number in chosen
    }
    known = {*pool, *(before for before in pool.values() if before is not None)}
    return Talk(stretches, pool, traits_of(find.rows, known, time=asked.when, name=asked.name))


def _without_names(find: Lookup, words: Sequence[Word]) -> tuple[list[str], list[Word]]:
    """The people named, in the order of the text, and the other words.

    A speaker's name is in the search text of all their messages, so as a word it tells nothing.
    """
    newest = {number for word in words for number in list(word.rows)[:_NEWEST]}
    heard = [
        (speaker, by_person, index_text(speaker).split())
        for speaker, by_person in surrounding_messages.speakers(find.rows, newest)
    ]
    others = [word for word in words if not any(word.term.word in parts for _, _, parts in heard)]
    texts = [word.term.word for word in words]
    people = {
        speaker: min(map(texts.index, here))
        for speaker, by_person, parts in heard
        if by_person and (here := [part for part in parts if part in texts])
    }
    return sorted(people, key=lambda name: (people[name], name)), others or list(words)
