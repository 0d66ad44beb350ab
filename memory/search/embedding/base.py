"""The interface of an embedder, and its errors."""

from array import array
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import NamedTuple, Protocol, TypeAlias

from memory.store.errors import StoreError

Vector: TypeAlias = bytes
"""A unit vector as signed bytes from -127 to 127, scaled so that the largest number is at one end.

The cosine of two differs from the exact one by about 0.0003; they take a quarter of the space.
"""

MAX_CHARACTERS = 30_000
"""Characters of one text; the rest is not embedded."""


class Tokens(NamedTuple):
    """The content words of a text as the model sees them: for each token, its word and the signs of its vector, as many
    bytes for each, concatenated."""

    words: tuple[str, ...] = ()
    signs: bytes = b""


class Embedding(NamedTuple):
    """The embedding of a text. `tokens` is None from embedders without vectors of single words."""

    vector: Vector
    tokens: Tokens | None = None


class EmbeddingError(StoreError):
    """The base: there are no vectors; the text says why and what to do."""


class EmbedderMissing(EmbeddingError):
    """The embedder cannot be used at all: not installed, or not configured."""


class EmbedderRefused(EmbeddingError):
    """The key or the model is rejected; a retry would change nothing."""


class TextRefused(EmbeddingError):
    """These texts are rejected; others may be accepted."""


class EmbedderBusy(EmbeddingError):
    """A timeout, no connection, too many requests or a server error; a retry may work.

    `after` is the number of seconds to wait that the server asked for, 0 if it gave none.
    """

    def __init__(self, text: str, after: float = 0.0) -> None:
        super().__init__(text)
        self.after = after


class EmbedderGarbage(EmbeddingError):
    """The answer does not contain the requested vectors."""


class Embedder(Protocol):
    """Turns texts into vectors whose angles say how close their meanings are."""

    @property
    def name(self) -> str:
        """Identifies the vector space: vectors of two names cannot be compared."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers per vector; 0 while unknown, before the first answer of a server."""
        ...

    async def embed(self, texts: Sequence[str], seconds: float) -> list[Embedding]:
        """The embeddings of the texts, in order, within so many seconds. Raises EmbeddingError."""
        ...

    async def aclose(self) -> None: ...


def to_vector(numbers: Iterable[float]) -> Vector:
    """Convert numbers to a vector. Raises EmbedderGarbage if all are zero or one is not finite."""
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
    """One bit per number, set if it is positive, padded to whole bytes with zeros."""
    values = array("b", vector)
    marks = "".join("1" if value > 0 else "0" for value in values)
    return int(marks.ljust(-(-len(values) // 8) * 8, "0"), 2).to_bytes(-(-len(values) // 8))
