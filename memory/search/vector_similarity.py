"""Compares a question's vector with the stored vectors of one kind of rows."""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import log, sqrt
from typing import Any, NamedTuple

from msgspec import Struct

from memory.search import vectors
from memory.search.embedding.base import Tokens, Vector
from memory.search.vectors import RowSet
from memory.store.database import Rows
from memory.store.sqlite import cosine_distance


class Baseline(NamedTuple):
    """The usual nearness of rows to the question, from a sample of cosines: the mean, the standard deviation, and
    how many deviations above the mean the best of so many rows would be by chance (`bar`)."""

    mean: float
    spread: float
    bar: float

    def deviations(self, near: float) -> float:
        """How many standard deviations a cosine is above the mean."""
        return (near - self.mean) / self.spread

    def excess(self, near: float) -> float:
        """The same above the bar: below 0 it may be chance."""
        return self.deviations(near) - self.bar


class Closeness(NamedTuple):
    """How close the question's words come to words of a message (`own`), of it and two to each side (`window`), and of
    it and six to each side (`wide`): the mean of the greatest similarities; 1 is the same word in the same sense, 0
    unrelated."""

    own: float
    window: float
    wide: float


class RowWindows(NamedTuple):
    """The rows that `Closeness` reads together: the row alone, with two, and with six to each side."""

    own: Sequence[int]
    window: Sequence[int]
    wide: Sequence[int]


class Meaning(Struct, frozen=True):
    """A text in an embedder's space, compared with stored vectors of the same model.

    Rows are identified by the numbers of their tables. Rows outside the scope leave no trace in the result: conditions
    are applied before the nearest are counted.
    """

    model: str
    vector: Vector
    tokens: Tokens | None = None

    def like(self, other: "Meaning") -> float | None:
        """The cosine to another text's vector; None if another model made that."""
        return 1 - cosine_distance(self.vector, other.vector) if self.model == other.model else None

    def nearest(self, rows: Rows, among: RowSet, limit: int) -> Mapping[int, float]:
        """The cosines of the `limit` nearest rows."""
        return vectors.nearest(rows, self._question(among), limit)

    def of(self, rows: Rows, among: RowSet, numbers: Iterable[int]) -> Mapping[int, float]:
        """The cosines of those of the rows that have vectors."""
        return vectors.similarities(rows, self._question(among), numbers)

    def usual(self, rows: Rows, among: RowSet, count: int) -> Baseline:
        """The usual nearness among `count` rows, estimated from a sample."""
        return usual_of(vectors.sample(rows, self._question(among), _SAMPLE), count)

    def close(
        self, rows: Rows, among: RowSet, around: Mapping[int, RowWindows], without: frozenset[str]
    ) -> Mapping[int, Closeness]:
        """How close the question's words, without those in `without`, come to words of rows and their neighbors.

        Rows without stored words are left out: with some embedders, all of them.
        """
        if self.tokens is None or not around:
            return {}
        width = len(self.tokens.signs) // max(len(self.tokens.words), 1)
        asked = [
            self.tokens.signs[at * width : (at + 1) * width]
            for at, word in enumerate(self.tokens.words)
            if word not in without
        ]
        numbers = {number for each in around.values() for number in each.wide}
        # Neighbors need not meet the query's conditions: only the scope applies to them.
        told = vectors.tokens_of(rows, self._question(among._replace(narrowed=None)), numbers)
        return {number: Closeness(*found) for number, found in interact(asked, told, around).items()}

    def _question(self, among: RowSet) -> vectors.Question:
        return vectors.Question(self.model, self.vector, among)


def usual_of(cosines: Sequence[float], count: int) -> Baseline:
    """Estimate `Baseline` from a sample for `count` rows. The nearest are left out, since they may be the answer; a
    small sample is mixed with typical values of sentence embedders."""
    others = sorted(cosines)[: len(cosines) * 98 // 100 - 1] if len(cosines) > 1 else []
    known, total = len(others) + _FEW, sum(others)
    middle = total / max(len(others), 1)
    spread = sum((each - middle) ** 2 for each in others) + _FEW * _SPREAD**2
    return Baseline((total + _FEW * _MEAN) / known, sqrt(spread / known), sqrt(2 * log(count + _UNSEEN)) + _MARGIN)


_SAMPLE = 250
_MEAN, _SPREAD, _FEW = 0.1, 0.06, 8  # cosines of unrelated texts; counts as this many samples
_UNSEEN = 10  # added to the number of rows: two rows may both be the answer
_MARGIN = 1.0  # above the expected maximum of so many normal values: see docs/search.md


# ---------------------------------------------------------------------------------------------------- late interaction


MOST_WORDS = 32
"""Words of a question; ColBERT takes as many."""

SIMILAR = 0.45
"""The most that a word of the message itself counts: whether it is the same word is counted elsewhere."""


def interact(
    asked: Sequence[bytes], told: Mapping[int, bytes], windows: Mapping[int, Sequence[Sequence[int]]]
) -> dict[int, tuple[float, ...]]:
    """For each row and each of its windows: the mean, over the question's words, of the nearest word in the window.

    The first window is the row alone, where no word counts more than `SIMILAR`.

    `asked` are the signs of one word each, `told` those of all words of a row, concatenated. Rows without words are
    skipped, and so are windows of only such rows. Needs numpy, which every embedder with signs requires.
    """
    numpy: Any = importlib.import_module("numpy")
    words = asked[:MOST_WORDS]
    known = [number for number, signs in told.items() if signs]
    if not words or not known:
        return {}
    greatest = _greatest(numpy, words, [told[number] for number in known])
    at = {number: position for position, number in enumerate(known)}
    places = {number: [[at[row] for row in each if row in at] for each in of] for number, of in windows.items()}
    held = {number: of for number, of in places.items() if all(of)}
    if not held:
        return {}
    parts = [*chain.from_iterable(held.values())]
    begins = numpy.cumsum([0, *map(len, parts[:-1])])
    nearest = numpy.maximum.reduceat(greatest[[*chain.from_iterable(parts)]], begins).reshape(len(held), -1, len(words))
    nearest[:, 0] = numpy.minimum(nearest[:, 0], SIMILAR)
    return dict(zip(held, map(tuple, nearest.mean(axis=2).tolist()), strict=True))


def _greatest(numpy: Any, words: Sequence[bytes], rows: Sequence[bytes]) -> Any:
    """A matrix with a line per row and a column per word: the greatest similarity."""
    width = len(words[0])
    kind = "uint64" if width % 8 == 0 else "uint8"
    every = numpy.frombuffer(b"".join(rows), kind).reshape(-1, width // numpy.dtype(kind).itemsize)
    columns = numpy.ascontiguousarray(every.T)  # summed along the long axis, which is several times as fast
    begins = numpy.cumsum([0, *(len(signs) // width for signs in rows[:-1])])
    least = []
    for word in words:
        differing = numpy.bitwise_count(columns ^ numpy.frombuffer(word, kind)[:, None]).sum(axis=0, dtype="uint16")
        least.append(numpy.minimum.reduceat(differing, begins))
    return 1 - numpy.stack(least, axis=1) / (4 * width)
