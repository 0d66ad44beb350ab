"""Migrates a database file to the version that this program needs, and refuses one it cannot read.

Migrations are plain SQL under `migrations/<kind>`. `NNNN_start.sql` is the whole schema of its version: a new file gets
it at once. `upgrades.sql` has a section for each step that brings older files to that version, and each later step is a
file of its own, `NNNN_name.sql`. Steps are applied in order, each in one transaction with its number in `PRAGMA
user_version` and its SHA-256 in `migration_checksums`, so that an edited history is noticed. They may call
`carina_index_text`; triggers may not, since other programs that open the file do not have it. A missing file is created
up to date; only `migrate` touches an older one, and copies it first.
"""

import functools
import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from enum import StrEnum
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from memory.store.clock import to_text
from memory.store.errors import (
    DatabaseBusy,
    DatabaseCorrupt,
    DatabaseFull,
    DatabaseOutdated,
    DatabaseTooNew,
    StoreError,
)
from memory.store.fulltext import index_text
from memory.store.records import asdict
from memory.store.sqlite import OLDEST, Code, Connection, connect, copy_database, damage, driver, result_code

_CHECKSUMS = """CREATE TABLE IF NOT EXISTS migration_checksums (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL) STRICT"""

MAKING = ".new"
"""The ending of the name of a file that is being created."""
_SECTION = re.compile(r"^-- -+ (\d{4}_\w+)\n", re.MULTILINE)
_ROOM = 1_000_000  # bytes that SQLite needs to open a file: its log's index alone takes 32 KB


class Kind(StrEnum):
    """One of the two schemas; also the name of its folder of migrations."""

    GLOBAL = "global"
    CONSTELLATION = "constellation"


class Migration(Struct, frozen=True, dict=True):
    version: int
    name: str
    sql: str

    @functools.cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def whole(self) -> bool:
        """Whether it is a whole schema: new files begin with it, older ones skip it."""
        return self.name.endswith("start")


class Status(Struct, frozen=True):
    """A file's version and the program's: equal versions mean it can be opened."""

    path: Path
    version: int
    needed: int
    oldest: int = 0
    """Files older than this version cannot be migrated."""


@functools.cache
def migrations(kind: Kind) -> tuple[Migration, ...]:
    """The program's migrations for one kind of file, oldest first."""
    found = []
    for entry in (files("migrations") / kind.value).iterdir():
        stem, _, ending = entry.name.rpartition(".")
        if ending == "sql":
            text = entry.read_text(encoding="utf-8")
            parts = _SECTION.split(text)[1:] if stem == "upgrades" else [stem, text]
            named = zip(parts[::2], parts[1::2], strict=True)
            found += [Migration(int(name[:4]), name[5:], sql) for name, sql in named]
    return tuple(sorted(found, key=lambda migration: migration.version))


def steps(kind: Kind, version: int, most: int | None = None) -> list[Migration]:
    """What brings a file of that version, or a new one (0), to version `most` or the newest."""
    known = [each for each in migrations(kind) if most is None or each.version <= most]
    if version:
        return [each for each in known if each.version > version and not each.whole]
    start = next(each for each in reversed(known) if each.whole)
    return [start, *(each for each in known if each.version > start.version)]


def status(path: Path, kind: Kind) -> Status:
    """Read the version of an existing file. Raises DatabaseCorrupt for a file that is not ours."""
    known = migrations(kind)
    try:
        with closing(connect(path, read_only=True)) as raw:
            row = raw.execute("PRAGMA user_version").fetchone()
            version = int(row[0]) if row else 0
            if version:
                _check_history(raw, path, kind)
    except driver.DatabaseError as error:
        found = unreadable(path, error)
        raise (_damaged(path, error) if found is error else found) from error  # another program's file
    oldest = min(each.version if each.whole else each.version - 1 for each in known)
    return Status(path, version, known[-1].version, oldest)


def unreadable(path: Path, error: Exception) -> Exception:
    """The reason why a file cannot be opened: an error of the disk does not mean that the file is damaged.

    An error of neither disk nor file is a defect of ours and is returned unchanged.
    """
    match result_code(error):
        case Code.FULL | Code.IOERR:
            full = shutil.disk_usage(path.parent).free < _ROOM
            why = "its disk is full: free some space" if full else "its disk gives errors: look at the system's log"
            return DatabaseFull(
                "{path} could not be opened ({error}); {why}, then try again. The file was not changed",
                path=path,
                error=error,
                why=why,
            )
        case Code.BUSY | Code.LOCKED:
            return DatabaseBusy(
                "{path} could not be opened ({error}): another program is locking it; try again", path=path, error=error
            )
        case Code.CANTOPEN if path.exists() and not os.access(path, os.R_OK):
            return DatabaseCorrupt("{path} cannot be opened: your user account is not allowed to read it", path=path)
        case Code.CORRUPT | Code.NOTADB | Code.CANTOPEN:
            return _damaged(path, error)
        case _:
            return error


def unreadable_tables(path: Path, error: Exception) -> Exception:
    """The same for a file of our version: there, a statement that does not fit the tables means damage."""
    return _damaged(path, error) if result_code(error) == Code.ERROR else unreadable(path, error)


