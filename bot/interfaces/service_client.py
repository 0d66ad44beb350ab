"""The process that uses a data folder, and calls to it over its control socket."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, aclosing, contextmanager, suppress
from typing import Any

import msgspec
from msgspec import Struct

from bot.errors import UserError
from bot.interfaces.client import (
    CONNECT_SECONDS,
    LONGEST_REQUEST,
    Reply,
    View,
    no_service,
    no_sockets,
    same_version,
    silent,
    user_of,
)
from memory.store.errors import FolderLocked
from memory.store.folder import DataFolder
from texts import _

ANSWER_SECONDS = 30.0
_LONGEST_REPLY = 1 << 24


class ServiceFailed(UserError):
    """The service answered with an error, or ended before it answered; the text says which."""


class ServiceEnded(ServiceFailed):
    """The service ended before it answered."""


class Holder(Struct, frozen=True):
    """The process that uses a data folder. Errors name it if it does not answer."""

    folder: DataFolder

    async def ask(self, operation: str, within: float | None = ANSWER_SECONDS, **arguments: Any) -> Any:
        """The single reply, within the given seconds; None if there is none."""
        async with aclosing(self._replies(operation, arguments, within, within)) as replies:
            return await anext(replies, None)

    async def data(self, operation: str, **arguments: Any) -> Any:
        """The result of an operation as data. Raises UserError."""
        reply = await self.ask(operation, arguments=arguments, view=View(as_json=True))
        with same_version():
            return msgspec.convert(reply, Reply).data()

    def call(self, operation: str, **arguments: Any) -> AsyncGenerator[Any, None]:
        """The replies as they arrive, without a time limit after the first one.

        Closing the iterator (`contextlib.aclosing`) cancels the operation.
        """
        return self._replies(operation, arguments, ANSWER_SECONDS, None)

    async def _replies(
        self, operation: str, arguments: dict[str, Any], within: float | None, later: float | None
    ) -> AsyncGenerator[Any, None]:
        """The first reply within `within` seconds, later ones within `later`. Raises UserError, such as NoService."""
        request = json.dumps({**arguments, "op": operation}, default=msgspec.to_builtins).encode("utf-8") + b"\n"
        if len(request) > LONGEST_REQUEST:
            raise ServiceFailed(
                "that is too long: {count} bytes (at most {most})", count=len(request), most=LONGEST_REQUEST
            )
        reader, writer = await self._connected()
        try:
            writer.write(request)
            await writer.drain()
            while (reply := await self._receive(reader, within)) is not None:
                yield reply["data"]
                within = later
        except ConnectionError:
            raise ServiceEnded("The service stopped. What it accepted is answered when it runs again.") from None
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not hasattr(socket, "AF_UNIX"):
            raise no_sockets(self.folder)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await asyncio.open_unix_connection(str(self.folder.control_address()), limit=_LONGEST_REPLY)
        except (OSError, TimeoutError):
            raise no_service(self.folder) from None

    async def _receive(self, reader: asyncio.StreamReader, within: float | None) -> dict[str, Any] | None:
        """The next reply; None after the last. Raises ServiceFailed."""
        try:
            async with asyncio.timeout(within):
                line = await reader.readline()
        except TimeoutError:
            raise silent(self.folder, within) from None
        if not line.endswith(b"\n"):
            raise ConnectionResetError
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise ServiceFailed(str(reply["error"]))
        return reply if "data" in reply else None


def holder_of(folder: DataFolder) -> Holder | None:
    """The process that uses the data folder; None without one. Creates nothing."""
    return Holder(folder) if folder.path.is_dir() and folder.holder() is not None else None


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
