"""SQLite connections: the choice of driver, how files are opened, the form of stored vectors and the SQL for distances.

This is the only module that imports sqlite3. The sqlite-vec extension computes distances where it can be loaded:
100,000 vectors in 20 to 30 ms, without Python's lock. Elsewhere (musl, a Python without extensions) Python computes the
same, ten times slower: enough for 10,000. Only the extension's functions are used, none of its tables, so files are the
same with and without it.
"""

import importlib
import importlib.util
import json
import sys
from array import array
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise
from math import ceil, sqrt
from operator import mul
from pathlib import Path
from typing import Any, Protocol, cast

from msgspec import Struct

from memory.store.clock import to_text
from memory.store.records import replace

OLDEST = (3, 42, 0)
"""From this version on, deleted text leaves the full-text index, too; Debian 12 has 3.40."""
EXTENSION = "sqlite_vec"
_BUSY_MS = 5_000
"""How long a connection waits for another program that holds the file."""
_DECLARED = "PRAGMA journal_mode=WAL", "PRAGMA foreign_keys=ON", "PRAGMA secure_delete=ON"


class Cursor(Protocol):
    rowcount: int

    def fetchall(self) -> list[Any]: ...
    def fetchone(self) -> Any: ...


class Connection(Protocol):
    """The methods of a driver's connection that Carina uses."""

    row_factory: Any
    in_transaction: bool

    def execute(self, sql: str, parameters: Any = ..., /) -> Cursor: ...
    def executescript(self, sql: str, /) -> Cursor: ...
    def backup(self, target: "Connection", /) -> None: ...
    def create_function(self, name: str, arguments: int, function: Callable[..., Any], /) -> object: ...
    def close(self) -> None: ...


class _Driver(Protocol):
    sqlite_version: str
    sqlite_version_info: tuple[int, int, int]
    Row: Any
    OperationalError: type[Exception]
    DatabaseError: type[Exception]
    IntegrityError: type[Exception]

    def connect(self, database: str, **options: Any) -> Connection: ...
    def register_adapter(self, of: type, adapter: Callable[[Any], Any], /) -> None: ...


class Code(IntEnum):
    """The result codes of SQLite (https://www.sqlite.org/rescode.html) that somebody can act on."""

    ERROR = 1
    """A statement that does not fit the tables; in a file of our version it means that the file is damaged."""
    BUSY = 5
    LOCKED = 6
    READONLY = 8
    IOERR = 10
    CORRUPT = 11
    FULL = 13
    CANTOPEN = 14
    NOTADB = 26


def result_code(error: BaseException) -> int:
    """SQLite's primary result code for an error; 0 for an error that is not SQLite's.

    Its message is not used: it contains names and texts of the statement.
    """
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF if isinstance(code, int) else 0


def _choose_driver() -> _Driver:
    """pysqlite3, which contains a new SQLite, where wheels of it exist; otherwise the standard module.

    It stands for the standard one in aiosqlite, so that there is one SQLite in memory.
    """
    with suppress(ImportError):
        found = importlib.import_module("pysqlite3")
        sys.modules.setdefault("sqlite3", found)
        return cast("_Driver", found)
    return cast("_Driver", importlib.import_module("sqlite3"))


class Distances(Struct, frozen=True):
    """The SQL for distances: expressions over a stored vector. `bits` compares its signs with those of a question;
    `cosine` compares its digits with a question's `comparable`.

    `reason` says why Python computes them; empty if the extension does.
    """

    bits: str
    cosine: str
    reason: str = ""


NATIVE = Distances(
    "vec_distance_hamming(vec_bit({}), vec_bit(?))",
    # The characters that `hex` gives for digits follow each other, so they are numbers themselves.
    "vec_distance_cosine(vec_sub(vec_int8(CAST(hex({}) AS BLOB)), vec_int8(?)), vec_int8(?))",
)
PYTHON = Distances("carina_hamming({}, ?)", "carina_cosine({}, ?, ?)", "it was not tried")


