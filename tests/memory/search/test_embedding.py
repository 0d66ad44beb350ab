"""Embedders: the packaged model itself, servers over a real socket that answer by a script, and being left alone."""

import asyncio
import importlib
import math
import os
import platform
import subprocess
import sys
import threading
import weakref
from array import array
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memory.search.embedding import packaged
from memory.search.embedding.base import (
    Embedder,
    EmbedderBusy,
    EmbedderGarbage,
    EmbedderRefused,
    Embedding,
    EmbeddingError,
    TextRefused,
    Tokens,
    Vector,
    dimension_of,
    signs,
    to_vector,
)
from memory.search.embedding.choice import Choice, is_choice, make_embedder, missing
from memory.search.embedding.guard import GuardedEmbedder, Health
from memory.search.embedding.packaged import PackagedEmbedder, WordPiece, rewritten
from memory.search.embedding.query_vectors import Questions
from tests.memory.search.embedding_server import Answer, EmbeddingServer, giving, openai, saying, serving
from tests.memory.search.vector_parts import cosine
from texts import _, speaking

installed = pytest.mark.skipif(bool(missing()), reason="the packaged embedder is not installed")


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with serving() as found:
        yield found


async def ask(choice: Choice, *texts: str, seconds: float = 5.0) -> list[Vector]:
    embedder = made(choice)
    try:
        return [made.vector for made in await embedder.embed(texts, seconds)]
    finally:
        await embedder.aclose()


def made(choice: Choice) -> Embedder:
    embedder = make_embedder(choice)
    assert embedder is not None
    return embedder


@pytest.fixture(scope="session")
def model() -> packaged._Model:
    """The packaged model, loaded once for all tests that only use it."""
    return packaged._Model()


@pytest.fixture
async def embedder(model: packaged._Model) -> AsyncIterator[PackagedEmbedder]:
    embedder = PackagedEmbedder()
    embedder._loaded = model
    yield embedder
    await embedder.aclose()


# ---------------------------------------------------------------------------------------------------------- vectors


def test_a_vector_is_a_direction_in_bytes() -> None:
    assert array("b", to_vector([3, -4])).tolist() == [95, -127]
    assert to_vector([3, -4]) == to_vector([0.03, -0.04])


@pytest.mark.parametrize("numbers", [[0.0, 0.0], [math.nan, 1], [math.inf, 1], [], [None], ["a"], [1e300, 1]])
def test_what_points_nowhere_is_no_vector(numbers: list[Any]) -> None:
    with pytest.raises(EmbedderGarbage):
        to_vector(numbers)


def test_signs_fill_whole_bytes() -> None:
    assert signs(to_vector([1, -1, 1, 0, 0, 0, 0, 1, 1, -1])) == bytes([0b10100001, 0b10000000])


# --------------------------------------------------------------------------------------------------------- WordPiece


