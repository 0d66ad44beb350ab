"""Vectors of the parts of long rows that were embedded lately, so that of a changed row only what is new is embedded.

They are kept in memory and by the digests of their texts: what was changed or erased leaves no vector on disk.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from memory.search.embedding.base import Embedding, Vector
from memory.search.vector_texts import Embeddable

MOST_PARTS = 2_000
"""About 3 MB of vectors of 384 numbers; a block of 5,000 characters has eight or nine parts."""


class PartVectors:
    """What is known of one embedder's texts; the ones that were not asked for the longest are forgotten."""

    def __init__(self, most: int = MOST_PARTS) -> None:
        self._most = most
        self._known: OrderedDict[bytes, Vector] = OrderedDict()

    def of(self, rows: Sequence[Embeddable]) -> tuple[dict[str, Embedding], list[str]]:
        """What is known of these rows' texts, by text, and the texts to embed, each once."""
        texts = dict.fromkeys(text.text for row in rows for text in row.texts)
        known = {text: Embedding(vector) for text in texts if (vector := self._known.get(_digest(text))) is not None}
        return known, [text for text in texts if text not in known]

    def remember(self, rows: Sequence[Embeddable], made: Mapping[str, Embedding]) -> None:
        """Keep the vectors of rows in several parts; one that is a single text has nothing left when it changes."""
        for row in rows:
            if row.kind == "message" or len(row.texts) < 2:
                continue
            for text in row.texts:
                digest = _digest(text.text)
                self._known[digest] = made[text.text].vector
                self._known.move_to_end(digest)
        while len(self._known) > self._most:
            self._known.popitem(last=False)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
