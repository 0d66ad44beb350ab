"""The local control socket: how commands talk to the running service.

A unix domain socket in the data folder, for its owner only. A request is one line of JSON, `{"op": ..., ...}`, one
for each connection; the replies are lines too: any number of `{"data": ...}`, then `{"done": true}` or
`{"error": "..."}`. Closing the connection cancels the operation. Where the folder's path is too long for a socket
the socket stands in a private temporary folder, and `control.path` in the data folder says where.

Platforms without unix sockets (Windows) have no control socket: there a command works while no service runs.
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

import structlog

from bot.errors import ToolError, UserError
from memory.store.errors import FolderLocked, StoreError
from memory.store.folder import DataFolder, private_file
from texts import error_text

Handler: TypeAlias = Callable[..., Any]
"""An operation: an async function (one reply) or async generator (many), with the request's keys as keyword
arguments. Replies are plain JSON data. It raises UserError, ToolError or StoreError with words for the caller."""

log = structlog.stdlib.get_logger("carina.control")

_LONGEST_PATH = 103  # bytes of sun_path: 104 with its end on macOS and BSD, 108 on Linux
_SHORT = Path("/", "tmp")  # where a folder of our own is made if temporary files go somewhere deep
_ROOM = len("/carina-12345678/control.sock")
_LONGEST_REQUEST = 1 << 20
_LONGEST_REPLY = 1 << 24
_REQUEST_SECONDS = 10.0
_DRAIN_SECONDS = 30.0


class ServiceNotRunning(UserError):
    """No service of this data folder answers."""


class ControlFailed(UserError):
    """The service answered with an error, or ended before it had answered; the text says which."""


class ControlEnded(ControlFailed):
    """The service ended before it had answered."""


class ControlTimeout(UserError):
    """The service did not answer in time."""


class _BadRequest(Exception):
    """What arrived is no request; the text goes back to the caller."""


class _Gone(Exception):
    """The other side takes no more."""


# ------------------------------------------------------------------------------------------------ the service's side


@asynccontextmanager
async def serve(folder: DataFolder, handlers: Mapping[str, Handler]) -> AsyncIterator[None]:
    """Answer requests while the context is open; the caller holds the folder's lock.

    Raises StoreError when there is no room for a socket, FolderLocked when somebody answers on it already.
    """
    if not hasattr(socket, "AF_UNIX"):
        log.warning("no control socket", reason="this platform has no unix sockets; commands need a stopped service")
        yield
        return
    listening, path = _bind(folder)
    running: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_converse(reader, writer, handlers), name="control connection")
        running.add(task)
        task.add_done_callback(running.discard)

    server = await asyncio.start_unix_server(connected, sock=listening, limit=_LONGEST_REQUEST)
    try:
        yield
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        _remove(folder, path)


def _bind(folder: DataFolder) -> tuple[socket.socket, Path]:
    """A socket that is private before anybody can connect to it, and where it stands."""
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


async def _converse(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handlers: Mapping[str, Handler]
) -> None:
    try:
        await _perform(await _read_request(reader, handlers), reader, writer)
    except _BadRequest as error:
        with suppress(_Gone):
            await _send(writer, {"error": error_text(error)})
    except _Gone:
        log.debug("control connection lost")
    except Exception:
        log.exception("control connection failed")
    finally:
        writer.close()


async def _perform(
    operation: functools.partial[Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Run it to the end, or until the other side goes away."""
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
            line = await reader.readline()
        request = json.loads(line)
    except TimeoutError:
        raise _BadRequest("no request came") from None
    except ValueError:  # too long, not UTF-8 or not JSON
        raise _BadRequest(f"the request is not one line of JSON of at most {_LONGEST_REQUEST} bytes") from None
    if not isinstance(request, dict) or not isinstance(request.get("op"), str):
        raise _BadRequest('the request is not an object with an "op"')
    name = request.pop("op")
    if name not in handlers:
        raise _BadRequest(f"unknown operation {name!r}; this service knows: {', '.join(sorted(handlers))}")
    try:
        inspect.signature(handlers[name]).bind(**request)
    except TypeError as error:
        raise _BadRequest(f"operation {name!r}: {error_text(error)}") from None
    return functools.partial(handlers[name], **request)


async def _run(operation: functools.partial[Any], writer: asyncio.StreamWriter) -> None:
    try:
        async with aclosing(replies_of(operation())) as replies:
            async for reply in replies:
                await _send(writer, {"data": reply})
        await _send(writer, {"done": True})
    except _Gone:
        raise
    except (UserError, ToolError, StoreError) as error:
        await _send(writer, {"error": error_text(error)})
    except Exception:
        log.exception("control operation failed")
        await _send(writer, {"error": "an internal error; the service's log says more"})


async def replies_of(result: Any) -> AsyncGenerator[Any, None]:
    """What a handler gives, be it one reply or many."""
    if inspect.isawaitable(result):
        yield await result
        return
    async with aclosing(result) as replies:
        async for reply in replies:
            yield reply


async def _send(writer: asyncio.StreamWriter, reply: Mapping[str, Any]) -> None:
    """One line; raises _Gone when nobody takes it."""
    writer.write(json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            await writer.drain()
    except (ConnectionError, TimeoutError) as error:
        raise _Gone from error


async def _until_end(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        while await reader.read(4096):
            pass


# ------------------------------------------------------------------------------------------------ the command's side


async def call(
    folder: DataFolder, op: str, /, *, within: float | None = 30, **arguments: Any
) -> AsyncGenerator[Any, None]:
    """Ask the running service; gives its replies as they come, each within that many seconds (None: however long).

    Closing the iterator (`contextlib.aclosing`) cancels the operation. Raises ServiceNotRunning, ControlTimeout or
    ControlFailed.
    """
    request = json.dumps({**arguments, "op": op}).encode("utf-8") + b"\n"
    if len(request) > _LONGEST_REQUEST:
        raise ControlFailed(
            "that is too long: {count} bytes (at most {most})", count=len(request), most=_LONGEST_REQUEST
        )
    reader, writer = await _connect(folder)
    try:
        writer.write(request)
        await writer.drain()
        while (reply := await _receive(reader, within)) is not None:
            yield reply["data"]
    except ConnectionError:
        raise ControlEnded("The service stopped before it answered.") from None
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def ask(folder: DataFolder, op: str, /, *, within: float | None = 30, **arguments: Any) -> Any:
    """`call` for an operation with one reply; gives it, or None when there is none."""
    async with aclosing(call(folder, op, within=within, **arguments)) as replies:
        return await anext(replies, None)


async def _connect(folder: DataFolder) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if not hasattr(socket, "AF_UNIX"):
        raise ServiceNotRunning(
            "this platform has no Unix sockets, so the running service cannot be reached; stop it first"
        )
    try:
        async with asyncio.timeout(5):
            return await asyncio.open_unix_connection(str(folder.control_address()), limit=_LONGEST_REPLY)
    except (OSError, TimeoutError):
        raise ServiceNotRunning(
            "No service answers for the data folder {path}. `carina run` starts it.", path=folder.path
        ) from None


async def _receive(reader: asyncio.StreamReader, within: float | None) -> dict[str, Any] | None:
    """The next reply with data; None after the last."""
    try:
        async with asyncio.timeout(within):
            line = await reader.readline()
    except TimeoutError:
        raise ControlTimeout("the service did not answer within {seconds:g} seconds", seconds=within) from None
    if not line.endswith(b"\n"):
        raise ConnectionResetError
    reply: dict[str, Any] = json.loads(line)
    if "error" in reply:
        raise ControlFailed(str(reply["error"]))
    return reply if "data" in reply else None
