"""The task that gives a constellation's rows their vectors, in the background and never in the way of an answer.

It waits until nothing was written for a moment, so that no answer pays for it and texts are embedded together. It takes
what is queued, the newest first, in batches. Where it is never quiet it begins after half a minute all the same, and
rests three quarters of the time. What fails is tried again after a pause that grows; what is written meanwhile waits in
the queue, on disk.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

import structlog

from bot.agents.deps import Understood
from bot.config import Config
from bot.secrets import Redactor
from memory.search import vectors
from memory.search.embedding import (
    Choice,
    Embedder,
    EmbedderGarbage,
    EmbedderMissing,
    EmbeddingError,
    GuardedEmbedder,
    Health,
    PartVectors,
    Questions,
    TextRefused,
    make_embedder,
    missing_words,
)
from memory.search.query import Nearness
from memory.search.similarity import Meaning
from memory.search.vector_texts import Embeddable
from memory.search.vectors import Embedded
from memory.store import sqlite
from memory.store.database import Database, Rows, Tx
from memory.store.errors import StoreError
from memory.store.faults import commit_point
from texts import _, ngettext

_CHOOSE = commit_point("embedding.choose")
_STORE = commit_point("embedding.store")
_REFUSE = commit_point("embedding.refuse")
_CLEAR = commit_point("embedding.clear")

_BATCH_TEXTS = 16
_BATCH_ROWS = 16  # of each kind that are looked at
_SECONDS = 60.0  # for one batch
_CLEAR_ROWS = 500
_SETTLE = 2.0  # seconds without a write: whoever wrote goes on first, and a burst is embedded together
_MOST_SETTLES = 15  # so many of those are waited for while there are writes all the time
_AT_FIRST = 1.5  # so many of those after a start: connecting comes first, and a one-line chat needs no vectors
_CATCH_UP = 1.0  # for what was said just before a search
_SHARE_BUSY = 3.0  # rest for each second of work while somebody is being answered
_STORE_PAUSE = 30.0  # after a write that the disk did not take

_log = structlog.get_logger("bot.upkeep.embedding")


@dataclass
class Embedding:
    """Embeds the rows of one constellation, `questions` what is searched for. Without embedder it does nothing."""

    database: Database
    embedder: GuardedEmbedder | None
    questions: Questions
    redact: Callable[[str], str]
    unusable: str = ""
    """Why there is no embedder."""
    settle: float = _SETTLE
    _alone: int = field(default=0, init=False)  # rows that are embedded one by one, to find the one that fails
    _chosen: bool = field(default=False, init=False)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)  # one batch at a time
    _parts: PartVectors = field(default_factory=PartVectors, init=False)

    async def meaning(self, text: str) -> Nearness | None:
        """What finds rows of like meaning to a text; None without an embedder, and when it takes too long."""
        return (await self.understood(text)).meaning

    async def understood(self, text: str, seconds: float | None = None) -> Understood:
        """The same within so many seconds, or the usual few tenths; and without it why there is none."""
        asked = await self.questions.ask(text, seconds)
        if asked.embedding is not None:
            return Understood(Meaning(asked.model, *asked.embedding))
        why = _(self.unusable).partition(";")[0] or asked.reason
        return Understood(None, self.redact(why) if text.strip() else "")

    async def searched(self, text: str, seconds: float | None) -> Understood:
        """The same for somebody who searches; what was just said is embedded first, and what is not in time is said."""
        late = await self._catch_up(seconds or _CATCH_UP)
        asked = await self.understood(text, seconds)
        return replace(asked, why=asked.why or late) if seconds else asked

    async def _catch_up(self, seconds: float) -> str:
        """Embed what waits, as far as the time reaches; why not all of it was."""
        if self.embedder is None:
            return ""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while await self._step(self.database, self.embedder, lambda: False) == 0:
                    pass
        left = (await self.database.read(vectors.standing)).waiting
        return ngettext("{count} text is waiting", "{count} texts are waiting", left) if left else ""

    def words(self, rows: Rows) -> str:
        if self.embedder is None:
            return _(self.unusable)
        standing = vectors.standing(rows)
        parts = [f"{self.embedder.name}: {self.embedder.health.words}"]
        if standing.waiting:
            parts.append(ngettext("{count} text is waiting", "{count} texts are waiting", standing.waiting))
        if standing.refused:
            parts.append(ngettext("{count} text was refused", "{count} texts were refused", standing.refused))
        if reason := sqlite.distances.reason:
            parts.append(_("slower, because sqlite-vec is missing ({reason})", reason=reason))
        return self.redact("; ".join(parts))

    async def run(self, busy: Callable[[], bool]) -> None:
        """Embed whatever is queued, until cancelled; less of it while somebody is answered (`busy`)."""
        if sqlite.distances.reason:
            _log.warning("vectors_without_extension", reason=sqlite.distances.reason)
        if self.embedder is None:
            _log.info("no_embedder", reason=self.unusable)
            return
        await asyncio.sleep(_AT_FIRST * self.settle)
        quiet = True
        while True:
            self.database.committed.clear()
            pause = await self._step(self.database, self.embedder, busy)
            if pause is None:
                await self.database.committed.wait()
            if pause is None or (quiet and busy()):
                quiet = await self._quiet(busy)
            else:
                await asyncio.sleep(pause)

    async def _quiet(self, busy: Callable[[], bool]) -> bool:
        """Wait until nothing is written and nobody answered for a while; False when it took too long for that."""
        loop = asyncio.get_running_loop()
        latest = loop.time() + _MOST_SETTLES * self.settle
        while loop.time() < latest:
            self.database.committed.clear()
            try:
                async with asyncio.timeout(self.settle):
                    await self.database.committed.wait()
            except TimeoutError:
                if not busy():
                    return True
        return False

    async def _step(self, file: Database, embedder: GuardedEmbedder, busy: Callable[[], bool]) -> float | None:
        """Embed one batch; seconds to rest after it, None when nothing is left to do."""
        began = time.perf_counter()
        try:
            async with self._one:
                await self._choose(file, embedder)
                if not (await self._embed(file, embedder) or await self._clear(file)):
                    return None
        except EmbeddingError:
            return max(embedder.rests, self.settle)  # how it stands is logged where it changes
        except StoreError as error:
            _log.warning("vectors_not_stored", reason=str(error))
            return _STORE_PAUSE
        return _SHARE_BUSY * (time.perf_counter() - began) if busy() else 0.0

    async def _clear(self, file: Database) -> bool:
        """Remove some vectors of earlier models. A write, even an empty one, would wake this task again."""
        return await file.read(vectors.is_stale) and bool(await file.write(_CLEAR, _clear))

    async def _choose(self, file: Database, embedder: GuardedEmbedder) -> None:
        """Make the embedder's model the current one of the file; an endpoint is asked how long its vectors are."""
        if self._chosen:
            return
        dimension = embedder.dimension
        if not dimension:
            await embedder.embed(["dimension"], _SECONDS)
            dimension = embedder.dimension
        changed = await file.write(_CHOOSE, lambda tx: vectors.choose(tx, embedder.name, dimension))
        self._chosen = True
        if changed:
            _log.info("embedding_model", model=embedder.name, dimension=dimension)

    async def _embed(self, file: Database, embedder: Embedder) -> int:
        """How many rows were taken on."""
        found = _batch(await file.read(lambda rows: vectors.missing(rows, _BATCH_ROWS)), alone=self._alone > 0)
        if not found:
            return 0
        known, texts = self._parts.of(found)
        try:
            known |= dict(zip(texts, await embedder.embed(texts, _SECONDS) if texts else [], strict=True))
        except (TextRefused, EmbedderGarbage):
            await self._narrow(file, found)
            raise
        self._alone = max(self._alone - 1, 0)
        embedded = [Embedded(row, tuple(known[text.text] for text in row.texts)) for row in found]
        await file.write(_STORE, lambda tx: vectors.store(tx, embedder.name, embedded))
        self._parts.remember(found, known)
        return len(found)

    async def _narrow(self, file: Database, found: Sequence[Embeddable]) -> None:
        """One of these texts may be at fault: try them one by one, and note the one that fails alone."""
        if len(found) > 1:
            self._alone = len(found)
        else:
            self._alone = max(self._alone - 1, 0)
            await file.write(_REFUSE, lambda tx: vectors.refuse(tx, found))