def test_words_are_cut_into_the_longest_known_pieces() -> None:
    known = ["[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "a", "##ff", "!", "東", "cafe", "##s"]
    pieces = WordPiece({piece: number for number, piece in enumerate(known)})
    assert pieces.encode("Unaffable!", 20) == [1, 3, 4, 5, 8, 2]
    assert pieces.encode("CAFÉS東東", 20) == [1, 10, 11, 9, 9, 2]
    assert pieces.encode("a\x00\u200b\ufffdff zz", 20) == [1, 6, 7, 0, 2]
    assert pieces.encode("a" * 101, 20) == [1, 0, 2]
    assert pieces.encode("a " * 50, 5) == [1, 6, 6, 6, 2]
    assert pieces.encode("", 5) == [1, 2]
    assert pieces.encode("\ud800", 5) == [1, 2]


def test_each_piece_is_known_by_its_whole_word() -> None:
    known = ["[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "a"]
    pieces = WordPiece({piece: number for number, piece in enumerate(known)})
    encoded = pieces.encode("a unaffable zz unaff a", 20)
    assert pieces.words(encoded) == ["", "a", *["unaffable"] * 3, "", *["unaff"] * 2, "a", ""]
    kept = weakref.ref(pieces)
    del pieces
    assert kept() is None, "a vocabulary must go with its model, not when garbage is collected next"


@installed
def test_the_vocabulary_cuts_as_the_model_was_trained(model: packaged._Model) -> None:
    assert model.words.encode("Hello, world! Tokenization's naïve.", 20) == [
        101, 7592, 1010, 2088, 999, 19204, 3989, 1005, 1055, 15743, 1012, 102,
    ]  # fmt: skip


# ----------------------------------------------------------------------------------------------------- packaged model


@installed
async def test_the_packaged_model_knows_what_is_near() -> None:
    dog, question, market = await ask(
        Choice("packaged"), "Ann: my dog is called Biscuit", "What is the name of my pet?", "The stock market fell."
    )
    assert dimension_of(dog) == PackagedEmbedder.dimension == 384
    assert cosine(dog, question) > 0.3 > cosine(market, question)


@installed
async def test_the_packaged_model_tells_the_signs_of_words_with_content(embedder: PackagedEmbedder) -> None:
    one, none, long = await embedder.embed(["Where is my dog's kennel?", "and so on!", "kennel " * 400], 30)
    assert one.tokens is not None
    assert none.tokens == Tokens((), b"")
    assert one.tokens.words == ("dog", "kennel", "kennel"), "a word in two pieces"
    assert len(one.tokens.signs) == 32 * len(one.tokens.words)
    assert long.tokens is not None
    assert 200 < len(long.tokens.words) <= packaged.MAX_TOKENS - 2


_LOADED = """
import asyncio, re
from pathlib import Path
from memory.search.embedding.packaged import PackagedEmbedder

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

async def main():
    before = resident()
    await PackagedEmbedder().embed(["the harbour bridge " * 50] * 8, 60)
    print(resident() - before)

asyncio.run(main())
"""


@installed
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="others keep what was freed")
def test_what_loading_takes_is_given_back_and_nothing_is_told_to_others(tmp_path: Path) -> None:
    home = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": ""}
    done = subprocess.run([sys.executable, "-c", _LOADED], env=home, capture_output=True, text=True, check=True)
    assert not [*tmp_path.iterdir()], "onnxruntime keeps what it is about to send to its maker here"
    assert float(done.stdout) < 95, "MiB; 68 measured, 79 with the table of words, 140 with matrices as floats"


@installed
def test_a_loaded_model_keeps_its_file_when_another_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "model.onnx"
    own.write_bytes(packaged._located(packaged._MODEL, "model.onnx").read_bytes())
    real = packaged._located
    monkeypatch.setattr(packaged, "_located", lambda name, file: own if name == packaged._MODEL else real(name, file))
    model = packaged._Model()
    encoded = model.words.encode("the boat", packaged.MAX_TOKENS)
    before = model.run([encoded])
    other = tmp_path / "other.onnx"
    other.write_bytes(b"\x01" * own.stat().st_size)
    other.replace(own)
    assert model.run([encoded]) == before


@installed
async def test_weights_that_stay_int8_give_nearly_the_same_vectors(model: packaged._Model) -> None:
    onnx = importlib.import_module("onnxruntime")
    plain = onnx.InferenceSession(str(packaged._located(packaged._MODEL, "model.onnx")))
    encoded = model.words.encode("Where did we moor the boat last summer?", packaged.MAX_TOKENS)
    given = {"input_ids": [encoded], "attention_mask": [[1] * len(encoded)], "token_type_ids": [[0] * len(encoded)]}
    ((hidden,),) = plain.run(["last_hidden_state"], given)
    assert cosine(model.run([encoded])[0].vector, to_vector(hidden.mean(axis=0).tolist())) > 1 - 1e-3


@installed
def test_the_table_of_words_is_not_loaded() -> None:
    installed_bytes = packaged._located(packaged._MODEL, "model.onnx").read_bytes()
    made = rewritten(installed_bytes)
    assert len(made.table) == 30_522 * packaged.DIMENSION
    assert len(made.scales) == 30_522 * 4
    assert len(made.model) < len(installed_bytes) - 10_000_000


@pytest.mark.parametrize("model", [b"", b"\x3a\x00", b"\x3a\x7f", b"\xff", b"<html>", b"\x3a\x02\x0a\x00"])
def test_a_model_of_another_form_is_not_rewritten(model: bytes) -> None:
    with pytest.raises(ValueError, match="packaged model"):
        rewritten(model)


@installed
async def test_the_model_is_let_go_when_nothing_is_embedded_and_loads_again() -> None:
    embedder = PackagedEmbedder(idle_seconds=0.05)
    (first,) = await embedder.embed(["the boat"], 30)
    async with asyncio.timeout(10):
        while embedder._loaded is not None:
            await asyncio.sleep(0.02)
    (second,) = await embedder.embed(["the boat"], 30)
    assert cosine(first.vector, second.vector) > 1 - 1e-6
    await embedder.aclose()


@installed
async def test_a_text_has_the_same_vector_alone_and_among_others(embedder: PackagedEmbedder) -> None:
    texts = ["short", "a longer text about the garden and all that grows in it", "short " * 400, "", "東京で食べた"]
    together = await embedder.embed([*texts, *["another one"] * 20], 30)
    alone = [(await embedder.embed([text], 30))[0] for text in texts]
    assert len(together) == 25
    for one, other in zip(alone, together, strict=False):
        assert cosine(one.vector, other.vector) > 0.99


@installed
async def test_the_packaged_model_gives_up_after_its_time_and_stays_usable(embedder: PackagedEmbedder) -> None:
    with pytest.raises(EmbedderBusy, match="took more than 0 s"):
        await embedder.embed(["word " * 300] * 50, 0)
    assert len(await embedder.embed(["a"], 30)) == 1


@installed
async def test_the_event_loop_goes_on_while_the_model_computes(embedder: PackagedEmbedder) -> None:
    working = asyncio.create_task(embedder.embed(["word " * 300], 60))
    seen = 0
    while not working.done():
        await asyncio.sleep(0)
        seen += threading.active_count() > 1
    assert seen > 100


# ------------------------------------------------------------------------------------------------------------ choices


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("packaged", True),
        ("none", True),
        ("openai:text-embedding-3-small", True),
        ("ollama:nomic-embed-text:latest", True),
        ("openai:", False),
        ("ollama", False),
        ("cohere:x", False),
        ("", False),
    ],
)
def test_what_an_embedding_model_can_be_called(name: str, good: bool) -> None:
    assert is_choice(name) is good
    if name == "none":
        assert make_embedder(Choice(name)) is None
    if not good:
        with pytest.raises(ValueError, match="is not an embedding model"):
            make_embedder(Choice(name))