def provide_distances(raw: Connection, cannot: type[Exception], extension: str = EXTENSION) -> str:
    """Register both kinds of functions; returns why the extension's are missing, empty if they are not.

    `cannot` is the exception that the driver raises for an extension that does not load.
    """
    raw.create_function("carina_hamming", 2, _hamming)
    raw.create_function("carina_cosine", 3, lambda digits, _, question: cosine_distance(of_digits(digits), question))
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


_ZERO = ord("4")
_OF_DIGITS = bytes((digit - _ZERO) % 256 for digit in range(256))
_STEP = 0.55  # of the usual number of a vector: the least error with ten steps


def to_digits(vector: bytes) -> bytes:
    """The form in which a vector is stored: each number as a digit, from 0 for -4 steps to 9 for 5, two to a byte.

    A digit 4 is added if their number is odd.
    """
    values = array("b", vector)
    step = _STEP * sqrt(sum(map(mul, values, values)) / len(values))
    begins = [-128, *(min(max(ceil((digit - 4.5) * step), -128), 128) for digit in range(1, 10)), 128]
    digits = b"".join(b"%d" % digit * (end - begin) for digit, (begin, end) in enumerate(pairwise(begins)))
    told = vector.translate(digits[128:] + digits[:128])  # by bytes without signs
    return bytes.fromhex(told.decode() + "4" * (len(values) % 2))


def of_digits(digits: bytes) -> bytes:
    """The vector that was stored in this form, in steps."""
    return digits.hex().encode().translate(_OF_DIGITS)


def comparable(question: bytes) -> tuple[bytes, bytes]:
    """The parameters of `Distances.cosine`: what the digits of as many zeros are in it, and the question."""
    even = question + bytes(len(question) % 2)
    return bytes([_ZERO]) * len(even), even


@lru_cache(maxsize=8)
def _with_length(blob: bytes) -> "tuple[array[int], float]":
    """The question's vector with its length, cached since it is the same for every row."""
    values = array("b", blob)
    return values, sqrt(sum(map(mul, values, values)))


def _choose_distances() -> Distances:
    raw = driver.connect(":memory:")
    with closing(raw):
        reason = provide_distances(raw, driver.OperationalError)
    return replace(PYTHON, reason=reason) if reason else NATIVE


driver = _choose_driver()
driver.register_adapter(datetime, to_text)  # a datetime is bound in stored form, and a list as JSON
driver.register_adapter(list, json.dumps)
driver.register_adapter(tuple, json.dumps)
distances = _choose_distances()
"""The SQL for distances between vectors on connections of this module."""


@contextmanager
def transaction(raw: Connection) -> Iterator[None]:
    """One writing transaction: committed at the end, rolled back on any exception."""
    raw.execute("BEGIN IMMEDIATE")
    try:
        yield
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:  # SQLite has ended it if the disk is full
            raw.execute("ROLLBACK")
        raise


def connect(path: Path, *, read_only: bool = False) -> Connection:
    """Open a file outside the service: for migrations, backups and read-only commands. Not for the event loop."""
    mode = "ro" if read_only else "rwc"
    options = {"isolation_level": None, "cached_statements": 512}  # with 128, every further statement was prepared anew
    raw = driver.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, **options)
    raw.row_factory = driver.Row
    provide_distances(raw, driver.OperationalError)
    raw.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
    if read_only:
        return raw
    for pragma in _DECLARED:
        raw.execute(pragma)
    return raw


def copy_database(path: Path, copy: Path) -> None:
    """Copy a database as of one moment into a file for its owner alone, without a log beside it."""
    copy.touch(mode=0o600)
    with closing(connect(path, read_only=True)) as source, closing(connect(copy)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE").fetchall()


def damage(path: Path) -> str:
    """The damage that SQLite finds in a file; empty if it is sound."""
    with closing(connect(path, read_only=True)) as raw:
        (found,) = raw.execute("PRAGMA integrity_check(1)").fetchone()
    return "" if found == "ok" else str(found).splitlines()[-1]  # after a line that names the schema
