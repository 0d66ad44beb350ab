"""Importing an export: first into a file of its own, which becomes a constellation or gives its rows to one.

Nothing in use changes before the file is verified and complete. An interrupted import continues where it stopped: the
new file records how many chunks it has.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct, field

from memory.blocks.store import index_blocks
from memory.erasure.person_in_one_constellation import compact, erase_here
from memory.portability import import_outcomes
from memory.portability.car import (
    MAGIC,
    About,
    Block,
    CarError,
    Decryptor,
    Manifest,
    Source,
    read_about,
    read_blocks,
    read_manifest,
    shown,
)
from memory.portability.exported_tables import REGISTRY, SETTLED, Table, tables
from memory.portability.import_outcomes import Outcome
from memory.portability.untrusted_imports import TRUSTED_ALONE, Checks, distrust, require_readable, require_sound_blocks
from memory.store import erasure_records, migrations
from memory.store.data_folder import GLOBAL_DB
from memory.store.database import Rows, Tx, Value
from memory.store.ids import ErasureId, PersonId, snowflakes
from memory.store.sqlite import Connection, connect, driver, transaction
from texts import ngettext

Opener: TypeAlias = Callable[[], AbstractContextManager[Source]]
Progress: TypeAlias = Callable[[float], None]

_MOST_VALUE, _MOST_TEXT = 32 << 20, 4 << 20
"""The most bytes of one value, and of a text. Parts can be named repeatedly, so a small file could become huge."""


class VerifiedFile(Struct, frozen=True):
    root: bytes
    manifest: Manifest
    chunks: int


class Chunk(Struct, frozen=True):
    """Rows of one table, with large values put together, and their position in the file."""

    offset: int
    table: str
    rows: list[list[Any]]


class _Sequence(Struct):
    """What was read so far, to compare with the manifest."""

    links: dict[str, list[bytes]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    lists: dict[bytes, list[bytes]] = field(default_factory=dict)
    parts: dict[bytes, bytes] = field(default_factory=dict)
    """Parts since the last chunk."""
    seen: set[bytes] = field(default_factory=set)


def opener(path: Path, passphrase: str) -> Opener:
    """A function that opens a file, encrypted or not, at its beginning."""

    @contextmanager
    def opened() -> Iterator[Source]:
        sealed = is_sealed(path)
        if sealed and not passphrase:
            raise CarError("{path} is encrypted: give its passphrase", path=path)
        with path.open("rb") as file:
            if sealed:
                file.seek(len(MAGIC))
            yield Decryptor(file, passphrase) if sealed else file

    return opened


def is_sealed(path: Path) -> bool:
    """Whether the file needs a passphrase."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise CarError("{path} cannot be read: {reason}", path=path, reason=error.strerror) from error


def verify(open_file: Opener, size: int, progress: Progress) -> VerifiedFile:
    """Read a whole file. Raises CarError if it is damaged, cut off, foreign or newer."""
    known = migrations.migrations(migrations.Kind.CONSTELLATION)[-1].version
    about: About | None = None
    found, last, sequence = None, b"", _Sequence()
    with open_file() as source:
        root, blocks = read_blocks(source)
        for block in blocks:
            if found is not None:
                raise CarError("the file has extra data after its end, at byte {offset}", offset=block.offset)
            if about is None:
                about = read_about(block.content(), known)
            elif block.cid == root:
                found = read_manifest(block.content(), about)
            else:
                _note(block, sequence)
            last = block.cid
            progress(min(block.offset / max(size, 1), 1))
    if about is None or found is None or last != root:
        raise CarError("the file is cut off: its last block, which names all others, is missing")
    _agree(found, sequence)
    return VerifiedFile(root, found, sum(map(len, sequence.links.values())))


def chunks(open_file: Opener) -> Iterator[Chunk]:
    """The rows of a verified file, chunk by chunk."""
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
            raise CarError("the block at byte {offset} is of a kind that no Carina export has", offset=block.offset)
    if block.cid in sequence.seen:
        raise CarError("the block at byte {offset} is in the file twice", offset=block.offset)
    sequence.seen.add(block.cid)


