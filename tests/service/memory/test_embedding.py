"""The running service gives what is said its vectors, and loses none when it dies while it keeps them."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory.store.database import Rows
from memory.store.sqlite import connect
from tests.memory.search.embedding_server import EmbeddingServer, serving
from tests.service.live_service import Live, first_of, live_service, until
from tests.service.program import KILLED


@pytest.fixture
async def embeddings() -> AsyncIterator[EmbeddingServer]:
    async with serving() as found:
        yield found


@contextlib.asynccontextmanager
async def embedding_town(folder: Path, embeddings: EmbeddingServer, **more: str) -> AsyncIterator[Live]:
    async with live_service(folder) as made:
        wanted = {"EMBEDDING_MODEL": "openai:small", "EMBEDDING_BASE_URL": embeddings.url}
        made.service.environment |= {**wanted, **more}
        yield made


def waiting(t: Live) -> tuple[int, int]:
    """How many rows wait, and how many messages have vectors."""
    (path,) = (t.service.home / "constellations").glob("*/carina.db")
    raw = connect(path, read_only=True)
    try:
        rows = Rows(raw)
        waiting = rows.all("SELECT count(*) FROM vector_queue")
        embedded = rows.all(
            "SELECT count(DISTINCT row) FROM vectors JOIN vector_spaces s ON s.id = space_id WHERE kind = 'message'"
        )
        return int(waiting[0][0]), int(embedded[0][0])
    finally:
        raw.close()


async def until_embedded(t: Live) -> int:
    """Wait until nothing waits any more; how many messages have vectors."""

    def embedded() -> bool:
        left, done = waiting(t)
        return left == 0 and done > 0

    await until(embedded, what="vectors")
    return waiting(t)[1]


async def test_what_is_said_and_answered_gets_vectors_and_status_tells(
    tmp_path: Path, embeddings: EmbeddingServer
) -> None:
    async with embedding_town(tmp_path, embeddings) as t:
        await t.service.start()
        await t.ask(t.ana, t.general, "<@bot> my tortoise is called Fred")
        assert await until_embedded(t) == 2
        texts = [text for _path, body, _key in embeddings.asked for text in body["input"]]
        assert any(text.endswith("my tortoise is called Fred") for text in texts)
        assert "Search by meaning: openai:small: working" in (await t.service.said("status")).splitlines()


@pytest.mark.parametrize("side", first_of(1, "after", "before"))
@pytest.mark.parametrize("point", ["embedding.choose", "embedding.store"])
async def test_dying_while_vectors_are_kept_loses_none(
    tmp_path: Path, embeddings: EmbeddingServer, point: str, side: str
) -> None:
    async with embedding_town(tmp_path, embeddings, CARINA_FAULT=f"{point}:{side}") as t:
        await t.service.launch()
        assert await t.service.ended() == KILLED  # its agents' blocks are queued from the first start on
        del t.service.environment["CARINA_FAULT"]
        await t.service.start()
        await t.ask(t.ana, t.general, "<@bot> hello there")
        assert await until_embedded(t) == 2


async def test_a_server_that_hangs_stops_neither_answers_nor_the_end(
    tmp_path: Path, embeddings: EmbeddingServer
) -> None:
    embeddings.usual = None
    async with embedding_town(tmp_path, embeddings) as t:
        await t.service.start()
        assert (await t.ask(t.ana, t.general, "<@bot> hello there")).text
