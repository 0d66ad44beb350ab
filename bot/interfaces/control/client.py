"""Client of the control socket without an event loop, which takes a while to load; `async_client.py` uses one.

Code that works on the files instead holds the data folder (`hold`), so that no service starts meanwhile.
"""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, TypeVar, overload

import msgspec
from msgspec import Struct

from bot.errors import UserError
from memory.store.data_folder import DataFolder
from memory.store.errors import FolderLocked
from texts import _, error_text

CONNECT_SECONDS = 5.0
STARTING_SECONDS = 8.0  # time limit for a service that may be starting to accept commands
LONGEST_REQUEST = 1 << 20

T = TypeVar("T")


class Reply(Struct, frozen=True, omit_defaults=True):
    """The output of a command: a text, possibly with an `aside` for standard error; or a question to `confirm`; or an
    `error`. `code` is the exit code."""

    text: str = ""
    aside: str = ""
    confirm: str | None = None
    error: str | None = None
    code: int = 0

    def data(self) -> Any:
        """The result of an operation that was asked for as JSON. Raises UserError."""
        if self.error is not None:
            raise UserError(self.error)
        return json.loads(self.text)


class View(Struct, frozen=True, omit_defaults=True):
    """How a command prints."""

    as_json: bool = False
    ascii: bool = False
    """Whether the output can only show ASCII."""
    sure: bool = False
    """Whether the caller confirmed in advance."""
    shown: str = ""
    """The question that they confirmed; empty if they confirmed in advance."""
    locale: str = ""
    """The reader's locale; empty for the language of the service."""
    attended: bool = False
    """Whether a person reads it at a terminal."""
    constellation: str = ""
    """The constellation of the call; empty for the configured one."""


class NoService(UserError):
    """A program uses the folder but accepts no commands."""


class ServiceFailed(UserError):
    """The service answered with an error, or ended before it answered; the text says which."""


def ask(folder: DataFolder, operation: str, seconds: float | None, **arguments: Any) -> Reply:
    """Call an operation. Raises NoService, UserError."""
    with closing(connected(folder)) as connection:
        connection.settimeout(seconds)
        try:
            connection.sendall(request_line(operation, arguments))
            reply = parse_reply(connection.makefile("rb").readline())
        except TimeoutError:
            raise silent(folder, seconds) from None
        except ConnectionError:
            reply = None
    if reply is None:
        raise UserError("The service stopped before it answered.")
    return decoded(reply["data"], Reply)


def request_line(operation: str, arguments: dict[str, Any]) -> bytes:
    """A request as a line. Raises ServiceFailed if it is too long."""
    line = json.dumps({**arguments, "op": operation}, default=msgspec.to_builtins).encode() + b"\n"
    if len(line) > LONGEST_REQUEST:
        raise ServiceFailed("that is too long: {count} bytes (at most {most})", count=len(line), most=LONGEST_REQUEST)
    return line


def parse_reply(line: bytes) -> dict[str, Any] | None:
    """A reply with its "data"; None after the last. Raises ServiceFailed, and ConnectionResetError for half a line."""
    if not line.endswith(b"\n"):
        raise ConnectionResetError
    reply: dict[str, Any] = json.loads(line)
    if "error" in reply:
        raise ServiceFailed(str(reply["error"]))
    return reply if "data" in reply else None


def connected(folder: DataFolder) -> socket.socket:
    """A connection to the service. Raises NoService, UserError."""
    if not hasattr(socket, "AF_UNIX"):
        why = _("This platform has no Unix sockets, so the running service cannot be reached. Stop it first.")
        raise UserError(f"{user_of(folder)}: {why}")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(CONNECT_SECONDS)
    try:
        connection.connect(str(folder.control_address()))
    except OSError:
        connection.close()
        raise NoService(
            "{who} and is not accepting commands: it is starting or stopping, or it is another command. Try again in "
            "a moment, or stop it.",
            who=user_of(folder),
        ) from None
    return connection


def silent(folder: DataFolder, seconds: float | None) -> UserError:
    return UserError(
        "{who}. The service did not answer within {seconds:g} seconds: it is busy or stuck, and may still do what you "
        "asked. Check `carina status`, try again, or stop it.",
        who=user_of(folder),
        seconds=seconds,
    )


@overload
def decoded(data: Any, kind: type[T]) -> T: ...
@overload
def decoded(data: Any, kind: Any) -> Any: ...
def decoded(data: Any, kind: Any) -> Any:
    """A received value as its type. Raises UserError if this version would not have sent it."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise other_version(error_text(error)) from None


def other_version(reason: str) -> UserError:
    return UserError(
        "The running service and this command have different versions; restart the service with `carina restart` "
        "({reason}).",
        reason=reason,
    )


def is_used(folder: DataFolder) -> bool:
    """Whether a process uses the data folder. Creates nothing."""
    return folder.holder() is not None


def not_running(folder: DataFolder) -> UserError:
    return UserError("Carina is not running with the data folder {path}. `carina run` starts it.", path=folder.path)


def user_of(folder: DataFolder) -> str:
    process = folder.holder()
    who = _("Process {number}", number=process) if process else _("Another process")
    return _("{who} is using the data folder {path}", who=who, path=folder.path)


@contextmanager
def hold(folder: DataFolder, then: str) -> Iterator[None]:
    """Hold a data folder. Raises FolderLocked, whose text names its user and ends with `then`, the remedy."""
    with ExitStack() as stack:
        try:
            stack.enter_context(folder.lock())
        except FolderLocked as error:
            used = folder.holder() is not None
            who = user_of(folder) if used else _("Another process was using the data folder a moment ago")
            raise FolderLocked(f"{who}. {then}") from error
        yield
