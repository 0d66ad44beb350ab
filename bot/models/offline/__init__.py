"""The offline model: answers by rules and from memory, without a key or a network."""

import asyncio
import importlib
from collections.abc import AsyncGenerator
from datetime import UTC

from bot.models.base import Answer, Event, Request, TextDelta, Usage
from memory.store.clock import Clock


class OfflineModel:
    """Answers by rules and from memory. The rules are loaded for the first answer, because most services need none."""

    name = "offline"
    context_window = 1_000_000

    def __init__(self, clock: Clock, zone: str = "UTC") -> None:
        self._clock, self._zone = clock, zone

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        rules = await asyncio.to_thread(importlib.import_module, "bot.models.offline.model")
        text, calls = rules.reply(request, self._clock().astimezone(UTC), self._zone)
        if text:
            yield TextDelta(text)
        yield Answer(text=text, calls=calls, usage=Usage(), model=self.name)
