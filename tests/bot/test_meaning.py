"""Rows are found by what they mean, by every door that looks for something, with the packaged embedder."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.app import App, build
from bot.cli.asking import ask
from bot.config import Config, load_config
from bot.desks.desk import Asker
from bot.desks.searching import Wanted
from bot.turns.recalling import recalled
from memory import messages, turns
from memory.audience import OWNER, Scope
from memory.clock import utc_now
from memory.database import Rows
from memory.embedding import missing
from memory.ids import TurnId
from sources.terminal import PERSON
from tests.bot.stage import until
from tests.memory.embedding_server import serving

pytestmark = pytest.mark.skipif(bool(missing()), reason="the packaged embedder is not installed")
KEPT = "remember that my doctor is in Elm Street"
ASKED = "physician appointment"
"""Not one word of what is kept."""


@asynccontextmanager
async def service(folder: Path, model: str) -> AsyncIterator[App]:
    config = load_config({"CARINA_HOME": str(folder / "data"), "EMBEDDING_MODEL": model}, folder)
    ended = asyncio.Event()

    async def until_ended() -> None:
        await ended.wait()

    async with build(config, fronts=False) as app, asyncio.TaskGroup() as tasks:
        app.embedding.questions._seconds = 30  # the first question loads the model
        running = tasks.create_task(app.run(until_ended))
        try:
            yield app
        finally:
            ended.set()
            await running


async def say(app: App, text: str) -> None:
    """Say it and wait until it is answered."""
    await app.chat.say(text, text)

    async def done() -> bool:
        return not (await app.desks.desk.status()).waiting

    await app.router._queue.join()
    await until(done, 30)


async def embedded(app: App) -> None:
    async def done() -> bool:
        return "wait" not in (await app.desks.desk.status()).embedding

    await until(done, 60)


async def test_a_word_of_like_meaning_finds_what_was_kept(tmp_path: Path) -> None:
    asker = Asker(PERSON, Scope(OWNER))
    async with service(tmp_path, "packaged") as app:
        await say(app, KEPT)
        await embedded(app)
        found = await app.desks.searching.search(asker, Wanted(ASKED))
        assert any("Elm Street" in hit.text for hit in found.hits)
        (hit, *_) = (await app.desks.searching.owner_search(ASKED))["hits"]
        assert "Elm Street" in str(hit)
    async with service(tmp_path, "none") as app:
        assert not (await app.desks.searching.search(asker, Wanted(ASKED))).hits


async def test_a_search_without_the_service_goes_by_meaning_too_or_says_why_not(tmp_path: Path) -> None:
    async with service(tmp_path, "packaged") as app:
        await say(app, KEPT)
        await embedded(app)

    def config(model: str, **more: str) -> Config:
        return load_config({"CARINA_HOME": str(tmp_path / "data"), "EMBEDDING_MODEL": model, **more}, tmp_path)

    found = await ask(config("packaged"), "search", text=ASKED)
    assert "Elm Street" in str(found["hits"][0])
    assert found["words_alone"] == ""
    off = await ask(config("none"), "search", text=ASKED)
    assert (off["hits"], off["words_alone"]) == ([], "switched off by EMBEDDING_MODEL")
    async with serving() as embeddings:
        hanging = config("openai:small", EMBEDDING_BASE_URL=embeddings.url, EMBEDDING_API_KEY="k")
        embeddings.usual = None
        began = time.monotonic()
        found = await ask(hanging, "search", text="doctor")
        assert time.monotonic() - began < 10
        assert any("Elm Street" in hit["text"] for hit in found["hits"])
        assert found["words_alone"] == "the embedder took more than 3 s"


async def test_what_comes_to_mind_is_found_by_meaning_too(tmp_path: Path) -> None:
    async with service(tmp_path, "packaged") as app:
        await say(app, KEPT)
        await embedded(app)
        meaning = await app.embedding.meaning(ASKED)
        assert meaning is not None
        now = utc_now()

        def look(rows: Rows) -> list[list[str]]:
            (newest,) = rows.all("SELECT max(id) AS id FROM turns")
            turn = turns.get(rows, TurnId(newest["id"]))
            assert turn is not None
            later, before = replace(turn, started_at=now), messages.conversation(rows, turn.place, turn.scope, 10)
            ours = [each for each in before if each.role == "assistant"]  # the words it comes from are out of view
            found = [recalled(rows, later, turn.agent, [ASKED], ours, each) for each in (meaning, None)]
            return [[entry.content for entry in each] for each in found]

        async with app.desks.desk._constellations.use(app.desks.desk._house) as database:
            with_meaning, without = await database.read(look)
        assert any("Elm Street" in content for content in with_meaning)
        assert without == []
