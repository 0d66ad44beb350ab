"""How a chat at the terminal reaches the service: over the control socket, or in this process."""

import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeAlias

from msgspec import Struct

from bot.config import Config
from bot.errors import UserError
from bot.interfaces import socket
from bot.interfaces.cli.commands import operation_entry
from bot.interfaces.cli.here import local_registry
from bot.interfaces.cli.loading import loaded
from bot.interfaces.cli.startup import in_constellation
from bot.interfaces.control import replies_of
from bot.interfaces.service_client import holder_of
from memory.store.folder import DataFolder
from memory.store.ids import snowflakes

Replies: TypeAlias = list[socket.Reply]


class Line(Struct, frozen=True):
    """A connection to the service. `call` runs an operation there and yields the replies as they arrive."""

    config: Config
    call: Callable[..., AsyncGenerator[Any, None]]
    constellation: str
    own: bool
    """Whether the service ends with the chat."""
    first_link: Callable[[], Awaitable[str]] | None = None
    """Returns a link to that service's dashboard if nobody has signed in yet."""

    def shown(self, history: int, typed: int) -> AsyncGenerator[dict[str, Any], None]:
        """What the terminal shows, as `bot.interfaces.chat` yields it."""
        return self.call("chat", history=history, typed=typed, constellation=self.constellation)

    def once(self, text: str, external_id: str) -> AsyncGenerator[dict[str, Any], None]:
        return self.call("once", text=text, external_id=external_id, constellation=self.constellation)

    async def say(self, text: str) -> dict[str, Any]:
        return dict(await self._ask("say", text=text, external_id=new_id()))

    async def stop(self) -> int:
        return int((await self._ask("chat.stop"))["stopped"])

    async def suggest(self, name: str, argument: str, given: Mapping[str, Any]) -> list[list[str]]:
        """Suggestions for an argument of an operation. Raises UserError."""
        return list(await self._ask("chat.suggest", name=name, argument=argument, given=dict(given)))

    async def data(self, name: str, **arguments: Any) -> Any:
        """The result of an operation as data. Raises UserError."""
        (reply, *_) = await self.perform(operation_entry(name), arguments, {"as_json": True})
        if "text" not in reply:
            raise UserError(str(reply.get("error", "")))
        return json.loads(reply["text"])

    async def perform(self, entry: Mapping[str, Any], arguments: Mapping[str, Any], view: Mapping[str, Any]) -> Replies:
        """Run an operation; `entry` is from the manifest. Raises UserError."""
        view = {**view, "constellation": self.constellation}
        if entry["where"] == "alone":
            here = in_constellation(self.config, self.constellation) if self.constellation else self.config
            registry = local_registry(here, entry["by"])
            return [each async for each in socket.replies(registry, entry["name"], arguments, view)]
        async with aclosing(self.call(entry["name"], arguments=arguments, view=view)) as replies:
            return [each async for each in replies]

    async def _ask(self, operation: str, **arguments: Any) -> Any:
        async with aclosing(self.call(operation, constellation=self.constellation, **arguments)) as replies:
            return await anext(replies)


@asynccontextmanager
async def connect(config: Config, constellation: str = "", *, dashboard: bool = False) -> AsyncIterator[Line]:
    """Connect to the service that runs on the data folder, or to one in this process that ends with the chat."""
    if (holder := holder_of(DataFolder(config.home))) is not None:
        yield Line(config, holder.call, constellation, own=False)
        return
    building = loaded("bot.app")  # loads the whole service
    async with building.build(config, fronts=False, dashboard=dashboard) as app, app.running():
        handlers = app.handlers()

        def call(operation: str, /, **given: Any) -> AsyncGenerator[Any, None]:
            return replies_of(handlers[operation](**given))

        yield Line(config, call, constellation, own=True, first_link=app.web.first_link if dashboard else None)


def new_id(beginning: str = "terminal-") -> str:
    """A new id, even if another command starts in the same millisecond: the same id would mean the same line."""
    return f"{beginning}{snowflakes.next()}-{secrets.token_hex(4)}"
