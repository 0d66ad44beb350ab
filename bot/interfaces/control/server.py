"""The local control socket: how the running service answers commands.

A unix domain socket in the data folder, for its owner only. A request is one line of JSON, `{"op": ..., ...}`, one
for each connection; the replies are lines too: any number of `{"data": ...}`, then `{"done": true}` or
`{"error": "..."}`. Closing the connection cancels the operation. If the folder's path is too long for a socket,
the socket is in a private temporary folder, and `control.path` in the data folder has its path.

Platforms without unix sockets (Windows) have no control socket: commands work there while no service runs.
"""

import asyncio
import functools
import inspect
import json
import os
import socket
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from bot.errors import ToolError, UserError
from bot.interfaces.control.client import LONGEST_REQUEST, other_version
from memory.store.data_folder import DataFolder, private_file
from memory.store.errors import FolderLocked, StoreError
from memory.store.logs import Log
from texts import error_text

Handler: TypeAlias = Callable[..., Any]
"""An operation: an async function (one reply) or async generator (many), with the request's keys as keyword
arguments. Replies are JSON data or structs. It raises UserError, ToolError or StoreError with words for the caller."""

log = Log("carina.control")

_LONGEST_PATH = 103  # bytes of sun_path: 104 with its end on macOS and BSD, 108 on Linux
_SHORT = Path("/", "tmp")  # parent of our own folder if the temporary one has a long path
_ROOM = len("/carina-12345678/control.sock")
_REQUEST_SECONDS = 10.0
_DRAIN_SECONDS = 30.0


class _BadRequest(Exception):
    """The request is invalid; the text goes back to the caller."""


class _Disconnected(Exception):
    """The client has closed the connection."""


@asynccontextmanager
async def serve(folder: DataFolder, handlers: Mapping[str, Handler]) -> AsyncIterator[None]:
    """Answer requests while the context is open; the caller holds the folder's lock.

    Raises StoreError if no socket can be created, FolderLocked if another process already answers on it.
    """
    if not hasattr(socket, "AF_UNIX"):
        log.warning(
            "control_socket_unavailable", reason="this platform has no unix sockets; commands need a stopped service"
        )
        yield
        return
    listening, path = _bind(folder)
    running: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_serve_connection(reader, writer, handlers), name="control connection")
        running.add(task)
        task.add_done_callback(running.discard)

    server = await asyncio.start_unix_server(connected, sock=listening, limit=LONGEST_REQUEST)
    try:
        yield
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        _remove(folder, path)


def _bind(folder: DataFolder) -> tuple[socket.socket, Path]:
    """A bound socket that is private before anybody can connect to it, and its path."""
    _remove_stale(folder)
    path = folder.control_socket
    if len(os.fsencode(path)) > _LONGEST_PATH:
        temporary = tempfile.gettempdir()
        short = _SHORT if len(os.fsencode(temporary)) > _LONGEST_PATH - _ROOM else temporary
        try:
            path = Path(tempfile.mkdtemp(prefix="carina-", dir=short)) / "control.sock"
        except OSError as error:
            raise StoreError(
                "the path {path} is too long for a socket; set CARINA_HOME to a shorter one", path=folder.path
            ) from error
        private_file(folder.control_path).write_text(str(path), "utf-8")
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(str(path))
        path.chmod(0o600)
    except OSError as error:
        listening.close()
        raise StoreError(
            "the control socket {path} could not be created: {reason}", path=path, reason=error.strerror
        ) from error
    return listening, path


def _remove_stale(folder: DataFolder) -> None:
    path = folder.control_address()
    if not path.is_socket():
        folder.control_path.unlink(missing_ok=True)
        return
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe, suppress(OSError):
        probe.settimeout(1)
        probe.connect(str(path))
        raise FolderLocked("Another service is already listening on {path}. Stop it first.", path=path)
    _remove(folder, path)


def _remove(folder: DataFolder, path: Path) -> None:
    path.unlink(missing_ok=True)
    if path != folder.control_socket:
        folder.control_path.unlink(missing_ok=True)
        with suppress(OSError):  # not empty: then it is not ours
            path.parent.rmdir()


async def _serve_connection(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handlers: Mapping[str, Handler]
) -> None:
    try:
        await _perform(await _read_request(reader, handlers), reader, writer)
    except (_BadRequest, UserError) as error:
        with suppress(_Disconnected):
            await _send(writer, {"error": error_text(error)})
    except _Disconnected:
        log.debug("control_connection_lost")
    except Exception:
        log.exception("control_connection_failed")
    finally:
        writer.close()


async def _perform(
    operation: functools.partial[Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Run an operation to its end, or until the client closes the connection."""
    working = asyncio.create_task(_run(operation, writer), name="control operation")
    leaving = asyncio.create_task(_until_end(reader), name="control connection end")
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader, handlers: Mapping[str, Handler]) -> functools.partial[Any]:
    try:
        async with asyncio.timeout(_REQUEST_SECONDS):
            request = dict(json.loads(await reader.readline()))
        name = str(request.pop("op"))
    except (TimeoutError, ValueError, TypeError, KeyError):  # too late or too long, not UTF-8, not JSON, no object
        raise _BadRequest(
            f'the request is not one line of JSON with an "op", of at most {LONGEST_REQUEST} bytes'
        ) from None
    if name not in handlers:
        raise other_version(f"unknown: {name!r}")
    try:
        inspect.signature(handlers[name]).bind(**request)
    except TypeError as error:
        raise other_version(f"{name!r}: {error_text(error)}") from None
    return functools.partial(handlers[name], **request)


async def _run(operation: functools.partial[Any], writer: asyncio.StreamWriter) -> None:
    try:
        async with aclosing(replies_of(operation())) as replies:
            async for reply in replies:
                await _send(writer, {"data": reply})
        await _send(writer, {"done": True})
    except _Disconnected:
        raise
    except (UserError, ToolError, StoreError) as error:
        await _send(writer, {"error": error_text(error)})
    except Exception:
        log.exception("control_operation_failed")
        await _send(writer, {"error": "an internal error; the service's log says more"})


async def replies_of(result: Any) -> AsyncGenerator[Any, None]:
    """The replies of a handler, whether it returns one or yields many."""
    if inspect.isawaitable(result):
        yield await result
        return
    async with aclosing(result) as replies:
        async for reply in replies:
            yield reply


async def _send(writer: asyncio.StreamWriter, reply: Mapping[str, Any]) -> None:
    """Send one line. Raises _Disconnected if the client has closed the connection."""
    writer.write(json.dumps(reply, ensure_ascii=False, default=msgspec.to_builtins).encode("utf-8", "replace") + b"\n")
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            await writer.drain()
    except (ConnectionError, TimeoutError) as error:
        raise _Disconnected from error


async def _until_end(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        while await reader.read(4096):
            pass
