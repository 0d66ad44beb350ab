"""How a chat at the terminal reaches the service: over the control socket, or in this process."""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from msgspec import Struct

from bot.config import Config
from bot.interfaces.cli.data_folder import loaded, locale
from bot.interfaces.cli.local_operations import local_registry
from bot.interfaces.cli.manifest import Entry, operation_entry
from bot.interfaces.control import operations
from bot.interfaces.control.async_client import holder_of
from bot.interfaces.control.chat_events import ChatEvent, LineResult
from bot.interfaces.control.client import NoService, Reply, View, connected, decoded
from bot.interfaces.control.server import replies_of
from memory.store.data_folder import DataFolder
from memory.store.ids import snowflakes
from memory.store.records import replace


class Connection(Struct, frozen=True):
    """A connection to the service. `call` runs an operation there and yields the replies as they arrive."""

    config: Config
    call: Callable[..., AsyncGenerator[Any, None]]
    constellation: str
    own: bool
    """Whether the service ends with the chat."""
    first_link: Callable[[], Awaitable[str]] | None = None
    """Returns a link to that service's dashboard if nobody has signed in yet."""

    def shown(self, history: int, typed: int) -> AsyncGenerator[ChatEvent, None]:
        """Yield what the terminal shows, as `bot.interfaces.control.chat` does."""
        return self._events("chat", history=history, typed=typed)

    def once(self, text: str, external_id: str) -> AsyncGenerator[ChatEvent, None]:
        return self._events("once", text=text, external_id=external_id)

    async def say(self, text: str, external_id: str) -> LineResult:
        """Send a line; the same `external_id` again is the same line."""
        return decoded(await self._ask("say", text=text, external_id=external_id), LineResult)

    async def stop(self) -> int:
        return decoded(await self._ask("chat.stop"), int)

    async def locale(self) -> str:
        """The locale of the language that the person chose, else of the terminal."""
        return decoded(await self._ask("chat.language"), str) or locale()

    async def suggest(self, name: str, argument: str, given: Mapping[str, Any]) -> list[list[str]]:
        """Suggestions for an argument of an operation. Raises UserError."""
        return list(await self._ask("chat.suggest", name=name, argument=argument, given=dict(given)))

    async def data(self, name: str, **arguments: Any) -> Any:
        """The result of an operation as data. Raises UserError."""
        return (await self.perform(operation_entry(name), arguments, View(as_json=True))).data()

    async def perform(self, entry: Entry, arguments: Mapping[str, Any], view: View) -> Reply:
        """Run an operation; `entry` is from the manifest. Raises UserError."""
        view = replace(view, constellation=self.constellation)
        if entry.where == "alone":
            registry = local_registry(self.config, entry.by, self.constellation)
            return await operations.reply(registry, entry.name, arguments, view)
        async with aclosing(self.call(entry.name, arguments=arguments, view=view)) as replies:
            return decoded(await anext(replies), Reply)

    async def _events(self, operation: str, **arguments: Any) -> AsyncGenerator[ChatEvent, None]:
        async with aclosing(self.call(operation, constellation=self.constellation, **arguments)) as replies:
            async for each in replies:
                yield decoded(each, ChatEvent)

    async def _ask(self, operation: str, **arguments: Any) -> Any:
        async with aclosing(self.call(operation, constellation=self.constellation, **arguments)) as replies:
            return await anext(replies)


@asynccontextmanager
async def connect(
    config: Config, constellation: str = "", *, dashboard: bool = False, patience: float = 0.0
) -> AsyncIterator[Connection]:
    """Connect to the service that runs on the data folder, or to one in this process that ends with the chat.

    Wait for one that is just starting or stopping, at most `patience` seconds.
    """
    folder, latest = DataFolder(config.home), time.monotonic() + patience
    while (holder := holder_of(folder)) is not None and time.monotonic() < latest:
        with suppress(NoService):
            connected(folder).close()
            break
        await asyncio.sleep(0.1)
    if holder is not None:
        yield Connection(config, holder.call, constellation, own=False)
        return
    building = loaded("bot.app")  # loads the whole service
    loaded("bot.interfaces.cli.serve").show_local_times(config)
    async with building.build(config, fronts=False, dashboard=dashboard) as app, app.running():
        handlers = app.handlers()

        def call(operation: str, /, **given: Any) -> AsyncGenerator[Any, None]:
            return replies_of(handlers[operation](**given))

        yield Connection(config, call, constellation, own=True, first_link=app.web.first_link if dashboard else None)


def new_id(beginning: str = "terminal-") -> str:
    """A new id, even if another command starts in the same millisecond: the same id would mean the same line."""
    return f"{beginning}{snowflakes.next()}-{secrets.token_hex(4)}"
