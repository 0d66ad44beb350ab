"""The task that embeds a constellation's rows in the background, without delaying answers.

It waits for a moment without writes, so that no answer is delayed and texts are embedded together. It takes the queue
in batches, newest first. If writes never pause, it begins after half a minute anyway, and rests three quarters of the
time. Failures are retried after growing pauses; what is written meanwhile waits in the queue, on disk.
"""

import asyncio
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from msgspec import Struct

from bot.config import Config
from bot.errors import UserError
from bot.redactor import Redactor
from memory.folders import rows as folders
from memory.people.audience import Scope
from memory.search import vectors
from memory.search.embedding.base import Embedder, EmbedderGarbage, EmbedderMissing, EmbeddingError, TextRefused
from memory.search.embedding.choice import EXPECTED, Choice, is_choice, make_embedder, missing_words
from memory.search.embedding.guard import GuardedEmbedder, Health
from memory.search.embedding.query_vectors import PartVectors, Questions
from memory.search.vector_similarity import Meaning
from memory.search.vector_texts import Embeddable
from memory.search.vectors import EmbeddedRow
from memory.store import sqlite
from memory.store.database import Database, Rows
from memory.store.errors import StoreError
from memory.store.faults import commit_point
from memory.store.ids import AgentId
from memory.store.logs import Log
from memory.store.records import replace
from texts import _, error_text, ngettext

_CHOOSE = commit_point("embedding.choose")
_STORE = commit_point("embedding.store")
_REFUSE = commit_point("embedding.refuse")

_BATCH_TEXTS = 16
_BATCH_ROWS = 16  # of each kind that are read
_SECONDS = 60.0  # for one batch
_SETTLE = 2.0  # seconds without a write: writers go first, and a burst is embedded together
_MOST_SETTLES = 15  # such waits at most while writes continue
_AT_FIRST = 1.5  # such waits after a start: connecting goes first, and a one-line chat needs no vectors
_CATCH_UP = 1.0  # for messages from just before a search
_SHARE_BUSY = 3.0  # seconds of rest per second of work while somebody is being answered
_STORE_PAUSE = 30.0  # after a write that the disk refused
_LONGEST_PAUSE = 30.0  # one model may be paused for longer, and new rows belong to another
_TRIAL_SECONDS = 10.0

_log = Log("bot.upkeep.embedding")


class QueryMeaning(Struct, frozen=True):
    """A text's meaning for a search; or, if there is none, why the search uses only words."""

    meaning: Meaning | None = None
    why: str = ""


