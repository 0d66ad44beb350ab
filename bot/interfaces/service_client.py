"""The process that uses a data folder, and asking it."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import dataclass
from typing import Any

from bot.errors import UserError
from bot.interfaces import control
from memory.store.errors import FolderLocked
from memory.store.folder import DataFolder
from texts import _, error_text

ANSWER_SECONDS = 30.0


class TakesNoCommands(UserError):
    """Somebody uses the folder and is no service, or none that is ready."""


@dataclass(frozen=True)
class Holder:
    """The process that uses a data folder; `process` is 0 when it cannot be told. What it does not answer is said."""

    folder: DataFolder
    process: int

    def __str__(self) -> str:
        who = _("Process {number}", number=self.process) if self.process else _("Another process")
        return _("{who} is using the data folder {path}", who=who, path=self.folder.path)

    async def ask(self, operation: str, within: float | None = ANSWER_SECONDS, **arguments: Any) -> Any:
        """Its one reply, waiting so many seconds."""
        with self._silence_explained():
            return await control.ask(self.folder, operation, within=within, **arguments)

    async def data(self, operation: str, **arguments: Any) -> Any:
        """What an operation gives to a program. Raises UserError."""
        reply = await self.ask(operation, arguments=arguments, view={"as_json": True})
        if "text" not in reply:
            raise UserError(str(reply.get("error", "")))
        return json.loads(reply["text"])

    async def call(self, operation: str, **arguments: Any) -> AsyncGenerator[Any, None]:
        """Its replies as they come, however long that takes once it has begun to answer."""
        with self._silence_explained():
            async with aclosing(control.call(self.folder, operation, within=None, **arguments)) as replies:
                if (first := await self._first(replies)) is None:
                    return
                yield first
                async for reply in replies:
                    yield reply

    async def _first(self, replies: AsyncGenerator[Any, None]) -> Any:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await anext(replies, None)
        except TimeoutError:
            raise control.ControlTimeout(
                "the service did not answer within {seconds:g} seconds", seconds=ANSWER_SECONDS
            ) from None

    @contextmanager
    def _silence_explained(self) -> Iterator[None]:
        try:
            yield
        except control.ControlTimeout as error:
            raise UserError(
                "{service}: {error}. It is busy or stuck, and may still do what you asked. Check `carina "
                "status`, try again, or stop it.",
                service=self,
                error=error,
            ) from error
        except control.ServiceNotRunning as error:
            if not hasattr(socket, "AF_UNIX"):
                raise UserError(f"{self}: {error_text(error)}") from error
            raise TakesNoCommands(
                "{who} and is not accepting commands: it is starting or stopping, or it is another "
                "command. Try again in a moment, or stop it.",
                who=self,
            ) from error


def holder_of(folder: DataFolder) -> Holder | None:
    """Who uses the data folder; None when nobody does. Makes nothing."""
    process = folder.holder() if folder.path.is_dir() else None
    return None if process is None else Holder(folder, process)


@contextmanager
def held(folder: DataFolder, then: str) -> Iterator[None]:
    """Hold a data folder. Raises FolderLocked, which says who uses it and what to do `then`."""
    with ExitStack() as stack:
        try:
            stack.enter_context(folder.lock())
        except FolderLocked as error:
            who = holder_of(folder) or _("Another process was using the data folder a moment ago")
            raise FolderLocked(f"{who}. {then}") from error
        yield
