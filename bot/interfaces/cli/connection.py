"""How a chat at the terminal reaches the service: over the control socket, or in this process."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from bot.app import App, build
from bot.config import Config
from bot.interfaces import socket
from bot.interfaces.cli.local import local_registry
from bot.interfaces.cli.setup import in_constellation
from bot.interfaces.service_client import ANSWER_SECONDS, Holder, holder_of
from bot.services.served_registry import ServedRegistry
from memory.store.folder import DataFolder
from memory.store.ids import snowflakes

Replies: TypeAlias = list[socket.Reply]


class Line(Protocol):
    """A way to the service."""

    @property
    def own(self) -> bool:
        """Whether the service ends with the chat."""
        ...

    def shown(self, history: int, typed: int) -> AsyncGenerator[dict[str, Any], None]:
        """What is shown, as `bot.interfaces.chat` gives it."""
        ...

    async def say(self, text: str) -> dict[str, Any]:
        """Pass on what somebody typed."""
        ...

    async def stop(self) -> int:
        """End the answers that are being made; gives how many were."""
        ...

    async def suggest(self, name: str, argument: str, given: Mapping[str, Any]) -> list[list[str]]:
        """What can be given for an argument of an operation. Raises UserError."""
        ...

    async def perform(self, entry: Mapping[str, Any], arguments: Mapping[str, Any], view: Mapping[str, Any]) -> Replies:
        """Do an operation; `entry` is its own in the manifest. Raises UserError."""
        ...


@dataclass(frozen=True)
class _Running:
    """The service that runs on the data folder."""

    config: Config
    holder: Holder
    constellation: str
    own: bool = False

    def shown(self, history: int, typed: int) -> AsyncGenerator[dict[str, Any], None]:
        return self.holder.call("chat", history=history, typed=typed, constellation=self.constellation)

    async def say(self, text: str) -> dict[str, Any]:
        said = {"text": text, "external_id": new_id(), "constellation": self.constellation}
        done: dict[str, Any] = await self.holder.ask("say", within=ANSWER_SECONDS, **said)
        return done

    async def stop(self) -> int:
        return int((await self.holder.ask("chat.stop", constellation=self.constellation))["stopped"])

    async def suggest(self, name: str, argument: str, given: Mapping[str, Any]) -> list[list[str]]:
        asked = {"name": name, "argument": argument, "given": dict(given), "constellation": self.constellation}
        found: list[list[str]] = await self.holder.ask("chat.suggest", within=ANSWER_SECONDS, **asked)
        return found

    async def perform(self, entry: Mapping[str, Any], arguments: Mapping[str, Any], view: Mapping[str, Any]) -> Replies:
        view = {**view, "constellation": self.constellation}
        if entry["where"] == "alone":
            return await _alone(self.config, entry, arguments, view)
        async with aclosing(self.holder.call(entry["name"], arguments=arguments, view=view)) as replies:
            return [each async for each in replies]


@dataclass(frozen=True)
class _Own:
    """A service in this process, without front ends."""

    config: Config
    app: App
    constellation: str
    own: bool = True

    def shown(self, history: int, typed: int) -> AsyncGenerator[dict[str, Any], None]:
        return self.app.chats.chat(history, typed, self.constellation)

    async def say(self, text: str) -> dict[str, Any]:
        return await self.app.chats.say(text, new_id(), self.constellation)

    async def stop(self) -> int:
        return int((await self.app.chats.stop(self.constellation))["stopped"])

    async def suggest(self, name: str, argument: str, given: Mapping[str, Any]) -> list[list[str]]:
        return await self.app.chats.suggest(name, argument, dict(given), self.constellation)

    async def perform(self, entry: Mapping[str, Any], arguments: Mapping[str, Any], view: Mapping[str, Any]) -> Replies:
        view = {**view, "constellation": self.constellation}
        if entry["where"] == "alone":
            return await _alone(self.config, entry, arguments, view)
        registry = ServedRegistry(self.app.served, self.app.services.registry.operations)
        return [each async for each in socket.replies(registry, entry["name"], arguments, view)]


async def _alone(
    config: Config, entry: Mapping[str, Any], arguments: Mapping[str, Any], view: Mapping[str, Any]
) -> Replies:
    here = in_constellation(config, view["constellation"]) if view["constellation"] else config
    return [each async for each in socket.replies(local_registry(here), entry["name"], arguments, view)]


@asynccontextmanager
async def connect(config: Config, constellation: str = "") -> AsyncIterator[Line]:
    """To the service that runs on the data folder, or one in this process that ends with the chat."""
    if (holder := holder_of(DataFolder(config.home))) is not None:
        yield _Running(config, holder, constellation)
        return
    async with own_service(config) as app:
        yield _Own(config, app, constellation)


@asynccontextmanager
async def own_service(config: Config) -> AsyncIterator[App]:
    """A service in this process, without front ends and dashboard, that ends with the context."""
    alone = config.web.model_copy(update={"server": config.web.server.model_copy(update={"listen": ""})})
    config = config.model_copy(update={"web": alone})
    async with build(config, fronts=False) as app, asyncio.TaskGroup() as tasks:
        ended = asyncio.Event()

        async def until_ended() -> None:
            await ended.wait()

        service = tasks.create_task(app.run(until_ended), name="service")
        try:
            yield app
        finally:
            ended.set()
            await service


def new_id(beginning: str = "terminal-") -> str:
    """Also another than that of a command which begins in the same millisecond: the same one would be the same line."""
    return f"{beginning}{snowflakes.next()}-{secrets.token_hex(4)}"
