"""Rows get their vectors in the background: newest first, again after failures, anew for another model."""

import asyncio
import functools
import math
import random
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from bot.config import load_config
from bot.errors import UserError
from bot.upkeep import embedding
from bot.upkeep.embedding import Embedders, Embedding
from memory import blocks
from memory.agents import Agent, seed_agent
from memory.blocks import Author, NewBlock
from memory.blocks.changes import SYSTEM
from memory.folders import rows as folders
from memory.folders.rows import Folder
from memory.people.audience import PUBLIC, Scope, Trust
from memory.search import vectors
from memory.search.all_domains import search
from memory.search.embedding import packaged
from memory.search.embedding.base import to_vector
from memory.search.embedding.choice import Choice, missing_words
from memory.search.query import Query
from memory.search.vector_texts import texts_of
from memory.search.vectors import Question, RowSet, nearest
from memory.store.clock import utc_now
from memory.store.constellations import Constellations
from memory.store.database import Database, Tx
from memory.store.faults import commit_point
from memory.store.ids import PersonId
from memory.store.sqlite import to_digits
from tests.bot.stage import until
from tests.captured_logs import capture_logs
from tests.memory.parts import GUILD, NOON, STAR
from tests.memory.search.embedding_server import EmbeddingServer, giving, numbers, openai, saying, serving
from tests.memory.search.vector_parts import say
from tests.wire import PATIENCE

_SAY = commit_point("test.embedding_say")
KEY = "canary-7f3b9c2e5d81"


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with serving() as found:
        yield found


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.search.embedding.guard.FIRST_REST", 0.01)
    monkeypatch.setattr("memory.search.embedding.guard.LONGEST_REST", 0.02)


@asynccontextmanager
async def running(folder: Path, **environ: str) -> AsyncIterator[tuple[Embedding, Database]]:
    """The task of one constellation, at work."""
    config = load_config({"CARINA_HOME": str(folder), **environ}, folder)
    async with Constellations.open(folder, utc_now) as constellations:
        home = await constellations.ensure("home", PersonId("owner"))
        async with (
            constellations.use(home.id) as file,
            aclosing(Embedders(config)) as shared,
            asyncio.TaskGroup() as tasks,
        ):
            made = shared.of(file)
            made.settle = 0.0
            task = tasks.create_task(made.run(lambda: False))
            yield made, file
            task.cancel()


def remote(server: EmbeddingServer, model: str = "small") -> dict[str, str]:
    return {"EMBEDDING_MODEL": f"openai:{model}", "EMBEDDING_BASE_URL": server.url, "EMBEDDING_API_KEY": KEY}


async def said(file: Database, *texts: str) -> list[int]:
    return [int(await file.write(_SAY, functools.partial(say, text=text))) for text in texts]


async def embedded(file: Database) -> set[int]:
    return await file.read(lambda rows: {row["row"] for row in rows.all("SELECT row FROM vectors")})


async def all_done(made: Embedding, file: Database, count: int) -> None:
    async def done() -> bool:
        standing = await file.read(vectors.progress)
        return standing.waiting == 0 and len(await embedded(file)) == count

    await until(done)


async def words(made: Embedding, file: Database) -> str:
    return await file.read(made.words)


async def test_what_is_written_gets_its_vectors_and_is_found(tmp_path: Path, server: EmbeddingServer) -> None:
    async with running(tmp_path, **remote(server)) as (made, file):
        await said(file, "a", "bbb")
        await all_done(made, file, 2)
        (later,) = await said(file, "cc")
        await all_done(made, file, 3)
        asked = await made.questions.ask("Ann: cc", 5)
        assert asked.embedding is not None
        question = Question(asked.model, asked.embedding.vector, RowSet("message", STAR, Scope(GUILD), None))
        assert list(await file.read(lambda rows: nearest(rows, question, 1))) == [later]
        assert await words(made, file) == "openai:small: working"


