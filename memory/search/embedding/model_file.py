"""The packaged model's file, rewritten as it is loaded so that its weights stay int8 in memory.

The file computes all of its weights in float32 first; whatever loads it does that once and keeps 89 MB. Here rows of
the table of words are picked before they are computed, which gives the same sums. Matrices are multiplied by an
operation of onnxruntime that takes their int8 values as they are, and what they are multiplied with as int8 in blocks
of a row: the cosine of a vector with the exact one stays above 0.999, and it takes three quarters of the time. The file
is ONNX, which is protocol buffers: messages of fields, each with a number and, where it is long, its length.
"""

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_TABLE = b"inner.embeddings.word_embeddings.weight"
_GRAPH, _OPERATIONS = 7, 8  # fields of a model
_NODE, _TENSOR = 1, 5  # fields of a graph
_INPUT, _OUTPUT, _NAME, _KIND, _ATTRIBUTE, _DOMAIN = 1, 2, 3, 4, 5, 7  # fields of a node
_SHAPE, _TYPE, _TENSOR_NAME, _RAW = 1, 2, 8, 9  # fields of a tensor
_FLOAT, _UINT8 = 1, 2  # types of tensors
_BYTES = 2  # how a field with a length is marked
_OWN = b"com.microsoft"
_BLOCK, _BY_INT8 = 32, 4  # numbers with one scale; how they are multiplied


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
    own = b"".join([*_written(_INPUT, [_OWN]), _integer(2, 1)])  # the first version of onnxruntime's own operations
    return b"".join([*parts, *_written(_OPERATIONS, [own])])


def _graph(graph: memoryview) -> list[bytes | memoryview]:
    """Four nodes stand where the rows were picked: pick the rows, widen them, pick their scales, multiply.

    One node stands where a matrix was widened, scaled and multiplied.
    """
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
    kept, matrices = _matrices(fields, nodes)
    parts: list[bytes | memoryview] = []
    for field in kept:
        if field is pick:
            parts += [piece for node in instead for piece in _written(_NODE, [node])]
        elif field is not cast and field is not product:
            parts += matrices.get(_texts(field, _OUTPUT), [field.whole]) if field.number == _NODE else [field.whole]
    return parts


def _matrices(
    fields: Iterable[_Field], nodes: Mapping[tuple[bytes, ...], _Field]
) -> tuple[list[_Field], dict[tuple[bytes, ...], list[bytes | memoryview]]]:
    """The fields that stay; and by its output what stands for each product with a matrix: its numbers, and a node."""
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
            continue  # both sides are computed
        (numbers,) = _texts(widened, _INPUT)
        instead[made] = _multiplied(tensors[numbers], tensors[scales], rows, made[0])
        gone += [scaled, widened, tensors[numbers], tensors[scales]]
    left = {id(field) for field in gone}
    return [field for field in fields if id(field) not in left], instead


def _multiplied(numbers: _Field, scales: _Field, rows: bytes, made: bytes) -> list[bytes | memoryview]:
    numpy: Any = importlib.import_module("numpy")
    shape = [_number(field.whole, 1)[0] for field in _fields(numbers.value) if field.number == _SHAPE]
    long, wide = shape
    raw, factors = (
        next(field.value for field in _fields(each.value) if field.number == _RAW) for each in (numbers, scales)
    )
    # By columns and blocks; bytes without a sign, of which 128 is zero.
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
    """A whole number, with its name and the mark that it is one."""
    return b"".join([*_written(1, [name]), _integer(3, value), _integer(20, 2)])


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _node(like: _Field, inputs: tuple[bytes, ...], outputs: tuple[bytes, ...]) -> bytes:
    """A node of the same kind between other values."""
    kept = [field.whole for field in _fields(like.value) if field.number in (_KIND, _ATTRIBUTE)]
    ends = [(_INPUT, name) for name in inputs] + [(_OUTPUT, name) for name in outputs]
    named = (_NAME, b"".join((*outputs, b"_node")))
    return b"".join([*(piece for number, text in (*ends, named) for piece in _written(number, [text])), *kept])


def _texts(message: _Field, number: int) -> tuple[bytes, ...]:
    return tuple(bytes(field.value) for field in _fields(message.value) if field.number == number)


def _written(number: int, parts: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
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
