"""What an embedder is, and how it fails."""

from array import array
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import NamedTuple, Protocol, TypeAlias

from memory.store.errors import StoreError

Vector: TypeAlias = bytes
"""A direction: numbers from -127 to 127, a byte each, of which the largest is at one of these ends.

The cosine of two differs by some 0.0003 from that of the numbers they were made of; they take a quarter of the room.
"""

MAX_CHARACTERS = 30_000
"""Of one text; what comes after is not embedded."""


class Tokens(NamedTuple):
    """The content words of a text as a model sees them there: for each piece the word that it is of, and the signs of
    its vector, `dimension / 8` bytes each, one after the other."""

    words: tuple[str, ...] = ()
    signs: bytes = b""


class Embedding(NamedTuple):
    """What an embedder makes of a text. `tokens` is None of one that tells nothing of single words."""

    vector: Vector
    tokens: Tokens | None = None


class EmbeddingError(StoreError):
    """The base: no vectors came; the text says why and what to do."""


class EmbedderMissing(EmbeddingError):
    """It cannot be used at all: not installed, or not configured."""


class EmbedderRefused(EmbeddingError):
    """The key or the model is not accepted; asking again changes nothing."""


class TextRefused(EmbeddingError):
    """These texts are not accepted; others may be."""


class EmbedderBusy(EmbeddingError):
    """No answer in time, no connection, too many requests or an error of its own; later it may work.

    `after` is how many seconds it asked to be left alone, 0 when it did not say.
    """

    def __init__(self, text: str, after: float = 0.0) -> None:
        super().__init__(text)
        self.after = after


class EmbedderGarbage(EmbeddingError):
    """What it answered are not the vectors that were asked for."""


class Embedder(Protocol):
    """Turns texts into vectors whose angles say how near their meanings are."""

    @property
    def name(self) -> str:
        """Identifies the vectors: those of two names cannot be compared."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers in a vector; 0 while it is not known, before the first answer of an endpoint."""
        ...

    async def embed(self, texts: Sequence[str], seconds: float) -> list[Embedding]:
        """What each text becomes, in order, within so many seconds. Raises EmbeddingError."""
        ...

    async def aclose(self) -> None: ...


def to_vector(numbers: Iterable[float]) -> Vector:
    """Numbers as a vector. Raises EmbedderGarbage for what points nowhere."""
    try:
        values = array("f", numbers)
    except (TypeError, OverflowError) as error:
        raise EmbedderGarbage("a vector contains something that is not a number: {error}", error=error) from None
    most = max(map(abs, values), default=0.0)
    if not isfinite(sum(values)) or most == 0:
        raise EmbedderGarbage("a vector contains NaN, infinity or nothing but zeros")
    return array("b", (round(127 * value / most) for value in values)).tobytes()


def dimension_of(vector: Vector) -> int:
    return len(vector)


def signs(vector: Vector) -> bytes:
    """One bit for each number, set where it is above 0, filled up to whole bytes with zeros."""
    values = array("b", vector)
    marks = "".join("1" if value > 0 else "0" for value in values)
    return int(marks.ljust(-(-len(values) // 8) * 8, "0"), 2).to_bytes(-(-len(values) // 8))