@dataclass
class Embedding:
    """Embeds the rows of one constellation; `questions` embeds queries. Without an embedder it does nothing.

    `another` creates one for the folders with the model `own`.
    """

    database: Database
    embedder: GuardedEmbedder | None
    questions: Questions
    redact: Callable[[str], str]
    another: Callable[[str], "Embedding"]
    unusable: str = ""
    """Why there is no embedder."""
    own: str = ""
    settle: float = _SETTLE
    _alone: int = field(default=0, init=False)  # rows that are embedded one by one, to find the failing one
    _chosen: bool = field(default=False, init=False)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)  # one batch at a time
    _parts: PartVectors = field(default_factory=PartVectors, init=False)
    _others: dict[str, "Embedding"] = field(default_factory=dict, init=False)

    async def meaning(self, text: str) -> Meaning | None:
        """A text's meaning for a search; None without an embedder, or if it takes too long."""
        return (await self.understood(text)).meaning

    async def understood(self, text: str, seconds: float | None = None) -> QueryMeaning:
        """The embedding within so many seconds (default: a few tenths), with the reason if there is none."""
        asked = await self.questions.ask(text, seconds)
        if asked.embedding is not None:
            return QueryMeaning(Meaning(asked.model, *asked.embedding))
        why = _(self.unusable).partition(";")[0] or _(asked.reason)
        return QueryMeaning(None, self.redact(why) if text.strip() else "")

    async def of_folders(
        self, text: str, agent: AgentId | None, scope: Scope, path: str, seconds: float | None = None
    ) -> Mapping[str, Meaning]:
        """The text's meaning for the searched folders with their own models, by model name."""
        models = await self.database.read(lambda rows: folders.embedding_models(rows, agent, scope, path))
        asked = await asyncio.gather(*(self._other(model).understood(text, seconds) for model in models))
        return {model: each.meaning for model, each in zip(models, asked, strict=True) if each.meaning is not None}

    async def searched(self, text: str, seconds: float | None) -> QueryMeaning:
        """The embedding for a search; recent rows are embedded first, and the result says what is missing."""
        late = await self._catch_up(seconds or _CATCH_UP)
        asked = await self.understood(text, seconds)
        return replace(asked, why=asked.why or late) if seconds else asked

    async def _catch_up(self, seconds: float) -> str:
        """Embed waiting rows within the time limit; returns why not all were."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while await self._step(lambda: False) == 0:
                    pass
        if self.embedder is None:
            return ""
        left = (await self.database.read(vectors.progress)).waiting
        words = ngettext("{count} item has yet to be indexed", "{count} items have yet to be indexed", left)
        return words if left else ""

    def words(self, rows: Rows) -> str:
        known = (self._others.get(model) for model in folders.embedding_models(rows))
        parts = list(dict.fromkeys(each.how() for each in (self, *known) if each is not None))
        if self.embedder is None:
            return self.redact("; ".join(parts))
        progress = vectors.progress(rows)
        if progress.waiting:
            parts.append(
                ngettext("{count} item is not indexed yet", "{count} items are not indexed yet", progress.waiting)
            )
        if progress.refused:
            parts.append(ngettext("{count} item was refused", "{count} items were refused", progress.refused))
        if reason := sqlite.distances.reason:
            parts.append(_("slower, because sqlite-vec is missing ({reason})", reason=reason))
        return self.redact("; ".join(parts))

    def how(self) -> str:
        return _(self.unusable) if self.embedder is None else f"{self.embedder.name}: {self.embedder.health.words}"

    async def run(self, busy: Callable[[], bool]) -> None:
        """Embed the queue until canceled; less while somebody is answered (`busy`)."""
        if sqlite.distances.reason:
            _log.warning("vectors_without_extension", reason=sqlite.distances.reason)
        if self.embedder is None:
            _log.info("embedder_missing", reason=self.unusable)
        await asyncio.sleep(_AT_FIRST * self.settle)
        quiet = True
        while True:
            self.database.committed.clear()
            pause = await self._step(busy)
            if pause is None:
                await self.database.committed.wait()
            if pause is None or (quiet and busy()):
                quiet = await self._quiet(busy)
            else:
                await asyncio.sleep(pause)

    async def _quiet(self, busy: Callable[[], bool]) -> bool:
        """Wait until there was no write and no answer for a while; False if that took too long."""
        loop = asyncio.get_running_loop()
        latest = loop.time() + _MOST_SETTLES * self.settle
        while loop.time() < latest:
            self.database.committed.clear()
            await asyncio.sleep(self.settle)
            if not (self.database.committed.is_set() or busy()):
                return True
        return False

    def _other(self, model: str) -> "Embedding":
        if model not in self._others:
            self._others[model] = self.another(model)
        return self._others[model]

    async def _step(self, busy: Callable[[], bool]) -> float | None:
        """Embed one batch of each model; returns the seconds to rest, None if nothing is left."""
        models = await self.database.read(folders.embedding_models)
        found = [await each.batch(busy) for each in (self, *map(self._other, models))]
        pauses = [pause for pause in found if pause is not None]
        return min(*pauses, _LONGEST_PAUSE) if pauses else None

    async def batch(self, busy: Callable[[], bool]) -> float | None:
        file, embedder = self.database, self.embedder
        if embedder is None:
            return None
        began = time.perf_counter()
        try:
            async with self._one:
                await self._choose(file, embedder)
                if not await self._embed(file, embedder):
                    return None
        except EmbeddingError:
            return max(embedder.rests, self.settle)  # its state is logged where it changes
        except StoreError as error:
            _log.warning("vectors_not_stored", reason=str(error))
            return _STORE_PAUSE
        return _SHARE_BUSY * (time.perf_counter() - began) if busy() else 0.0

    async def _choose(self, file: Database, embedder: GuardedEmbedder) -> None:
        """Make the embedder's model the file's current one; an endpoint is asked for its vectors' length."""
        if self._chosen:
            return
        dimension = embedder.dimension
        if not dimension:
            await embedder.embed(["dimension"], _SECONDS)
            dimension = embedder.dimension
        changed = await file.write(_CHOOSE, lambda tx: vectors.choose(tx, embedder.name, dimension, self.own))
        self._chosen = True
        if changed:
            _log.info("embedding_model", model=embedder.name, dimension=dimension)

    async def _embed(self, file: Database, embedder: Embedder) -> int:
        """Embed one batch; returns the number of rows processed."""
        waiting = await file.read(lambda rows: vectors.missing(rows, _BATCH_ROWS, self.own))
        found = _batch(waiting, alone=self._alone > 0)
        if not found:
            return 0
        known, texts = self._parts.of(found)
        try:
            known |= dict(zip(texts, await embedder.embed(texts, _SECONDS) if texts else [], strict=True))
        except (TextRefused, EmbedderGarbage):
            await self._narrow(file, found)
            raise
        self._alone = max(self._alone - 1, 0)
        embedded = [EmbeddedRow(row, tuple(known[text] for text in row.texts)) for row in found]
        await file.write(_STORE, lambda tx: vectors.store(tx, embedder.name, embedded))
        self._parts.remember(found, known)
        return len(found)

    async def _narrow(self, file: Database, found: Sequence[Embeddable]) -> None:
        """One of these texts may be at fault: embed them one by one, and record the one that fails alone."""
        if len(found) > 1:
            self._alone = len(found)
        else:
            self._alone = max(self._alone - 1, 0)
            await file.write(_REFUSE, lambda tx: vectors.refuse(tx, found))