def _agree(manifest: Manifest, sequence: _Sequence) -> None:
    """Raise CarError if the manifest and the blocks in the file differ."""
    if stray := sorted(set(sequence.links) - set(manifest.tables)):
        raise CarError(
            "the file has records in the table {name!r}, which its manifest does not mention", name=stray[0][:80]
        )
    for name, held in manifest.tables.items():
        named = [link for each in held.lists for link in sequence.lists.get(each, ())]
        if named != sequence.links.get(name, []) or held.rows != sequence.rows.get(name, 0):
            raise CarError(
                "the file lacks some of the records in the table {name!r} that its manifest lists", name=name[:80]
            )


def _whole(value: Any, parts: dict[bytes, bytes], offset: int) -> Any:
    """A value with its parts. Raises CarError if one is missing, or for a value that no table can hold."""
    with suppress(KeyError, TypeError, UnicodeDecodeError):
        match value:
            case None | str() | bytes() | float():
                return value
            case int() if not isinstance(value, bool):
                return value
            case {"parts": list(links), "text": bool(text)}:
                if sum(len(parts[link]) for link in links) <= (_MOST_TEXT if text else _MOST_VALUE):
                    data = b"".join(parts[link] for link in links)
                    return data.decode() if text else data
    raise CarError("the block at byte {offset} contains a value that no table can hold", offset=offset)


STAGING = ".importing-"


class Import(Struct, frozen=True):
    """A verified export, and how it is to be imported."""

    open_file: Opener
    verified: VerifiedFile
    folder: Path
    """The data folder."""
    now: datetime
    trusted: bool
    progress: Progress
    checks: Checks
    """Of the triggers and time zones, which the scheduler reads."""
    notes: list[str] = field(default_factory=list)
    """What was not taken over unchanged."""

    @property
    def manifest(self) -> Manifest:
        return self.verified.manifest

    @property
    def origin(self) -> str:
        return shown(self.verified.root)

    @property
    def staged(self) -> Path:
        """The new database file."""
        return self.staging / "carina.db"

    @property
    def staging(self) -> Path:
        """The folder of the new file; imports of one file with the same trust use the same one, in turn."""
        constellations, kind = self.folder / "constellations", b"trusted" if self.trusted else b""
        return constellations / f"{STAGING}{hashlib.sha256(self.verified.root + kind).hexdigest()[:16]}"


def require_schema(manifest: Manifest) -> None:
    """Raise CarError for a file that is older than the first schema that can be created."""
    known = migrations.migrations(migrations.Kind.CONSTELLATION)
    if manifest.about.schema < next(each.version for each in known if each.whole):
        raise CarError(
            "this file has schema {schema}, which is too old for this version: use the version of Carina that made it",
            schema=manifest.about.schema,
        )


def stage(taken: Import) -> None:
    """Create the new file, or continue with it. If CarError is raised, nothing is left behind."""
    path = taken.staged
    try:
        require_schema(taken.manifest)
        if not (path.exists() and import_outcomes.holds(path, taken.origin)):
            migrations.prepare_at(path, migrations.Kind.CONSTELLATION, taken.manifest.about.schema)
            _fill(taken, path)
            migrations.apply(path, migrations.Kind.CONSTELLATION)
            with closing(connect(path, read_only=True)) as raw:
                require_readable(Rows(raw), taken.checks)
                require_sound_blocks(Rows(raw))
            _finish(taken, path)
    except driver.OperationalError as error:  # a full disk or a lock says nothing of the file
        raise CarError("the import stopped; start it again to continue: {error}", error=error) from error
    except (CarError, driver.DatabaseError) as error:
        shutil.rmtree(taken.staging, ignore_errors=True)
        if isinstance(error, CarError):
            raise
        raise CarError("the file contains records that are not valid: {error}", error=error) from error


def _fill(taken: Import, path: Path) -> None:
    """Insert the chunks that are still missing."""
    with closing(connect(path)) as raw:
        raw.execute("PRAGMA foreign_keys=OFF")
        raw.execute("CREATE TABLE IF NOT EXISTS import_state (chunks INTEGER NOT NULL) STRICT")
        found = tables(Rows(raw))
        row = Rows(raw).one("SELECT max(chunks) AS done FROM import_state")
        done = int(row["done"] or 0) if row is not None else 0
        for count, chunk in enumerate(chunks(taken.open_file), 1):
            if count > done:
                columns = () if chunk.table in REGISTRY else _columns(taken.manifest, chunk, found)
                _insert(raw, chunk, columns, count)
            taken.progress(count / max(taken.verified.chunks, 1))
        if (broken := Rows(raw).one("PRAGMA foreign_key_check")) is not None:
            raise CarError(
                "records in the table {table} refer to records in the table {parent} that the file lacks",
                table=broken["table"],
                parent=broken["parent"],
            )