def _clear(tx: Tx) -> int:
    return vectors.clear(tx, _CLEAR_ROWS)


def _batch(found: Sequence[Embeddable], *, alone: bool) -> list[Embeddable]:
    """As many of the rows as are embedded at once; a long one is a batch of its own."""
    batch: list[Embeddable] = []
    texts = 0
    for row in found:
        if batch and (alone or texts + len(row.texts) > _BATCH_TEXTS):
            break
        batch.append(row)
        texts += len(row.texts)
    return batch


@dataclass(frozen=True)
class SharedEmbedder:
    """The embedder of a process, which all constellations share."""

    embedder: GuardedEmbedder | None
    questions: Questions
    unusable: str
    redact: Callable[[str], str]

    def of(self, database: Database) -> Embedding:
        return Embedding(database, self.embedder, self.questions, self.redact, self.unusable)


@asynccontextmanager
async def open_embedder(config: Config) -> AsyncIterator[SharedEmbedder]:
    """Make what the configuration asks for; an embedder that cannot be used here is no error, it is said."""
    redact = Redactor(config.secrets()).text
    made, unusable = _made(config.embedder())
    guarded = GuardedEmbedder(made, lambda health: _tell(health, redact)) if made is not None else None
    questions = Questions(guarded)
    try:
        yield SharedEmbedder(guarded, questions, unusable, redact)
    finally:
        await questions.aclose()
        if guarded is not None:
            await guarded.aclose()


def _made(choice: Choice) -> tuple[Embedder | None, str]:
    try:
        return make_embedder(choice), missing_words(choice.model)
    except EmbedderMissing:
        return None, missing_words(choice.model)


def _tell(health: Health, redact: Callable[[str], str]) -> None:
    if health.reason:
        _log.warning("embedding_fails", reason=redact(health.reason))
    else:
        _log.info("embedding_works")
