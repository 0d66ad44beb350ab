"""Rows are found by what they mean, by every door that looks for something, with the packaged embedder."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.app import App, build
from bot.config import Config, load_config
from bot.errors import CallError, UserError
from bot.interfaces.control.chat import Chat
from bot.services.caller import owner_at_terminal
from bot.services.memory.search import SearchResults
from bot.services.registry import Registry
from bot.services.results import Plain
from bot.services.served_folder import open_registry
from memory.search.embedding.choice import missing
from tests.bot.requests import status
from tests.bot.stage import until
from tests.memory.search.embedding_server import serving

pytestmark = pytest.mark.skipif(bool(missing()), reason="the packaged embedder is not installed")
KEPT = "remember that my doctor is in Elm Street"
ASKED = "physician appointment"
"""Not one word of what is kept."""


@asynccontextmanager
async def service(folder: Path, model: str) -> AsyncIterator[App]:
    config = load_config({"CARINA_HOME": str(folder / "data"), "EMBEDDING_MODEL": model}, folder)
    async with build(config, fronts=False) as app:
        app.services.embedding.questions._seconds = 30  # the first question loads the model
        async with app.running():
            yield app


async def say(app: App, text: str) -> None:
    """Say it and wait until it is answered."""
    await Chat(app.services, app.served.router).say(text, text)

    async def done() -> bool:
        return not (await status(app)).waiting

    await app.served.router.taken_in(30)
    await until(done, 30)


async def embedded(app: App) -> None:
    async def done() -> bool:
        return "wait" not in (await status(app)).embedding

    await until(done, 60)


async def searched(registry: Registry, text: str) -> Any:
    return (await registry.call("search", owner_at_terminal(), {"text": text})).data()


async def looked(config: Config, text: str) -> Any:
    """As a command does where no service runs."""
    async with open_registry(config) as registry:
        return await searched(registry, text)


async def test_people_are_found_before_what_was_answered_and_without_ids(tmp_path: Path) -> None:
    async with service(tmp_path, "none") as app:
        await say(app, KEPT)
        await say(app, "where is my doctor?")
        found = await app.services.registry.call("search", owner_at_terminal(), {"text": "Elm Street"})
        best = {"text": "doctor you told me", "domain": "conversations", "limit": 1}
        (only,) = (await app.services.registry.call("search", owner_at_terminal(), best)).data()["hits"]
    assert only["by"] == "Carina", "what fits best is found, whoever said it"
    shown = found.terminal(Plain("UTC", datetime.now(UTC)))
    assert shown.index(", you, the terminal, ") < shown.index("  Carina, the terminal, ")
    assert shown.count("my doctor is in Elm Street") == 1, "a fact, an entry and the message that they are from"
    assert "#" not in shown
    assert "(just now)" in shown
    assert {hit["why"].partition(" ")[0] for hit in found.data()["hits"]} == {"contains"}
    assert [hit["by"] for hit in found.data()["hits"] if hit["kind"] == "message"][-1] == "Carina"


def test_a_search_says_that_some_texts_are_not_searchable_by_meaning_yet() -> None:
    late = "2 items have yet to be indexed"
    found = SearchResults(hits=(), searched={"messages": 3}, unmet="", newest=False, words_alone=late, partly=True)
    assert found.terminal(Plain("UTC", datetime.now(UTC))).splitlines()[1:] == [
        "  Some items are not searchable by meaning yet. They were searched by words only.",
        "Why: 2 items have yet to be indexed.",
    ]


async def test_a_search_without_the_service_goes_by_meaning_too_or_says_why_not(tmp_path: Path) -> None:
    async with service(tmp_path, "packaged") as app:
        await say(app, KEPT)
        await embedded(app)

    def config(model: str, **more: str) -> Config:
        return load_config({"CARINA_HOME": str(tmp_path / "data"), "EMBEDDING_MODEL": model, **more}, tmp_path)

    found = await looked(config("packaged"), ASKED)
    assert "Elm Street" in str(found["hits"][0])
    assert (found["hits"][0]["matched"], found["hits"][0]["why"]) == ([], "similar in meaning")
    assert found["words_alone"] == ""
    async with service(tmp_path, "none") as app:  # nothing of this is embedded when it is looked for
        await say(app, "remember that we bought a red bicycle")
    found = await looked(config("packaged"), "two-wheeled vehicle")
    assert "bicycle" in str(found["hits"][0])
    assert found["words_alone"] == ""
    off = await looked(config("none"), ASKED)
    assert (off["hits"], off["words_alone"]) == ([], "turned off")
    async with serving() as embeddings:
        hanging = config("openai:small", EMBEDDING_BASE_URL=embeddings.url, EMBEDDING_API_KEY="k")
        embeddings.usual = None
        began = time.monotonic()
        found = await looked(hanging, "doctor")
        assert time.monotonic() - began < 10
        assert any("Elm Street" in hit["text"] for hit in found["hits"])
        assert found["words_alone"] == "the embedding model took more than 3 s"


async def test_a_folder_has_its_own_model_where_the_rest_is_found_by_words(tmp_path: Path) -> None:
    async def call(operation: str, **arguments: Any) -> Any:
        return (await registry.call(operation, owner_at_terminal(), arguments)).data()

    async def search(text: str) -> Any:
        return await call("search", text=text, domain="files")

    (tmp_path / "ferry.txt").write_text("The ferry leaves the harbour at nine.")
    config = load_config({"CARINA_HOME": str(tmp_path / "data"), "EMBEDDING_MODEL": "none"}, tmp_path)
    async with service(tmp_path, "none") as app:
        registry = app.services.registry
        with pytest.raises(
            UserError, match=r"There is no embedding model “best”\. Choose from: packaged, none, openai:"
        ):
            await call("folder.create", name="papers", embedder="best")
        with pytest.raises(CallError, match="“guild:discord:x” is not valid"):
            await call("folder.create", name="papers", audience="guild:discord:x")
        await call("folder.create", name="papers", embedder="packaged")
        await call("folder.attach", name="papers", agent="Carina")
        await call("folder.upload", name="papers", file=str(tmp_path / "ferry.txt"))
        assert [row["embedder"] for row in await call("folder.list")] == ["packaged"]
    async with open_registry(config) as registry:
        found = await search("when does the ship depart?")
        assert "harbour" in str(found["hits"])
        assert found["words_alone"] == ""
        await call("folder.embedder", name="papers", embedder="default")
        found = await search("when does the ship depart?")
        assert (found["hits"], found["words_alone"]) == ([], "turned off")
        assert "harbour" in str((await search("ferry"))["hits"])
