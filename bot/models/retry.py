"""Asks a model again after a failure, or for less if a request is too large for it."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

from bot.models import normalization
from bot.models.base import (
    AnswerRestarted,
    AssistantMessage,
    ContextTooLong,
    Event,
    Message,
    Model,
    ModelBusy,
    ModelError,
    ModelGarbage,
    ModelRejected,
    ModelWrapper,
    Relay,
    Request,
    Trouble,
    UserMessage,
)
from memory.store.records import replace
from texts import gettext_lazy

LONGEST_WAIT = 30.0
"""A provider that asks for a longer wait is left alone: another model answers sooner."""


class RetryingModel(ModelWrapper):
    """At most `tries` attempts in `seconds`, and as many with a smaller request where that is what is wanted.

    A refusal is not tried again.
    """

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
        loop, relay, asked, attempt = asyncio.get_running_loop(), Relay(), request, 1
        end = loop.time() + self._seconds
        while True:
            try:
                if relay.spoken:
                    yield relay.passed(AnswerRestarted())
                async with aclosing(self._model.complete(asked)) as events:
                    while (event := await self._next(events, end)) is not None:
                        yield relay.passed(event)
                return
            except (ContextTooLong, ModelRejected) as error:
                smaller = smaller_request(request, error) if asked is request else None
                if smaller is None:
                    raise
                asked, attempt, end = smaller, 1, loop.time() + self._seconds
            except (ModelBusy, ModelGarbage) as error:
                wait = wait_before_retry(error, attempt, self._chance())
                if attempt == self._tries or wait is None or loop.time() + wait >= end:
                    raise
                attempt += 1
                await self._sleep(wait)

    async def _next(self, events: AsyncGenerator[Event, None], until: float) -> Event | None:
        try:
            async with asyncio.timeout_at(until):
                return await anext(events, None)
        except TimeoutError:
            reason = gettext_lazy("{name} did not answer in time", name=self.name)
            raise ModelBusy(reason, trouble=Trouble.UNREACHABLE) from None


def wait_before_retry(error: ModelBusy | ModelGarbage, attempt: int, chance: float) -> float | None:
    """Seconds, spread by `chance` (0 to 1) so that callers do not come back together; None for not at all."""
    asked = error.retry_after if isinstance(error, ModelBusy) else None
    if asked is None:
        return float(min(2 ** (attempt - 1), LONGEST_WAIT)) * (0.5 + chance / 2)
    return asked + chance * min(asked, 1) / 4 if asked <= LONGEST_WAIT else None


def smaller_request(request: Request, error: ModelError) -> Request | None:
    """What to ask instead, or None when nothing can be left out."""
    if isinstance(error, ModelRejected):
        return without_images(request)
    return None if request.compactable else without_older_half(request)


def without_older_half(request: Request) -> Request | None:
    """Cut before a person's message, so that no call loses its result; the newest message of a person stays."""
    asked = [(i, message) for i, message in enumerate(request.messages) if isinstance(message, UserMessage)]
    starts = [i for i, _ in asked]
    spoken = [i for i, message in asked if message.said or message.images]
    newest = (spoken or starts or [0])[-1]
    half = sum(map(_size, request.messages)) / 2
    fitting = (i for i in starts if 0 < i < newest and sum(map(_size, request.messages[i:])) <= half)
    cut = next(fitting, newest)
    return replace(request, messages=request.messages[cut:]) if cut else None


def _size(message: Message) -> int:
    calls: Sequence[str] = [c.arguments for c in message.calls] if isinstance(message, AssistantMessage) else ()
    return len(message.text) + sum(map(len, calls))


def without_images(request: Request) -> Request | None:
    if not any(isinstance(message, UserMessage) and message.images for message in request.messages):
        return None
    messages = (
        normalization.in_words(message) if isinstance(message, UserMessage) else message for message in request.messages
    )
    return replace(request, messages=tuple(messages))
