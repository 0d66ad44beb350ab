"""The packaged model's file, rewritten as it is loaded so that its vocabulary stays int8 in memory.

The file computes the whole table of words in float32 and then picks rows; whatever loads it does that once and keeps
47 MB. Rows are picked first here, and only those are computed: the sums are the same. The file is ONNX, which is
protocol buffers: messages of fields, each with a number and, where it is long, its length.
"""

from collections.abc import Iterator
from typing import NamedTuple

_TABLE = b"inner.embeddings.word_embeddings.weight"
_GRAPH, _NODE = 7, 1  # fields of a model and of a graph
_INPUT, _OUTPUT, _NAME, _KIND, _ATTRIBUTE = 1, 2, 3, 4, 5  # fields of a node
_BYTES = 2  # how a field with a length is marked


class _Field(NamedTuple):
    number: int
    value: memoryview
    whole: memoryview


def rewritten(model: bytes) -> bytes:
    """The model with its rows picked before they are computed. Raises ValueError for a file of another form."""
    parts: list[bytes | memoryview] = []
    graphs = 0
    for field in _fields(memoryview(model)):
        graphs += field.number == _GRAPH
        parts += _written(_GRAPH, _graph(field.value)) if field.number == _GRAPH else [field.whole]
    if graphs != 1:
        raise ValueError("the packaged model is not ONNX")
    return b"".join(parts)


def _graph(graph: memoryview) -> list[bytes | memoryview]:
    """Four nodes stand where the rows were picked: pick the rows, widen them, pick their scales, multiply."""
    fields = list(_fields(graph))
    nodes = {_texts(field, _OUTPUT): field for field in fields if field.number == _NODE}
    picks = [f for f in nodes.values() if _texts(f, _KIND) == (b"Gather",) and _texts(f, _INPUT)[:1] == (_TABLE,)]
    product = nodes.get((_TABLE,))
    if len(picks) != 1 or product is None:
        raise ValueError("the packaged model has another form than expected")
    (pick,) = picks
    wide, scales = _texts(product, _INPUT)
    cast = nodes[(wide,)]
    (table,), (_, words), picked = _texts(cast, _INPUT), _texts(pick, _INPUT), _texts(pick, _OUTPUT)
    rows, row_scales = table + b"_rows", scales + b"_rows"
    instead = (
        _node(pick, (table, words), (rows,)),
        _node(cast, (rows,), (wide,)),
        _node(pick, (scales, words), (row_scales,)),
        _node(product, (wide, row_scales), picked),
    )
    parts: list[bytes | memoryview] = []
    for field in fields:
        if field is pick:
            parts += [piece for node in instead for piece in _written(_NODE, [node])]
        elif field is not cast and field is not product:
            parts.append(field.whole)
    return parts


def _node(like: _Field, inputs: tuple[bytes, ...], outputs: tuple[bytes, ...]) -> bytes:
    """A node of the same kind between other values."""
    kept = [field.whole for field in _fields(like.value) if field.number in (_KIND, _ATTRIBUTE)]
    ends = [(_INPUT, name) for name in inputs] + [(_OUTPUT, name) for name in outputs]
    named = (_NAME, b"".join((*outputs, b"_node")))
    return b"".join([*(piece for number, text in (*ends, named) for piece in _written(number, [text])), *kept])


def _texts(message: _Field, number: int) -> tuple[bytes, ...]:
    return tuple(bytes(field.value) for field in _fields(message.value) if field.number == number)


def _written(number: int, parts: list[bytes | memoryview]) -> list[bytes | memoryview]:
    """A field of bytes."""
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
