"""Calls operations of a running service without an event loop, which takes a while to load: see `service_client.py`."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from bot.errors import UserError
from memory.store.folder import DataFolder
from texts import _

CONNECT_SECONDS = 5.0
LONGEST_REQUEST = 1 << 20


class NoService(UserError):
    """A program uses the folder but accepts no commands."""


def ask(folder: DataFolder, request: Mapping[str, Any], seconds: float | None) -> Iterator[dict[str, Any]]:
    """Send a request and yield the replies, each within the given seconds. Raises NoService, UserError."""
    with closing(_connected(folder)) as connection:
        connection.settimeout(seconds)
        try:
            connection.sendall(json.dumps(request).encode() + b"\n")
            for line in connection.makefile("rb"):
                reply = json.loads(line)
                if "error" in reply:
                    raise UserError(reply["error"])
                if "data" not in reply:
                    return
                yield reply["data"]
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


def user_of(folder: DataFolder) -> str:
    process = folder.holder()
    who = _("Process {number}", number=process) if process else _("Another process")
    return _("{who} is using the data folder {path}", who=who, path=folder.path)
