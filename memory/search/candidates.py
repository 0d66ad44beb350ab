"""The rows of one domain that may be hits, with what speaks for them."""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memory.fulltext import index_text
from memory.search import talk
from memory.search.asking import Asked
from memory.search.domains import where
from memory.search.lookup import Lookup
from memory.search.query import Meaning, Near
from memory.search.ranking import Word, by_words, nearness, rarity, share, signs, total
from memory.search.talk import Talk

_ALL_WORDS = 0.2  # a row with every word goes before one that has the rarest of them more often
_CANDIDATES = 50  # of a domain, at least: among them the rows with every word are looked for
_NEAR = 40  # nearest neighbours, of each view
_NEIGHBOURS = 2  # rows to each side of a candidate that may be hits without having a word themselves
_WIDE = 10  # rows to each side of those that tell what the talk was about
_NEWEST = 50  # of the rows with a word: whether it is the name of somebody who spoke there


@dataclass
class Scored:
    """One row, by number; `named`: the query names the one who said it."""

    number: int
    score: float
    near: Near | None = None
    named: bool = False


def ranked(find: Lookup, asked: Asked, meaning: Meaning | None, limit: int) -> list[Scored]:
    """The best rows for a text, in no order: `limit` of them, and those that are as good as the last."""
    most = max(_CANDIDATES, 4 * limit)
    rank = _in_talk if find.table.talk else _alone
    found = rank(find, asked, meaning, most)
    top = max((one.score for one in found), default=0.0) or 1.0
    whole = find.having(asked.every, [one.number for one in found]) if found else set()
    for one in found:
        one.score = round(one.score / top + (_ALL_WORDS if one.number in whole else 0.0), 6)
    least = min(heapq.nlargest(limit, (one.score for one in found)), default=0.0)
    return [one for one in found if one.score >= least]


def _words(find: Lookup, asked: Asked) -> list[Word]:
    held = [(term, dict(find.holding(term.match))) for term in asked.terms]
    count = find.count()
    return [Word(term, rows, rarity(min(len(rows), count), count)) for term, rows in held if rows]


def _nearest(find: Lookup, meaning: Meaning | None) -> Mapping[int, Near]:
    if meaning is None:
        return {}
    condition, parameters = where(find.conditions)
    found = meaning.nearness.nearest(find.rows, find.table.domain, meaning.vector, (condition, parameters), _NEAR)
    return {number: near for number, near in found.items() if near.best >= meaning.least}


def _similar(
    find: Lookup, meaning: Meaning | None, near: Mapping[int, Near], numbers: Iterable[int]
) -> dict[int, Near]:
    """How near each of the rows is, the nearest or not."""
    if meaning is None:
        return {}
    missing = [number for number in numbers if number not in near]
    found = meaning.nearness.among(find.rows, find.table.domain, meaning.vector, missing)
    return {**near, **found}


def _alone(find: Lookup, asked: Asked, meaning: Meaning | None, most: int) -> list[Scored]:
    """Rows that are understood by themselves: how often they have the words, and how near they are."""
    words, near = _words(find, asked), _nearest(find, meaning)
    best = [*dict.fromkeys([*_best(by_words(words), most), *near])]
    sums = dict.fromkeys(best, 0.0)
    for word in words:
        for number, times, length in find.times(word.term.match, best):
            sums[number] += word.weight * share(times, length)
    top = max(sums.values(), default=0.0) or 1.0
    similar = _similar(find, meaning, near, best)
    return [
        Scored(number, value / top + nearness(similar.get(number)), similar.get(number))
        for number, value in sums.items()
    ]


def _in_talk(find: Lookup, asked: Asked, meaning: Meaning | None, most: int) -> list[Scored]:
    """Messages, understood with what was said around them."""
    named, words = _without_names(find, _words(find, asked))
    near = _nearest(find, meaning)
    best = [*dict.fromkeys([*_best(by_words(words), most), *near])]
    heard = _talk(find, asked, best)
    similar = _similar(find, meaning, near, heard.pool)
    found = signs(asked, words, heard, named, similar)
    return [Scored(number, total(each), similar.get(number), each.named > 0) for number, each in found.items()]


def _best(sums: Mapping[int, float], most: int) -> list[int]:
    return heapq.nlargest(most, sums, key=lambda number: (sums[number], number))


def _talk(find: Lookup, asked: Asked, numbers: Sequence[int]) -> Talk:
    neighbours = _NEIGHBOURS if asked.sentence else 0
    stretches = talk.around(find.rows, numbers, find.scope, neighbours + _WIDE)
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
    return Talk(stretches, pool, talk.spoken(find.rows, known, time=asked.when, name=asked.name))


def _without_names(find: Lookup, words: Sequence[Word]) -> tuple[str | None, list[Word]]:
    """Who is named, if one person is, and the other words.

    A name is in the search text of everything that somebody said: as a word it would tell nothing.
    """
    newest = {number for word in words for number in list(word.rows)[:_NEWEST]}
    heard = [
        (speaker, by_person, index_text(speaker).split()) for speaker, by_person in talk.speakers(find.rows, newest)
    ]
    others = [word for word in words if not any(word.term.word in parts for _, _, parts in heard)]
    texts = {word.term.word for word in words}
    people = [speaker for speaker, by_person, parts in heard if by_person and texts & set(parts)]
    return people[0] if len(people) == 1 else None, others or list(words)
