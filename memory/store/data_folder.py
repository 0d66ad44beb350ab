"""The data folder: everything that Carina stores, readable only by its owner. Folders for agents: `memory.folders`.

One service at a time uses a folder. The lock is the operating system's, so it ends with the process, however that ends;
the file's content only tells people which process it is. The lock file is never deleted: another process could hold a
lock on the deleted one.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memory.store.errors import FolderLocked, StoreError
from texts import gettext_lazy

if sys.platform == "win32":
    import msvcrt

    _LOCKED_BYTE = 1 << 20  # after the content: others cannot read a locked byte

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True
else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


GLOBAL_DB = "global.db"
"""The registry of constellations and accounts."""
_OURS = (
    *(f"{GLOBAL_DB}*", "constellations", "backups", "erasures.jsonl", "control.sock", "control.path", "carina.lock"),
    *("terminal.journal", "bluesky.session", ".restoring-*", "restore-unfinished", "deleted", "litestream.yml"),
    "service.log",
)
BACKUPS = "backups"
"""The folder of the service's own backups (`memory.store.backups`)."""
UNFINISHED_RESTORE = "restore-unfinished"
"""A file with the name of the backup whose files are being put into place."""
DELETED = "deleted"
"""The folder of deleted constellations, which nobody opens any more."""
_FOLDER_MODE = 0o700
_FILE_MODE = 0o600
_LOCK_SECONDS = 1.0
"""How long to try: another command may be checking the lock just then."""


class DataFolder:
    """The paths inside the folder `path`, and its lock. Nothing is created before `prepare`."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.global_db = self.path / GLOBAL_DB
        self.control_socket = self.path / "control.sock"
        self.control_path = self.path / "control.path"
        """Contains the path of the control socket, if the socket cannot be in this folder."""
        self.terminal_journal = self.path / "terminal.journal"
        self.bluesky_session = self.path / "bluesky.session"
        self.lock_file = self.path / "carina.lock"

    def own_files(self) -> set[Path]:
        """What Carina created in the folder; everything else belongs to somebody else."""
        return {path for pattern in _OURS for path in self.path.glob(pattern)}

    def control_address(self) -> Path:
        if self.control_path.exists():
            return Path(self.control_path.read_text("utf-8"))
        return self.control_socket

    def prepare(self) -> None:
        """Create the folder, for its owner only. Raises StoreError if that fails."""
        try:
            private_folder(self.path)
            private_folder(self.path / "constellations")
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise StoreError(
                "the data folder {path} could not be created ({reason}); set CARINA_HOME to a folder you can write to",
                path=self.path,
                reason=reason,
            ) from error

    def open_to_others(self) -> bool:
        """Whether other users of this machine can read the folder (it existed before Carina)."""
        return sys.platform != "win32" and bool(self.path.stat().st_mode & 0o077)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock of this folder. Raises FolderLocked, naming the process that has it."""
        descriptor = self._open_lock()
        try:
            self._wait_for_lock(descriptor)
            os.truncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            with suppress(OSError):  # on a full disk nobody can see who holds it; it is held anyway
                os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))
            yield
            os.truncate(descriptor, 0)
        finally:
            os.close(descriptor)

    def holder(self) -> int | None:
        """The process id of the service that uses the folder (0 if unknown); None if none does."""
        if not self.lock_file.exists():
            return None
        descriptor = self._open_lock()
        try:
            return None if _try_lock(descriptor) else _written_pid(descriptor)
        finally:
            os.close(descriptor)

    def _open_lock(self) -> int:
        try:
            return os.open(self.lock_file, os.O_RDWR | os.O_CREAT, _FILE_MODE)
        except OSError as error:
            raise StoreError(
                "the lock file {path} could not be opened: {reason}", path=self.lock_file, reason=error.strerror
            ) from error

    def _wait_for_lock(self, descriptor: int) -> None:
        deadline = time.monotonic() + _LOCK_SECONDS
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                pid = _written_pid(descriptor)
                who = gettext_lazy("Process {number}", number=pid) if pid else gettext_lazy("Another process")
                raise FolderLocked(
                    "{who} is already using the data folder {path}; stop it, or set CARINA_HOME to another folder",
                    who=who,
                    path=self.path,
                )
            time.sleep(0.05)


def private_folder(path: Path) -> Path:
    """Create a folder and missing parents for its owner only; an existing one stays as it is."""
    if not path.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=_FOLDER_MODE, exist_ok=True)
        path.chmod(_FOLDER_MODE)
    return path


def private_file(path: Path) -> Path:
    """Create a file for its owner only before anything is written (SQLite gives -wal and -shm the same mode)."""
    private_folder(path.parent)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE))
    if path.stat().st_mode & 0o077:
        path.chmod(_FILE_MODE)
    return path


def sync_folder(folder: Path) -> None:
    """Make new names in a folder survive a power cut."""
    with suppress(OSError):  # Windows has no such call, and keeps names without it
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _written_pid(descriptor: int) -> int:
    """The process id in the lock file; 0 if there is none."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    text = os.read(descriptor, 32).decode("ascii", "replace").strip()
    return int(text) if text.isdigit() else 0
