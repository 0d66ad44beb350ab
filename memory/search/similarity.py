"""Compares a question's vector with the stored vectors of one kind of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt

from memory.search import vectors
from memory.search.embedding.base import Vector
from memory.search.query import Among, Near, Usual
from memory.search.vector_texts import View
from memory.store.database import Rows
from memory.store.distances import cosine_distance


@dataclass(frozen=True)
class Meaning:
    """A question in the space of one model; see `Nearness`."""

    model: str
    vector: Vector

    def like(self, other: "Meaning") -> float | None:
        """The cosine to another text's vector; None if another model made that."""
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

    def _question(self, among: Among, view: View = "own") -> vectors.Question:
        return vectors.Question(self.model, self.vector, among, view)


def usual_of(cosines: Sequence[float], count: int) -> Usual:
    """Estimate `Usual` from a sample for `count` rows. The nearest are left out, since they may be the answer; a small
    sample is mixed with typical values of sentence embedders."""
    others = sorted(cosines)[: len(cosines) * 98 // 100 - 1] if len(cosines) > 1 else []
    known, total = len(others) + _FEW, sum(others)
    middle = total / max(len(others), 1)
    spread = sum((each - middle) ** 2 for each in others) + _FEW * _SPREAD**2
    return Usual((total + _FEW * _MEAN) / known, sqrt(spread / known), sqrt(2 * log(count + _UNSEEN)) + _MARGIN)


_SAMPLE = 250
_MEAN, _SPREAD, _FEW = 0.1, 0.06, 8  # cosines of unrelated texts; counts as this many samples
_UNSEEN = 10  # added to the number of rows: two rows may both be the answer
_MARGIN = 1.0  # above the expected maximum of so many normal values: see docs/search.md
