"""Runs Litestream beside the service for every database, and checks how far behind the replica is."""

import asyncio
import json
import os
import re
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from bot.config import Config
from bot.config.loader import environment
from memory.store.backups import BackupFailed
from memory.store.clock import Clock, from_text
from memory.store.constellation import Constellations
from memory.store.folder import DataFolder
from memory.store.replica import Replica, program
from texts import _, error_text

_LOOK_SECONDS = 5.0  # between checks of the databases and the replica's progress
_ANSWER_SECONDS = 10.0
_PASSED_ON = re.compile(r"PATH|HOME|TMPDIR|SSH_AUTH_SOCK|SSL_CERT_(FILE|DIR)|(?i:(HTTPS?|NO)_PROXY)")
_LATE = timedelta(minutes=1)


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
            return _("failing: {why}", why=error_text(self._failed))
        return _("synced at {at}", at=f"{self._synced:%H:%M:%S} UTC") if self._synced else _("starting")

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
            raise BackupFailed("Litestream ended: {said}", said=said or _("no reason given"))

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
        process = await asyncio.create_subprocess_exec(
            *(program(), "list", "-json", "-socket", str(socket)),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
            env=dict(replica.environment),
        )
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                told, _nothing = await process.communicate()
            each = json.loads(told)["databases"]
            oldest = min(from_text(one["last_sync_at"]) for one in each)
        except (TimeoutError, ValueError, KeyError, TypeError):  # it has just started, or is busy
            oldest = None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
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
