"""Writing an export: once to name every block, once to write them, both from one snapshot of the file.

The first block needs the name of the last, so the file is made twice. Only a row and a chunk are in memory at a time.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from memory.portability.car import (
    About,
    CarError,
    Encryptor,
    Manifest,
    Sink,
    TableManifest,
    cid_of,
    encoded,
    write_block,
    write_header,
)
from memory.portability.exported_tables import ExportScope, Table, conditions, registry_tables, tables
from memory.store.data_folder import private_file
from memory.store.database import Row, Rows
from memory.store.records import asdict
from memory.store.sqlite import Connection, connect

_CHUNK = 1 << 18
"""A chunk of rows is complete at about this many bytes."""
_LARGE = 1 << 17
"""Larger values are stored as separate parts."""
_PART = 1 << 19
_LISTED = 8_000


class Origin(Struct, frozen=True):
    """A constellation's file, the registry, and what is to be exported."""

    path: Path
    registry: Path
    about: About
    part: ExportScope


class ExportedFile(Struct, frozen=True):
    root: bytes
    manifest: Manifest
    size: int


class _Blocks(Struct):
    """The destination of an export's blocks: a file, or nothing for the first pass."""

    sink: Sink | None
    size: int = 0
    last: bytes = b""

    def add(self, content: Any) -> bytes:
        data = encoded(content)
        self.last = cid_of(data)
        self.size += len(data) if self.sink is None else write_block(self.sink, self.last, data)
        return self.last


class _Chunks(Struct):
    blocks: _Blocks
    table: str
    rows: list[list[Any]] = field(default_factory=list)
    size: int = 0
    count: int = 0
    links: list[bytes] = field(default_factory=list)

    def add(self, row: Row) -> None:
        values = [self._value(each) for each in row]
        self.rows.append(values)
        self.count += 1
        self.size += sum(len(each) if isinstance(each, str | bytes) else 9 for each in values)
        if self.size >= _CHUNK:
            self._flush()

    def done(self, columns: tuple[str, ...]) -> TableManifest:
        self._flush()
        found = [self.links[at : at + _LISTED] for at in range(0, len(self.links), _LISTED)]
        return TableManifest([*columns], self.count, [self.blocks.add({"chunks": each}) for each in found])

    def _value(self, value: Any) -> Any:
        data = value.encode() if isinstance(value, str) else value
        if not isinstance(data, bytes) or len(data) <= _LARGE:
            return value
        parts = [self.blocks.add(data[at : at + _PART]) for at in range(0, len(data), _PART)]
        return {"parts": parts, "text": isinstance(value, str)}

    def _flush(self) -> None:
        if self.rows:
            self.links.append(self.blocks.add({"table": self.table, "rows": self.rows}))
            self.rows, self.size = [], 0


def export(origin: Origin, target: Path, passphrase: str, progress: Callable[[float], None]) -> ExportedFile:
    """Write an export to a new file. Raises CarError if that fails.

    `progress` is called with the completed share, from 0 to 1. A service may use the database meanwhile.
    """
    with ExitStack() as stack:
        raw, accounts = (
            stack.enter_context(closing(connect(each, read_only=True))) for each in (origin.path, origin.registry)
        )
        for each in (raw, accounts):
            each.execute("BEGIN")
        names = _Blocks(None)
        manifest = _write(raw, accounts, origin, names, lambda _size: None)
        progress(0.5)
        unfinished = target.with_name(f"{target.name}.part")
        try:
            with private_file(unfinished).open("wb") as file:
                sealed = Encryptor(file, passphrase) if passphrase else None
                blocks = _Blocks(sealed or file)
                blocks.size = write_header(sealed or file, names.last)
                _write(raw, accounts, origin, blocks, lambda size: progress(0.5 + size / max(names.size, 1) / 2))
                if sealed is not None:
                    sealed.close()
            unfinished.rename(target)
        except OSError as error:
            raise CarError("{path} cannot be written: {reason}", path=target, reason=error.strerror) from error
        finally:
            unfinished.unlink(missing_ok=True)
        return ExportedFile(names.last, manifest, target.stat().st_size)


def _write(
    raw: Connection, accounts: Connection, origin: Origin, blocks: _Blocks, progress: Callable[[int], None]
) -> Manifest:
    blocks.add(asdict(origin.about))
    held = {}
    for table, read in _tables(raw, accounts, origin):
        chunks = _Chunks(blocks, table.name)
        for row in read:
            chunks.add(row)
            if not chunks.rows:
                progress(blocks.size)
        held[table.name] = chunks.done(table.columns)
    manifest = Manifest(origin.about, held)
    blocks.add(manifest.data())
    return manifest


def _tables(raw: Connection, accounts: Connection, origin: Origin) -> Iterator[tuple[Table, Iterator[Row]]]:
    if origin.about.kind == "constellation":
        for name, table in registry_tables(Rows(accounts)).items():
            yield table, _rows(accounts, table, name, "1", ExportScope())
    found = tables(Rows(raw))
    for name, condition in conditions(found, origin.part).items():
        yield found[name], _rows(raw, found[name], name, condition, origin.part)


def _rows(raw: Connection, table: Table, name: str, condition: str, part: ExportScope) -> Iterator[Row]:
    sql = f"SELECT {table.selected} FROM {name} WHERE {condition} ORDER BY {', '.join(table.key)}"
    cursor = raw.execute(sql, part.parameters)
    while (row := cursor.fetchone()) is not None:
        yield row