# ------------------------------------------------------------------------------------------------------------ servers


@pytest.mark.parametrize(
    ("name", "under", "key"),
    [("openai:small", "/v1/", "sesame"), *(("ollama:nomic:latest", under, "") for under in ("", "/", "/v1", "/v1/"))],
)
async def test_a_server_is_asked_as_openai_wants_it_and_its_order_is_kept(
    server: EmbeddingServer, name: str, under: str, key: str
) -> None:
    found = await ask(Choice(name, f"{server.url}{under}", key), "a", "bbb")
    body = {"model": name.partition(":")[2], "input": ["a", "bbb"], "encoding_format": "float"}
    assert server.asked == [("/v1/embeddings", body, f"Bearer {key}" if key else "")]
    assert found == [to_vector([1, 1, 0, 0]), to_vector([3, 1, 0, 0])]


async def test_texts_are_cut_halves_of_characters_go_and_no_texts_ask_nobody(server: EmbeddingServer) -> None:
    assert await ask(Choice("openai:small", server.url)) == []
    await ask(Choice("openai:small", server.url), "a" * 40_000, "b\ud800")
    ((_, asked, _),) = server.asked
    assert [len(text) for text in asked["input"]] == [30_000, 2]


@pytest.mark.parametrize(("status", "rest"), [(429, 60.0), (500, 0.0), (503, 0.0)])
async def test_a_busy_server_is_asked_once_and_says_how_long_it_wants_to_rest(
    server: EmbeddingServer, status: int, rest: float
) -> None:
    server.script = [saying("later", status, **({"Retry_After": "60"} if rest else {}))]
    with pytest.raises(EmbedderBusy, match=f"openai:small answered HTTP {status}: later") as caught:
        await ask(Choice("openai:small", server.url), "a")
    assert (caught.value.after, len(server.asked)) == (rest, 1)


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_text_that_is_refused_says_nothing_about_others(server: EmbeddingServer, status: int) -> None:
    server.script = [saying("too long", status)]
    with pytest.raises(TextRefused):
        await ask(Choice("openai:small", server.url), "a")


