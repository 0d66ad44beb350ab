"""A model whose provider library is loaded when it is first asked, in a thread: loading takes seconds."""

import asyncio
import importlib
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from typing import Any, Protocol, cast

from bot.models import prices
from bot.models.access import Access
from bot.models.base import Event, Model, ModelRefused, Request
from bot.models.events import Relay

ADAPTERS = {"openai": "bot.models.chat_completions", "anthropic": "bot.models.messages"}
ANY_OTHER = "bot.models.other_providers"


class Connected(Model, Protocol):
    """A model that can be asked; `provider` closes its connections."""

    @property
    def provider(self) -> AbstractAsyncContextManager[Any]: ...


class Adapter(Protocol):
    """What each adapter module is."""

    def connect(self, access: Access) -> Connected: ...


class LazyModel:
    def __init__(self, access: Access) -> None:
        self._access = access
        self._model: Connected | None = None
        self._open = asyncio.Lock()
        self._stack = AsyncExitStack()

    @property
    def name(self) -> str:
        return self._access.name

    @property
    def context_window(self) -> int:
        return (self._model or self._access).context_window

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        model = await self.open()
        async with aclosing(Relay().listen(model, request)) as events:
            async for event in events:
                yield event

    async def open(self) -> Model:
        """Load and connect, once."""
        async with self._open:
            if self._model is None:
                try:
                    model = await asyncio.to_thread(_connect, self._access)
                except ImportError as error:
                    raise ModelRefused(f"{self.name} cannot be loaded: {error}") from error
                await self._stack.enter_async_context(model.provider)
                self._model = model
            return self._model

    async def aclose(self) -> None:
        await self._stack.aclose()


def _connect(access: Access) -> Connected:
    adapter = cast("Adapter", importlib.import_module(ADAPTERS.get(access.provider, ANY_OTHER)))
    model = adapter.connect(access)
    prices.price(access.name, 0, 0)  # its library is loaded at the first question of a price, which takes as long
    return model
