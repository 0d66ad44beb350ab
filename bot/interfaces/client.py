"""Calls operations of a running service without an event loop, which takes a while to load: see `service_client.py`."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import msgspec
from msgspec import Struct

from bot.errors import UserError
from memory.store.folder import DataFolder
from texts import _, error_text

CONNECT_SECONDS = 5.0
LONGEST_REQUEST = 1 << 20


class Reply(Struct, frozen=True, omit_defaults=True):
    """What a command prints: a text, perhaps with an `aside` for standard error; or a question to `confirm`; or an
    `error`. `code` is the one to exit with."""

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
    """Whether the caller has confirmed whatever would be asked."""
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


def ask(folder: DataFolder, request: Mapping[str, Any], seconds: float | None) -> Iterator[Reply]:
    """Send a request and yield the replies, each within the given seconds. Raises NoService, UserError."""
    with closing(_connected(folder)) as connection:
        connection.settimeout(seconds)
        try:
            connection.sendall(json.dumps(request, default=msgspec.to_builtins).encode() + b"\n")
            for line in connection.makefile("rb"):
                reply = json.loads(line)
                if "error" in reply:
                    raise UserError(reply["error"])
                if "data" not in reply:
                    return
                with same_version():
                    decoded = msgspec.convert(reply["data"], Reply)
                yield decoded
        except TimeoutError:
            raise silent(folder, seconds) from None
        except ConnectionError:
            raise UserError("The service stopped before it answered.") from None
        raise UserError("The service stopped before it answered.")


def _connected(folder: DataFolder) -> socket.socket:
    if not hasattr(socket, "AF_UNIX"):
        raise no_sockets(folder)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(CONNECT_SECONDS)
    try:
        connection.connect(str(folder.control_address()))
    except OSError:
        connection.close()
        raise no_service(folder) from None
    return connection


def no_service(folder: DataFolder) -> NoService:
    return NoService(
        "{who} and is not accepting commands: it is starting or stopping, or it is another command. Try again in a "
        "moment, or stop it.",
        who=user_of(folder),
    )


def no_sockets(folder: DataFolder) -> UserError:
    why = _("This platform has no Unix sockets, so the running service cannot be reached. Stop it first.")
    return UserError(f"{user_of(folder)}: {why}")


def silent(folder: DataFolder, seconds: float | None) -> UserError:
    return UserError(
        "{who}. The service did not answer within {seconds:g} seconds: it is busy or stuck, and may still do what you "
        "asked. Check `carina status`, try again, or stop it.",
        who=user_of(folder),
        seconds=seconds,
    )


@contextmanager
def same_version() -> Iterator[None]:
    """For decoding what came over the socket. Raises UserError if this version would not have sent it."""
    try:
        yield
    except msgspec.ValidationError as error:
        raise other_version(error_text(error)) from None


def other_version(reason: str) -> UserError:
    return UserError(
        "The running service and this command are of different versions; restart the service with `carina restart` "
        "({reason}).",
        reason=reason,
    )


def user_of(folder: DataFolder) -> str:
    process = folder.holder()
    who = _("Process {number}", number=process) if process else _("Another process")
    return _("{who} is using the data folder {path}", who=who, path=folder.path)
