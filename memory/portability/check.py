"""Reading an export whole before anything is written: every block by its CID, every row by the manifest."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from memory.portability.car import Block, CarError, Source, read_blocks
from memory.portability.encryption import MAGIC, Opened
from memory.portability.manifest import About, Manifest, read_about, read_manifest
from memory.store.migrations import Kind, migrations

Opener: TypeAlias = Callable[[], AbstractContextManager[Source]]
Progress: TypeAlias = Callable[[float], None]

_MOST_VALUE = 1 << 28
"""Bytes of one value. Its parts can be named many times, so that a small file could become a huge one."""


@dataclass(frozen=True)
class Verified:
    """An export that is whole."""

    root: bytes
    manifest: Manifest
    chunks: int


@dataclass(frozen=True)
class Chunk:
    """Rows of one table, with what was large in them put together, and where they stand in the file."""

    offset: int
    table: str
    rows: list[list[Any]]


@dataclass
class _Sequence:
    """What was read so far, as far as the manifest has to agree with it."""

    links: dict[str, list[bytes]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    lists: dict[bytes, list[bytes]] = field(default_factory=dict)
    parts: dict[bytes, bytes] = field(default_factory=dict)
    """Since the last chunk."""
    seen: set[bytes] = field(default_factory=set)


def opener(path: Path, passphrase: str) -> Opener:
    """Opens a file, sealed or not, from its beginning."""

    @contextmanager
    def opened() -> Iterator[Source]:
        try:
            file = path.open("rb")
        except OSError as error:
            raise CarError(f"{path} cannot be read: {error.strerror}") from error
        with file:
            if file.read(len(MAGIC)) == MAGIC:
                if not passphrase:
                    raise CarError(f"{path} is encrypted: give its passphrase")
                yield Opened(file, passphrase)
            else:
                file.seek(0)
                yield file

    return opened


def is_sealed(path: Path) -> bool:
    """Whether a passphrase is needed to open it."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise CarError(f"{path} cannot be read: {error.strerror}") from error


def verify(open_file: Opener, size: int, progress: Progress) -> Verified:
    """Read all of a file. Raises CarError where it is damaged, cut off, foreign or newer."""
    known = migrations(Kind.CONSTELLATION)[-1].version
    about: About | None = None
    found, last, sequence = None, b"", _Sequence()
    with open_file() as source:
        root, blocks = read_blocks(source)
        for block in blocks:
            if found is not None:
                raise CarError(f"the file goes on after its end, at byte {block.offset}")
            if about is None:
                about = read_about(block.content(), known)
            elif (found := _manifest(block, root, about)) is None:
                _note(block, sequence)
            last = block.cid
            progress(min(block.offset / max(size, 1), 1))
    if about is None or found is None or last != root:
        raise CarError("the file is cut off: its last block, which names all others, is missing")
    _agree(found, sequence)
    return Verified(root, found, sum(map(len, sequence.links.values())))


def chunks(open_file: Opener) -> Iterator[Chunk]:
    """The rows of a file that was verified, chunk by chunk."""
    parts: dict[bytes, bytes] = {}
    with open_file() as source:
        _root, blocks = read_blocks(source)
        for block in blocks:
            match block.content():
                case bytes(data):
                    parts[block.cid] = data
                case {"table": str(table), "rows": list(rows)}:
                    whole = [[_whole(each, parts, block.offset) for each in row] for row in rows]
                    yield Chunk(block.offset, table, whole)
                    parts = {}


def _manifest(block: Block, root: bytes, about: About) -> Manifest | None:
    return read_manifest(block.content(), about) if block.cid == root else None


def _note(block: Block, sequence: _Sequence) -> None:
    match block.content():
        case bytes(data):
            sequence.parts[block.cid] = data
            return
        case {"table": str(table), "rows": list(rows), **rest} if not rest and all(
            isinstance(row, list) for row in rows
        ):
            for row in rows:
                for value in row:
                    _whole(value, sequence.parts, block.offset)
            sequence.links.setdefault(table, []).append(block.cid)
            sequence.rows[table] = sequence.rows.get(table, 0) + len(rows)
            sequence.parts = {}
        case {"chunks": list(links), **rest} if not rest:
            sequence.lists[block.cid] = links
        case _:
            raise CarError(f"the block at byte {block.offset} is none that an export of Carina has")
    if block.cid in sequence.seen:
        raise CarError(f"the block at byte {block.offset} is in the file twice")
    sequence.seen.add(block.cid)


def _agree(manifest: Manifest, sequence: _Sequence) -> None:
    """Raise CarError where the manifest names other blocks than the file has."""
    if stray := sorted(set(sequence.links) - set(manifest.tables)):
        raise CarError(f"the file has rows of {stray[0][:80]!r}, of which its manifest says nothing")
    for name, held in manifest.tables.items():
        named = [link for each in held.lists for link in sequence.lists.get(each, ())]
        if named != sequence.links.get(name, []) or held.rows != sequence.rows.get(name, 0):
            raise CarError(f"the file does not have all rows of {name[:80]!r} that its manifest names")


def _whole(value: Any, parts: dict[bytes, bytes], offset: int) -> Any:
    """A value with its parts. Raises CarError where one is missing or the value is none that a table holds."""
    match value:
        case None | str() | bytes() | float():
            return value
        case int() if not isinstance(value, bool):
            return value
        case {"parts": list(links), "text": bool(text)} if all(
            isinstance(link, bytes) and link in parts for link in links
        ):
            if sum(len(parts[link]) for link in links) > _MOST_VALUE:
                raise CarError(f"a value of the block at byte {offset} is larger than any that a table has")
            data = b"".join(parts[link] for link in links)
            try:
                return data.decode() if text else data
            except UnicodeDecodeError as error:
                raise CarError(f"a text of the block at byte {offset} is no UTF-8") from error
    raise CarError(f"the block at byte {offset} holds a value that no table has, or one whose parts are missing")
