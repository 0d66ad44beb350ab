"""Where search meets the vectors: a question's vector, looked for among the rows of one kind."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any, TypeAlias

from memory.search import vectors
from memory.search.embedding.base import Tokens, Vector, signs
from memory.search.query import Among, Close, Near, Surroundings, Usual
from memory.search.vector_texts import View
from memory.store.database import Rows
from memory.store.distances import cosine_distance


@dataclass(frozen=True)
class Meaning:
    """A question as a model of that name understands it; see `Nearness`."""

    model: str
    vector: Vector
    tokens: Tokens | None = None

    def like(self, other: "Meaning") -> float | None:
        """The cosine to another text's; None when another model made that."""
        return 1 - cosine_distance(self.vector, other.vector) if self.model == other.model else None

    def nearest(self, rows: Rows, among: Among, limit: int) -> Mapping[int, Near]:
        views: tuple[View, ...] = ("own", "window") if among.kind == "message" else ("own",)
        found = {row for view in views for row in vectors.nearest(rows, self._question(among, view), limit)}
        return self.of(rows, among, sorted(found))

    def of(self, rows: Rows, among: Among, numbers: Sequence[int]) -> Mapping[int, Near]:
        own = vectors.similarities(rows, self._question(among), numbers)
        window: Mapping[int, float] = {}
        if among.kind == "message":
            window = vectors.similarities(rows, self._question(among, "window"), numbers)
        return {number: Near(own.get(number), window.get(number)) for number in own.keys() | window.keys()}

    def usual(self, rows: Rows, among: Among, count: int) -> Usual:
        return usual_of(vectors.sample(rows, self._question(among), _SAMPLE), count)

    def close(
        self, rows: Rows, among: Among, around: Mapping[int, Surroundings], without: frozenset[str]
    ) -> Mapping[int, Close]:
        if self.tokens is None or not around:
            return {}
        width = len(signs(self.vector))
        asked = [
            self.tokens.signs[at * width : (at + 1) * width]
            for at, word in enumerate(self.tokens.words)
            if word not in without
        ]
        numbers = {number for each in around.values() for number in each.wide}
        # What stands around a row need not meet the query's conditions: it is read under the scope.
        told = vectors.tokens_of(rows, self._question(among._replace(narrowed=None)), numbers)
        return {number: Close(*found) for number, found in interact(asked, told, around).items()}

    def _question(self, among: Among, view: View = "own") -> vectors.Question:
        return vectors.Question(self.model, self.vector, among, view)


def usual_of(cosines: Sequence[float], count: int) -> Usual:
    """What a sample tells of `count` rows. The nearest are left out, since they may be what is looked for; where there
    are few, what is common of sentence embedders counts too."""
    others = sorted(cosines)[: len(cosines) * 98 // 100 - 1] if len(cosines) > 1 else []
    known, total = len(others) + _FEW, sum(others)
    middle = total / max(len(others), 1)
    spread = sum((each - middle) ** 2 for each in others) + _FEW * _SPREAD**2
    return Usual((total + _FEW * _MEAN) / known, sqrt(spread / known), sqrt(2 * log(count + _UNSEEN)) + _MARGIN)


_SAMPLE = 250
_MEAN, _SPREAD, _FEW = 0.1, 0.06, 8  # of the cosines of unlike texts, which counts as so many of the sample
_UNSEEN = 10  # rows more than there are: two rows may both be what is looked for
_MARGIN = 1.0  # above what the best of so many numbers of a normal distribution has: docs/search.md has what it brings


# ---------------------------------------------------------------------------------------------------- late interaction


MOST_WORDS = 32
"""Of a question; ColBERT takes as many."""

Window: TypeAlias = Sequence[int]
"""Rows that are read together, by number."""


def interact(
    asked: Sequence[bytes], told: Mapping[int, bytes], windows: Mapping[int, Sequence[Window]]
) -> dict[int, tuple[float, ...]]:
    """For each row and each of its windows: the mean, over the words asked for, of the nearest word in the window.

    `asked` are the signs of one word each, `told` those of all words of a row in one. A row of which nothing is told
    is passed over, and so is a window of nothing else. Needs numpy, which whatever makes such signs brings.
    """
    numpy: Any = importlib.import_module("numpy")
    words = asked[:MOST_WORDS]
    known = [number for number, signs in told.items() if signs]
    if not words or not known:
        return {}
    greatest = _greatest(numpy, words, [told[number] for number in known])
    at = {number: position for position, number in enumerate(known)}
    found: dict[int, tuple[float, ...]] = {}
    for number, of in windows.items():
        held = [[at[row] for row in window if row in at] for window in of]
        if all(held):
            found[number] = tuple(float(greatest[positions].max(axis=0).mean()) for positions in held)
    return found


def _greatest(numpy: Any, words: Sequence[bytes], rows: Sequence[bytes]) -> Any:
    """A line for each row, a column for each word: the greatest similarity."""
    width = len(words[0])
    kind = "uint64" if width % 8 == 0 else "uint8"
    every = numpy.frombuffer(b"".join(rows), kind).reshape(-1, width // numpy.dtype(kind).itemsize)
    columns = numpy.ascontiguousarray(every.T)  # added up along the long side, which is several times as fast
    begins = numpy.cumsum([0, *(len(signs) // width for signs in rows[:-1])])
    least = []
    for word in words:
        differing = numpy.bitwise_count(columns ^ numpy.frombuffer(word, kind)[:, None]).sum(axis=0, dtype="uint16")
        least.append(numpy.minimum.reduceat(differing, begins))
    return 1 - numpy.stack(least, axis=1) / (4 * width)
