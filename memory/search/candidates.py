"""The rows of one domain that may be hits, with what speaks for them."""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memory.search import neighbors
from memory.search.lookup import Lookup
from memory.search.neighbors import Talk
from memory.search.query import Close, Near, Nearness, Surroundings, Usual
from memory.search.question import Asked
from memory.search.ranking import (
    WIDE,
    WINDOW,
    Meant,
    Signs,
    Word,
    by_words,
    nearness,
    rarity,
    share,
    signs,
    total,
    total_close,
)
from memory.store.fulltext import index_text
from memory.store.ids import PersonId

_ALL_WORDS = 0.2  # a row with every word goes before one that has the rarest of them more often
_CANDIDATES = 40  # of a domain, at least: among them the rows with every word are looked for
_NEAR = 40  # nearest neighbours, of each view
_CLOSE = 40  # messages, at least, whose words are compared with those of the question one by one
_FAINT = 1.5  # spreads above the usual nearness: what does not even stand out so far is no guess
GUESSES = 3
"""Rows that are no nearer than chance allows and are offered all the same."""
_NEWEST = 50  # of the rows with a word: whether it is the name of somebody who spoke there


@dataclass
class Scored:
    """One row, by number; `named`: the query names the one who said it; `around`: words that only its window has;
    `perhaps`: nothing but a nearness that may be chance speaks for it."""

    number: int
    score: float
    near: Near | None = None
    named: bool = False
    window: Sequence[int] = ()
    around: tuple[str, ...] = ()
    perhaps: bool = False


@dataclass(frozen=True)
class _Sought:
    """A text as it is looked for in one domain: its words, whom it names, the rows that are near to what it means, and
    how near rows usually are.

    `names` are words of the text that are left out because they are names of those who spoke.
    """

    asked: Asked
    words: list[Word]
    names: frozenset[str]
    meant: Meant
    meaning: Nearness | None
    usual: Usual | None
    near: Mapping[int, Near]

    def best(self, most: int) -> list[int]:
        """The rows that are looked at closely: the best by their words, and the nearest."""
        sums = by_words(self.words)
        by_sum = heapq.nlargest(most, zip(sums.values(), sums, strict=True))
        return [*dict.fromkeys([*(number for _, number in by_sum), *self.near])]


def ranked(
    find: Lookup, asked: Asked, meaning: Nearness | None, limit: int, asker: PersonId | None = None
) -> list[Scored]:
    """The best rows for a text, in no order: `limit` of them, and those that are as good as the last.

    `asker` is whom it means by "I".
    """
    count = find.count()
    words = every = _words(find, asked, count)
    meant = Meant()
    if find.table.talk:
        named, words = _without_names(find, every)
        meant = Meant(named, asker if asked.first_person and named is None else None)
    names = frozenset(word.term.word for word in every) - {word.term.word for word in words}
    meaning = None if find.table.embedded is None else meaning
    near, usual = _nearest(find, meaning, count)
    faint = {number: excess for number, each in near.items() if usual and (excess := usual.excess(each)) < 0}
    # What the talk around them says may speak for rows that are not near enough by themselves.
    together = find.table.talk and asked.sentence and bool(words)
    taken = near if together else {number: each for number, each in near.items() if number not in faint}
    sought = _Sought(asked, words, names, meant, meaning, usual, taken)
    best = sought.best(max(_CANDIDATES, 3 * limit))
    if not best:
        return _guesses(near, faint)
    found = _in_talk(find, sought, best, 3 * limit) if find.table.talk else _alone(find, sought, best)
    found = [one for one in found if one.number not in faint or _has_a_word(one, words)]
    if not found:
        return _guesses(near, faint)
    top = max(one.score for one in found) or 1.0
    top = top if words else top / max(nearness(each, usual) for each in taken.values())
    whole = find.having(asked.every, [one.number for one in found])
    for one in found:
        one.score = round(one.score / top + (_ALL_WORDS if one.number in whole else 0.0), 6)
    least = min(heapq.nlargest(limit, (one.score for one in found)))
    kept = [one for one in found if one.score >= least]
    for one in kept:
        one.around = tuple(word.term.word for word in words if _only_around(one, word))
    if whole:  # whoever has found what they wrote needs no guesses
        return kept
    known = {one.number for one in found}
    return [*kept, *_guesses(near, {number: excess for number, excess in faint.items() if number not in known})]


def _guesses(near: Mapping[int, Near], faint: Mapping[int, float]) -> list[Scored]:
    """The nearest of those that may be near by chance."""
    best = heapq.nlargest(GUESSES, faint, key=lambda number: (faint[number], number))
    return [Scored(number, round(faint[number], 6), near[number], perhaps=True) for number in best]


def _has_a_word(one: Scored, words: Sequence[Word]) -> bool:
    return any(number in word.rows for word in words for number in (one.number, *one.window))


def _only_around(one: Scored, word: Word) -> bool:
    return one.number not in word.rows and any(number in word.rows for number in one.window)


