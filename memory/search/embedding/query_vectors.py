"""Vectors of questions within a time limit; without one in time, the search uses words only."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence

from msgspec import Struct

from memory.search.embedding.base import MAX_CHARACTERS, Embedder, Embedding, Vector
from memory.search.vector_texts import Embeddable
from memory.store.recent_values import RecentValues
from texts import gettext_lazy, reason_of

SECONDS = 0.3
_AGAIN_SECONDS = 2.0  # for a text that was late the last time: whoever asks again needs it
_WHOLE_SECONDS = 30.0  # a late vector still serves the next one who asks the same
_REMEMBERED = 256
_AT_ONCE = 4


class QuestionVector(Struct, frozen=True):
    """The embedding of a question and its model, or the reason why there is none."""

    model: str
    embedding: Embedding | None
    reason: str = ""


class Questions:
    """Embeds questions. A slow one, as the first may be, is answered without a vector while it continues."""

    def __init__(self, embedder: Embedder | None, seconds: float = SECONDS) -> None:
        self._embedder = embedder
        self._seconds = seconds
        self._known: RecentValues[str, Embedding] = RecentValues(_REMEMBERED)
        self._running: dict[str, asyncio.Task[list[Embedding]]] = {}

    async def ask(self, text: str, seconds: float | None = None) -> QuestionVector:
        """The vector of a text, within `seconds` (default 0.3). Never raises an embedder's error."""
        limit = self._seconds if seconds is None else seconds
        text = " ".join(text[:MAX_CHARACTERS].split())
        if self._embedder is None:
            return QuestionVector("", None, gettext_lazy("no embedding model is configured"))
        name = self._embedder.name
        if not text:
            return QuestionVector(name, None, gettext_lazy("there are no words"))
        if (known := self._known.get(text)) is not None:
            return QuestionVector(name, self._known.put(text, known))
        limit = max(limit, _AGAIN_SECONDS) if text in self._running else limit
        task = self._started(text, self._embedder)
        if task is None:
            return QuestionVector(name, None, gettext_lazy("the embedding model is overloaded"))
        await asyncio.wait({task}, timeout=limit)
        if not task.done():
            late = gettext_lazy("the embedding model took more than {seconds:g} s", seconds=limit)
            return QuestionVector(name, None, late)
        if task.cancelled():
            return QuestionVector(name, None, gettext_lazy("the service is stopping"))
        if error := task.exception():
            return QuestionVector(name, None, reason_of(error))
        return QuestionVector(name, task.result()[0])

    async def aclose(self) -> None:
        for task in list(self._running.values()):
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    def _started(self, text: str, embedder: Embedder) -> "asyncio.Task[list[Embedding]] | None":
        if text in self._running:
            return self._running[text]
        if len(self._running) >= _AT_ONCE:
            return None
        task = asyncio.create_task(embedder.embed([text], _WHOLE_SECONDS), name="embed a question")
        self._running[text] = task
        task.add_done_callback(lambda done: self._ended(text, done))
        return task

    def _ended(self, text: str, task: "asyncio.Task[list[Embedding]]") -> None:
        del self._running[text]
        if task.cancelled() or task.exception() is not None:
            return
        self._known.put(text, task.result()[0])


# -------------------------------------------------------------------------------------------------- parts of long rows


MOST_PARTS = 2_000
"""About 3 MB of vectors of 384 numbers; a block of 5,000 characters has eight or nine parts."""


class PartVectors:
    """A cache of one embedder's vectors; the least recently used ones are dropped."""

    def __init__(self, most: int = MOST_PARTS) -> None:
        self._known: RecentValues[bytes, Vector] = RecentValues(most)

    def of(self, rows: Sequence[Embeddable]) -> tuple[dict[str, Embedding], list[str]]:
        """The cached embeddings of these rows' texts, by text, and the missing texts, each once."""
        texts = dict.fromkeys(text for row in rows for text in row.texts)
        known = {text: Embedding(vector) for text in texts if (vector := self._known.get(_digest(text))) is not None}
        return known, [text for text in texts if text not in known]

    def remember(self, rows: Sequence[Embeddable], made: Mapping[str, Embedding]) -> None:
        """Cache the vectors of rows with several parts; a row with one text is all new when it changes."""
        for row in rows:
            if row.kind == "message" or len(row.texts) < 2:
                continue
            for text in row.texts:
                self._known.put(_digest(text), made[text].vector)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
