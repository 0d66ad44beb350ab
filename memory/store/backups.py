"""Copies of a data folder: made while it is in use, verified, rotated, and restored.

A backup is a folder under `backups/` with the databases and a `manifest.json` with their digests. It is created under a
temporary name and renamed once it is complete and verified, so every backup there is good. `kept_on_restore.py` has
what a restore must not undo. The daily job is in `bot.services.system.backups`.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from memory.store.clock import from_text, to_text, utc_now
from memory.store.constellations import Constellation, registered, set_aside
from memory.store.data_folder import BACKUPS, GLOBAL_DB, UNFINISHED_RESTORE, private_folder, sync_folder
from memory.store.errors import StoreError
from memory.store.kept_on_restore import PresentData, carry_over, keep_rules, name_in_backup, present_data
from memory.store.sqlite import connect, copy_database, damage, driver

FOLDER = BACKUPS
_MANIFEST = "manifest.json"
_FILE = re.compile(r"global\.db|constellations/[0-9A-Za-z_-]+/carina\.db")
"""What a backup may contain: a restore writes these files, and no others."""
_UNFINISHED = ".part"
RESTORING = ".restoring-"


class BackupFailed(StoreError):
    """A copy could not be made, is damaged, or cannot be restored; the text says what to do."""


class Backup(Struct, frozen=True):
    """A complete backup. `size` in bytes, `files` by their names in the data folder."""

    name: str
    path: Path
    at: str
    files: Mapping[str, str]
    size: int


def create(folder: Path, now: datetime) -> Backup:
    """Copy every database of the folder, verify the copies, and return the backup. Raises BackupFailed.

    Run it in a thread: it reads everything. It does not block other users of the files.
    """

    def copies(making: Path) -> Iterator[Path]:
        def copied(name: Path) -> Path:
            target = private_folder((making / name).parent) / name.name
            copy_database(folder / name, target)
            return target

        # The registry first: an erasure that it records as done is done in every file that is copied later. Its copy
        # says which files belong to it; meanwhile, more may have been created.
        yield copied(Path(GLOBAL_DB))
        for path in registered(making):
            yield copied(path.relative_to(making))

    return make(folder, now, copies)


def make(folder: Path, now: datetime, fill: Callable[[Path], Iterable[Path]]) -> Backup:
    """Make and verify a backup of the files that `fill` puts into a folder laid out like a data folder."""
    at = to_text(now)
    name = at.replace(":", "").replace(".", "-").removesuffix("Z")
    target = folder / FOLDER / name
    making = folder / FOLDER / f"{name}{_UNFINISHED}"
    if target.exists():
        raise BackupFailed("there is already a backup “{name}”", name=name)
    try:
        private_folder(folder / FOLDER)
        shutil.rmtree(making, ignore_errors=True)
        private_folder(making)
        files = {name_in_backup(path, making): _verified(path) for path in fill(making)}
        manifest = {"at": at, "files": files}
        _write_manifest(making, manifest)
        making.rename(target)
        sync_folder(target.parent)
    except (OSError, driver.DatabaseError) as error:
        raise BackupFailed(
            "no backup could be created in {folder}: {error}", folder=folder / FOLDER, error=error
        ) from error
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return _read(target)


def copy_to(backup: Backup, folder: Path) -> Path:
    """Copy a backup into another folder and verify it; returns its path. Raises BackupFailed.

    To restore it, copy it into `backups/` of a data folder.
    """
    target, making = folder / backup.name, folder / f"{backup.name}{_UNFINISHED}"
    try:
        if target.exists():
            raise BackupFailed("{target} already exists", target=target)
        private_folder(folder)
        shutil.rmtree(making, ignore_errors=True)
        private_folder(making)
        shutil.copytree(backup.path, making, dirs_exist_ok=True)
        verify(_read(making))
        making.rename(target)
        sync_folder(folder)
    except OSError as error:
        shutil.rmtree(making, ignore_errors=True)
        raise BackupFailed(
            "{folder} could not be written to: {reason}", folder=folder, reason=error.strerror or error
        ) from error
    return target


def listing(folder: Path) -> list[Backup]:
    """The backups with a readable manifest, newest first."""
    found = (each for each in _each(folder) if isinstance(each, Backup))
    return sorted(found, key=lambda backup: backup.at, reverse=True)


def damaged(folder: Path) -> dict[str, str]:
    """The names of the other backups, with the reason why they cannot be restored."""
    return {each[0].name: each[1] for each in _each(folder) if not isinstance(each, Backup)}


def rotate(folder: Path, keep: int, made: Backup) -> list[str]:
    """Delete all but the newest `keep` backups, and unfinished ones; returns the deleted names.

    The one just made counts as the newest, whatever the clock said when the others were made.

    Raises BackupFailed. The caller must be the only user of the folder: a backup in progress looks unfinished.
    """
    gone = [each for each in listing(folder) if each.name != made.name][max(keep, 1) - 1 :]
    try:
        for left in (*(folder / FOLDER).glob(f"*{_UNFINISHED}"), *folder.glob(f"{RESTORING}*")):
            shutil.rmtree(left)
        for backup in gone:
            shutil.rmtree(backup.path)
    except OSError as error:
        raise BackupFailed("an old backup could not be deleted: {error}; delete it by hand", error=error) from error
    return [backup.name for backup in gone]


def verify(backup: Backup) -> None:
    """Read all of a backup. Raises BackupFailed if it is damaged or incomplete."""
    for name, digest in backup.files.items():
        path = backup.path / name
        if not path.exists() or _digest(path) != digest:
            raise BackupFailed("{path} is damaged or missing; choose another backup", path=path)
        _check(path)


def restore(
    folder: Path, backup: Backup, take_out: Callable[[Path, Path], None] | None = None
) -> tuple[int, list[str]]:
    """Replace the current files by a backup. Raises BackupFailed.

    Returns how many erasures have to be repeated, and the names of constellations that are newer than the
    backup: their files are in `deleted/`, like those of a deleted one. `take_out` gets the file of each other one, and
    its copy before it replaces that.

    The caller must hold the folder's lock. The erasures are recorded in the registry, which is restored first, so that
    the next start repeats them whatever happens here.
    """
    staged, present = folder / f"{RESTORING}{backup.name}", present_data(folder)
    newer = [each for each in present.constellations if name_in_backup(each.path, folder) not in backup.files]
    try:
        again = _stage(folder, backup, staged, present, take_out)
        _replace(folder, backup, staged, newer)
    finally:
        shutil.rmtree(staged, ignore_errors=True)  # as readable as what it is a copy of
    return again, [each.name for each in newer]


def _stage(
    folder: Path,
    backup: Backup,
    staged: Path,
    present: PresentData,
    take_out: Callable[[Path, Path], None] | None,
) -> int:
    """Prepare a copy for the restore, with what must not be undone."""
    try:
        verify(backup)
        shutil.rmtree(staged, ignore_errors=True)
        shutil.copytree(backup.path, staged)
        again = carry_over(folder, staged / GLOBAL_DB, present)
        for name in backup.files.keys() - {GLOBAL_DB}:
            keep_rules(staged / name, present.files.get(name))
            if take_out is not None and name in present.files:
                take_out(folder / name, staged / name)
        # Files of which only some are replaced would look like good data after a kill or a power cut.
        (folder / UNFINISHED_RESTORE).write_text(backup.name, "utf-8")
        sync_folder(folder)
        return again
    except (OSError, driver.DatabaseError) as error:
        raise BackupFailed(
            "{name} could not be restored: {error}. Nothing was changed. Fix the problem, or choose another backup",
            name=backup.name,
            error=error,
        ) from error


def _replace(folder: Path, backup: Backup, staged: Path, newer: list[Constellation]) -> None:
    try:
        for each in newer:
            if each.path.parent.exists():
                set_aside(folder, each, utc_now())
        for name in (GLOBAL_DB, *(name for name in backup.files if name != GLOBAL_DB)):
            path = folder / name
            private_folder(path.parent)
            for beside in ("-wal", "-shm"):
                path.with_name(path.name + beside).unlink(missing_ok=True)
            (staged / name).replace(path)
            sync_folder(path.parent)
        (folder / UNFINISHED_RESTORE).unlink()
    except OSError as error:
        raise BackupFailed(
            "{name} was restored only in part: {error}. Fix the problem, and restore it again before you start Carina",
            name=backup.name,
            error=error,
        ) from error


def _verified(path: Path) -> str:
    """Merge the file with its log, check it, and return its digest."""
    path.chmod(0o600)
    with closing(connect(path)) as raw:
        raw.execute("PRAGMA journal_mode=DELETE").fetchall()
    _check(path)
    return _digest(path)


def _check(path: Path) -> None:
    if why := damage(path):
        raise BackupFailed("{path} is damaged: {why}", path=path, why=why)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _each(folder: Path) -> Iterator[Backup | tuple[Path, str]]:
    """Every backup, or the path and the reason why it is not one."""
    for path in sorted((folder / FOLDER).glob("*")):
        if path.name.endswith(_UNFINISHED) or not (path / _MANIFEST).exists():
            continue
        try:
            yield _read(path)
        except BackupFailed as error:
            yield path, str(error)


def _read(path: Path) -> Backup:
    try:
        kept = json.loads((path / _MANIFEST).read_text("utf-8"))
        files = {str(name): str(digest) for name, digest in kept["files"].items()}
        if GLOBAL_DB not in files or not all(map(_FILE.fullmatch, files)):
            raise ValueError("it names other files than those of a data folder")
        from_text(kept["at"])
        size = sum((path / name).stat().st_size for name in files if (path / name).exists())
        return Backup(path.name, path, str(kept["at"]), files, size)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BackupFailed(
            "{path} cannot be read: {error}; delete that backup", path=path / _MANIFEST, error=error
        ) from error


def _write_manifest(making: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest durably: it survives a power cut."""
    with (making / _MANIFEST).open("w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(making)
