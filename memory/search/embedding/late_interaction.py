"""Late interaction: how near single words of a question come to single words of rows, each as a model sees it there.

The sum of the greatest similarities is ColBERT's (Khattab and Zaharia 2020, "MaxSim"). Here of vectors nothing but the
signs is kept: the share of equal ones, from -1 to 1, is in order as the cosine is, at a thirty-second of the size.
"""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

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
