"""Vectors for the benchmarks, by the product's packaged embedder."""

from collections.abc import Iterable, Sequence
from functools import partial

from memory.search import vectors
from memory.search.embedding import Choice, Embedder, EmbeddingError, make_embedder
from memory.search.similarity import Meaning
from memory.search.vectors import EmbeddedRow
from memory.store.database import Database
from memory.store.faults import commit_point

_CHOOSE = commit_point("bench.choose_embedder")
_STORE = commit_point("bench.store_vectors")

_BATCH, _SECONDS = 64, 600.0


def packaged() -> Embedder | str:
    try:
        embedder = make_embedder(Choice())
    except EmbeddingError as error:
        return str(error)
    return embedder if embedder is not None else "no embedder is chosen"


async def embed_rows(database: Database, embedder: Embedder) -> int:
    """Give everything in the store its vectors; how many rows."""
    await database.write(_CHOOSE, lambda tx: vectors.choose(tx, embedder.name, embedder.dimension))
    stored = 0
    while waiting := await database.read(lambda rows: vectors.missing(rows, _BATCH)):
        texts = [text.text for each in waiting for text in each.texts]
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