async def test_nothing_is_embedded_while_something_is_written_and_then_all_at_once(
    tmp_path: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleep, settle, pauses = asyncio.sleep, 1_000_000.0, asyncio.Queue[asyncio.Event]()

    async def paused(seconds: float) -> None:
        if seconds < settle:
            await sleep(seconds)
        else:
            pauses.put_nowait(over := asyncio.Event())
            await over.wait()

    monkeypatch.setattr(asyncio, "sleep", paused)
    async with asyncio.timeout(PATIENCE), running(tmp_path, **remote(server)) as (made, file):
        made.settle = settle
        (await pauses.get()).set()  # the one after a start; then it chooses its model, which is a write
        pause, before = await pauses.get(), len(server.asked)
        for text in "abcde":
            await said(file, text)
            pause.set()
            pause = await pauses.get()
        assert len(server.asked) == before
        pause.set()
        await all_done(made, file, 5)
        assert len(server.asked) == before + 1


async def test_a_server_that_fails_is_tried_again_and_said_once(tmp_path: Path, server: EmbeddingServer) -> None:
    server.script = [saying(f"no, {KEY}", 500)] * 4
    with capture_logs() as logs:
        async with running(tmp_path, **remote(server)) as (made, file):
            await said(file, "a")
            await until(lambda: _says(made, file, "failing: openai:small answered HTTP 500"))
            assert KEY not in await words(made, file)
            await all_done(made, file, 1)
    fails = [entry for entry in logs if entry["event"] == "embedding_fails"]
    assert len(fails) == 1
    assert KEY not in str(logs)
    assert [entry["event"] for entry in logs if entry["event"] == "embedding_works"] == ["embedding_works"]


@pytest.mark.parametrize("line", [0, 40, 79])
async def test_of_a_long_block_that_changes_only_what_changed_is_embedded(
    tmp_path: Path, server: EmbeddingServer, line: int
) -> None:
    drawn = random.Random(5)
    words = ["garden", "sea", "walk", "tea", "letter", "rain", "friend", "music", "bread", "winter", "lamp"]
    lines = [f"On day {number}: {' '.join(drawn.choices(words, k=16))}.\n" for number in range(80)]
    text = "".join(lines)

    def make(tx: Tx) -> None:
        seed_agent(tx, Agent(STAR, "Star", "", "", "", ()), NOON)
        blocks.create_block(
            tx, NewBlock(STAR, "notes", "Notes", GUILD, Trust.AGENT, char_limit=20_000, content=text), SYSTEM, NOON
        )

    def change(tx: Tx) -> None:
        author = Author(STAR, Scope(GUILD), SYSTEM, Trust.AGENT, NOON)
        blocks.replace_in_block(tx, author, "notes", lines[line], "Now it rains.\n")

    async with running(tmp_path, **remote(server)) as (made, file):
        await file.write(_SAY, make)
        await all_done(made, file, 1)
        before = sum(len(body["input"]) for _, body, _ in server.asked)
        (parts,) = await file.read(lambda rows: rows.all("SELECT count(*) FROM vectors"))
        assert parts[0] >= 9
        await file.write(_SAY, change)
        await all_done(made, file, 1)
        again = [each for _, body, _ in server.asked for each in body["input"]][before:]
        assert 1 <= len(again) <= parts[0] // 2
        assert any("Now it rains." in each for each in again)
        stored = await file.read(
            lambda rows: rows.all("SELECT digits FROM vectors v JOIN vector_numbers n ON n.id = v.id ORDER BY part")
        )
        row = (await file.read(lambda rows: texts_of(rows, "block", [1])))[0]
        assert [bytes(each[0]) for each in stored] == [to_digits(to_vector(each)) for each in numbers(list(row.texts))]


@pytest.mark.parametrize("status", [413, 200])
async def test_a_text_that_fails_alone_does_not_hold_up_the_others(
    tmp_path: Path, server: EmbeddingServer, status: int
) -> None:
    def usual(texts: list[str]) -> web.Response:
        if any("poison" in text for text in texts):
            return saying("too long", 413)(texts) if status == 413 else giving(*[[math.nan, 1.0]] * len(texts))(texts)
        return openai(texts)

    server.usual = usual
    async with running(tmp_path, **remote(server)) as (made, file):
        numbers = await said(file, "one", "two", "three", "poison")
        await until(lambda: _refused(file))
        assert await embedded(file) == set(numbers[:3])
        assert "1 item was refused" in await words(made, file)


async def _refused(file: Database) -> bool:
    standing = await file.read(vectors.progress)
    return standing == vectors.Progress(waiting=0, refused=1)


async def test_another_model_embeds_everything_again_and_clears_up(tmp_path: Path, server: EmbeddingServer) -> None:
    async with running(tmp_path, **remote(server, "old")) as (made, file):
        await said(file, "a", "bbb")
        await all_done(made, file, 2)

    server.usual = lambda texts: openai(texts, dimension=6)
    async with running(tmp_path, **remote(server, "new")) as (made, file):
        await all_done(made, file, 2)
        lengths = "SELECT DISTINCT length(digits) FROM vector_numbers"
        await until(lambda: file.read(lambda rows: [row[0] for row in rows.all(lengths)] == [3]))


async def test_it_rests_while_somebody_is_answered(tmp_path: Path, server: EmbeddingServer) -> None:
    async with running(tmp_path, EMBEDDING_MODEL="none") as (_made, file):
        await said(file, "a")
        config = load_config({"CARINA_HOME": str(tmp_path), **remote(server)}, tmp_path)
        async with aclosing(Embedders(config)) as shared:
            other = shared.of(file)
            assert await other._step(lambda: False) == 0.0
            await said(file, "b")
            pause = await other._step(lambda: True)
            assert pause is not None
            assert pause > 0


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "_LIBRARY", "no_such_library")
    said = "not installed: no-such-library (`make embedding` or the extra `embedding` adds it); search uses words only"
    assert missing_words("packaged") == said
    assert embedding._made(Choice("packaged")) == (None, said)
    assert missing_words("openai:small") == ""


