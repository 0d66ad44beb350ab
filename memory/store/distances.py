"""Distances between vectors of signed bytes, as SQL functions.

The sqlite-vec extension provides them where it can be loaded: 100,000 vectors in 20 to 30 ms, without Python's lock.
Elsewhere (musl, a Python without extensions) Python computes the same, ten times slower: enough for 10,000. Only the
extension's functions are used, none of its tables, so files are the same with and without it.
"""

import importlib.util
from array import array
from collections.abc import Callable
from functools import lru_cache
from math import sqrt
from operator import mul
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

EXTENSION = "sqlite_vec"


class Connection(Protocol):
    """The methods needed to register functions on a connection; some drivers cannot load extensions."""

    def create_function(self, name: str, arguments: int, function: Callable[..., Any], /) -> object: ...


class Distances(Struct, frozen=True):
    """The SQL for distances: two expressions, each with two placeholders for vectors.

    `reason` says why Python computes them; empty if the extension does.
    """

    bits: str
    cosine: str
    reason: str = ""


NATIVE = Distances("vec_distance_hamming(vec_bit({}), vec_bit({}))", "vec_distance_cosine(vec_int8({}), vec_int8({}))")
PYTHON = Distances("carina_hamming({}, {})", "carina_cosine({}, {})", "it was not tried")


def provide(raw: Connection, cannot: type[Exception], extension: str = EXTENSION) -> str:
    """Register both kinds of functions; returns why the extension's are missing, empty if they are not.

    `cannot` is the exception that the driver raises for an extension that does not load.
    """
    raw.create_function("carina_hamming", 2, _hamming)
    raw.create_function("carina_cosine", 2, cosine_distance)
    found = importlib.util.find_spec(extension)
    if found is None or found.origin is None:
        return f"{extension.replace('_', '-')} is not installed"
    try:
        _load(raw, str(Path(found.origin).with_name("vec0")))  # its module is not imported: it would import numpy
    except AttributeError:
        return "this Python's SQLite loads no extensions"
    except cannot as error:
        return f"{extension.replace('_', '-')} does not load: {error}"
    return ""


def _load(raw: Any, path: str) -> None:
    raw.enable_load_extension(True)
    try:
        raw.load_extension(path)
    finally:
        raw.enable_load_extension(False)  # or SQL itself could load code


def _hamming(left: bytes, right: bytes) -> int:
    return (int.from_bytes(left) ^ int.from_bytes(right)).bit_count()


def cosine_distance(left: bytes, right: bytes) -> float:
    """The cosine distance: 0 for the same direction, 1 for unrelated."""
    mine, (theirs, length) = array("b", left), _with_length(right)
    both = sqrt(sum(map(mul, mine, mine))) * length
    return 1.0 - sum(map(mul, mine, theirs)) / both if both else 1.0


@lru_cache(maxsize=8)
def _with_length(blob: bytes) -> "tuple[array[int], float]":
    """The question's vector with its length, cached since it is the same for every row."""
    values = array("b", blob)
    return values, sqrt(sum(map(mul, values, values)))
