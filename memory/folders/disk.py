"""Access to a directory of the machine as a folder: nothing outside it can be reached.

Each part of a path is opened relative to the descriptor of the part before, and symbolic links are never followed, so
that nothing can be exchanged between a check and its use. Opened files are checked by their descriptor: only regular
files are read, never devices, pipes or sockets. Hidden files are skipped.
"""

import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from memory.folders.file_lines import BLOCK, binary
from memory.store.errors import Refused

MAX_PATH = 400  # characters
_MAX_NAME = 255  # bytes, on every usual file system
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


def checked_folder(name: str) -> str:
    """A valid name of a folder. Raises `Refused` for a name that cannot begin a path."""
    if _NAME.fullmatch(name) is None:
        raise Refused(
            "“{name}” cannot name a folder: use at most 40 lowercase letters, digits, - and _, and begin with a "
            "letter or digit",
            name=clean(name),
        )
    return name


def parts_of(path: str) -> tuple[str, ...]:
    """The parts of a path inside a folder.

    Raises `Refused` for `..`, absolute paths, hidden names (beginning with a dot, as for secrets and repositories), and
    names that are not displayed as they are.
    """
    parts = tuple(path.split("/"))
    hidden = any(part.startswith(".") or not plain_name(part) for part in parts)  # also "..", and empty parts
    if hidden or len(path) > MAX_PATH or len(parts) > _MAX_DEPTH:
        raise Refused(
            "{path!r} cannot be opened: name a file inside the folder in at most {most} characters, without .., hidden "
            "names or unprintable characters",
            path=clean(path),
            most=MAX_PATH,
        )
    return parts


def plain_name(name: str) -> bool:
    """Whether a name is shown as it is: no control, direction or invisible characters, no backslash, not too long."""
    unseen = any(unicodedata.category(character)[0] == "C" for character in name)
    broken = any(unicodedata.category(character) in ("Zl", "Zp") for character in name)
    return not (unseen or broken or "\\" in name or name != name.strip()) and 0 < len(name.encode()) <= _MAX_NAME


def flat_name(name: str) -> str:
    """A name for a given file that is valid in a folder."""
    flat = clean(name).replace("\\", "_").replace("/", "_").lstrip(". ")
    while len(flat.encode()) > _MAX_NAME:
        flat = flat[1:]  # the end says what kind of file it is
    return flat.strip() or "file"


def clean(name: str) -> str:
    """Any name, as one line of visible characters."""
    shown = "".join(" " if unicodedata.category(each)[0] in "CZ" else each for each in name)
    return " ".join(shown.split())[:MAX_PATH]


MOST_FILES = 10_000
"""The most files of a folder that are listed."""
MAX_WRITTEN = 2_000_000
"""The most bytes of a file that an agent may write or append to."""
_MAX_DEPTH = 16

SUPPORTED = os.open in os.supports_dir_fd
"""Whether this system can open files relative to a directory's descriptor; Windows cannot."""


class DiskFile(Struct, frozen=True):
    """A file of a directory, by its path inside, with its size in bytes.

    `modified` is its last change (ctime) in nanoseconds; unlike mtime, nobody can set that back.
    """

    name: str
    size: int
    modified: int


class OpenFile(Struct, frozen=True):
    """A regular file opened for reading; it stays the same file whatever happens to its name."""

    descriptor: int
    seen: DiskFile

    def blocks(self) -> Iterator[bytes]:
        at = 0
        while block := os.pread(self.descriptor, BLOCK, at):
            at += len(block)
            yield block

    def text(self) -> None:
        """Raise `Refused` unless it is text."""
        if binary(os.pread(self.descriptor, BLOCK, 0)):
            raise Refused("{name} is a binary file and cannot be read", name=self.seen.name)


def checked_root(given: str, data: Path) -> Path:
    """The given directory with all links resolved. Raises `Refused` if it cannot be a folder.

    `data` is Carina's own folder: its databases hold what others said and are never shown through a folder.
    """
    if not SUPPORTED:
        raise Refused(
            "this system cannot confine access to one directory; create the folder without a "
            "directory, and upload files"
        )
    root = Path(given).expanduser()
    if not root.is_absolute():
        raise Refused("“{path}” is not an absolute path: it must begin with /", path=clean(given))
    try:
        root = root.resolve(strict=True)
        os.scandir(root).close()
    except (OSError, RuntimeError) as error:
        raise Refused(
            "“{path}” cannot be used as a directory: {reason}", reason=_reason(error), path=clean(given)
        ) from error
    own = data.resolve()
    if root == own or root in own.parents or own in root.parents:
        raise Refused(
            "“{path}” is, contains or is inside Carina's own data folder, which no agent may read", path=clean(given)
        )
    return root