def _words(find: Lookup, asked: Asked, count: int) -> list[Word]:
    if not count:  # an agent to which nobody told anything yet: no word need be looked for
        return []
    held = [(term, dict(find.holding(term.match))) for term in asked.terms]
    return [Word(term, rows, rarity(min(len(rows), count), count)) for term, rows in held if rows]


def _nearest(find: Lookup, meaning: Nearness | None, count: int) -> tuple[Mapping[int, Near], Usual | None]:
    """Rows that may be found whatever their words, and how near rows usually are."""
    if meaning is None or not count:
        return {}, None
    near = meaning.nearest(find.rows, find.among, _NEAR)
    if not near:
        return {}, None
    usual = meaning.usual(find.rows, find.among, count)
    found = find.meeting([number for number, each in near.items() if usual.standing(each) > _FAINT])
    return {number: near[number] for number in sorted(found)}, usual


def _similar(find: Lookup, sought: _Sought, numbers: Iterable[int]) -> dict[int, Near]:
    """How near the rows are, the nearest or not."""
    if sought.meaning is None:
        return {}
    missing = [number for number in numbers if number not in sought.near]
    return {**sought.near, **sought.meaning.of(find.rows, find.among, missing)}


def _alone(find: Lookup, sought: _Sought, best: list[int]) -> list[Scored]:
    """Rows that are understood by themselves: how often they have the words, and how near they are."""
    sums = dict.fromkeys(best, 0.0)
    for word in sought.words:
        for number, times, length in find.times(word.term.match, best):
            sums[number] += word.weight * share(times, length)
    top = max(sums.values()) or 1.0
    similar = _similar(find, sought, best)
    return [
        Scored(number, value / top + nearness(similar.get(number), sought.usual), similar.get(number))
        for number, value in sums.items()
    ]


def _in_talk(find: Lookup, sought: _Sought, best: list[int], most: int) -> list[Scored]:
    """Messages, understood with what was said around them; at least `most` of them, if there are so many."""
    heard = _talk(find, sought.asked, best)
    similar = _similar(find, sought, heard.pool)
    found = signs(sought.asked, sought.words, heard, sought.meant, similar)
    around = {
        number: Surroundings((number,), *(_beside(stretch.numbers, at, reach) for reach in (WINDOW, WIDE)))
        for stretch in heard.stretches
        for at, number in enumerate(stretch.numbers)
        if number in found
    }
    return [
        Scored(number, score, similar.get(number), found[number].named > 0, around[number].window)
        for number, score in _totals(find, sought, found, around, most).items()
    ]


def _totals(
    find: Lookup, sought: _Sought, found: Mapping[int, Signs], around: Mapping[int, Surroundings], most: int
) -> dict[int, float]:
    """What the signs of each message come to. Where the words of the question can be compared with those of messages
    one by one, it is the best alone that are, and the others are left out."""
    totals = {number: total(each) for number, each in found.items()}
    if sought.meaning is None:
        return totals
    best = heapq.nlargest(max(_CLOSE, most), totals, key=totals.__getitem__)
    close = sought.meaning.close(find.rows, find.among, {number: around[number] for number in best}, sought.names)
    if not close:
        return totals
    usual = Close(*(sum(column) / len(close) for column in zip(*close.values(), strict=True)))
    return {number: total_close(found[number], close.get(number, usual)) for number in best}


def _beside(numbers: Sequence[int], at: int, reach: int) -> Sequence[int]:
    return numbers[max(at - reach, 0) : at + reach + 1]


def _talk(find: Lookup, asked: Asked, numbers: Sequence[int]) -> Talk:
    neighbours = WINDOW if asked.sentence else 0
    stretches = neighbors.around(find.rows, numbers, find.scope, neighbours + WIDE)
    chosen, others = set(numbers), set[int]()
    for stretch in stretches:
        for at, number in enumerate(stretch.numbers):
            if number in chosen:
                others.update(stretch.numbers[max(at - neighbours, 0) : at + neighbours + 1])
    chosen |= find.meeting(sorted(others - chosen))
    pool = {
        number: stretch.numbers[at - 1] if at else None
        for stretch in stretches
        for at, number in enumerate(stretch.numbers)
        if number in chosen
    }
    known = {*pool, *(before for before in pool.values() if before is not None)}
    return Talk(stretches, pool, neighbors.spoken(find.rows, known, time=asked.when, name=asked.name))


def _without_names(find: Lookup, words: Sequence[Word]) -> tuple[str | None, list[Word]]:
    """Who is named, if one person is, and the other words.

    A name is in the search text of everything that somebody said: as a word it would tell nothing.
    """
    newest = {number for word in words for number in list(word.rows)[:_NEWEST]}
    heard = [
        (speaker, by_person, index_text(speaker).split())
        for speaker, by_person in neighbors.speakers(find.rows, newest)
    ]
    others = [word for word in words if not any(word.term.word in parts for _, _, parts in heard)]
    texts = {word.term.word for word in words}
    people = [speaker for speaker, by_person, parts in heard if by_person and texts & set(parts)]
    return people[0] if len(people) == 1 else None, others or list(words)