def _damaged(path: Path, error: Exception | str) -> DatabaseCorrupt:
    return DatabaseCorrupt(
        "{path} cannot be read as a database ({error}): restore it from a backup", path=path, error=error
    )


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Translates errors of the disk while a file is written; errors of a migration pass through."""
    try:
        yield
    except driver.OperationalError as error:
        found = unreadable(path, error)
        raise found if isinstance(found, DatabaseFull) else error from error


def prepare(path: Path, kind: Kind) -> None:
    """Make sure that the file can be opened: create a missing one, refuse an older or newer one.

    Raises DatabaseFull if a new one cannot be written.
    """
    if path.exists() and path.stat().st_size:
        check(status(path, kind))
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    making = path.with_name(f"{path.name}{MAKING}")
    _remove(making)  # of a killed start
    try:
        making.touch(mode=0o600)
        apply(making, kind)
        with _writing(path), closing(connect(making)) as raw:
            raw.execute("PRAGMA journal_mode=DELETE").fetchall()  # all that is in the log goes into the file
        making.replace(path)
    finally:
        _remove(making)


def prepare_at(path: Path, kind: Kind, version: int) -> None:
    """Create a file with the schema of a version, unless it exists, to load an old export into it. There is no schema
    before the first start schema."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)
    apply(path, kind, version)


def check(found: Status) -> None:
    """Refuse an older or newer file. Raises DatabaseOutdated or DatabaseTooNew."""
    told = asdict(found)
    if 0 < found.version < found.oldest:
        raise DatabaseOutdated(
            "{path} has version {version}, but this program can migrate files only from version "
            "{oldest} on: use the version of Carina that made it",
            **told,
        )
    if found.version < found.needed:
        raise DatabaseOutdated(
            "{path} has version {version}, but this program needs {needed}: run `carina db migrate`", **told
        )
    if found.version > found.needed:
        raise DatabaseTooNew(
            "{path} was written by a newer version of Carina (data format {version}; this one reads up to "
            "{needed}): install the newer version, or restore a backup made by this one",
            **told,
        )


def migrate(path: Path, kind: Kind, now: datetime) -> Path | None:
    """Migrate an older file; returns the path of the copy made first, None if there was nothing to do.

    Raises DatabaseFull if the copy or the change cannot be written; the file is then unchanged.
    """
    found = status(path, kind)
    if found.version == found.needed:
        return None
    if found.version > found.needed or found.version < found.oldest:
        check(found)
    stamp = to_text(now).replace(":", "").replace(".", "")
    copy = path.with_name(f"{path.name}.before-{found.needed}-{stamp}")
    with _writing(path):
        _copy(path, copy)
    apply(path, kind)
    return copy


def rehearse(path: Path, kind: Kind) -> float:
    """Run `migrate` on a temporary copy; returns the seconds it took. Raises StoreError."""
    copy, begun = path.with_name(f"{path.name}.before-trial"), time.monotonic()
    _remove(copy)  # of a killed run: SQLite would read its log as that of the new copy
    try:
        _copy(path, copy)
        apply(copy, kind)
    except driver.DatabaseError as error:
        raise StoreError("{path} cannot be migrated: {error}", path=path, error=error) from error
    finally:
        _remove(copy)
    return time.monotonic() - begun


def _copy(path: Path, copy: Path) -> None:
    """Copy the file and check the copy before it gets its name; on failure leave nothing behind."""
    making = path.with_name(f"{path.name}.before-part")
    _remove(making)  # of a killed run
    try:
        copy_database(path, making)
        if why := damage(making):
            raise _damaged(path, why)
        making.replace(copy)
    finally:
        _remove(making)


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


def apply(path: Path, kind: Kind, most: int | None = None) -> None:
    """Apply all missing migrations, or those up to version `most`."""
    if driver.sqlite_version_info < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise StoreError(
            "SQLite {version} is too old; Carina needs {needed} or newer, or `pysqlite3`",
            version=driver.sqlite_version,
            needed=needed,
        )
    with _writing(path), closing(connect(path)) as raw:
        row = raw.execute("PRAGMA user_version").fetchone()
        version = int(row[0]) if row else 0
        raw.execute(_CHECKSUMS)
        raw.create_function("carina_index_text", 1, index_text)
        for migration in steps(kind, version, most):
            _apply_one(raw, migration)


def _apply_one(raw: Connection, migration: Migration) -> None:
    record = f"({migration.version}, '{migration.name}', '{migration.sha256}')"
    try:
        raw.executescript(
            f"BEGIN IMMEDIATE;\n{migration.sql}\n;INSERT INTO migration_checksums VALUES {record};"
            f"PRAGMA user_version={migration.version};COMMIT;"
        )
    except BaseException:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise


def _check_history(raw: Connection, path: Path, kind: Kind) -> None:
    known = {(each.version, each.name): each for each in migrations(kind)}
    for row in raw.execute("SELECT version, name, sha256 FROM migration_checksums").fetchall():
        migration = known.get((row["version"], row["name"]))  # one that is not there is part of a start now
        if migration is not None and migration.sha256 != row["sha256"]:
            raise DatabaseCorrupt(
                "{path} was made when migration {version} ({name}) had different contents: "
                "migrations must not be edited; use the version of Carina that made it, or restore a "
                "backup",
                path=path,
                version=migration.version,
                name=row["name"],
            )
