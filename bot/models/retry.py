"""Trying again: a wrapper that asks the same model a few times before it gives up."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from bot.models.base import Event, Model, ModelBusy, ModelGarbage, Request
from bot.models.events import ModelWrapper, Relay

LONGEST_WAIT = 30.0
"""A provider that asks for a longer wait is left alone: another model answers sooner."""


class RetryingModel(ModelWrapper):
    """At most `tries` attempts in `seconds`; a refusal or a request that is too long is not tried again."""

    def __init__(
        self,
        model: Model,
        *,
        tries: int = 3,
        seconds: float = 150,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(model)
        self._tries = tries
        self._seconds = seconds
        self._sleep = sleep
        self._chance = chance

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        loop, relay = asyncio.get_running_loop(), Relay()
        end = loop.time() + self._seconds
        for attempt in range(1, self._tries + 1):
            try:
                async with aclosing(relay.listen(self._model, request, end)) as events:
                    async for event in events:
                        yield event
                return
            except (ModelBusy, ModelGarbage) as error:
                wait = wait_before_retry(error, attempt, self._chance())
                if attempt == self._tries or wait is None or loop.time() + wait >= end:
                    raise
            await self._sleep(wait)


def wait_before_retry(error: ModelBusy | ModelGarbage, attempt: int, chance: float) -> float | None:
    """Seconds, spread by `chance` (0 to 1) so that callers do not come back together; None for not at all."""
    asked = error.retry_after if isinstance(error, ModelBusy) else None
    if asked is None:
        return float(min(2 ** (attempt - 1), LONGEST_WAIT)) * (0.5 + chance / 2)
    return asked + chance * min(asked, 1) / 4 if asked <= LONGEST_WAIT else None