def test_the_constellations_own_model_wins_and_keys_stay_where_they_belong(tmp_path: Path) -> None:
    (tmp_path / "carina.toml").write_text('[constellation]\nembedding_model = "ollama:nomic"\n')
    assert load_config({"EMBEDDING_MODEL": "none"}, tmp_path).embedder() == Choice("ollama:nomic")
    (tmp_path / "carina.toml").write_text("")
    own = {"EMBEDDING_MODEL": "openai:small", "OPENAI_API_KEY": KEY}
    assert load_config(own, tmp_path).embedder() == Choice("openai:small", "", KEY)
    elsewhere = load_config({**own, "EMBEDDING_BASE_URL": "http://u:pass-word@127.0.0.1:1/v1"}, tmp_path)
    assert elsewhere.embedder().key == ""
    assert "pass-word" in elsewhere.secrets()
    assert load_config({"EMBEDDING_API_KEY": KEY}, tmp_path).secrets() == (KEY,)


async def test_what_is_late_for_a_search_is_said_where_no_service_embeds_it(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    config = load_config({"CARINA_HOME": str(tmp_path), **remote(server)}, tmp_path)
    async with Constellations.open(tmp_path, utc_now) as constellations:
        home = await constellations.ensure("home", PersonId("owner"))
        async with constellations.use(home.id) as file, aclosing(Embedders(config)) as shared:
            made = shared.of(file)
            await said(file, "apples", "pears")
            assert (await made.searched("fruit", 3.0)).why == ""
            await said(file, "plums")
            server.usual = None
            late = await made.searched("fruit", 0.1)
            assert late.meaning is not None  # it was asked before
            assert late.why == "1 item has yet to be indexed"


async def test_a_folders_own_model_gets_its_passages_and_nothing_else(tmp_path: Path, server: EmbeddingServer) -> None:
    def papers(tx: Tx) -> Folder:
        made = folders.create(tx, Folder("papers", "virtual", GUILD, embedding_model="openai:own"), NOON)
        folders.attach(tx, made.id, STAR, "read", NOON)
        folders.put(tx, made, folders.from_content("a.txt", b"ferry"), NOON)
        return made

    def told(model: str) -> str:
        return " ".join(text for _, body, _ in server.asked for text in body["input"] if body["model"] == model)

    async with running(tmp_path, **remote(server)) as (made, file):
        folder = await file.write(_SAY, papers)
        await said(file, "apples")
        await all_done(made, file, 2)
        assert "ferry" in told("own")
        assert "ferry" not in told("small")
        assert "apples" not in told("own")
        assert await words(made, file) == "openai:small: working; openai:own: working"

        found = await made.of_folders("boats", STAR, Scope(GUILD), "")
        assert found.keys() == {"openai:own"}
        query = Query("boats", STAR, frozenset({"files"}), of_folders=found)
        assert [hit.label for hit in (await file.read(lambda rows: search(rows, query, Scope(GUILD)))).hits] == [
            "papers/a.txt:1-1"
        ]
        assert await made.of_folders("secrets", STAR, Scope(PUBLIC), "") == {}
        assert "secrets" not in told("own"), "nothing is asked for folders that may not be searched"

        await file.write(_SAY, lambda tx: folders.set_embedding_model(tx, folder.id, ""))
        await all_done(made, file, 2)
        assert "ferry" in told("small")


async def test_a_model_that_fails_does_not_hold_up_another(tmp_path: Path, server: EmbeddingServer) -> None:
    def add(tx: Tx) -> None:
        made = folders.create(tx, Folder("papers", "virtual", GUILD, embedding_model="openai:own"), NOON)
        folders.put(tx, made, folders.from_content("a.txt", b"ferry"), NOON)

    server.usual = lambda texts: saying("down", 500)(texts) if "ferry" in str(texts) else openai(texts)
    async with running(tmp_path, **remote(server)) as (made, file):
        await file.write(_SAY, add)
        await until(lambda: _says(made, file, "openai:own: failing"))
        (number,) = await said(file, "apples")
        await until(lambda: _has(file, number))
        assert "openai:small: working; " in await words(made, file)


async def _says(made: Embedding, file: Database, text: str) -> bool:
    return text in await words(made, file)


async def _has(file: Database, number: int) -> bool:
    return number in await embedded(file)


async def test_a_model_is_tried_out_before_a_folder_takes_it(tmp_path: Path, server: EmbeddingServer) -> None:
    config = load_config({"CARINA_HOME": str(tmp_path), **remote(server)}, tmp_path)
    async with aclosing(Embedders(config)) as embedders:
        await embedders.require("openai:other")
        await embedders.require("none")
        with pytest.raises(
            UserError, match=r"There is no embedding model “cohere:x”\. Choose from: packaged, none, openai:"
        ):
            await embedders.require("cohere:x")
        server.script = [saying(f"no model, {KEY}", 404)]
        with pytest.raises(UserError, match="openai:other cannot be used: openai:other answered HTTP 404") as caught:
            await embedders.require("openai:other")
        assert KEY not in str(caught.value)


def test_the_server_that_is_configured_gets_no_other_providers_models(tmp_path: Path) -> None:
    both = load_config({**_SERVER, "EMBEDDING_MODEL": "ollama:nomic"}, tmp_path)
    assert both.embedder("ollama:other") == Choice("ollama:other", "http://127.0.0.1:1", KEY)
    assert both.embedder("openai:small") == Choice("openai:small", "", "")
    assert load_config(_SERVER, tmp_path).embedder("openai:small") == Choice("openai:small", "http://127.0.0.1:1", KEY)


_SERVER = {"EMBEDDING_BASE_URL": "http://127.0.0.1:1", "EMBEDDING_API_KEY": KEY}