@contextmanager
def open_file(root: Path, path: str) -> Iterator[OpenFile]:
    """Open a file of the directory. Raises `Refused`, also for anything but a regular file."""
    *directories, name = parts_of(path)
    with _directory(root, directories, path) as directory:
        descriptor = _open_plain(directory, name, path)
        try:
            yield OpenFile(descriptor, _seen(path, os.fstat(descriptor)))
        finally:
            os.close(descriptor)


def exists(root: Path, path: str) -> bool:
    """Whether the name exists. Raises `Refused` if its directory does not."""
    *directories, name = parts_of(path)
    with _directory(root, directories, path) as directory:
        try:
            os.stat(name, dir_fd=directory, follow_symlinks=False)
        except OSError:
            return False
        return True


def walk(root: Path) -> Iterator[DiskFile]:
    """The regular files below the directory, without hidden ones and links; those of a directory by name.

    Raises `Refused` if the directory does not exist or holds too many files.
    """
    count = 0
    with _directory(root, (), "") as top:
        for path, directories, names, descriptor in os.fwalk(".", dir_fd=top):  # follows no links
            prefix = f"{path}/"[2:]
            directories[:] = sorted(filter(_is_listed, directories if prefix.count("/") < _MAX_DEPTH - 1 else ()))
            for name in sorted(filter(_is_listed, names)):
                with suppress(OSError):  # gone or exchanged meanwhile, or not ours to read
                    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    if not stat.S_ISREG(status.st_mode):
                        continue
                    count += 1
                    if count > MOST_FILES:
                        raise Refused(
                            "the directory holds more than {max_files:,} files: name a smaller one",
                            max_files=MOST_FILES,
                        )
                    yield _seen(prefix + name, status)


def _is_listed(name: str) -> bool:
    return not name.startswith(".") and plain_name(name)


def replace(root: Path, path: str, content: bytes) -> None:
    """Write a whole file, or nothing of it. Raises `Refused`.

    The new file gets its name only when it is on disk; if it replaces one, it keeps that one's permissions.
    """
    *directories, name = parts_of(path)
    with _directory(root, directories, path) as directory:
        try:
            mode = stat.S_IMODE(_plain(directory, name, path).st_mode)
        except FileNotFoundError:
            mode = 0o600
        temporary = f".carina-{secrets.token_hex(8)}"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, mode, dir_fd=directory)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError as error:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=directory)
            raise Refused("{path} cannot be written: {reason}", path=path, reason=_reason(error)) from error


@contextmanager
def _directory(root: Path, directories: tuple[str, ...] | list[str], path: str) -> Iterator[int]:
    try:
        descriptor = _open_directory(str(root))
    except OSError as error:
        raise Refused("the folder's directory cannot be opened: {reason}", reason=_reason(error)) from error
    try:
        for name in directories:
            try:
                below = _open_directory(name, descriptor)
            except OSError as error:
                raise Refused(
                    "there is no directory for “{path}” in the folder: {reason}",
                    reason=_reason(error),
                    path=clean(path),
                ) from error
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _open_directory(name: str, above: int | None = None) -> int:
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)


def _open_plain(directory: int, name: str, path: str) -> int:
    try:
        _plain(directory, name, path)  # before it is opened: opening a device can do something
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=directory)
    except OSError as error:
        raise Refused("{path} cannot be opened: {reason}", path=path, reason=_reason(error)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # exchanged since it was looked at
        os.close(descriptor)
        raise Refused("{path} is not a regular file", path=path)
    return descriptor


def _plain(directory: int, name: str, path: str) -> os.stat_result:
    """The status of a regular file. Raises `Refused` for anything else, FileNotFoundError if there is nothing."""
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        raise Refused("{path} is not a regular file; symbolic links are not followed", path=path)
    return status


def _seen(path: str, status: os.stat_result) -> DiskFile:
    return DiskFile(path, status.st_size, status.st_ctime_ns)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