def _batch(found: Sequence[Embeddable], *, alone: bool) -> list[Embeddable]:
    """The rows that are embedded together; a long one is a batch of its own."""
    batch: list[Embeddable] = []
    texts = 0
    for row in found:
        if batch and (alone or texts + len(row.texts) > _BATCH_TEXTS):
            break
        batch.append(row)
        texts += len(row.texts)
    return batch


class Embedders:
    """The embedders of a process, shared by all constellations, by model; each is created on first use."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._redact = Redactor(config.secrets()).text
        self._made: dict[str, tuple[GuardedEmbedder | None, Questions, str]] = {}

    def of(self, database: Database, own: str = "") -> Embedding:
        """The embedder of a constellation, or of its folders with a model of their own. An unusable one is no error;
        the result says why."""
        choice = self._config.embedder(own)
        if choice.model not in self._made:
            made, unusable = _made(choice)
            guarded = None if made is None else GuardedEmbedder(made, lambda health: _tell(health, self._redact))
            self._made[choice.model] = guarded, Questions(guarded), unusable
        embedder, questions, unusable = self._made[choice.model]
        another = functools.partial(self.of, database)
        return Embedding(database, embedder, questions, self._redact, another, unusable, own)

    async def require(self, model: str) -> None:
        """Test a folder's model. Raises UserError if it does not exist or does not work."""
        if not is_choice(model):
            raise UserError("There is no embedding model “{model}”. Choose from: {known}.", model=model, known=EXPECTED)
        try:
            embedder = make_embedder(self._config.embedder(model))
            if embedder is not None:
                async with aclosing(embedder):
                    await embedder.embed(["dimension"], _TRIAL_SECONDS)
        except EmbeddingError as error:
            why = self._redact(error_text(error))
            raise UserError("The embedding model {model} cannot be used: {why}.", model=model, why=why) from None

    async def aclose(self) -> None:
        for embedder, questions, _unusable in self._made.values():
            await questions.aclose()
            if embedder is not None:
                await embedder.aclose()


def _made(choice: Choice) -> tuple[Embedder | None, str]:
    """The embedder for a choice, or why there is none; an imported folder may name anything."""
    try:
        return make_embedder(choice), missing_words(choice.model)
    except EmbedderMissing:
        return None, missing_words(choice.model)
    except ValueError as error:
        return None, str(error)


def _tell(health: Health, redact: Callable[[str], str]) -> None:
    if health.reason:
        _log.warning("embedding_fails", reason=redact(health.reason))
    else:
        _log.info("embedding_works")
