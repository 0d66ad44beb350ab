"""Leaving a model alone for a while that refuses us or keeps failing."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from bot.models.base import Answer, Event, Model, ModelBusy, ModelError, ModelGarbage, ModelRefused, Request
from bot.models.events import ModelWrapper, Relay
from bot.models.health import ModelHealth, State
from memory.store.clock import Clock, utc_now

FAILURES = 3
PAUSE = 60.0


class BreakerModel(ModelWrapper):
    """After a refusal or three failures in a row nobody is let through for a minute, then one call to try it out.

    One object per model, whatever number of chains it stands in. A request that is too long or rejected says
    nothing about whether the model is to be left alone. Every outcome shows in `health`.
    """

    def __init__(self, model: Model, *, clock: Callable[[], float] = time.monotonic, calendar: Clock = utc_now) -> None:
        super().__init__(model)
        self._clock = clock
        self._calendar = calendar
        self._failures = 0
        self._closed_until = 0.0
        self._error: ModelError = ModelBusy("")
        self._health = ModelHealth(model.name)

    @property
    def health(self) -> ModelHealth:
        """How the model stands at this moment."""
        return replace(self._health, rests=max(self._closed_until - self._clock(), 0.0))

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        self._pass()
        try:
            async with aclosing(Relay().listen(self._model, request)) as events:
                async for event in events:
                    if isinstance(event, Answer):
                        self._failures, self._closed_until = 0, 0.0
                        self._note(State.WORKING)
                    yield event
        except (asyncio.CancelledError, GeneratorExit):
            self._closed_until = min(self._closed_until, self._clock())  # nothing learned: the next call tries it out
            raise
        except ModelError as error:
            self._failed(error)
            raise

    def _failed(self, error: ModelError) -> None:
        self._note(State.of(error.trouble), error)
        match error:
            case ModelRefused():
                self._shut(error)
            case ModelBusy() | ModelGarbage():
                self._failures += 1
                if self._failures >= FAILURES:
                    self._shut(error)

    def _note(self, state: State, error: ModelError | None = None) -> None:
        since = self._health.since if state == self._health.state else None
        trouble, reason = (error.trouble, error.reason) if error else (None, "")
        self._health = ModelHealth(self.name, state, since or self._calendar(), trouble, reason)

    def _pass(self) -> None:
        if not self._closed_until:
            return
        now = self._clock()
        if now < self._closed_until:
            reason = f"{self._error.reason} (not asked again for {self._closed_until - now:.0f} s)"
            raise replace(self._error, reason=reason)  # of the same kind: who hears it must know why
        self._closed_until = now + PAUSE  # the others wait while this call tries it out

    def _shut(self, error: ModelError) -> None:
        self._closed_until = self._clock() + PAUSE
        self._failures = FAILURES - 1
        self._error = error
