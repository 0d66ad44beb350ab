"""Leaving a model alone for a while that refuses us or keeps failing."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from bot.models.base import Answer, Event, Model, ModelBusy, ModelError, ModelGarbage, ModelRefused, Request
from bot.models.relay import Relay

FAILURES = 3
PAUSE = 60.0


class BreakerModel:
    """After a refusal or three failures in a row nobody is let through for a minute, then one call to try it out.

    One object per model, whatever number of chains it stands in. A request that is too long or rejected says
    nothing about the model.
    """

    def __init__(self, model: Model, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._model = model
        self._clock = clock
        self._failures = 0
        self._closed_until = 0.0
        self._reason = ""

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def context_window(self) -> int:
        return self._model.context_window

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        self._pass()
        try:
            async with aclosing(Relay().listen(self._model, request)) as events:
                async for event in events:
                    if isinstance(event, Answer):
                        self._failures, self._closed_until = 0, 0.0
                    yield event
        except (asyncio.CancelledError, GeneratorExit):
            self._closed_until = min(self._closed_until, self._clock())  # nothing learned: the next call tries it out
            raise
        except ModelRefused as error:
            self._shut(error)
            raise
        except (ModelBusy, ModelGarbage) as error:
            self._failures += 1
            if self._failures >= FAILURES:
                self._shut(error)
            raise

    def _pass(self) -> None:
        if not self._closed_until:
            return
        now = self._clock()
        if now < self._closed_until:
            raise ModelBusy(f"{self._reason} (not asked again for {self._closed_until - now:.0f} s)")
        self._closed_until = now + PAUSE  # the others wait while this call tries it out

    def _shut(self, error: ModelError) -> None:
        self._closed_until = self._clock() + PAUSE
        self._failures = FAILURES - 1
        self._reason = error.reason
