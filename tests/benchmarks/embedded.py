"""Stores for the benchmarks, with vectors by the product's packaged embedder."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.search import vectors
from memory.search.embedding.base import Embedder
from memory.search.embedding.choice import Choice, make_embedder, missing
from memory.search.vector_similarity import Meaning
from memory.search.vectors import EmbeddedRow
from memory.store.database import Database, Tx
from memory.store.faults import commit_point
from memory.store.migrations import Kind, prepare

_CHOOSE = commit_point("bench.choose_embedder")
_FILL = commit_point("bench.fill")
_STORE = commit_point("bench.store_vectors")

_BATCH, _SECONDS = 64, 600.0


@asynccontextmanager
async def packaged() -> AsyncIterator[Embedder | None]:
    """The packaged embedder, if it is installed; `missing` says what is not."""
    embedder = None if missing() else make_embedder(Choice())
    yield embedder
    if embedder is not None:
        await embedder.aclose()


@asynccontextmanager
async def filled(fill: Callable[[Tx], object], embedder: Embedder | None = None) -> AsyncIterator[Database]:
    """A store of its own with these rows, and with their vectors if there is an embedder."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "carina.db"
        prepare(path, Kind.CONSTELLATION)
        async with Database.open(path) as database:
            await database.write(_FILL, fill)
            if embedder is not None:
                await embed_rows(database, embedder)
            yield database


async def embed_rows(database: Database, embedder: Embedder) -> int:
    """Give everything in the store its vectors; how many rows."""
    await database.write(_CHOOSE, lambda tx: vectors.choose(tx, embedder.name, embedder.dimension))
    stored = 0
    while waiting := await database.read(lambda rows: vectors.missing(rows, _BATCH)):
        texts = [text for each in waiting for text in each.texts]
        made = iter(await embedder.embed(texts, _SECONDS))
        embedded = [EmbeddedRow(each, tuple(next(made) for _ in each.texts)) for each in waiting]
        stored += await database.write(_STORE, partial(vectors.store, model=embedder.name, embedded=embedded))
    return stored


async def meanings_of(embedder: Embedder, texts: Iterable[str]) -> dict[str, Meaning]:
    every = list(dict.fromkeys(texts))
    found: dict[str, Meaning] = {}
    for begin in range(0, len(every), _BATCH):
        part: Sequence[str] = every[begin : begin + _BATCH]
        made = await embedder.embed(part, _SECONDS)
        found |= {text: Meaning(embedder.name, *each) for text, each in zip(part, made, strict=True)}
    return found
