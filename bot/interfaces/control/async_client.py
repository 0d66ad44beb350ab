"""Client of the control socket for an event loop: calls to the process that uses a data folder."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

from msgspec import Struct

from bot.interfaces.control.client import (
    Reply,
    ServiceFailed,
    View,
    connected,
    decoded,
    is_used,
    parse_reply,
    request_line,
    silent,
)
from memory.store.data_folder import DataFolder

ANSWER_SECONDS = 30.0
_LONGEST_REPLY = 1 << 24


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
        return decoded(await self.ask(operation, arguments=arguments, view=View(as_json=True)), Reply).data()

    def call(self, operation: str, **arguments: Any) -> AsyncGenerator[Any, None]:
        """The replies as they arrive, without a time limit after the first one.

        Closing the iterator (`contextlib.aclosing`) cancels the operation.
        """
        return self._replies(operation, arguments, ANSWER_SECONDS, None)

    async def _replies(
        self, operation: str, arguments: dict[str, Any], within: float | None, later: float | None
    ) -> AsyncGenerator[Any, None]:
        """The first reply within `within` seconds, later ones within `later`. Raises UserError, such as NoService."""
        request = request_line(operation, arguments)
        reader, writer = await asyncio.open_unix_connection(sock=connected(self.folder), limit=_LONGEST_REPLY)
        try:
            writer.write(request)
            await writer.drain()
            while True:
                async with asyncio.timeout(within):
                    line = await reader.readline()
                if (reply := parse_reply(line)) is None:
                    return
                yield reply["data"]
                within = later
        except TimeoutError:
            raise silent(self.folder, within) from None
        except ConnectionError:
            raise ServiceEnded(
                "The service stopped. When it is running again, it will answer the messages that it accepted."
            ) from None
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


def holder_of(folder: DataFolder) -> Holder | None:
    """The process that uses the data folder; None without one. Creates nothing."""
    return Holder(folder) if is_used(folder) else None