async def test_a_server_that_hangs_is_given_up(server: EmbeddingServer) -> None:
    server.usual = None
    with pytest.raises(EmbedderBusy, match=r"did not answer within 0\.2 s"):
        await ask(Choice("openai:small", server.url), "a", seconds=0.2)


async def test_a_server_that_is_not_there_is_busy() -> None:
    with pytest.raises(EmbedderBusy, match="cannot be reached"):
        await ask(Choice("ollama:nomic", "http://127.0.0.1:9"), "a")


@pytest.mark.parametrize(
    "answer",
    [
        saying("no json"),
        saying("{}"),
        saying("[]"),
        saying("null"),
        giving(),
        giving([1.0, 2.0], [1.0, 2.0]),
        giving([math.nan, 1.0]),
        giving([0.0, 0.0]),
        giving(["a"]),
        giving("abc"),
        giving(None),
        saying("moved", 302, Location="http://127.0.0.1:9/"),
    ],
)
async def test_garbage_is_not_taken_for_vectors(server: EmbeddingServer, answer: Answer) -> None:
    server.script = [answer]
    with pytest.raises(EmbedderGarbage):
        await ask(Choice("openai:small", server.url), "a")
    assert len(server.asked) == 1


async def test_vectors_that_become_longer_are_garbage_and_garbage_sets_no_length(server: EmbeddingServer) -> None:
    embedder = made(Choice("openai:small", server.url))
    server.script = [giving([1.0, 2.0], [1.0, 2.0])]
    with pytest.raises(EmbedderGarbage):
        await embedder.embed(["a"], 5)
    assert embedder.dimension == 0
    await embedder.embed(["a"], 5)
    assert embedder.dimension == 4
    server.script = [lambda texts: openai(texts, dimension=5)]
    with pytest.raises(EmbedderGarbage, match="one vector of the same length"):
        await embedder.embed(["a"], 5)
    await embedder.aclose()


# ---------------------------------------------------------------------------------------------------- being left alone


class Scripted:
    """An embedder that does what is written."""

    name, dimension = "scripted", 2

    def __init__(self, *script: EmbeddingError | None) -> None:
        self.script = list(script)
        self.calls = 0
        self.gate: asyncio.Event | None = None

    async def embed(self, texts: Sequence[str], seconds: float) -> list[Embedding]:
        self.calls += 1
        if self.gate is not None:
            await self.gate.wait()
        error = self.script.pop(0) if self.script else None
        if error is not None:
            raise error
        return [Embedding(to_vector([len(text), 1])) for text in texts]

    async def aclose(self) -> None:
        """There is nothing to close."""


async def test_after_a_failure_nobody_asks_for_a_while_and_twice_as_long_after_another() -> None:
    now = [0.0]
    heard: list[Health] = []
    inner = Scripted(EmbedderBusy("down"), EmbedderGarbage("NaN"))
    guarded = GuardedEmbedder(inner, heard.append, lambda: now[0])
    assert guarded.health.words == "not used yet"
    for rest in (5, 10):
        with pytest.raises(EmbeddingError):
            await guarded.embed(["a"], 1)
        now[0] += rest - 1
        with pytest.raises(EmbedderBusy, match=r"\(next attempt in 1 s\)"):
            await guarded.embed(["a"], 1)
        now[0] += 1
    assert guarded.health.words == "failing: NaN"
    assert len(await guarded.embed(["a"], 1)) == 1
    assert (inner.calls, guarded.health.words) == (3, "working")
    assert heard == [Health(True, "down"), Health(True)]


async def test_after_a_week_of_failures_it_is_still_asked_at_times() -> None:
    now = [0.0]
    failures = [EmbedderBusy("down")] * 1_100
    guarded = GuardedEmbedder(Scripted(*failures), clock=lambda: now[0])
    for _failure in failures:
        with pytest.raises(EmbedderBusy, match="down"):
            await guarded.embed(["a"], 1)
        now[0] += guarded.rests
    assert len(await guarded.embed(["a"], 1)) == 1