def _columns(manifest: Manifest, chunk: Chunk, found: Mapping[str, Table]) -> Sequence[str]:
    """The columns of a chunk, which become part of a statement. Raises CarError for anything that no schema has."""
    columns, table = manifest.tables[chunk.table].columns, found.get(chunk.table)
    fits = table is not None and set(columns) <= set(table.columns)
    if not fits or any(len(row) != len(columns) for row in chunk.rows):
        raise CarError(
            "the records at byte {offset} do not fit any table in this schema: {table!r}",
            offset=chunk.offset,
            table=chunk.table[:80],
        )
    return columns


def _insert(raw: Connection, chunk: Chunk, columns: Sequence[str], count: int) -> None:
    """Insert the rows of a chunk, none without columns: those of the registry are for another file."""
    tx = Tx(raw)
    try:
        with transaction(raw):
            for row in chunk.rows if columns else ():
                tx.insert(chunk.table, dict(zip(columns, row, strict=True)))
            tx.insert("import_state", {"chunks": count})
    except driver.IntegrityError as error:
        raise CarError(
            "the records at byte {offset} are not valid for the table {table}: {error}",
            offset=chunk.offset,
            table=chunk.table,
            error=error,
        ) from error


def _finish(taken: Import, path: Path) -> None:
    """Adjust imported rows: work ends, an untrusted file loses its rights (`distrust`), erased people stay erased."""
    with closing(connect(path)) as raw:
        tx = Tx(raw)
        raw.execute("BEGIN IMMEDIATE")
        for (table, column), value in SETTLED.items():
            tx.run(f"UPDATE {table} SET {column} = {value} WHERE {column} IS NOT {value}")
        tx.run("DELETE FROM turn_steps")  # no turn goes on here
        if not taken.trusted:
            links = taken.manifest.tables.get("user_identities")
            taken.notes.extend(distrust(tx, taken.now, links.rows if links else 0))
        erased = _erase(taken, tx)
        index_blocks(tx)
        note_import(tx, taken)
        tx.run("DROP TABLE import_state")
        raw.execute("COMMIT")
        if erased:
            compact(raw)
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _erase(taken: Import, tx: Tx) -> int:
    """Erase people whom this data folder erased, unless the file is newer, and those opted out; returns how many."""
    known = {int(row["id"]) for row in tx.all("SELECT id FROM erasures")}
    due = {entry.person: entry.id for entry in erasure_records.due_again(taken.folder, known)}
    due |= dict.fromkeys(_opted_out(taken.folder) - set(due), ErasureId(0))
    held = 0
    for person, erasure in due.items():
        erased = erase_here(tx, erasure or ErasureId(snowflakes.next()), person, taken.now)
        held += any(erased.before.values())
    if held:
        told = ngettext("{count} person stayed erased or opted out", "{count} people stayed erased or opted out", held)
        taken.notes.append(told)
    return held


def _opted_out(folder: Path) -> set[PersonId]:
    with suppress(driver.OperationalError), closing(connect(folder / GLOBAL_DB, read_only=True)) as raw:
        found = Rows(raw).all("SELECT person_id FROM privacy_choices WHERE choice = 'opted_out'")
        return {PersonId(row["person_id"]) for row in found}
    return set()


def note_import(tx: Tx, taken: Import) -> None:
    """Record the outcome of each table."""
    outcomes = [
        Outcome(f"table {name}", "carried", ngettext("{count} record", "{count} records", held.rows))
        for name, held in taken.manifest.tables.items()
    ]
    for each in (*outcomes, *(Outcome("permissions and people", "changed", note) for note in taken.notes)):
        import_outcomes.note(tx, "car", taken.origin, each, taken.now)


def registry_rows(taken: Import, found: Mapping[str, Table]) -> dict[str, list[dict[str, Value]]]:
    """The rows of the file for global.db, by the tables in `found`; they come first. Raises CarError."""
    held: dict[str, list[dict[str, Value]]] = {}
    for chunk in chunks(taken.open_file):
        if chunk.table not in REGISTRY:
            break
        columns = _columns(taken.manifest, chunk, found)
        if taken.trusted or chunk.table not in TRUSTED_ALONE:
            held.setdefault(chunk.table, []).extend(dict(zip(columns, row, strict=True)) for row in chunk.rows)
    return held