async def test_a_call_that_has_no_answer_yet_is_told() -> None:
    now, hangs = [0.0], asyncio.Event()

    class Hanging(Scripted):
        async def embed(self, texts: Sequence[str], seconds: float) -> list[Embedding]:
            await hangs.wait()
            return await super().embed(texts, seconds)

    guarded = GuardedEmbedder(Hanging(), clock=lambda: now[0])
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(guarded.embed(["a"], 60))
        await asyncio.sleep(0)
        now[0] = 1.0
        assert guarded.health.words == "first call in progress"
        now[0] = 20.0
        assert guarded.health.words == "no answer for 20 s (first call)"
        hangs.set()
    assert guarded.health.words == "working"
    hangs.clear()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(guarded.embed(["a"], 60))
        await asyncio.sleep(0)
        now[0] = 27.0
        assert guarded.health.words == "no answer for 7 s (it worked before)"
        hangs.set()
    assert guarded.health.words == "working"


NO_ADDRESS = EmbedderRefused("{name}: EMBEDDING_BASE_URL is not an address", name="x")


async def test_a_server_is_left_alone_as_long_as_it_asks_and_a_refusal_longest() -> None:
    busy = GuardedEmbedder(Scripted(EmbedderBusy("later", 90)), clock=lambda: 0.0)
    refused = GuardedEmbedder(Scripted(NO_ADDRESS), clock=lambda: 0.0)
    for guarded, rest in ((busy, 90), (refused, 600)):
        with pytest.raises(EmbeddingError):
            await guarded.embed(["a"], 1)
        assert guarded.rests == rest
    assert refused.health.words == "failing: x: EMBEDDING_BASE_URL is not an address; next attempt in 600 s"
    with speaking("de"):
        assert "x: EMBEDDING_BASE_URL ist keine Adresse" in refused.health.words


# ---------------------------------------------------------------------------------------------------------- questions


async def test_a_question_is_embedded_once() -> None:
    inner = Scripted()
    questions = Questions(inner)
    first, second = await questions.ask("where  is it"), await questions.ask("where is it ")
    assert first == second
    assert (first.embedding, first.model, inner.calls) == (Embedding(to_vector([11, 1])), "scripted", 1)


async def test_a_question_that_takes_too_long_says_so_and_serves_the_next_one() -> None:
    inner = Scripted()
    inner.gate = asyncio.Event()
    questions = Questions(inner)
    asked = await questions.ask("where is it", 0.01)
    assert (asked.embedding, asked.reason) == (None, "the embedding model took more than 0.01 s")
    asyncio.get_running_loop().call_later(0.1, inner.gate.set)
    assert (await questions.ask("where is it", 0.01)).embedding is not None, "whoever asks again needs it"
    assert inner.calls == 1


async def test_questions_do_not_pile_up_and_end_with_the_service() -> None:
    inner = Scripted()
    inner.gate = asyncio.Event()
    questions = Questions(inner, seconds=0)
    reasons = [(await questions.ask(f"question {number}")).reason for number in range(6)]
    assert reasons == ["the embedding model took more than 0 s"] * 4 + ["the embedding model is overloaded"] * 2
    await questions.aclose()
    assert questions._running == {}


async def test_a_question_without_embedder_words_or_success_has_no_vector() -> None:
    assert (await Questions(None).ask("where")).reason == "no embedding model is configured"
    assert (await Questions(Scripted()).ask(" ")).reason == "there are no words"
    asked = await Questions(Scripted(NO_ADDRESS)).ask("where")
    assert (asked.embedding, asked.reason, asked.model) == (None, str(NO_ADDRESS), "scripted")
    with speaking("de"):
        assert _(asked.reason) == "x: EMBEDDING_BASE_URL ist keine Adresse"


async def test_only_so_many_questions_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.search.embedding.query_vectors._REMEMBERED", 2)
    inner = Scripted()
    questions = Questions(inner)
    for text in ("a", "b", "a", "c", "a", "b"):
        await questions.ask(text)
    assert inner.calls == 4  # "b" was forgotten for "c"
